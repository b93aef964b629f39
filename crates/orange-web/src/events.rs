//! The event stream: which tasks have changed, commit by commit.
//!
//! One thread reads the database while there are streams, and keeps the latest events in memory. A
//! stream that is further behind reads them itself. So a reader that comes back with the number of
//! the last event that it has seen gets every later one, once.

use std::collections::{BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use orange_config::clock::Stopwatch;
use serde::Serialize;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinError;
use tokio::time::timeout;

use crate::answer::{Answer, Refusal};
use crate::backend::{Backend, Change, Commit};
use crate::limits::{
    DEVICE_INTERVAL, HEARTBEAT, KEPT_EVENTS, MAX_STREAMS, POLL_INTERVAL, REQUEST_INTERVAL,
    SIGN_INTERVAL, SIGN_LOOKS, STREAM_QUEUE, STREAM_TIMEOUT,
};

/// The shape of an event.
pub const EVENT_SHAPE: &str = "orange.web.event/1";

/// What `Commits::database` is without a database.
const NO_DATABASE: (u64, u64) = (0, 0);

/// The data of an event. Its name is `ready` for the first one, which has no changes; `change`;
/// `requests` if an agent has asked for permission or a request has ended, which is no commit and so
/// has neither an id nor changes; or `reset` if the number that the reader named does not exist: then
/// it must read everything again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "WebEvent")]
pub struct Event {
    /// The number of the commit, which is the id of the event; with `requests` that of the last event.
    pub sequence: u64,
    /// The tasks that the commit has changed.
    pub changes: Vec<Change>,
}

/// An event as it is sent.
#[derive(Clone, Debug)]
struct Message {
    sequence: u64,
    text: Bytes,
}

impl Message {
    fn new(name: &str, sequence: u64, changes: &[Change]) -> Message {
        let data = json!({ "schema": EVENT_SHAPE, "sequence": sequence, "changes": changes });
        Message {
            sequence,
            text: format!("event: {name}\nid: {sequence}\ndata: {data}\n\n").into(),
        }
    }

    fn of(commit: &Commit) -> Message {
        Message::new("change", commit.sequence, &commit.changes)
    }

    /// Without an id, so that a reader resumes after the last commit.
    fn requests(sequence: u64) -> Message {
        let data = json!({ "schema": EVENT_SHAPE, "sequence": sequence, "changes": [] });
        Message {
            sequence,
            text: format!("event: requests\ndata: {data}\n\n").into(),
        }
    }
}

/// The latest events.
#[derive(Debug, Default)]
struct Latest {
    /// `None` before the first look.
    database: Option<(u64, u64)>,
    /// How often another database came in the place of the last one.
    replacements: u64,
    /// Every event after this commit is kept.
    start: u64,
    /// The last commit that was looked at.
    end: u64,
    messages: VecDeque<Message>,
    /// The devices that may use the API.
    devices: BTreeSet<String>,
    /// The requests for permission that wait for an answer, and how often they have changed.
    requests: BTreeSet<String>,
    request_changes: u64,
}

/// What a stream does next.
enum Next {
    Send(Vec<Message>),
    /// It is too far behind for what is kept.
    Read,
    /// The database was replaced since the stream began.
    Reset {
        end: u64,
        replacements: u64,
    },
}

/// All streams.
#[derive(Debug)]
pub struct Streams {
    backend: Arc<Backend>,
    latest: Mutex<Latest>,
    reading: Mutex<()>,
    changed: watch::Sender<()>,
    is_stopped: AtomicBool,
    free: Arc<Semaphore>,
}

impl Streams {
    pub fn new(backend: Arc<Backend>) -> Arc<Streams> {
        Arc::new(Streams {
            backend,
            latest: Mutex::default(),
            reading: Mutex::default(),
            changed: watch::Sender::new(()),
            is_stopped: AtomicBool::new(false),
            free: Arc::new(Semaphore::new(MAX_STREAMS)),
        })
    }

    /// Ends every stream.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.changed.send_replace(());
    }

    /// Looks for changes until it is stopped. It has a thread of its own.
    pub fn poll(&self) {
        let mut since_devices = None;
        let mut since_requests = None;
        let mut is_idle = true;
        let mut looks = 0_u32;
        while !self.is_stopped.load(Ordering::SeqCst) {
            if looks == 0 && (self.backend.wait_for_change)(POLL_INTERVAL) {
                looks = SIGN_LOOKS;
            }
            // Signs may come faster than they can be looked after.
            if let Some(left) = looks.checked_sub(1) {
                looks = left;
                std::thread::sleep(SIGN_INTERVAL);
            }
            if self.free.available_permits() == MAX_STREAMS {
                (is_idle, looks) = (true, 0);
                continue;
            }
            if is_idle {
                is_idle = false;
                (since_devices, since_requests) = (None, None);
            }
            if is_due(since_devices, DEVICE_INTERVAL) {
                since_devices = Some(Stopwatch::start());
                self.read_devices();
            }
            if is_due(since_requests, REQUEST_INTERVAL) {
                since_requests = Some(Stopwatch::start());
                self.read_requests();
            }
            self.read_changes();
        }
    }

    /// Notices devices that were revoked. If the devices cannot be read, none may listen.
    fn read_devices(&self) {
        let devices = (self.backend.device_ids)(()).unwrap_or_default();
        let devices: BTreeSet<String> = devices.into_iter().collect();
        let mut latest = self.latest();
        if latest.devices != devices {
            latest.devices = devices;
            drop(latest);
            self.changed.send_replace(());
        }
    }

    /// Notices requests for permission that were filed or have ended. They are in no commit. If they
    /// cannot be read, the next round tries again.
    fn read_requests(&self) {
        let Ok(requests) = (self.backend.open_requests)(()) else {
            return;
        };
        let requests: BTreeSet<String> = requests.into_iter().collect();
        let mut latest = self.latest();
        if latest.requests != requests {
            latest.requests = requests;
            latest.request_changes += 1;
            drop(latest);
            self.changed.send_replace(());
        }
    }

    /// Reads new commits. If that is not possible, the next round tries again.
    fn read_changes(&self) {
        // Two readers at once would both add the same events.
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let end = self.latest().end;
        let Ok(found) = (self.backend.commits_after)(end) else {
            return;
        };
        let mut latest = self.latest();
        let is_continued = match latest.database.replace(found.database) {
            Some(NO_DATABASE) => true,
            Some(database) => database == found.database,
            None => false,
        };
        if is_continued {
            if found.sequence == end {
                return;
            }
            latest.end = found.sequence;
            latest
                .messages
                .extend(found.commits.iter().map(Message::of));
        } else {
            // Another database counts anew, so nothing that is known about the last one matters.
            latest.replacements += 1;
            latest.messages.clear();
            latest.start = found.last;
            latest.end = found.last;
        }
        while latest.messages.len() > KEPT_EVENTS {
            if let Some(oldest) = latest.messages.pop_front() {
                latest.start = oldest.sequence;
            }
        }
        drop(latest);
        self.changed.send_replace(());
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, position: u64, replacements: u64) -> Next {
        let latest = self.latest();
        if replacements != latest.replacements || position > latest.end {
            return Next::Reset {
                end: latest.end,
                replacements: latest.replacements,
            };
        }
        if position < latest.start {
            return Next::Read;
        }
        let later = latest.messages.iter();
        let later = later.filter(|it| it.sequence > position).cloned();
        Next::Send(later.collect())
    }

    /// Answers with a stream that begins after the event that the reader has seen last, or now.
    pub async fn answer(
        self: &Arc<Self>,
        device: String,
        seen: Option<u64>,
    ) -> Result<Answer, Refusal> {
        let failed = |_: JoinError| unavailable("the changes cannot be read now");
        let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() else {
            return Err(unavailable("too many event streams are open"));
        };
        let streams = Arc::clone(self);
        let prepared = tokio::task::spawn_blocking(move || {
            // The thread that looks for changes may have been idle for long.
            streams.read_devices();
            streams.read_changes();
            let latest = streams.latest();
            (latest.end, latest.replacements, latest.request_changes)
        });
        let (last, replacements, request_changes) = prepared.await.map_err(failed)?;
        let (sender, receiver) = mpsc::channel(STREAM_QUEUE);
        let first = match seen {
            Some(seen) if seen > last => Message::new("reset", last, &[]),
            Some(seen) => Message::new("ready", seen, &[]),
            None => Message::new("ready", last, &[]),
        };
        let stream = Stream {
            streams: Arc::clone(self),
            position: first.sequence,
            replacements,
            request_changes,
            device,
            sender,
        };
        tokio::spawn(stream.run(first));
        let body = StreamBody {
            receiver,
            _permit: permit,
        };
        let mut answer = Response::new(Body::new(body));
        let content_type = HeaderValue::from_static("text/event-stream");
        answer
            .headers_mut()
            .insert(header::CONTENT_TYPE, content_type);
        Ok(answer)
    }
}

fn is_due(since: Option<Stopwatch>, interval: Duration) -> bool {
    since.is_none_or(|since| since.elapsed() >= interval)
}

fn unavailable(message: &str) -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
}

/// One stream.
struct Stream {
    streams: Arc<Streams>,
    /// The last event that was sent.
    position: u64,
    /// The number of replacements of the database when it began, or at the last reset.
    replacements: u64,
    /// How often the requests for permission had changed when it was last told.
    request_changes: u64,
    device: String,
    sender: mpsc::Sender<Bytes>,
}

impl Stream {
    async fn run(mut self, first: Message) {
        let mut changed = self.streams.changed.subscribe();
        if self.send(first).await.is_none() {
            return;
        }
        while self.may_listen() && self.send_next().await.is_some() {
            tokio::select! {
                woken = changed.changed() => if woken.is_err() {
                    return;
                },
                () = tokio::time::sleep(HEARTBEAT) => {
                    if self.send_text(Bytes::from_static(b":\n\n")).await.is_none() {
                        return;
                    }
                }
                () = self.sender.closed() => return,
            }
        }
    }

    fn may_listen(&self) -> bool {
        let is_stopped = self.streams.is_stopped.load(Ordering::SeqCst);
        !is_stopped && self.streams.latest().devices.contains(&self.device)
    }

    /// Sends every event that is known; `None` ends the stream.
    async fn send_next(&mut self) -> Option<()> {
        self.send_commits().await?;
        let request_changes = self.streams.latest().request_changes;
        if request_changes != self.request_changes {
            self.request_changes = request_changes;
            self.send(Message::requests(self.position)).await?;
        }
        Some(())
    }

    async fn send_commits(&mut self) -> Option<()> {
        loop {
            let messages = match self.streams.next(self.position, self.replacements) {
                Next::Send(messages) if messages.is_empty() => return Some(()),
                Next::Send(messages) => messages,
                Next::Reset { end, replacements } => {
                    self.replacements = replacements;
                    vec![Message::new("reset", end, &[])]
                }
                Next::Read => self.read().await?,
            };
            for message in messages {
                self.send(message).await?;
            }
        }
    }

    /// Reads events that are no longer kept. Another process may have rebuilt the database, in which
    /// case there are none.
    async fn read(&mut self) -> Option<Vec<Message>> {
        let (streams, position) = (Arc::clone(&self.streams), self.position);
        let read = move || (streams.backend.commits_after)(position);
        let found = tokio::task::spawn_blocking(read).await.ok()?.ok()?;
        if found.commits.is_empty() {
            self.position = found.sequence;
        }
        Some(found.commits.iter().map(Message::of).collect())
    }

    async fn send(&mut self, message: Message) -> Option<()> {
        self.position = message.sequence;
        self.send_text(message.text).await
    }

    /// Sends; `None` if the reader is gone or too slow. It resumes with the last event that it got.
    async fn send_text(&self, text: Bytes) -> Option<()> {
        let limit: Duration = STREAM_TIMEOUT;
        timeout(limit, self.sender.send(text)).await.ok()?.ok()
    }
}

/// The body of an answer that is a stream.
struct StreamBody {
    receiver: mpsc::Receiver<Bytes>,
    /// Makes room for another stream when this one ends.
    _permit: OwnedSemaphorePermit,
}

impl http_body::Body for StreamBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let received = self.receiver.poll_recv(context);
        received.map(|text| text.map(|text| Ok(Frame::data(text))))
    }
}

//! The web API against a bare server of the same library.
//!
//! Run with `cargo bench -p orange --bench web`; `STREAMS` sets the number of event streams (default
//! 200), `SECONDS` how long to watch idle ones (default 30), and `TTYD` names a ttyd to compare the
//! screen of an agent with. Fails if a read takes more than twice
//! as long as the same question to the driver, if an event is lost or comes twice, or if the idle
//! server takes more than 1 % of a core.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark measures time and prints what it measured"
)]

mod fleet;
mod ttyd;

use std::convert::Infallible;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::get;
use http_body::Frame;
use orange_driver::{Driver, ListFilter};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Barrier, broadcast, mpsc};

use crate::fleet::{Fleet, number, used};
use crate::ttyd::Ttyd;

/// The variable that makes this program the bare server.
const BARE: &str = "BARE_SERVER";

const AGENTS: usize = 50;
const READS: usize = 300;
const EVENTS: usize = 50;
const IDLE_CLIENTS: usize = 5;

/// The largest ratio of a read to the driver's answer, and the largest share of a core.
const READ_RATIO: f64 = 2.0;
const IDLE_SHARE: f64 = 1.0;

/// A server, and what its clients send.
struct Server {
    process: Child,
    /// Of the bare server: a line on it causes an event.
    stdin: Option<ChildStdin>,
    port: u16,
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

impl Server {
    fn start(command: &mut Command) -> Server {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let announced: Value = serde_json::from_str(&line).unwrap();
        let address = announced["address"].as_str().unwrap();
        let port = address.rsplit(':').next().unwrap().parse().unwrap();
        let token = String::from("none");
        Server {
            stdin: process.stdin.take(),
            process,
            port,
            token,
        }
    }

    fn request(&self, path: &str) -> String {
        format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\r\n",
            self.port, self.token
        )
    }

    async fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Times of reads over one connection.
    fn read(&self, runtime: &Runtime, path: &str) -> Vec<Duration> {
        runtime.block_on(async {
            let mut stream = self.connect().await;
            let request = self.request(path);
            let mut times = Vec::new();
            for _ in 0..READS {
                let start = Instant::now();
                stream.write_all(request.as_bytes()).await.unwrap();
                read_answer(&mut stream).await;
                times.push(start.elapsed());
            }
            times
        })
    }

    /// Opens event streams; each reports the number and the time of every event. Returns how long
    /// it took until all of them had begun.
    fn listen(
        self: &Arc<Self>,
        runtime: &Runtime,
        count: usize,
    ) -> (mpsc::UnboundedReceiver<(u64, Instant)>, Duration) {
        let (sender, heard) = mpsc::unbounded_channel();
        let begun = Arc::new(Barrier::new(count + 1));
        let start = Instant::now();
        for _ in 0..count {
            let (server, sender) = (Arc::clone(self), sender.clone());
            let begun = Arc::clone(&begun);
            runtime.spawn(async move { server.follow(&sender, &begun).await });
        }
        runtime.block_on(begun.wait());
        (heard, start.elapsed())
    }

    async fn follow(&self, sender: &mpsc::UnboundedSender<(u64, Instant)>, begun: &Barrier) {
        let mut stream = self.connect().await;
        let request = self.request("/api/v1/events");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut lines = tokio::io::BufReader::new(stream).lines();
        let mut is_first = true;
        while let Ok(Some(line)) = lines.next_line().await {
            let Some(id) = line.strip_prefix("id: ") else {
                continue;
            };
            if is_first {
                is_first = false;
                begun.wait().await;
            } else if sender.send((id.parse().unwrap(), Instant::now())).is_err() {
                return;
            }
        }
    }
}

/// Reads one answer with a length.
async fn read_answer(stream: &mut TcpStream) {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = vec![0; 16_384];
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "the connection was closed");
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let lower = head.to_lowercase();
        let (_, length) = lower.split_once("content-length: ").unwrap();
        let length: usize = length.lines().next().unwrap().parse().unwrap();
        if body.len() >= length {
            return;
        }
    }
}

/// A stream of the numbers of a broadcast.
struct BareEvents(mpsc::Receiver<Bytes>);

impl BareEvents {
    fn new(mut numbers: broadcast::Receiver<usize>) -> BareEvents {
        let (sender, receiver) = mpsc::channel(16);
        tokio::spawn(async move {
            let first = Bytes::from_static(b"id: 0\n\n");
            let mut is_open = sender.send(first).await.is_ok();
            while is_open && let Ok(number) = numbers.recv().await {
                is_open = sender
                    .send(format!("id: {number}\n\n").into())
                    .await
                    .is_ok();
            }
        });
        BareEvents(receiver)
    }
}

impl http_body::Body for BareEvents {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let received = self.0.poll_recv(context);
        received.map(|text| text.map(|text| Ok(Frame::data(text))))
    }
}

/// Serves these rows, and an event for each line on stdin.
fn serve_bare(rows: String) {
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let (sender, _none) = broadcast::channel(1024);
        let events = sender.clone();
        let follow = move || {
            let numbers = events.subscribe();
            async move { Body::new(BareEvents::new(numbers)) }
        };
        let routes = Router::new()
            .route("/api/v1/tasks", get(move || async move { rows.clone() }))
            .route("/api/v1/events", get(follow));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{{\"address\": \"{}\"}}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for (number, _line) in std::io::stdin().lines().enumerate() {
                let _nobody = sender.send(number + 1);
            }
        });
        axum::serve(listener, routes).await.unwrap();
    });
}

fn percentile(times: &mut [Duration], percent: usize) -> f64 {
    times.sort();
    let index = (times.len() * percent / 100).min(times.len() - 1);
    times[index].as_secs_f64() * 1000.0
}

/// `orange web` over the fleet, with a device that is paired.
fn serve(fleet: &Fleet) -> Server {
    let orange = |words: &[&str]| {
        let mut orange = Command::new(env!("CARGO_BIN_EXE_orange"));
        orange.args(words).current_dir("/").env_clear();
        orange.envs(fleet.environment().variables());
        orange
    };
    let mut server = Server::start(&mut orange(&["web", "--port", "0", "--json"]));
    let pair = orange(&["web", "pair", "bench", "--json"])
        .output()
        .unwrap();
    let pair: Value = serde_json::from_slice(&pair.stdout).unwrap();
    let body = json!({ "code": pair["code"] }).to_string();
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    write!(
        stream,
        "POST /api/v1/pair HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        server.port,
        body.len()
    )
    .unwrap();
    let answer = std::io::read_to_string(stream).unwrap();
    let (_, answer) = answer.split_once("\r\n\r\n").unwrap();
    let paired: Value = serde_json::from_str(answer).unwrap();
    paired["token"]
        .as_str()
        .unwrap()
        .clone_into(&mut server.token);
    server
}

/// The times from before each change until every stream has its event. Every stream must get every
/// event once.
fn hear(
    heard: &mut mpsc::UnboundedReceiver<(u64, Instant)>,
    streams: usize,
    mut change: impl FnMut(usize),
) -> Vec<Duration> {
    let mut times = Vec::new();
    for number in 0..EVENTS {
        let start = Instant::now();
        change(number);
        let mut ids = Vec::new();
        for _ in 0..streams {
            let (id, at) = heard.blocking_recv().unwrap();
            ids.push(id);
            times.push(at.saturating_duration_since(start));
        }
        assert!(ids.iter().all(|id| *id == ids[0]), "an event came twice");
    }
    thread::sleep(Duration::from_secs(1));
    assert!(heard.try_recv().is_err(), "an event came twice");
    times
}

fn print(what: &str, times: &mut [Duration]) {
    let (half, most) = (percentile(times, 50), percentile(times, 99));
    println!("{what:<44} p50 {half:8.2} ms   p99 {most:8.2} ms");
}

/// The screen of an agent as the page shows it, beside a terminal over a websocket and a bare
/// snapshot by tmux.
fn compare_screens(fleet: &Fleet, server: &Server, runtime: &Runtime) {
    let path = format!("/api/v1/tasks/{}/logs", fleet.tasks[0].as_str());
    print(
        "screen of an agent: orange web",
        &mut server.read(runtime, &path),
    );
    let panes = fleet
        .tmux(&["list-panes", "-a", "-F", "#{pane_id} #{session_name}"])
        .output();
    let panes = String::from_utf8(panes.unwrap().stdout).unwrap();
    let (pane, session) = panes.lines().next().unwrap().split_once(' ').unwrap();
    let snapshots = (0..READS).map(|_| {
        let start = Instant::now();
        let snapshot = fleet.tmux(&["capture-pane", "-p", "-t", pane]).output();
        assert!(snapshot.unwrap().status.success());
        start.elapsed()
    });
    print(
        "screen of an agent: bare tmux capture-pane",
        &mut snapshots.collect::<Vec<Duration>>(),
    );
    let Ok(program) = std::env::var("TTYD") else {
        println!("typing through ttyd: NOT MEASURED (set TTYD)");
        return;
    };
    // What the line at the bottom shows must not be taken for an echo.
    let status = fleet.tmux(&["set-option", "-g", "status", "off"]).status();
    assert!(status.unwrap().success());
    let mut terminal = Ttyd::start(&program, &fleet.tmux(&["attach", "-t", session]));
    print("typing through ttyd and tmux", &mut terminal.echoes(READS));
}

fn main() {
    if let Ok(rows) = std::env::var(BARE) {
        return serve_bare(rows);
    }
    let (streams, seconds) = (number("STREAMS", 200), number("SECONDS", 30));
    let fleet = Fleet::new(AGENTS, "/bin/sleep", &["100000"]);
    let runtime = Runtime::new().unwrap();
    let orange = PathBuf::from(env!("CARGO_BIN_EXE_orange"));
    let ask = || {
        let driver = Driver::new(&fleet.environment(), orange.clone()).unwrap();
        let tasks = driver.views.list(&ListFilter::default()).unwrap().tasks;
        assert_eq!(tasks.len(), AGENTS);
        tasks
    };
    let ours = Arc::new(serve(&fleet));
    let rows = "x".repeat(30_000);
    let mut bare = Command::new(std::env::current_exe().unwrap());
    let bare = Arc::new(Server::start(bare.env(BARE, rows).stdin(Stdio::piped())));

    let path = "/api/v1/tasks";
    let mut driver: Vec<Duration> = (0..READS)
        .map(|_| {
            let start = Instant::now();
            drop(ask());
            start.elapsed()
        })
        .collect();
    let (mut plain, mut read) = (bare.read(&runtime, path), ours.read(&runtime, path));
    print("read of 50 tasks: bare axum", &mut plain);
    print("read of 50 tasks: the driver alone", &mut driver);
    print("read of 50 tasks: orange web", &mut read);
    let ratio = percentile(&mut read, 50) / percentile(&mut driver, 50);
    println!("ratio to the driver {ratio:.2} (limit {READ_RATIO})");

    compare_screens(&fleet, &ours, &runtime);

    let (mut heard, begun) = bare.listen(&runtime, streams);
    println!("{streams} streams began in {begun:.2?}: bare axum");
    print("event to all streams: bare axum", &mut {
        let mut stdin = bare.stdin.as_ref().unwrap();
        hear(&mut heard, streams, |_| writeln!(stdin).unwrap())
    });
    let (mut heard, begun) = ours.listen(&runtime, streams);
    println!("{streams} streams began in {begun:.2?}: orange web");
    let mut created = Vec::new();
    let mut events = hear(&mut heard, streams, |number| {
        let start = Instant::now();
        fleet.create(AGENTS + number);
        created.push(start.elapsed());
    });
    print("a change alone", &mut created);
    print("a change and its event to all streams", &mut events);
    drop((heard, runtime));

    let runtime = Runtime::new().unwrap();
    let (_heard, _) = ours.listen(&runtime, IDLE_CLIENTS);
    let (before, start) = (used(ours.process.id()), Instant::now());
    thread::sleep(Duration::from_secs(u64::try_from(seconds).unwrap()));
    let share = (used(ours.process.id()) - before) / start.elapsed().as_secs_f64() * 100.0;
    println!("idle with {IDLE_CLIENTS} streams and {AGENTS} agents: {share:.2} % of a core");
    assert!(ratio <= READ_RATIO, "a read takes {ratio:.2} times as long");
    assert!(
        share < IDLE_SHARE,
        "{share:.2} % is not less than {IDLE_SHARE} %"
    );
}

//! A server of a fleet: the reference ledger behind HTTP.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use orange_fleet::chain::Head;
use orange_fleet::ids::{MailId, OrgId, PersonId, RequestKey, RunnerId, TaskId};
use orange_fleet::json::Json;
use orange_fleet::ledger::{Ledger, LedgerTerms, MailState};
use orange_fleet::message::{CreateAnswer, CreateTask, PostRequest};
use orange_fleet::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::support::json_server::{JsonReply, JsonRequest, serve_json};

/// How long the server waits for work before it answers that there is none.
const LONG_POLL: Duration = Duration::from_secs(2);

/// How often leases are checked.
const REAP: Duration = Duration::from_millis(100);

pub struct LedgerServer {
    pub address: String,
    inner: Arc<Inner>,
}

struct Inner {
    ledger: Mutex<Ledger>,
    begun: Instant,
    is_away: AtomicBool,
    /// Whether calls that append commits are refused.
    refuses_appends: AtomicBool,
    is_over: AtomicBool,
}

impl LedgerServer {
    pub fn start() -> LedgerServer {
        let inner = Arc::new(Inner {
            ledger: Mutex::new(Ledger::new(OrgId::new("org"), LedgerTerms::default())),
            begun: Instant::now(),
            is_away: AtomicBool::new(false),
            refuses_appends: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let reaping = Arc::clone(&inner);
        thread::spawn(move || {
            while !reaping.is_over.load(Ordering::Relaxed) {
                let now = reaping.now();
                let mut ledger = reaping.ledger.lock().unwrap();
                // While it is away it hears nobody, so nobody is given up.
                if !reaping.is_away.load(Ordering::Relaxed) {
                    ledger.mark(now);
                    ledger.reap(now);
                }
                drop(ledger);
                thread::sleep(REAP);
            }
        });
        let serving = Arc::clone(&inner);
        let address = serve_json(move |request| serving.answer(request));
        LedgerServer { address, inner }
    }

    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.inner.ledger.lock().unwrap()
    }

    /// The token of a runner.
    pub fn token(runner: &str) -> String {
        format!("token-{runner}")
    }

    pub fn set_away(&self, is_away: bool) {
        self.inner.is_away.store(is_away, Ordering::Relaxed);
    }

    pub fn refuse_appends(&self, refuses: bool) {
        self.inner.refuses_appends.store(refuses, Ordering::Relaxed);
    }

    pub fn create(&self, call: &CreateTask) {
        let created = self.ledger().create(self.inner.now(), call);
        assert_eq!(created, CreateAnswer::Ok);
    }

    /// Posts a request of a person.
    pub fn ask(&self, task: &str, key: &str, ask: &str) -> MailId {
        let call = PostRequest {
            key: RequestKey::new(key),
            ask: Json::new(ask).unwrap(),
        };
        let person = PersonId::new("ada");
        let posted = self.ledger().post(&person, &TaskId::new(task), &call);
        posted.unwrap().id
    }

    /// How mail was decided.
    pub fn mail(&self, id: &MailId) -> MailState {
        self.ledger().mail[id].state.clone()
    }

    pub fn status(&self, task: &str) -> String {
        self.ledger().tasks[&TaskId::new(task)]
            .summary
            .status
            .clone()
    }

    /// The runner that holds a task.
    pub fn owner(&self, task: &str) -> Option<String> {
        let ledger = self.ledger();
        let owner = ledger.tasks[&TaskId::new(task)].owner.clone();
        owner.map(|it| it.runner.to_string())
    }

    pub fn head(&self, task: &str) -> Head {
        self.ledger().tasks[&TaskId::new(task)].head()
    }
}

impl Drop for LedgerServer {
    fn drop(&mut self) {
        self.inner.is_over.store(true, Ordering::Relaxed);
    }
}

impl Inner {
    fn now(&self) -> Timestamp {
        Timestamp(u64::try_from(self.begun.elapsed().as_millis()).unwrap())
    }

    fn answer(&self, request: &JsonRequest) -> JsonReply {
        if self.is_away.load(Ordering::Relaxed) {
            return JsonReply::Lost;
        }
        let Some(runner) = request.authorization.strip_prefix("Bearer token-") else {
            return JsonReply::Text(401, String::new());
        };
        let runner = RunnerId::new(runner);
        let path = request.target.strip_prefix("/v1/").unwrap_or_default();
        self.route(request, &runner, path)
    }

    fn route(&self, request: &JsonRequest, runner: &RunnerId, path: &str) -> JsonReply {
        let words: Vec<&str> = path.split('/').collect();
        let now = self.now();
        let ledger = || self.ledger.lock().unwrap();
        match (request.method.as_str(), words.as_slice()) {
            ("POST", ["runners"]) => ok(&ledger().register(now, &read(request))),
            ("POST", ["runners", named, _]) if *named != runner.as_str() => {
                JsonReply::Text(403, String::from("another runner"))
            }
            ("POST", ["runners", _, "beat"]) => ok(&ledger().beat(now, runner, &read(request))),
            ("POST", ["runners", _, "work"]) => self.work(request, runner),
            ("POST", ["append"]) if self.refuses_appends.load(Ordering::Relaxed) => {
                JsonReply::Text(503, String::from("try again"))
            }
            ("POST", ["append"]) => ok(&ledger().append(now, runner, &read(request))),
            ("POST", ["tasks", _, "give-back"]) => {
                ok(&ledger().give_back(now, runner, &read(request)))
            }
            ("POST", ["tasks", _, "adopt"]) => ok(&ledger().adopt(runner, &read(request))),
            ("PUT", ["tasks", task, "wip"]) => {
                ok(&ledger().save_wip(runner, &TaskId::new(task), &read(request)))
            }
            ("POST", ["mail", mail, "answer"]) => {
                ok(&ledger().answer_mail(runner, &MailId::new(mail), &read(request)))
            }
            _ => JsonReply::Text(404, String::new()),
        }
    }

    fn work(&self, request: &JsonRequest, runner: &RunnerId) -> JsonReply {
        let call = read(request);
        let over = Instant::now() + LONG_POLL;
        loop {
            let answer = self.ledger.lock().unwrap().work(self.now(), runner, &call);
            let is_empty = answer.claims.is_empty() && answer.mail.is_empty();
            if !is_empty || Instant::now() > over || self.is_away.load(Ordering::Relaxed) {
                return ok(&answer);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn ok(answer: &impl Serialize) -> JsonReply {
    JsonReply::Text(200, serde_json::to_string(answer).unwrap())
}

/// The call as its author wrote it: hashes are over the text of events.
fn read<T: DeserializeOwned>(request: &JsonRequest) -> T {
    serde_json::from_str(&request.text).unwrap()
}

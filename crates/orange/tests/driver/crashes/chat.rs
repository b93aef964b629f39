//! A command from a chat is obeyed once, wherever a process dies.

use std::process::{Child, Stdio};

use orange_engine::chat::channel::Channel;
use orange_engine::names::TaskId;
use orange_store::ChatState;

use super::COMMITS_AND_EFFECTS;
use super::crash_marks::{reached_marks, set_crash_marks};
use crate::chat::{matrix, messages, tasks, telegram};
use crate::support::matrix_server::MatrixServer;
use crate::support::telegram_server::TelegramServer;
use crate::support::{Stage, wait_for};

/// A server that the listed user writes to.
trait ChatServer {
    const CHANNEL: Channel;
    /// Whether an answer that is sent again arrives again.
    const REPEATS: bool;

    fn stage() -> (Stage, Self);
    fn write(&self, text: &str);
    fn sent(&self) -> Vec<String>;
}

impl ChatServer for TelegramServer {
    const CHANNEL: Channel = Channel::Telegram;
    const REPEATS: bool = true;

    fn stage() -> (Stage, TelegramServer) {
        telegram::stage()
    }

    fn write(&self, text: &str) {
        self.write(telegram::ADA, text);
    }

    fn sent(&self) -> Vec<String> {
        self.sent().into_iter().map(|it| it.1).collect()
    }
}

impl ChatServer for MatrixServer {
    const CHANNEL: Channel = Channel::Matrix;
    const REPEATS: bool = false;

    fn stage() -> (Stage, MatrixServer) {
        let (stage, server) = matrix::stage();
        // It begins to listen before it is written to.
        drop(matrix::listen(&stage));
        (stage, server)
    }

    fn write(&self, text: &str) {
        self.write(text);
    }

    fn sent(&self) -> Vec<String> {
        self.sent()
    }
}

/// A supervisor that is started again when it dies.
pub struct Service<'a> {
    stage: &'a Stage,
    child: Child,
}

impl Service<'_> {
    pub fn start(stage: &Stage) -> Service<'_> {
        let child = serve(stage);
        Service { stage, child }
    }

    /// Waits until this holds, with a supervisor that runs.
    pub fn wait_for(&mut self, what: &str, condition: impl Fn() -> bool) {
        wait_for(what, || {
            if self.child.try_wait().unwrap().is_some() {
                self.child = serve(self.stage);
            }
            condition()
        });
    }
}

impl Drop for Service<'_> {
    fn drop(&mut self) {
        // It may be dead already.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn serve(stage: &Stage) -> Child {
    let mut serve = stage.orange(&["serve"]);
    serve.stdout(Stdio::null()).stderr(Stdio::null());
    serve.spawn().unwrap()
}

fn is_answered(server: &impl ChatServer, answer: &str) -> bool {
    server.sent().iter().any(|text| text == answer)
}

fn all_ended(stage: &Stage, channel: Channel) -> bool {
    let all = stage.store().all_chat(channel).unwrap();
    all.iter().all(|it| it.state == ChatState::Ended)
}

/// Creates a task and sends its agent a message, with a death at this mark; returns the marks that
/// were reached.
fn play<S: ChatServer>(death: Option<usize>) -> Vec<String> {
    let (stage, server) = S::stage();
    stage.script("worker-1", "sleep 60");
    let deaths: Vec<usize> = death.into_iter().collect();
    set_crash_marks(&stage, &COMMITS_AND_EFFECTS, &deaths);
    server.write("new Fix the door");
    let mut service = Service::start(&stage);
    service.wait_for("the first answer", || !server.sent().is_empty());
    let created = tasks(&stage);
    assert_eq!(created.len(), 1, "{death:?}: {created:?}");
    let id: &TaskId = &created[0];
    let created = format!("created task {id}");
    assert!(
        is_answered(&server, &created),
        "{death:?}: {:?}",
        server.sent()
    );
    service.wait_for("the agent", || {
        let task = stage.task(id);
        task.status.as_str() == "working" && task.pending.is_empty()
    });
    server.write(&format!("tell {id} use oil"));
    let told = format!("sent to the agent of {id}");
    service.wait_for("the second answer", || is_answered(&server, &told));
    service.wait_for("the end of both", || {
        all_ended(&stage, S::CHANNEL) && stage.task(id).pending.is_empty()
    });
    drop(service);
    let reached = reached_marks(&stage);
    let case = format!("{death:?}: {reached:?}");
    assert_eq!(tasks(&stage), std::slice::from_ref(id), "{case}");
    assert_eq!(messages(&stage, id, S::CHANNEL).len(), 1, "{case}");
    assert_eq!(stage.store().runs(id).unwrap().len(), 1, "{case}");
    // Only an answer that was being sent may arrive a second time.
    for answer in [created, told] {
        let sent = server.sent();
        let count = sent.iter().filter(|it| **it == answer).count();
        let may_repeat = S::REPEATS && death.is_some();
        assert!(count == 1 || count == 2 && may_repeat, "{case}");
    }
    assert!(server.sent().len() <= 2 + deaths.len(), "{case}");
    reached
}

const PARTS: usize = 8;

fn die_at(part: usize) {
    let reached = play::<TelegramServer>(None);
    assert!(reached.len() >= 16, "{reached:?}");
    for death in (0..reached.len()).filter(|death| death % PARTS == part) {
        play::<TelegramServer>(Some(death));
    }
}

/// Both channels record, obey and answer with the same code, so a few deaths are enough here.
#[test]
fn an_answer_on_matrix_arrives_once_wherever_a_process_dies() {
    let reached = play::<MatrixServer>(None);
    assert!(reached.len() >= 16, "{reached:?}");
    for death in (0..reached.len()).step_by(reached.len() / 5) {
        play::<MatrixServer>(Some(death));
    }
}

macro_rules! parts {
    ($($number:literal $name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                die_at($number);
            }
        )*
    };
}

parts! {
    0 every_death_around_a_command_0,
    1 every_death_around_a_command_1,
    2 every_death_around_a_command_2,
    3 every_death_around_a_command_3,
    4 every_death_around_a_command_4,
    5 every_death_around_a_command_5,
    6 every_death_around_a_command_6,
    7 every_death_around_a_command_7,
}

//! Commands from Telegram: who may give them; each is obeyed once.

use std::fs;
use std::thread;
use std::time::Duration;

use orange_engine::chat::channel::Channel;
use orange_engine::names::ProjectName;
use orange_store::ChatState;
use serde_json::json;

use super::{messages, tasks, write_token};
use crate::support::telegram_server::{TOKEN, TelegramServer};
use crate::support::{RunningSupervisor, Stage, wait_for, way};

/// The user that may give commands.
pub const ADA: i64 = 7;
const EVE: i64 = 8;

/// Sets Telegram up, with these ids on the allow-list.
fn set_up(stage: &Stage, server: &TelegramServer, allow: &str) {
    let token = write_token(stage, TOKEN);
    let config = format!(
        "[chat.telegram]\nserver = \"{}\"\ntoken_file = \"{}\"\nallow = [{allow}]\n",
        server.address(),
        token.display()
    );
    fs::write(stage.path("home/config.toml"), config).unwrap();
}

pub fn stage() -> (Stage, TelegramServer) {
    let (stage, server) = (Stage::new("minimal"), TelegramServer::start());
    set_up(&stage, &server, "\"7\"");
    (stage, server)
}

/// Writes a message and returns its answer.
fn ask(server: &TelegramServer, text: &str) -> String {
    let before = server.sent().len();
    server.write(ADA, text);
    wait_for("an answer", || server.sent().len() > before);
    server.sent().pop().unwrap().1
}

#[test]
fn lesson_110_commands_of_strangers_are_never_obeyed_and_an_empty_list_means_no_one() {
    let (stage, server) = stage();
    set_up(&stage, &server, "");
    server.write(ADA, "new Never");
    let supervisor = RunningSupervisor::start(&stage);
    thread::sleep(Duration::from_secs(2));
    assert_eq!(server.requests().len(), 0, "no one is listened to");
    drop(supervisor);
    set_up(&stage, &server, "\"7\"");
    server.write(EVE, "new Evil");
    server.write_with(ADA, "new Evil", &json!({ "forward_date": 1 }));
    let bot = json!({ "id": ADA, "is_bot": true });
    server.write_with(ADA, "new Evil", &json!({ "from": bot }));
    let group = json!({ "id": -9, "type": "group" });
    server.write_with(ADA, "/orange new Evil", &json!({ "chat": group }));
    server.write(ADA, "list");
    let _supervisor = RunningSupervisor::start(&stage);
    wait_for("answers", || server.sent().len() == 2);
    let created = tasks(&stage);
    assert_eq!(created.len(), 1, "{created:?}");
    let task = stage.task(&created[0]);
    assert_eq!(task.summary, "Never");
    assert_eq!(server.sent_to("7").len(), 2, "{:?}", server.sent());
    let all = stage.store().all_chat(Channel::Telegram).unwrap();
    let ignored = all.iter().filter(|it| it.state == ChatState::Ignored);
    assert_eq!(ignored.count(), 4);
    assert!(all.iter().all(|it| it.text.is_none()), "{all:?}");
    let log = fs::read_to_string(stage.path("home/orange.log")).unwrap();
    assert!(log.contains("chat.ignored"), "{log}");
    assert_eq!(server.problems(), Vec::<String>::new());
}

#[test]
fn each_command_is_answered_and_what_only_the_user_may_do_is_not_done() {
    let (stage, server) = stage();
    stage.script("worker-1", "sleep 60");
    let _supervisor = RunningSupervisor::start(&stage);
    assert_eq!(ask(&server, "list"), "there are no unfinished tasks");
    let answer = ask(&server, "new Fix the door\nIt squeaks.");
    let [id] = tasks(&stage).try_into().unwrap();
    assert_eq!(answer, format!("created task {id}"));
    assert!(stage.task_text(&id).contains("It squeaks."));
    stage.wait_for_status(&id, "working");
    let listed = ask(&server, "list");
    assert!(listed.contains(&format!("{id} working")), "{listed}");
    assert!(listed.contains("Fix the door"), "{listed}");
    let shown = ask(&server, &format!("show {id}"));
    assert!(shown.contains("project app, branch"), "{shown}");
    let why = ask(&server, &format!("why {id}"));
    assert!(why.contains("in `working` since"), "{why}");
    let told = ask(&server, &format!("tell {id} use oil"));
    assert_eq!(told, format!("sent to the agent of {id}"));
    let told = messages(&stage, &id, Channel::Telegram);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("From 7 by Telegram (message "),
        "{told:?}"
    );
    assert!(told[0].ends_with("\nuse oil"), "{told:?}");
    for command in ["merge", "cancel", "retry", "unblock"] {
        let state = || (way(&stage, &id), stage.task(&id).runs);
        let before = state();
        let answer = ask(&server, &format!("{command} {id}"));
        assert!(answer.contains("not possible from a chat"), "{answer}");
        assert!(answer.contains("run:\norange "), "{answer}");
        assert_eq!(state(), before, "{command}");
    }
    let answer = ask(&server, "why zzzz");
    assert!(answer.contains("there is no task `zzzz`"), "{answer}");
    // The answer says nothing about this machine.
    let home = stage.path("").display().to_string();
    for (_, text) in server.sent() {
        assert!(!text.contains(home.trim_end_matches('/')), "{text}");
    }
}

#[test]
fn a_command_is_obeyed_once_whatever_is_killed_or_repeated() {
    let (stage, server) = stage();
    stage.script("worker-1", "sleep 60");
    server.replay();
    server.write(ADA, "new Fix the door");
    for round in 0..6 {
        let supervisor = RunningSupervisor::start(&stage);
        thread::sleep(Duration::from_millis(120 * round));
        supervisor.kill();
    }
    let supervisor = RunningSupervisor::start(&stage);
    wait_for("the answer", || !server.sent().is_empty());
    let [id] = tasks(&stage).try_into().unwrap();
    stage.wait_for_status(&id, "working");
    drop(supervisor);
    server.write(ADA, &format!("tell {id} use oil"));
    for round in 0..4 {
        let supervisor = RunningSupervisor::start(&stage);
        thread::sleep(Duration::from_millis(150 * round));
        supervisor.kill();
    }
    let _supervisor = RunningSupervisor::start(&stage);
    let told = format!("sent to the agent of {id}");
    wait_for("the answer", || server.sent_to("7").contains(&told));
    thread::sleep(Duration::from_secs(1));
    assert_eq!(tasks(&stage), std::slice::from_ref(&id));
    assert_eq!(messages(&stage, &id, Channel::Telegram).len(), 1);
}

#[test]
fn a_busy_server_is_left_alone_and_a_failing_one_stops_no_task() {
    let (stage, server) = stage();
    server.be_busy(3);
    server.write(ADA, "list");
    let _supervisor = RunningSupervisor::start(&stage);
    wait_for("an answer", || !server.sent().is_empty());
    let requests = server.requests();
    let pause = requests[1].0.duration_since(requests[0].0);
    assert!(pause >= Duration::from_secs(3), "{pause:?}");
    // A wrong token: the channel fails, tasks do not.
    fs::write(stage.path("token"), "4711:wrong-canary-token").unwrap();
    stage.script("worker-1", "true");
    let id = stage.create(&["One"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "working");
}

#[test]
fn the_token_is_shown_nowhere() {
    let (stage, server) = stage();
    let supervisor = RunningSupervisor::start(&stage);
    ask(&server, &format!("new Keep {TOKEN} secret"));
    let listed = ask(&server, "list");
    assert!(!listed.contains("canary"), "{listed}");
    drop(supervisor);
    let settings = stage.run_ok(&["config", "show"]);
    assert!(settings.contains("chat.telegram.token_file"), "{settings}");
    assert!(!settings.contains("canary"), "{settings}");
    fs::write(stage.path("token"), "4711:wrong-canary-token").unwrap();
    let (_, doctor) = stage.call(&["doctor"]);
    assert!(doctor.contains("Telegram"), "{doctor}");
    assert!(doctor.contains("rejected the token"), "{doctor}");
    assert!(!doctor.contains("canary"), "{doctor}");
    let log = fs::read_to_string(stage.path("home/orange.log")).unwrap();
    let lines = log.lines().filter(|it| it.contains("canary"));
    assert_eq!(lines.count(), 0, "{log}");
}

#[test]
fn a_channel_sees_only_its_projects() {
    let (stage, server) = stage();
    let config = fs::read_to_string(stage.path("home/config.toml")).unwrap();
    let config = format!("{config}projects = [\"other\"]\n");
    fs::write(stage.path("home/config.toml"), config).unwrap();
    let id = stage.create(&["A private task"]);
    let _supervisor = RunningSupervisor::start(&stage);
    assert_eq!(ask(&server, "list"), "there are no unfinished tasks");
    for command in ["show", "why"] {
        let answer = ask(&server, &format!("{command} {id}"));
        assert_eq!(
            answer,
            format!("there is no task `{id}` here; `list` shows the tasks")
        );
    }
    let answer = ask(&server, "new --project app Sneak in");
    assert!(
        answer.contains("there is no project `app` here"),
        "{answer}"
    );
    assert_eq!(ask(&server, "new Sneak in"), "there is no project");
    assert_eq!(tasks(&stage), [id]);
    assert_eq!(
        stage.task(&tasks(&stage)[0]).project,
        ProjectName::new("app")
    );
}

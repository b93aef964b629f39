//! Commands from Matrix, where the real server cannot be made to fail.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use orange_engine::chat::channel::Channel;

use super::{messages, tasks, write_token};
use crate::support::matrix_server::{ANN, MatrixServer, ROOM, TOKEN};
use crate::support::{RunningSupervisor, Stage, wait_for};

/// Sets Matrix up, with these users on the allow-list.
fn set_up(stage: &Stage, server: &MatrixServer, allow: &str) {
    let token = write_token(stage, TOKEN);
    let config = format!(
        "[chat.matrix]\nserver = \"{}\"\ntoken_file = \"{}\"\nallow = [{allow}]\n\
         rooms = [\"{ROOM}\"]\n",
        server.address(),
        token.display()
    );
    fs::write(stage.path("home/config.toml"), config).unwrap();
}

pub fn stage() -> (Stage, MatrixServer) {
    let (stage, server) = (Stage::new("minimal"), MatrixServer::start());
    set_up(&stage, &server, &format!("\"{ANN}\""));
    (stage, server)
}

fn position(stage: &Stage) -> Option<String> {
    let place = "matrix/@bot:example.org";
    stage.store().chat_position(place).unwrap()
}

/// A supervisor that has begun to listen: what is written from now on counts.
pub fn listen(stage: &Stage) -> RunningSupervisor {
    let supervisor = RunningSupervisor::start(stage);
    wait_for("the first request", || position(stage).is_some());
    supervisor
}

/// Writes a message and returns its answer.
fn ask(server: &MatrixServer, text: &str) -> String {
    let before = server.sent().len();
    server.write(text);
    wait_for("an answer", || server.sent().len() > before);
    server.sent().pop().unwrap()
}

#[test]
fn lesson_110_an_empty_list_of_matrix_users_means_no_one() {
    let (stage, server) = stage();
    set_up(&stage, &server, "");
    server.write("new Never");
    let supervisor = RunningSupervisor::start(&stage);
    thread::sleep(Duration::from_secs(2));
    assert_eq!(server.requests().len(), 0, "no one is listened to");
    drop(supervisor);
    let (_, doctor) = stage.call(&["doctor"]);
    assert!(
        doctor.contains("add the id of your account to `chat.matrix.allow`"),
        "{doctor}"
    );
    // What was written before the first request is not obeyed later either.
    set_up(&stage, &server, &format!("\"{ANN}\""));
    let _supervisor = listen(&stage);
    assert_eq!(ask(&server, "list"), "there are no unfinished tasks");
    assert_eq!(server.sent().len(), 1);
    assert_eq!(tasks(&stage), []);
}

#[test]
fn an_answer_whose_confirmation_is_lost_arrives_once() {
    let (stage, server) = stage();
    let _supervisor = listen(&stage);
    server.lose(1);
    server.write("new Fix the door");
    wait_for("the second attempt", || {
        server.transactions().values().any(|it| *it == 2)
    });
    let [id] = tasks(&stage).try_into().unwrap();
    let created = format!("created task {id}");
    assert_eq!(server.sent(), [created.as_str()]);
    // Nothing is sent a third time.
    assert!(ask(&server, "list").contains("Fix the door"));
    assert_eq!(server.sent().len(), 2);
    assert_eq!(server.transactions()["orange-%24event0"], 2);
}

#[test]
fn a_command_from_matrix_is_obeyed_once_whatever_is_killed_or_repeated() {
    let (stage, server) = stage();
    stage.script("worker-1", "sleep 60");
    drop(listen(&stage));
    server.replay();
    server.write("new Fix the door");
    for round in 0..4 {
        let supervisor = RunningSupervisor::start(&stage);
        thread::sleep(Duration::from_millis(150 * round));
        supervisor.kill();
    }
    let supervisor = RunningSupervisor::start(&stage);
    wait_for("the answer", || !server.sent().is_empty());
    let [id] = tasks(&stage).try_into().unwrap();
    stage.wait_for_status(&id, "working");
    drop(supervisor);
    server.write(&format!("tell {id} use oil"));
    for round in 0..4 {
        let supervisor = RunningSupervisor::start(&stage);
        thread::sleep(Duration::from_millis(150 * round));
        supervisor.kill();
    }
    let _supervisor = RunningSupervisor::start(&stage);
    let told = format!("sent to the agent of {id}");
    wait_for("the answer", || server.sent().contains(&told));
    // The next command shows that everything before it was read again.
    ask(&server, "list");
    assert_eq!(server.sent().len(), 3, "{:?}", server.sent());
    assert_eq!(tasks(&stage), std::slice::from_ref(&id));
    let told = messages(&stage, &id, Channel::Matrix);
    assert_eq!(told.len(), 1, "{told:?}");
    let origin = "From @ann:example.org by Matrix (message $event1):";
    assert_eq!(told[0], format!("{origin}\nuse oil"));
}

#[test]
fn a_busy_homeserver_is_left_alone_and_a_hasty_one_is_not_asked_all_the_time() {
    let (stage, server) = stage();
    server.be_busy(2500);
    server.be_hasty();
    let _supervisor = listen(&stage);
    let requests = server.requests();
    let pause = requests[1].0.duration_since(requests[0].0);
    assert!(pause >= Duration::from_secs(3), "{pause:?}");
    // Each answer takes 200 ms, or a pause follows it.
    let (started, before) = (Instant::now(), server.requests().len());
    thread::sleep(Duration::from_secs(4));
    let asked = server.requests().len() - before;
    let most = 1 + started.elapsed().as_millis() / 200;
    assert!(asked <= usize::try_from(most).unwrap(), "{asked} requests");
    assert_eq!(ask(&server, "list"), "there are no unfinished tasks");
}

#[test]
fn the_token_of_matrix_is_shown_nowhere() {
    let (stage, server) = stage();
    let supervisor = listen(&stage);
    ask(&server, &format!("new Keep {TOKEN} secret"));
    let listed = ask(&server, "list");
    assert!(!listed.contains("canary"), "{listed}");
    drop(supervisor);
    let (_, doctor) = stage.call(&["doctor"]);
    assert!(doctor.contains("bot @bot:example.org"), "{doctor}");
    let settings = stage.run_ok(&["config", "show"]);
    assert!(settings.contains("chat.matrix.token_file"), "{settings}");
    assert!(!settings.contains("canary"), "{settings}");
    fs::write(stage.path("token"), "syt_wrong-canary-token").unwrap();
    let (_, doctor) = stage.call(&["doctor"]);
    assert!(doctor.contains("rejected the token"), "{doctor}");
    assert!(!doctor.contains("canary"), "{doctor}");
    let log = fs::read_to_string(stage.path("home/orange.log")).unwrap_or_default();
    let lines = log.lines().filter(|it| it.contains("canary"));
    assert_eq!(lines.count(), 0, "{log}");
}

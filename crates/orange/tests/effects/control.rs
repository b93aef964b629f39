//! The long-lived tmux control client: what it receives and leaves behind.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_effects::process::ProcessIdentity;
use orange_effects::tmux::{
    Control, ControlEvent, ListedPane, Pane, PaneEntry, PaneSnapshot, PaneState, Tmux, TmuxError,
};
use serde_json::json;

use crate::stage::{Run, Stage};

/// The time limit, for a loaded machine.
const SOON: Duration = Duration::from_mins(3);

/// An agent in its own session.
fn start(stage: &Stage, id: &str) -> Pane {
    stage.start(&Run {
        id,
        task: id,
        branch: id,
        ..Run::default()
    })
}

fn connect(tmux: &Tmux) -> (Control, Receiver<ControlEvent>) {
    let (sender, heard) = channel();
    let control = tmux.control(move |it| {
        let _nobody = sender.send(it);
    });
    (control.unwrap(), heard)
}

fn wait_for_snapshot(control: &mut Control, events: &Receiver<ControlEvent>) -> PaneSnapshot {
    control.request_panes().unwrap();
    loop {
        match events.recv_timeout(SOON).unwrap() {
            ControlEvent::Panes(roll) => return roll.unwrap(),
            ControlEvent::Changed => {}
            ControlEvent::Ended => panic!("the connection has ended"),
        }
    }
}

#[test]
fn a_control_client_answers_like_a_call_and_reports_closed_windows() {
    let stage = Stage::new();
    let first = start(&stage, "a");
    let second = start(&stage, "b");
    let (mut control, heard) = connect(&stage.tmux);
    let listing = stage.tmux.list().unwrap();
    let called = |listed: &ListedPane| PaneEntry {
        pane: listed.pane,
        pid: listed.pid,
        is_running: listed.state == PaneState::Running,
        run: listed.run.clone(),
    };
    let expected = PaneSnapshot {
        panes: listing.panes.iter().map(called).collect(),
        server: listing.server,
    };
    assert_eq!(wait_for_snapshot(&mut control, &heard), expected);
    assert_eq!(expected.panes.len(), 2);
    stage.raw_tmux(&["kill-window", "-t", &second.window.to_string()]);
    let mut events = std::iter::from_fn(|| heard.recv_timeout(SOON).ok());
    assert!(
        events.any(|it| matches!(it, ControlEvent::Changed)),
        "no notification"
    );
    // With the last session the server may exit, and with it the connection.
    stage.raw_tmux(&["kill-session", "-t", &first.session.to_string()]);
    assert!(
        events.any(|it| matches!(it, ControlEvent::Ended)),
        "no notification"
    );
}

#[test]
fn a_control_client_starts_no_server() {
    let stage = Stage::new();
    let (_control, heard) = connect(&stage.tmux);
    let event = heard.recv_timeout(SOON).unwrap();
    assert!(matches!(event, ControlEvent::Ended), "{event:?}");
    assert!(stage.tmux.list().is_err(), "a server runs");
}

#[test]
fn lesson_44_unused_clients_exit() {
    let stage = Stage::new();
    start(&stage, "a");
    for _ in 0..20 {
        let (mut control, heard) = connect(&stage.tmux);
        wait_for_snapshot(&mut control, &heard);
        drop(control);
    }
    assert_eq!(stage.raw_tmux(&["list-clients"]), "");
    assert_eq!(
        stage.tmux.list().unwrap().panes.len(),
        1,
        "the server lives"
    );
}

/// A control client that claims to belong to this listener process, on this socket.
fn client(stage: &Stage, listener: &ProcessIdentity, socket: &str) -> Child {
    let said = json!({ "process": listener, "socket": stage.path(socket) });
    let mut tmux = Command::new("tmux");
    tmux.arg("-S").arg(stage.path("s"));
    tmux.args(["-N", "-C", "attach-session"]).env_remove("TMUX");
    tmux.env("ORANGE_LISTENER", said.to_string());
    tmux.stdin(Stdio::piped()).stdout(Stdio::piped());
    tmux.spawn().unwrap()
}

#[test]
fn only_a_client_without_a_listener_is_told_to_exit() {
    let stage = Stage::new();
    start(&stage, "a");
    let mut killed = Command::new("sleep").arg("600").spawn().unwrap();
    let gone = ProcessIdentity::of(killed.id()).unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    let own = ProcessIdentity::of(std::process::id()).unwrap();
    let (mut control, heard) = connect(&stage.tmux);
    let mut abandoned = client(&stage, &gone, "s");
    let mut others = [
        client(&stage, &own, "s"),
        client(&stage, &gone, "elsewhere"),
    ];
    let attached = || stage.raw_tmux(&["list-clients"]).lines().count();
    assert!(Deadline::after(SOON).wait_for(|| attached() == 4));

    assert_eq!(stage.tmux.end_abandoned_clients().unwrap(), 1);
    let has_ended = |child: &mut Child| child.try_wait().unwrap().is_some();
    assert!(Deadline::after(SOON).wait_for(|| has_ended(&mut abandoned)));
    assert!(Deadline::after(SOON).wait_for(|| attached() == 3));
    assert_eq!(stage.tmux.end_abandoned_clients().unwrap(), 0);
    assert!(!others.iter_mut().any(has_ended));
    assert_eq!(wait_for_snapshot(&mut control, &heard).panes.len(), 1);
    for mut other in others {
        drop(other.stdin.take());
        other.wait().unwrap();
    }
}

#[test]
fn clients_connect_while_sessions_change_and_the_server_survives() {
    let stage = Stage::new();
    start(&stage, "base");
    let before = stage.tmux.list().unwrap().server;
    let tmux = stage.tmux.clone();
    let connecting = std::thread::spawn(move || {
        for _ in 0..60 {
            let (mut control, heard) = connect(&tmux);
            wait_for_snapshot(&mut control, &heard);
        }
    });
    let mut number = 0;
    while !connecting.is_finished() {
        number += 1;
        let id = format!("r{number}");
        start(&stage, &id);
        stage.kill(&id);
    }
    connecting.join().unwrap();
    assert!(number > 3, "{number} sessions");
    assert_eq!(stage.tmux.list().unwrap().server, before);
}

#[test]
fn a_server_that_hung_survives_the_clients_that_gave_up() {
    let stage = Stage::new();
    start(&stage, "base");
    let before = stage.tmux.list().unwrap().server;
    let process = rustix::process::Pid::from_raw(before.process.pid.cast_signed()).unwrap();
    let signal = |it| rustix::process::kill_process(process, it).unwrap();
    let (mut control, heard) = connect(&stage.tmux);
    wait_for_snapshot(&mut control, &heard);
    signal(rustix::process::Signal::STOP);
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let tmux = stage.tmux.clone();
            std::thread::spawn(move || tmux.control(|_| ()).is_err())
        })
        .collect();
    control.disconnect();
    for client in clients {
        assert!(client.join().unwrap(), "connected to a server that hangs");
    }
    signal(rustix::process::Signal::CONT);
    let (mut control, heard) = connect(&stage.tmux);
    wait_for_snapshot(&mut control, &heard);
    assert_eq!(stage.tmux.list().unwrap().server, before);
}

#[test]
fn a_server_without_sessions_shows_no_screens() {
    let stage = Stage::new();
    stage.start(&Run::default());
    stage.kill("r1");
    assert_eq!(stage.tmux.list().unwrap().panes, []);
    let screens = stage.tmux.screens();
    assert!(
        matches!(screens, Err(TmuxError::Disconnected(_))),
        "{screens:?}"
    );
}

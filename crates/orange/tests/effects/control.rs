//! The lasting client of tmux: what it hears and leaves.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use orange::effects::tmux::{Control, Heard, Listing, Pane, Tmux};

use crate::stage::{Run, Stage};

/// How long a loaded machine may take.
const SOON: Duration = Duration::from_mins(1);

/// An agent in a session of its own.
fn start(stage: &Stage, id: &str) -> Pane {
    stage.start(&Run {
        id,
        task: id,
        branch: id,
        ..Run::default()
    })
}

fn connect(tmux: &Tmux) -> (Control, Receiver<Heard>) {
    let (sender, heard) = channel();
    let control = tmux.control(move |it| {
        let _nobody = sender.send(it);
    });
    (control.unwrap(), heard)
}

fn listing(control: &mut Control, heard: &Receiver<Heard>) -> Listing {
    control.ask_for_listing().unwrap();
    loop {
        match heard.recv_timeout(SOON).unwrap() {
            Heard::Listing(listing) => return listing.unwrap(),
            Heard::Changed => {}
            Heard::Ended => panic!("the connection has ended"),
        }
    }
}

#[test]
fn it_shows_what_a_call_shows_and_hears_what_goes() {
    let stage = Stage::new();
    let first = start(&stage, "a");
    let second = start(&stage, "b");
    let (mut control, heard) = connect(&stage.tmux);
    assert_eq!(listing(&mut control, &heard), stage.tmux.list().unwrap());
    let windows = listing(&mut control, &heard).panes.len();
    assert_eq!(windows, 2);
    stage.raw_tmux(&["kill-window", "-t", &second.window.to_string()]);
    let mut told = std::iter::from_fn(|| heard.recv_timeout(SOON).ok());
    assert!(told.any(|it| matches!(it, Heard::Changed)), "nobody told");
    // With the last session the server may end, and with it the connection.
    stage.raw_tmux(&["kill-session", "-t", &first.session.to_string()]);
    assert!(told.any(|it| matches!(it, Heard::Ended)), "nobody told");
}

#[test]
fn where_no_server_is_none_is_started() {
    let stage = Stage::new();
    let (_control, heard) = connect(&stage.tmux);
    let told = heard.recv_timeout(SOON).unwrap();
    assert!(matches!(told, Heard::Ended), "{told:?}");
    assert!(stage.tmux.list().is_err(), "a server runs");
}

#[test]
fn lesson_44_clients_end_when_nobody_needs_them() {
    let stage = Stage::new();
    start(&stage, "a");
    for _ in 0..20 {
        let (mut control, heard) = connect(&stage.tmux);
        listing(&mut control, &heard);
        drop(control);
    }
    assert_eq!(stage.raw_tmux(&["list-clients"]), "");
    assert_eq!(
        stage.tmux.list().unwrap().panes.len(),
        1,
        "the server lives"
    );
}

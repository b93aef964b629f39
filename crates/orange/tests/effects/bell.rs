//! The bell, which rings in terminals and nowhere else.

use std::process::Command;
use std::sync::mpsc::channel;

use orange_config::Environment;

use crate::stage::{Run, Stage, wait_for};

/// Whether the user's terminal has rung.
fn has_rung(stage: &Stage) -> bool {
    let mut outer = Command::new("tmux");
    outer.arg("-S").arg(stage.path("outer"));
    outer.args(["list-windows", "-a", "-F", "#{window_bell_flag}"]);
    let output = outer.env_remove("TMUX").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim() == "1"
}

#[test]
fn the_bell_rings_for_terminals_but_not_for_control_clients() {
    let stage = Stage::new();
    assert_eq!(stage.tmux.ring().unwrap(), 0, "there is no server");
    let pane = stage.start(&Run::default());
    assert_eq!(stage.tmux.ring().unwrap(), 0, "no client is attached");

    let path = stage.environment.variable("PATH").unwrap();
    let environment = Environment::of([("PATH", path), ("TERM", "xterm".as_ref())]);
    stage.attach_in_terminal(&stage.tmux.attach(&pane, &environment));
    let (sender, _heard) = channel();
    let control = stage.tmux.control(move |it| {
        let _nobody = sender.send(it);
    });
    let clients = || stage.raw_tmux(&["list-clients"]).lines().count();
    wait_for("both clients", || clients() == 2);
    assert!(!has_rung(&stage));
    assert_eq!(stage.tmux.ring().unwrap(), 1);
    wait_for("the bell", || has_rung(&stage));
    drop(control);
}

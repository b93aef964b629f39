//! Showing an agent to a user, outside of tmux and inside.

use orange_config::Environment;
use orange_effects::tmux::Pane;

use crate::stage::{Run, Stage, wait_for};

fn clients(stage: &Stage) -> String {
    stage.raw_tmux(&["list-clients", "-F", "#{session_id} #{window_id}"])
}

fn environment(stage: &Stage, tmux: &str) -> Environment {
    let path = stage
        .environment
        .variable("PATH")
        .unwrap()
        .to_str()
        .unwrap();
    Environment::of([("PATH", path), ("TERM", "xterm"), ("TMUX", tmux)])
}

fn inside(pane: &Pane) -> String {
    format!(
        "{},{},0",
        pane.server.socket.display(),
        pane.server.process.pid
    )
}

#[test]
fn attach_shows_the_window_of_the_run() {
    let stage = Stage::new();
    stage.start(&Run::default());
    let reviewer = stage.start(&Run {
        id: "r2",
        window: "review-1",
        ..Run::default()
    });
    let other = stage.start(&Run {
        id: "r3",
        task: "t2",
        ..Run::default()
    });
    let attach = stage.tmux.attach(&reviewer, &environment(&stage, ""));
    assert!(!attach.is_switch);
    stage.attach_in_terminal(&attach);
    let seen = format!("{} {}", reviewer.session, reviewer.window);
    wait_for("the client", || clients(&stage) == seen);

    let switch = stage
        .tmux
        .attach(&other, &environment(&stage, &inside(&other)));
    assert!(switch.is_switch);
    switch.command.require_success().unwrap();
    let seen = format!("{} {}", other.session, other.window);
    wait_for("the switch", || clients(&stage) == seen);

    stage.close_terminal();
    assert!(stage.is_alive(&reviewer), "detaching kills no agent");
}

#[test]
fn attach_works_inside_another_server() {
    let stage = Stage::new();
    let pane = stage.start(&Run::default());
    for foreign in [
        "/elsewhere/default,1,0".to_owned(),
        format!("{},1,0", pane.server.socket.display()),
        format!("/elsewhere/default,{},0", pane.server.process.pid),
        "nonsense".to_owned(),
    ] {
        let attach = stage.tmux.attach(&pane, &environment(&stage, &foreign));
        assert!(!attach.is_switch, "{foreign}");
        assert!(attach.command.to_string().contains("attach-session"));
    }
    let attach = stage
        .tmux
        .attach(&pane, &environment(&stage, &inside(&pane)));
    assert!(attach.is_switch);
}

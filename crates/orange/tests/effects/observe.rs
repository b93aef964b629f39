//! Whether a run is alive: only hard evidence counts as a death.

use std::time::Duration;

use orange_config::Harness;
use orange_config::clock::Deadline;
use orange_effects::process::ProcessIdentity;
use orange_effects::tmux::{Observation, Pane, Socket, Tmux, TmuxError, observe};
use orange_engine::evidence::Evidence;

use crate::stage::{Part, Run, SOON, Stage};

fn unknown(observation: &Observation) -> &str {
    match observation {
        Observation::Unknown(why) => why,
        other => panic!("{other:?}"),
    }
}

fn wait_until(stage: &Stage, pane: &Pane, expected: &Observation) {
    let mut seen = stage.tmux.observe(pane);
    let in_time = Deadline::after(SOON).wait_for(|| {
        seen = stage.tmux.observe(pane);
        seen == *expected
    });
    assert!(in_time, "expected {expected:?}, saw {seen:?}");
}

#[test]
fn lesson_10_the_exit_of_the_agent_is_seen_with_its_code() {
    let stage = Stage::new();
    for (id, script, evidence) in [
        ("r1", "exit 0", Evidence::Exit { code: 0 }),
        ("r2", "exit 7", Evidence::Exit { code: 7 }),
        ("r3", "kill -9 $$", Evidence::Signal { signal: 9 }),
        ("r4", "kill -15 $$", Evidence::Signal { signal: 15 }),
    ] {
        let pane = stage.start(&Run {
            id,
            script,
            ..Run::default()
        });
        let dead = Observation::Dead(evidence);
        wait_until(&stage, &pane, &dead);
        assert_eq!(
            stage.tmux.observe(&pane),
            dead,
            "looking twice is looking once"
        );
    }
}

#[test]
fn lesson_10_leftover_processes_in_the_pane_do_not_hide_the_exit() {
    let stage = Stage::new();
    let pane = stage.start(&Run {
        script: "sh -c \"trap '' HUP; touch $OUT/left; exec sleep 1000\" & while ! [ -e $OUT/left ]; do :; done; exit 5",
        ..Run::default()
    });
    wait_until(
        &stage,
        &pane,
        &Observation::Dead(Evidence::Exit { code: 5 }),
    );
}

#[test]
fn lesson_11_a_dead_reviewer_beside_a_live_worker_is_seen() {
    let stage = Stage::new();
    let worker = stage.start(&Run::default());
    let reviewer = stage.start(&Run {
        id: "r2",
        role: Part::Reviewer,
        window: "review-1",
        script: "exit 3",
        ..Run::default()
    });
    wait_until(
        &stage,
        &reviewer,
        &Observation::Dead(Evidence::Exit { code: 3 }),
    );
    let look = stage.tmux.list();
    assert_eq!(observe(&worker, &look), Observation::Alive);
    assert_ne!(observe(&reviewer, &look), Observation::Alive);
}

#[test]
fn lesson_12_a_failed_check_is_not_a_death() {
    let stage = Stage::new();
    let pane = stage.start(&Run::default());
    let socket = || Socket::Private(stage.path("s"));
    for program in [
        "/bin/false",
        "/bin/echo",
        "/bin/true",
        "yes",
        "no-such-tmux",
    ] {
        let broken = Tmux::new(program, socket(), &stage.environment);
        let broken = broken.timeout(Duration::from_millis(200));
        unknown(&broken.observe(&pane));
    }
    // The agent exits while tmux does not answer: only tmux knows how, so that is not known yet.
    let ended = stage.start(&Run {
        id: "r2",
        script: "exit 4",
        ..Run::default()
    });
    wait_until(
        &stage,
        &ended,
        &Observation::Dead(Evidence::Exit { code: 4 }),
    );
    let broken = Tmux::new("false", socket(), &stage.environment);
    unknown(&broken.observe(&ended));
    assert_eq!(stage.tmux.observe(&pane), Observation::Alive);
}

#[test]
fn a_run_on_a_lost_server_is_gone_only_if_its_process_is() {
    let stage = Stage::new();
    let mortal = stage.start(&Run::default());
    let deaf = stage.start(&Run {
        id: "r2",
        script: "trap '' HUP; echo $$ >$OUT/new; mv $OUT/new $OUT/deaf; while :; do sleep 1; done",
        ..Run::default()
    });
    stage.wait_for_file("deaf");
    stage.kill_server();
    wait_until(&stage, &mortal, &Observation::Dead(Evidence::Environment));
    let why = stage.tmux.observe(&deaf);
    assert!(unknown(&why).contains("remain"), "{why:?}");
    stage.kill("r2");
    assert_eq!(
        stage.tmux.observe(&deaf),
        Observation::Dead(Evidence::Environment)
    );
}

#[test]
fn a_run_of_an_earlier_boot_is_gone() {
    let stage = Stage::new();
    let mut pane = stage.start(&Run::default());
    stage.kill_server();
    let earlier = |process: &ProcessIdentity| ProcessIdentity {
        boot: Some("an-earlier-boot".to_owned()),
        ..process.clone()
    };
    pane.server.process = earlier(&pane.server.process);
    // Any process may have the pid now, such as this one.
    pane.process = ProcessIdentity::of(std::process::id())
        .ok()
        .map(|it| earlier(&it));
    assert_eq!(
        stage.tmux.observe(&pane),
        Observation::Dead(Evidence::Environment)
    );
    pane.process = None;
    assert_eq!(
        stage.tmux.observe(&pane),
        Observation::Dead(Evidence::Environment)
    );
}

#[test]
fn a_closed_window_is_reported_as_closed() {
    let stage = Stage::new();
    let pane = stage.start(&Run::default());
    stage.raw_tmux(&["kill-window", "-t", &pane.window.to_string()]);
    wait_until(&stage, &pane, &Observation::Dead(Evidence::Closed));
    assert!(
        stage.tmux.list().unwrap().panes.is_empty(),
        "the server stays to tell"
    );
    let other = stage.start(&Run {
        id: "r2",
        ..Run::default()
    });
    stage.raw_tmux(&[
        "respawn-pane",
        "-k",
        "-t",
        &other.pane.to_string(),
        "sleep",
        "1000",
    ]);
    wait_until(&stage, &other, &Observation::Dead(Evidence::Closed));
}

#[test]
fn the_same_ids_of_another_server_are_another_run() {
    let stage = Stage::new();
    let old = stage.start(&Run::default());
    stage.kill_server();
    let new = stage.start(&Run {
        id: "r2",
        task: "t2",
        ..Run::default()
    });
    assert_eq!(
        (old.pane, old.window, old.session),
        (new.pane, new.window, new.session)
    );
    wait_until(&stage, &old, &Observation::Dead(Evidence::Environment));
    assert_eq!(stage.tmux.observe(&new), Observation::Alive);
    // And on the same server, a pane without the mark belongs to no run.
    stage.raw_tmux(&[
        "set-option",
        "-p",
        "-t",
        &new.pane.to_string(),
        "@orange_run",
        "r9",
    ]);
    assert!(unknown(&stage.tmux.observe(&new)).contains("lost the mark"));
    let refused = stage.tmux.paste(&new, "hello");
    assert!(
        matches!(refused, Err(TmuxError::NotOurs { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_missing_program_is_not_a_crash() {
    let stage = Stage::new();
    let program = stage.path("agent");
    std::os::unix::fs::symlink("/bin/echo", &program).unwrap();
    let text = format!(
        "name = \"x\"\nbinary = \"{}\"\n[args]\nfull = []",
        program.display()
    );
    let run = Run::default();
    let file = stage
        .launch_with(&run, &Harness::parse("x.toml", &text).unwrap())
        .unwrap();
    std::fs::remove_file(&program).unwrap();
    let pane = stage.try_start(&run, &file).unwrap().pane;
    wait_until(&stage, &pane, &Observation::Dead(Evidence::MissingProgram));
}

#[test]
fn strange_names_of_other_panes_are_ignored() {
    let stage = Stage::new();
    let pane = stage.start(&Run::default());
    for name in [
        "a:b:c",
        "pane:$1:@1:%1",
        "x\ny\tz",
        "🦀 ä",
        "",
        "#{pid}",
        "server:1:2",
    ] {
        stage.raw_tmux(&[
            "new-window",
            "-d",
            "-t",
            &format!("{}:", pane.session),
            "-n",
            name,
            "sleep",
            "1000",
        ]);
    }
    stage.raw_tmux(&["new-session", "-d", "-s", "session:1:2 🦀", "sleep", "1000"]);
    let listing = stage.tmux.list().unwrap();
    assert_eq!(listing.panes.len(), 9);
    assert_eq!(
        listing.panes.iter().filter(|it| it.run.is_some()).count(),
        1
    );
    assert_eq!(stage.tmux.observe(&pane), Observation::Alive);
}

//! Starting runs: sessions, windows, names, marks.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use orange_config::{Environment, Home};
use orange_effects::tmux::{Observation, Socket, Tmux, TmuxError};

use crate::stage::{Part, Run, Stage, wait_for};

#[test]
fn starting_twice_is_starting_once() {
    let stage = Stage::new();
    let run = Run::default();
    let file = stage.launch(&run);
    let first = stage.try_start(&run, &file).unwrap();
    let second = stage.try_start(&run, &file).unwrap();
    assert!(!first.already_existed && second.already_existed);
    assert_eq!(first.pane, second.pane);
    assert!(stage.is_alive(&first.pane));
    assert_eq!(stage.tmux.list().unwrap().panes.len(), 1);
    let written = serde_json::to_string(&first.pane).unwrap();
    assert_eq!(
        serde_json::from_str::<orange_effects::tmux::Pane>(&written).unwrap(),
        first.pane
    );
}

#[test]
fn a_failed_start_can_be_repeated() {
    let stage = Stage::new();
    let run = Run::default();
    let file = stage.launch(&run);
    let socket = Socket::Private(stage.path("s"));
    let broken = Tmux::new("false", socket.clone(), &stage.environment);
    stage.try_start_on(&broken, &run, &file).unwrap_err();
    let missing = Tmux::new("no-such-tmux", socket, &stage.environment);
    let error = stage.try_start_on(&missing, &run, &file).unwrap_err();
    assert!(
        error.to_string().contains("not found; install it"),
        "{error}"
    );
    assert!(!stage.path("s").exists());
    stage.try_start(&run, &file).unwrap();
}

#[test]
fn roles_of_a_task_share_a_session_and_have_a_window_each() {
    let stage = Stage::new();
    let worker = stage.start(&Run::default());
    let reviewer = stage.start(&Run {
        id: "r2",
        role: Part::Reviewer,
        window: "review-1",
        ..Run::default()
    });
    assert_eq!(worker.session, reviewer.session);
    assert_ne!(worker.window, reviewer.window);
    assert_eq!(
        (worker.window_name.as_str(), reviewer.window_name.as_str()),
        ("work", "review-1")
    );
    let other = stage.start(&Run {
        id: "r3",
        task: "t2",
        ..Run::default()
    });
    assert_ne!(other.session, worker.session);
    let listing = stage.tmux.list().unwrap();
    let marks: Vec<_> = listing
        .panes
        .iter()
        .map(|it| (it.run.clone(), it.task.clone(), it.role.clone()))
        .collect();
    let text = |it: &Option<orange_engine::names::TaskId>| it.as_ref().unwrap().to_string();
    assert_eq!(
        marks.iter().map(|it| text(&it.1)).collect::<Vec<_>>(),
        ["t1", "t1", "t2"]
    );
    assert!(marks.iter().all(|it| it.0.is_some() && it.2.is_some()));
}

#[test]
fn lesson_9_what_tmux_calls_the_session_is_stored() {
    let stage = Stage::new();
    let pane = stage.start(&Run {
        branch: "fix-v1.2:x",
        window: "a.b:c",
        ..Run::default()
    });
    assert_eq!(pane.session_name, "app/fix-v1_2_x");
    let shown = stage.raw_tmux(&["list-panes", "-a", "-F", "#{session_name} #{window_name}"]);
    assert_eq!(shown, format!("{} {}", pane.session_name, pane.window_name));
    assert!(stage.is_alive(&pane));
}

#[test]
fn lesson_16_a_leftover_session_blocks_no_start() {
    let stage = Stage::new();
    let ended = stage.start(&Run {
        id: "r1",
        script: "exit 1",
        ..Run::default()
    });
    wait_for("the first to end", || !stage.is_alive(&ended));
    // The same task again, and another task whose branch has the same name.
    let again = stage.start(&Run {
        id: "r2",
        ..Run::default()
    });
    let namesake = stage.start(&Run {
        id: "r3",
        task: "t2",
        ..Run::default()
    });
    assert_eq!(again.session, ended.session);
    assert_eq!(namesake.session_name, "app/fix@t2");
    assert!(stage.is_alive(&again) && stage.is_alive(&namesake));
}

#[test]
fn names_are_never_executed() {
    let stage = Stage::new();
    let trap = format!("#(touch${{IFS}}{})", stage.path("trap").display());
    let pane = stage.start(&Run {
        branch: &trap,
        window: &trap,
        ..Run::default()
    });
    stage.start(&Run {
        id: "r2",
        branch: &trap,
        window: &trap,
        ..Run::default()
    });
    assert!(!pane.session_name.contains('#'));
    // tmux runs commands in a name when it draws or lists the name.
    stage.raw_tmux(&["list-windows", "-a"]);
    stage.raw_tmux(&[
        "display-message",
        "-p",
        "-t",
        &pane.pane.to_string(),
        "#S #W",
    ]);
    assert!(!stage.path("trap").exists());
    for id in ["#(id)", "a;b", "a b", "a,b", "ä", "}"] {
        let run = Run {
            id,
            ..Run::default()
        };
        let refused = stage.try_start(&run, Path::new("/nowhere"));
        assert!(matches!(refused, Err(TmuxError::NotPlain { .. })), "{id}");
    }
}

#[test]
fn a_run_file_may_be_anywhere() {
    let stage = Stage::new();
    let run = Run {
        script: "echo $$ >$OUT/new; mv $OUT/new $OUT/started; exec sleep 1000",
        ..Run::default()
    };
    let file = stage.launch(&run);
    let odd = stage.path("a b/$(id)/#{pid}/'\"/;");
    fs::create_dir_all(&odd).unwrap();
    let moved = odd.join("run;");
    fs::rename(&file, &moved).unwrap();
    let pane = stage.try_start(&run, &moved).unwrap().pane;
    assert_eq!(stage.pid("started"), pane.process.unwrap().pid);
}

#[test]
fn the_server_starts_with_a_clean_environment() {
    let stage = Stage::new();
    stage.start(&Run::default());
    let global = stage.raw_tmux(&["show-environment", "-g"]);
    assert!(
        !global.contains("SECRET") && !global.contains("ORANGE_"),
        "{global}"
    );
}

#[test]
fn the_users_own_server_keeps_its_options() {
    let stage = Stage::new();
    stage.raw_tmux(&[
        "-f",
        "/dev/null",
        "new-session",
        "-d",
        "-s",
        "mine",
        "sleep",
        "1000",
    ]);
    let options = || {
        stage.raw_tmux(&["show-options", "-s"])
            + &stage.raw_tmux(&["show-options", "-g"])
            + &stage.raw_tmux(&["show-options", "-g", "-w"])
    };
    let before = options();
    let own = Tmux::new("tmux", Socket::Own(stage.path("s")), &stage.environment);
    let run = Run::default();
    let file = stage.launch(&run);
    let pane = stage.try_start_on(&own, &run, &file).unwrap().pane;
    assert_eq!(options(), before);
    assert!(stage.is_alive(&pane));
    stage.kill("r1");
    assert_eq!(stage.raw_tmux(&["list-sessions", "-F", "#S"]), "mine");
}

#[test]
fn the_home_need_not_exist_yet() {
    let stage = Stage::new();
    let home = Home::resolve(&stage.environment).unwrap();
    let socket = home.tmux_socket();
    assert!(!home.path().exists());
    let tmux = Tmux::new("tmux", Socket::Private(socket.clone()), &stage.environment);
    // The stage kills the server through this path.
    std::os::unix::fs::symlink(&socket, stage.path("s")).unwrap();
    let run = Run::default();
    let file = stage.launch(&run);
    let pane = stage.try_start_on(&tmux, &run, &file).unwrap().pane;
    assert_eq!(tmux.observe(&pane), Observation::Alive);
    let mode = fs::metadata(home.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn the_users_configuration_applies_below_what_agents_need() {
    let stage = Stage::new();
    let config = stage.path("tmux.conf");
    let text = "set -g prefix C-a\nset -g mouse on\nset -g destroy-unattached on\n\
                set -s exit-unattached on\nset -g status-left mine\nset -g base-index 5\n";
    fs::write(&config, text).unwrap();
    let socket = Socket::Private(stage.path("s"));
    let tmux = Tmux::new("tmux", socket, &stage.environment).config(Some(config));
    let run = Run::default();
    let file = stage.launch(&run);
    let pane = stage.try_start_on(&tmux, &run, &file).unwrap().pane;
    let option = |name: &str| stage.raw_tmux(&["show-options", "-g", "-v", name]);
    assert_eq!(
        (option("prefix"), option("mouse")),
        ("C-a".into(), "on".into())
    );
    assert_eq!(option("destroy-unattached"), "off");
    assert_eq!(
        stage.raw_tmux(&["show-options", "-s", "-v", "exit-unattached"]),
        "off"
    );
    // A user who attaches sees the task, and leaves with one key.
    let shown = stage.raw_tmux(&[
        "display-message",
        "-p",
        "-t",
        "=app/fix:",
        "#{T:status-left}",
    ]);
    assert!(shown.contains("t1") && shown.contains("fix"), "{shown}");
    assert!(option("status-right").contains("F12"));
    let keys = stage.raw_tmux(&["list-keys", "-T", "root", "F12"]);
    assert!(keys.contains("detach-client"), "{keys}");
    assert_eq!(tmux.observe(&pane), Observation::Alive);
}

#[test]
fn the_users_own_server_is_at_the_default_socket() {
    let user = rustix::process::getuid().as_raw();
    let at = |folder: &str| Socket::Own(format!("{folder}/tmux-{user}/default").into());
    let none: [(&str, &str); 0] = [];
    assert_eq!(Socket::of_user(&Environment::of(none)), at("/tmp"));
    let set = [("TMUX_TMPDIR", "/run/x"), ("TMUX", "/elsewhere,1,0")];
    assert_eq!(Socket::of_user(&Environment::of(set)), at("/run/x"));
}

#[test]
fn an_impossible_socket_is_reported() {
    let stage = Stage::new();
    let long = stage.path(&"x".repeat(120));
    let tmux = Tmux::new("tmux", Socket::Private(long), &stage.environment);
    let run = Run::default();
    let file = stage.launch(&run);
    let error = stage
        .try_start_on(&tmux, &run, &file)
        .unwrap_err()
        .to_string();
    assert!(error.contains("choose a shorter ORANGE_HOME"), "{error}");
}

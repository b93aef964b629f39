//! Ending runs: all their processes are killed, and no others.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use orange_effects::tmux::{Leftovers, Socket, Tmux, TmuxError};

use crate::stage::{IDLE, Part, Run, Stage, is_running, wait_for};

#[test]
fn lesson_8_a_session_with_the_same_prefix_is_not_killed() {
    let stage = Stage::new();
    let run = |id, task, branch, role, window| Run {
        id,
        task,
        role,
        branch,
        window,
        ..Run::default()
    };
    let fix = stage.start(&run("r1", "t1", "fix", Part::Worker, "work"));
    let fix_2 = stage.start(&run("r2", "t12", "fix-2", Part::Worker, "work"));
    let one = stage.start(&run("r11", "t1", "fix", Part::Reviewer, "review-1"));
    let ten = stage.start(&run("r111", "t1", "fix", Part::Reviewer, "review-10"));
    assert_eq!(
        (fix.session_name.as_str(), fix_2.session_name.as_str()),
        ("app/fix", "app/fix-2")
    );
    stage.kill("r1");
    assert!(!stage.is_alive(&fix));
    assert!(stage.is_alive(&fix_2) && stage.is_alive(&one) && stage.is_alive(&ten));
    stage.kill("r11");
    assert!(stage.is_alive(&fix_2) && stage.is_alive(&ten));
    stage.kill("r111");
    let sessions = stage.raw_tmux(&["list-sessions", "-F", "#S"]);
    assert_eq!(sessions, "app/fix-2", "a session goes with its last window");
}

#[test]
fn lesson_9_a_branch_with_dots_is_found_and_killed() {
    let stage = Stage::new();
    let pane = stage.start(&Run {
        branch: "fix-v1.2:x",
        ..Run::default()
    });
    assert_eq!(stage.kill("r1").panes, 1);
    assert!(!stage.is_alive(&pane));
    assert_eq!(stage.raw_tmux(&["list-sessions"]), "");
}

#[test]
fn lesson_15_no_process_survives() {
    let stage = Stage::new();
    let deaf = "trap \"\" HUP TERM INT; echo $$ >$OUT/$0.new; mv $OUT/$0.new $OUT/$0; while :; do sleep 1; done";
    let script = format!(
        "trap '' HUP\n\
         sh -c '{deaf}' child &\n\
         setsid sh -c '{deaf}' apart &\n\
         env -i OUT=$OUT sh -c '{deaf}' scrubbed &\n\
         env -i OUT=$OUT setsid sh -c '{deaf}' both &\n\
         echo $$ >$OUT/agent.new; mv $OUT/agent.new $OUT/agent\n\
         while :; do wait; done"
    );
    let pane = stage.start(&Run {
        script: &script,
        ..Run::default()
    });
    let bystander = stage.start(&Run {
        id: "r2",
        ..Run::default()
    });
    let names = ["child", "apart", "scrubbed", "both", "agent"];
    let pids = names.map(|name| stage.pid(name));
    let killed = stage.kill("r1");
    for (name, pid) in names.iter().zip(pids) {
        assert!(!is_running(pid), "{name} survived");
    }
    let Leftovers::Ended(ended) = killed.leftovers else {
        panic!("{killed:?}");
    };
    assert!(ended.len() >= pids.len());
    assert!(!stage.is_alive(&pane) && stage.is_alive(&bystander));
    let server = pane.server.process.pid;
    assert!(is_running(server), "the server is spared");
    let environ = fs::read(format!("/proc/{server}/environ")).unwrap();
    assert!(!String::from_utf8_lossy(&environ).contains("ORANGE_"));
    assert_eq!(stage.kill("r1").panes, 0, "killing twice is killing once");
}

#[test]
fn lesson_15_a_child_that_only_its_parent_knew_does_not_survive_it() {
    let stage = Stage::new();
    let child = "trap \"\" HUP; echo $$ >$OUT/new; mv $OUT/new $OUT/child; exec sleep 1000";
    let script = format!("env -i OUT=$OUT setsid sh -c '{child}' & {IDLE}");
    stage.start(&Run {
        script: &script,
        ..Run::default()
    });
    let child = stage.pid("child");
    stage.kill("r1");
    let survived = is_running(child);
    if survived {
        let _tidied = Command::new("kill")
            .args(["-9", &child.to_string()])
            .status();
    }
    assert!(
        !survived,
        "the agent went with its pane, and nothing else led to the child"
    );
}

#[test]
fn a_detached_process_does_not_belong_to_the_run() {
    let stage = Stage::new();
    stage.kill_on_drop("performer");
    let orange = env!("CARGO_BIN_EXE_orange");
    let performer = stage.id("performer");
    let script = format!(
        "env -i PATH=$PATH ORANGE_RUN_ID={performer} {orange} detach -- sleep 1000 >$OUT/new
         mv $OUT/new $OUT/performer; {IDLE}"
    );
    let pane = stage.start(&Run {
        script: &script,
        ..Run::default()
    });
    let performer = stage.pid("performer");
    stage.kill("r1");
    assert!(!stage.is_alive(&pane));
    assert!(
        is_running(performer),
        "the agent's death would end who performs it"
    );
}

#[test]
fn a_server_that_exits_with_its_last_window_is_not_a_failure() {
    let stage = Stage::new();
    let own = Tmux::new("tmux", Socket::Own(stage.path("s")), &stage.environment);
    let run = Run::default();
    let file = stage.launch(&run);
    stage.try_start_on(&own, &run, &file).unwrap();
    stage.kill_with(&own, "r1", None, None).unwrap();
    wait_for("the server to go", || {
        matches!(own.list(), Err(TmuxError::NoServer(_)))
    });
    stage.kill_with(&own, "r1", None, None).unwrap();
}

#[test]
fn processes_of_a_run_are_killed_without_its_server() {
    let stage = Stage::new();
    let pane = stage.start(&Run {
        script: "trap '' HUP; echo $$ >$OUT/new; mv $OUT/new $OUT/deaf; while :; do sleep 1; done",
        ..Run::default()
    });
    let pid = stage.pid("deaf");
    stage.kill_server();
    assert!(is_running(pid));
    assert_eq!(stage.kill("r1").panes, 0);
    assert!(!is_running(pid));
    assert_eq!(pane.process.unwrap().pid, pid);
}

#[test]
fn reused_ids_are_not_killed() {
    let stage = Stage::new();
    let old = stage.start(&Run::default());
    stage.kill_server();
    let new = stage.start(&Run {
        id: "r2",
        task: "t2",
        ..Run::default()
    });
    assert_eq!(old.pane, new.pane);
    stage.kill("r1");
    assert!(stage.is_alive(&new));
    let refused = stage.tmux.paste(&old, "hello");
    assert!(
        matches!(refused, Err(TmuxError::NotOurs { .. })),
        "{refused:?}"
    );
    let refused = stage.tmux.press_enter(&old);
    assert!(
        matches!(refused, Err(TmuxError::NotOurs { .. })),
        "{refused:?}"
    );
    assert_eq!(stage.raw_tmux(&["list-buffers"]), "");
}

#[test]
fn a_kill_that_fails_in_tmux_ends_the_processes_and_is_repeated() {
    let stage = Stage::new();
    let pane = stage.start(&Run::default());
    let socket = Socket::Private(stage.path("s"));
    let broken = Tmux::new("false", socket, &stage.environment);
    stage
        .kill_with(&broken, "r1", Some(&pane), None)
        .unwrap_err();
    assert!(
        !is_running(pane.process.unwrap().pid),
        "it must not go on working"
    );
    assert_eq!(stage.tmux.list().unwrap().panes.len(), 1);
    assert_eq!(stage.kill("r1").panes, 1);
    assert_eq!(stage.tmux.list().unwrap().panes.len(), 0);
}

#[test]
fn the_scrollback_is_kept() {
    let stage = Stage::new();
    let lines =
        "i=0; while [ $i -lt 300 ]; do echo \"line $i ä🦀\"; i=$((i+1)); done; touch $OUT/said; ";
    let script = format!("{lines}{IDLE}");
    stage.start(&Run {
        script: &script,
        ..Run::default()
    });
    stage.wait_for_file("said");
    wait_for("the last line", || {
        stage.raw_tmux(&["capture-pane", "-p"]).contains("line 299")
    });
    let file = stage.path("runs/r1/scrollback.txt");
    let killed = stage
        .kill_with(&stage.tmux, "r1", None, Some(&file))
        .unwrap();
    assert_eq!(killed.scrollback, None);
    let lines: Vec<String> = (0..300)
        .map(|number| format!("line {number} ä🦀"))
        .collect();
    let expected = lines.join(
        "
",
    ) + "
";
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    stage
        .kill_with(&stage.tmux, "r1", None, Some(&file))
        .unwrap();
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        expected,
        "a second kill keeps the first's"
    );
}

#[test]
fn a_scrollback_that_cannot_be_kept_stops_no_kill() {
    let stage = Stage::new();
    let pane = stage.start(&Run::default());
    fs::write(stage.path("file"), "").unwrap();
    let nowhere = stage.path("file/scrollback.txt");
    let killed = stage
        .kill_with(&stage.tmux, "r1", None, Some(&nowhere))
        .unwrap();
    assert!(killed.scrollback.unwrap().contains("cannot write"));
    assert!(!stage.is_alive(&pane));
}

#[test]
fn a_run_that_exited_is_cleaned_up_with_its_processes() {
    let stage = Stage::new();
    let pane = stage.start(&Run {
        script: "setsid sh -c 'echo $$ >$OUT/new; mv $OUT/new $OUT/left; exec sleep 1000' & \
                 while ! [ -e $OUT/left ]; do :; done; exit 0",
        ..Run::default()
    });
    let left = stage.pid("left");
    wait_for("the agent to end", || !stage.is_alive(&pane));
    wait_for("what it left", || is_running(left));
    assert_eq!(stage.kill("r1").panes, 1);
    assert!(!is_running(left));
}

#[test]
fn the_users_own_window_in_the_session_is_kept() {
    let stage = Stage::new();
    let pane = stage.start(&Run::default());
    stage.raw_tmux(&[
        "split-window",
        "-d",
        "-t",
        &pane.pane.to_string(),
        "sleep",
        "1000",
    ]);
    stage.kill("r1");
    let panes = stage.tmux.list().unwrap().panes;
    assert_eq!(panes.len(), 1);
    assert!(panes[0].run.is_none() && is_running(panes[0].pid));
}

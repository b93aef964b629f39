//! Nothing of a sandboxed agent is left, however it ends.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

use crate::fixture::{Around, Fixture, LEVELS, kill, processes_with, wait_for};

/// Starts seven processes that are hard to end, then runs the last line.
///
/// Each has a number in its arguments that no other process has.
const STUBBORN: &str = r#"
trap '' HUP INT TERM
sleep 1000.$PAIN &
setsid sleep 1000.$PAIN &
(setsid sh -c 'trap "" HUP INT TERM; sleep 1000.$PAIN & sleep 1000.$PAIN & wait' &) &
env -i setsid sh -c 'trap "" HUP INT TERM; exec sleep 1000.$1' sh $PAIN &
(env -i sleep 1000.$PAIN &)
nohup sleep 1000.$PAIN >/dev/null 2>&1 &
until [ "$(ps -e -o args= | grep -c "^sleep 1000.$PAIN")" -ge 7 ]; do sleep 0.02; done
echo ready > ready
"#;

const STAYS: &str = "while :; do sleep 1000; done";

struct StartedTree {
    fixture: Fixture,
    mark: String,
    exec_run: Child,
}

impl StartedTree {
    fn new(last: &str, around: Around) -> StartedTree {
        let fixture = Fixture::new();
        // `sleep` takes a number, so the letter in the mark becomes a digit.
        let mark = fixture.mark().replace('s', "7");
        let script = format!("PAIN={mark}; export PAIN\n{STUBBORN}{last}");
        let file = fixture.run_file(&script, around);
        let mut exec_run = fixture.exec_run(&file);
        // In a pane it leads its own session; here its own group is enough.
        let exec_run = exec_run.process_group(0).spawn().unwrap();
        fixture.wait_for_file("ready");
        StartedTree {
            mark: format!("1000.{mark}"),
            fixture,
            exec_run,
        }
    }

    fn survivors(&self) -> Vec<u32> {
        processes_with(&self.mark)
    }

    /// The process of bwrap, and process 1 below it.
    fn bwrap_and_init(&self) -> (u32, u32) {
        let child = |pid: u32| {
            let path = format!("/proc/{pid}/task/{pid}/children");
            let text = std::fs::read_to_string(path).unwrap();
            text.split_whitespace().next().unwrap().parse().unwrap()
        };
        let bwrap = child(self.exec_run.id());
        (bwrap, child(bwrap))
    }

    fn assert_gone(mut self, way: &str) {
        self.exec_run.wait().unwrap();
        wait_for(&format!("{way}: {:?}", self.survivors()), || {
            self.survivors().is_empty()
        });
    }
}

#[test]
fn without_a_sandbox_most_of_the_tree_survives() {
    let mut tree = StartedTree::new("exit 0", Around::Nothing);
    tree.exec_run.wait().unwrap();
    let survivors = tree.survivors();
    for pid in &survivors {
        kill("-9", *pid);
    }
    assert_eq!(survivors.len(), 7);
    drop(tree.fixture);
}

#[test]
fn nothing_survives_the_end_of_the_agent() {
    for around in LEVELS {
        StartedTree::new("exit 0", around).assert_gone("exit");
        StartedTree::new("kill -9 $$", around).assert_gone("kill -9 of itself");
    }
}

#[test]
fn nothing_survives_a_signal_to_exec_run() {
    for around in LEVELS {
        for signal in ["-TERM", "-HUP", "-KILL"] {
            let tree = StartedTree::new(STAYS, around);
            assert!(tree.survivors().len() >= 7);
            kill(signal, tree.exec_run.id());
            tree.assert_gone(signal);
        }
    }
}

#[test]
fn nothing_survives_the_death_of_bwrap_or_process_1() {
    for is_init in [false, true] {
        let tree = StartedTree::new(STAYS, Around::Sandbox);
        let (bwrap, init) = tree.bwrap_and_init();
        kill("-KILL", if is_init { init } else { bwrap });
        tree.assert_gone("kill -9 from outside");
    }
    // Inside, process 1 cannot be killed.
    let tree = StartedTree::new(
        "kill -9 1; kill -TERM 1; sleep 0.3; echo alive > alive; exec sleep 1000",
        Around::Sandbox,
    );
    tree.fixture.wait_for_file("alive");
    kill("-TERM", tree.exec_run.id());
    tree.assert_gone("SIGTERM");
}

#[test]
fn without_namespaces_the_death_of_init_ends_what_has_kept_its_variables() {
    let script = "PAIN=$PAIN sleep 1000.$MARK & env -i setsid sleep 1000.$MARK &\n\
                  until [ \"$(ps -e -o args= | grep -c \"^sleep 1000.$MARK\")\" -ge 2 ]; do sleep 0.02; done\n\
                  echo ready > ready; exec sleep 1000.$MARK";
    let fixture = Fixture::new();
    let mark = fixture.mark().replace('s', "7");
    let file = fixture.run_file(&format!("MARK={mark}\n{script}"), Around::Partial);
    let mut exec_run = fixture.exec_run(&file).process_group(0).spawn().unwrap();
    fixture.wait_for_file("ready");
    let mark = format!("1000.{mark}");
    let path = format!("/proc/{0}/task/{0}/children", exec_run.id());
    let init = std::fs::read_to_string(path).unwrap();
    kill("-KILL", init.trim().parse().unwrap());
    exec_run.wait().unwrap();
    let survivors = processes_with(&mark);
    for pid in &survivors {
        kill("-9", *pid);
    }
    assert_eq!(survivors.len(), 1, "the one without variables");
}

#[test]
fn an_agent_that_cleans_up_is_given_the_time() {
    let fixture = Fixture::new();
    let script = "trap 'sleep 0.5; echo clean > clean; exit 7' TERM\necho ready > ready\n\
                  while :; do sleep 0.05; done";
    for (around, to_all) in LEVELS.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        let file = fixture.run_file(script, around);
        let mut exec_run = fixture.exec_run(&file).process_group(0).spawn().unwrap();
        fixture.wait_for_file("ready");
        if to_all {
            // As orange ends a run: every process of it gets the signal.
            let mut all = Command::new("pkill");
            let group = exec_run.id().to_string();
            assert!(
                all.args(["-TERM", "-g", &group])
                    .status()
                    .unwrap()
                    .success()
            );
        } else {
            kill("-TERM", exec_run.id());
        }
        assert_eq!(
            exec_run.wait().unwrap().code(),
            Some(7),
            "{around:?}, to all: {to_all}"
        );
        fixture.wait_for_file("clean");
        for name in ["ready", "clean"] {
            std::fs::remove_file(fixture.path("w").join(name)).unwrap();
        }
    }
}

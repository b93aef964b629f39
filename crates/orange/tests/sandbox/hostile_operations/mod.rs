//! A hostile agent in its repository, with orange's commands in between.
//!
//! `HOSTILE_OPERATIONS` and `HOSTILE_SEED` choose how much is tried, and what.

mod user_state;

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::names::TaskId;

use crate::stories::{PROVE, stage};
use crate::support::{Stage, wait_for};
use user_state::UserState;

const OPERATIONS: &str = include_str!("operations.txt");

/// How many operations a test makes; there are two tests.
const COUNT: usize = 500;

/// How many of them one task makes, and how many come between two calls of orange.
const PER_TASK: usize = 100;
const PER_STEP: usize = 10;

/// How long a call of orange may take on a loaded machine.
const CALL: Duration = Duration::from_mins(1);

/// What each operation knows.
const WORDS: &str = "\
pick() { find \"$1\" -type f 2>/dev/null | sort | awk -v n=$N '{ all[NR] = $0 } END { print all[n % NR + 1] }'; }
";

/// A small generator: the same seed, the same operations.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

fn number(variable: &str, default: usize) -> usize {
    let value = std::env::var(variable).ok();
    value.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Calls orange as the user; fails if it does not return.
fn call(stage: &Stage, words: &[&str], after: &str) {
    let mut child = stage
        .orange(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut code = None;
    let has_returned = Deadline::after(CALL).wait_for(|| {
        code = child.try_wait().unwrap().map(|status| status.code());
        code.is_some()
    });
    if !has_returned {
        let _gone = child.kill();
        panic!("`orange {words:?}` does not return after:\n{after}");
    }
    // It may refuse or fail, and it does not crash.
    let code = code.flatten();
    assert!(
        matches!(code, Some(0 | 3 | 5 | 6)),
        "{words:?}: {code:?} after:\n{after}"
    );
}

/// A task whose agent does what `step-N` says, one after the other.
fn start(stage: &Stage, turn: usize) -> TaskId {
    let script = format!(
        "{PROVE}printf 'APPROACH: add\\nTOUCHING: work.txt\\n' | section Plan\n\
         ask task update --status working\n\
         cd \"$(git rev-parse --show-toplevel)\"\nexport G=$(git rev-parse --path-format=absolute --git-common-dir)\n\
         export SCRIPTS W=$(git rev-parse --path-format=absolute --git-dir) B=$(git branch --show-current)\n\
         export E=\"touch $HOME/evidence\"\nn=0\nwhile :; do n=$((n + 1)); pause step-{turn}-$n\n\
         sh $SCRIPTS/step-{turn}-$n > $SCRIPTS/said-{turn}-$n 2>&1 < /dev/null\n\
         give made-{turn}-$n < /dev/null\ndone\n"
    );
    stage.script(&format!("worker-{turn}"), &script);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "working");
    id
}

fn make_hostile_operations(seed: usize) {
    let stage = stage("default");
    let lines = OPERATIONS.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let operations: Vec<&str> = lines.collect();
    let mut numbers = Numbers(u64::try_from(number("HOSTILE_SEED", seed)).unwrap());
    let mut before = UserState::prepare(&stage);
    let count = number("HOSTILE_OPERATIONS", COUNT);
    let mut made = 0;
    for turn in 1..=count.div_ceil(PER_TASK) {
        let id = start(&stage, turn);
        if turn == 1 {
            // orange keeps TASK.md out of the user's commits.
            let own = vec!["file repo/.git/info/exclude"; 2];
            assert_eq!(before.differences(&stage), own);
            before = UserState::of(&stage);
        }
        for step in 1..=PER_TASK / PER_STEP {
            let mut script = String::from("find $G -type p -delete\n");
            let mut said = String::new();
            for _ in 0..PER_STEP {
                made += 1;
                let operation = operations[numbers.below(operations.len())];
                stage.script(
                    &format!("operation-{made}"),
                    &format!("{WORDS}{operation}\n"),
                );
                // git waits forever for a pipe in place of one of its files.
                writeln!(
                    script,
                    "N={made} timeout -k 1 3 sh $SCRIPTS/operation-{made}"
                )
                .unwrap();
                writeln!(said, "N={made}: {operation}").unwrap();
            }
            stage.script(&format!("step-{turn}-{step}"), &script);
            let mark = stage.path("scripts").join(format!("made-{turn}-{step}"));
            wait_for(&format!("the operations\n{said}"), || mark.exists());
            let words = [
                &["task", "diff", id.as_str()][..],
                &["task", "show", id.as_str()],
                &["task", "update", id.as_str(), "--priority", "3"],
                &["task", "complete", id.as_str()],
                &["attention"],
                &["task", "why", id.as_str()],
            ];
            call(&stage, words[numbers.below(words.len())], &said);
            call(&stage, words[0], &said);
            before.check(&stage, &said);
        }
        call(
            &stage,
            &["task", "cancel", id.as_str(), "--yes"],
            "everything",
        );
        stage.wait_until_idle(&id);
        before.check(&stage, "the end of the task");
    }
    assert!(made >= count);
    assert!(
        stage.path("scripts/proof").exists(),
        "it was not in a sandbox"
    );
    before.check_at_the_end(&stage);
}

#[test]
fn nothing_of_the_user_changes_0() {
    make_hostile_operations(1);
}

#[test]
fn nothing_of_the_user_changes_1() {
    make_hostile_operations(2);
}

#[test]
fn orange_does_not_wait_for_git_in_a_private_repository() {
    let stage = stage("default");
    UserState::prepare(&stage);
    let id = start(&stage, 1);
    let before = UserState::of(&stage);
    let pipes = "git commit -q --allow-empty -m new\n\
                 for name in config refs/heads/$B; do rm $G/$name; mkfifo $G/$name; done\n";
    stage.script("step-1-1", pipes);
    wait_for("the pipes", || stage.path("scripts/made-1-1").exists());
    call(&stage, &["task", "diff", id.as_str()], pipes);
    let log = fs::read_to_string(stage.home().log()).unwrap();
    assert!(log.contains("commits.not_imported"), "{log}");
    call(&stage, &["task", "cancel", id.as_str(), "--yes"], pipes);
    stage.wait_until_idle(&id);
    before.check_at_the_end(&stage);
}

/// The check above notices each of these, made outside.
#[test]
fn a_change_would_be_noticed() {
    let changes = [
        "git update-ref refs/heads/main kept",
        "git update-ref -d refs/heads/kept",
        "git tag new-tag",
        "git config core.editor evil",
        "echo x > .git/hooks/post-commit",
        "echo x > .git/info/attributes",
        "rm -f .git/objects/??/*",
        "touch planted",
        "echo x >> ../.bashrc",
        "touch ../evidence",
    ];
    for change in changes {
        let stage = Stage::sandboxed("default");
        let before = UserState::prepare(&stage);
        before.check(&stage, "nothing");
        let mut shell = Command::new("sh");
        shell.args(["-c", change]).current_dir(stage.path("repo"));
        shell.env_clear().envs(stage.environment.variables());
        assert!(shell.status().unwrap().success());
        let found = before.differences(&stage);
        assert!(!found.is_empty(), "{change}");
    }
}

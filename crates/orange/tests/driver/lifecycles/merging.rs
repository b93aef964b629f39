//! Parallel work: merges queue up, are verified, and sent back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::effect::{Effect, EffectOutcome};
use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_engine::task::PendingState;
use serde_json::json;

use crate::failures::deaths::{callers, kill, next};
use crate::support::{Stage, wait_for};

/// Adds an item and keeps the list and the count in step; an agent that is sent back merges first.
///
/// Two branches that both raise the count to the same number merge without a conflict, and the
/// result is wrong.
const WORKER: &str = r#"
if [ -e "items/$ORANGE_TASK_ID" ]; then
    cat "$prompt_file" >> "$SCRIPTS/prompts"
    git merge-base --is-ancestor main HEAD && cat "$prompt_file" >> "$SCRIPTS/needless"
    git merge -q main >/dev/null 2>&1
else
    echo x > "items/$ORANGE_TASK_ID"
fi
ls items > list.txt
ls items | wc -l > count.txt
git add -A
git commit -qm "Add $ORANGE_TASK_ID"
echo "DONE: $(git rev-parse HEAD)" | section Handoff
until ask task update --status reviewing; do sleep 0.05; done
"#;

const CHECK: &str =
    "test \"$(ls items | wc -l)\" -eq \"$(cat count.txt)\" && ls items | cmp - list.txt";

/// A project whose default branch satisfies [`CHECK`], and tasks in review that all add an item.
pub(super) fn reviewed_tasks(count: usize) -> (Stage, Vec<TaskId>) {
    let stage = Stage::new("minimal");
    stage.configure("pool_size", &json!(count));
    stage.configure("merge_verify", &json!(CHECK));
    fs::create_dir(stage.path("repo/items")).unwrap();
    for (file, text) in [
        ("items/0", "x\n"),
        ("list.txt", "0\n"),
        ("count.txt", "1\n"),
    ] {
        fs::write(stage.path("repo").join(file), text).unwrap();
    }
    stage.git_output("repo", "add -A");
    stage.git_output("repo", "commit -qm items");
    for turn in 1..=count * count + count {
        stage.script(&format!("worker-{turn}"), WORKER);
    }
    let mut ids = Vec::new();
    for number in 0..count {
        let id = stage.create(&[&format!("Add item {number}")]);
        stage.run_ok(&["task", "spawn", id.as_str()]);
        ids.push(id);
    }
    for id in &ids {
        stage.wait_for_status(id, "reviewing");
        stage.wait_until_idle(id);
    }
    (stage, ids)
}

pub(super) fn is_done(stage: &Stage, id: &TaskId) -> bool {
    stage.task(id).status.as_str() == "done"
}

/// The errors of merges that failed since the task entered its status.
fn failed_merge(stage: &Stage, id: &TaskId) -> Option<String> {
    stage
        .task(id)
        .pending
        .iter()
        .find_map(|it| match &it.state {
            PendingState::Failed { error } if matches!(it.planned.effect, Effect::Merge(_)) => {
                Some(error.clone())
            }
            _ => None,
        })
}

/// How often a merge of the task succeeded.
pub(super) fn merge_count(stage: &Stage, id: &TaskId) -> usize {
    let events = stage.store().events(id, 0).unwrap();
    let is_merge = |fact: &Fact| {
        let Fact::EffectDone { outcome, .. } = fact else {
            return false;
        };
        matches!(outcome, EffectOutcome::Merged(_))
    };
    events.iter().filter(|it| is_merge(&it.event.fact)).count()
}

/// Every state that the default branch ever had satisfies the command.
fn check_every_state_of_main(stage: &Stage) {
    let commits = stage.git_output("repo", "log --first-parent --format=%H main -- count.txt");
    for commit in commits.lines() {
        let copy = stage.path("copy");
        let _none = fs::remove_dir_all(&copy);
        stage.git_output("repo", "worktree prune");
        let add = format!("worktree add -q --detach ../copy {commit}");
        stage.git_output("repo", &add);
        let mut check = std::process::Command::new("sh");
        let status = check.args(["-c", CHECK]).current_dir(&copy).status();
        assert!(status.unwrap().success(), "{commit} fails the check");
    }
}

/// Merges, sends back what conflicts or fails, and merges again, until everything is merged.
fn merge_everything(stage: &Stage, ids: &[TaskId]) -> (usize, usize) {
    let (mut conflicts, mut failures) = (0, 0);
    let deadline = Deadline::after(Duration::from_secs(60 + 30 * ids.len() as u64));
    let mut answers = BTreeMap::new();
    while let Some(left) = ids.iter().find(|id| !is_done(stage, id)) {
        assert!(
            !deadline.has_passed(),
            "{}\nthe last answers: {answers:#?}\n{} is left",
            stage.diagnostics(left),
            stage.task(left).status
        );
        // An agent whose branch contains the default branch cannot have caused a failure.
        let needless = fs::read_to_string(stage.path("scripts/needless"));
        assert!(needless.is_err(), "sent back for nothing: {needless:?}");
        for id in ids {
            let task = stage.task(id);
            let is_reviewed = task.status.as_str() == "reviewing";
            let id = id.as_str();
            if let Some(error) = failed_merge(stage, &task.id).filter(|_| is_reviewed) {
                if error.contains("both branches changed") {
                    conflicts += 1;
                } else {
                    assert!(error.contains("on the merged result"), "{error}");
                    failures += 1;
                }
                let send = ["task", "request-changes", id, "--merge-failure"];
                let answer = stage.call(&[&send[..], &["--wait", "0"]].concat());
                answers.insert(task.id, answer);
            } else if task.pending.is_empty() {
                // A start that failed leaves the task in the queue, where a supervisor would find it.
                let verb = match task.status.as_str() {
                    "reviewing" => "merge",
                    "pending" => "spawn",
                    _ => continue,
                };
                let answer = stage.call(&["task", verb, id, "--wait", "0"]);
                answers.insert(task.id, answer);
            } else {
                // The process that performs it may have been killed; any command starts another.
                let summary = format!("{}.", task.summary);
                let update = ["task", "update", id, "--summary", &summary];
                let answer = stage.call(&[&update[..], &["--wait", "0"]].concat());
                answers.insert(task.id, answer);
            }
        }
        thread::sleep(Duration::from_millis(100));
    }
    (conflicts, failures)
}

fn check_all_merged(stage: &Stage, ids: &[TaskId]) {
    for id in ids {
        stage.wait_until_idle(id);
        assert_eq!(merge_count(stage, id), 1, "{}", stage.diagnostics(id));
    }
    let items = fs::read_dir(stage.path("repo/items")).unwrap();
    let items: BTreeSet<String> = items
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut expected: BTreeSet<String> = ids.iter().map(ToString::to_string).collect();
    expected.insert(String::from("0"));
    assert_eq!(items, expected);
    assert_eq!(stage.git_output("repo", "status --porcelain"), "");
    check_every_state_of_main(stage);
}

fn task_count(usual: usize) -> usize {
    let count = std::env::var("MERGE_QUEUE_TASKS").ok();
    count.map_or(usual, |count| count.parse().unwrap())
}

#[test]
fn parallel_work_is_merged_verified_and_sent_back_until_all_of_it_is_in() {
    let (stage, ids) = reviewed_tasks(task_count(4));
    let (conflicts, failures) = merge_everything(&stage, &ids);
    check_all_merged(&stage, &ids);
    println!("{conflicts} conflicts and {failures} failed verifications were sent back");
    assert!(conflicts + failures >= ids.len() - 1);
}

/// Ends the killing, also when the test fails.
struct CalmAfterwards<'a>(&'a AtomicBool);

impl Drop for CalmAfterwards<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn the_queue_survives_the_death_of_its_processes() {
    let (stage, ids) = reviewed_tasks(task_count(4));
    let is_calm = AtomicBool::new(false);
    let killed = AtomicUsize::new(0);
    thread::scope(|scope| {
        let _calm = CalmAfterwards(&is_calm);
        scope.spawn(|| {
            let mut state = 7;
            while !is_calm.load(Ordering::Relaxed) {
                // A pause that grows lets a slow machine finish a command in the end.
                let growth = killed.load(Ordering::Relaxed) as u64 * 20;
                let pause = 100 + next(&mut state) % (400 + growth);
                thread::sleep(Duration::from_millis(pause));
                let callers = callers(&stage);
                let chosen = usize::try_from(next(&mut state)).unwrap();
                if let Some(pid) = callers.get(chosen % callers.len().max(1)) {
                    kill(*pid);
                    killed.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        merge_everything(&stage, &ids);
    });
    // What the last death left is finished by one more command for each task.
    for id in &ids {
        stage.call(&["task", "update", id.as_str(), "--summary", "Added"]);
    }
    check_all_merged(&stage, &ids);
    let killed = killed.into_inner();
    println!("{killed} processes were killed");
    assert!(killed > 3, "only {killed} were killed");
}

/// Makes the task's branch add its item and nothing else, so that it conflicts with no other;
/// returns its commit.
fn leave_only_the_item(stage: &Stage, id: &TaskId) -> String {
    let worktree = stage.worktree(id);
    for arguments in [
        "checkout -q main^{/items} -- list.txt count.txt",
        "commit -q --amend -m item",
    ] {
        let output = stage.git_in(&worktree, arguments);
        assert!(output.status.success(), "{output:?}");
    }
    let head = stage.git_in(&worktree, "rev-parse HEAD").stdout;
    String::from_utf8(head).unwrap().trim().to_owned()
}

#[test]
fn merges_requested_at_once_are_made_one_after_the_other_in_order() {
    let (stage, ids) = reviewed_tasks(3);
    // The command holds a lock that a second one could not get, and writes down who had it.
    let order = stage.path("order");
    let command = format!(
        "mkdir {0}.lock && echo $ORANGE_TASK_ID >> {0} && until [ -e {0}.go ]; do sleep 0.1; done \
         && rmdir {0}.lock",
        order.display()
    );
    stage.configure("merge_verify", &json!(command));
    stage.configure("merge_strategy", &json!("squash"));
    for id in &ids {
        let head = leave_only_the_item(&stage, id);
        let merge = ["task", "merge", id.as_str(), "--head", &head, "--wait", "0"];
        let (code, output) = stage.call(&merge);
        assert_eq!(code, 5, "{output}");
    }
    let shown = || stage.call(&["task", "show", ids[2].as_str()]).1;
    wait_for("the queue", || shown().contains("waits for the merge of"));
    fs::write(order.with_extension("go"), "").unwrap();
    for id in &ids {
        wait_for("the merge", || is_done(&stage, id));
    }
    let order = fs::read_to_string(&order).unwrap();
    let expected: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
    assert_eq!(order.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_cancel_ends_a_verification() {
    let (stage, ids) = reviewed_tasks(1);
    let begun = stage.path("begun");
    let command = format!("touch {}; sleep 600", begun.display());
    stage.configure("merge_verify", &json!(command));
    let id = &ids[0];
    let main = stage.git_output("repo", "rev-parse main");
    let (code, output) = stage.call(&["task", "merge", id.as_str(), "--wait", "0"]);
    assert_eq!(code, 5, "{output}");
    assert!(
        output.contains("the merge continues in the background"),
        "{output}"
    );
    wait_for("the command", || begun.exists());
    stage.run_ok(&["task", "cancel", id.as_str(), "--yes"]);
    stage.wait_for_status(id, "cancelled");
    stage.wait_until_idle(id);
    assert_eq!(stage.git_output("repo", "rev-parse main"), main);
    assert_eq!(merge_count(&stage, id), 0);
}

#[test]
fn a_verification_meets_no_leftovers_of_another() {
    let (stage, ids) = reviewed_tasks(2);
    let file = stage.path("pid");
    let command = format!(
        "echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600",
        file.display()
    );
    stage.configure("merge_verify", &json!(command));
    let first = ids[0].as_str();
    stage.call(&["task", "merge", first, "--wait", "0"]);
    wait_for("the command", || file.exists());
    let pid = fs::read_to_string(&file).unwrap();
    for caller in callers(&stage) {
        kill(caller);
    }
    // Without the task that it was for, only the next verification can end it.
    stage.call(&["task", "cancel", first, "--yes"]);
    // The command line of a process that has ended is empty, collected or not.
    let check = format!("! grep -qa sleep /proc/{}/cmdline", pid.trim());
    stage.configure("merge_verify", &json!(check));
    stage.run_ok(&["task", "merge", ids[1].as_str()]);
    assert!(is_done(&stage, &ids[1]));
}

#[test]
fn a_verification_waits_for_a_git_that_outlived_its_caller() {
    let (stage, ids) = reviewed_tasks(2);
    stage.run_ok(&["task", "merge", ids[0].as_str()]);
    let worktree = stage.home().verification().join("app");
    let directory = stage.git_in(&worktree, "rev-parse --git-dir").stdout;
    let directory = String::from_utf8(directory).unwrap();
    let lock = Path::new(directory.trim()).join("index.lock");
    // As `git reset` does while it writes files.
    fs::write(&lock, "").unwrap();
    let mut git = std::process::Command::new("git");
    let git = git.args(["cat-file", "--batch"]).current_dir(&worktree);
    let git = git.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut git = git.spawn().unwrap();
    let begun = stage.path("begun");
    let command = format!("touch {}", begun.display());
    stage.configure("merge_verify", &json!(command));
    stage.configure("merge_strategy", &json!("squash"));
    let head = leave_only_the_item(&stage, &ids[1]);
    let merge = ["task", "merge", ids[1].as_str(), "--head", &head];
    let (code, output) = stage.call(&[&merge[..], &["--wait", "2"]].concat());
    assert_eq!(code, 5, "{output}");
    assert!(lock.exists() && !begun.exists(), "{output}");
    // Without its input, it ends by itself.
    drop(git.stdin.take());
    git.wait().unwrap();
    wait_for("the merge", || is_done(&stage, &ids[1]));
    assert!(begun.exists() && !lock.exists());
}

#[test]
fn a_verification_runs_in_a_worktree_with_exactly_the_merged_files() {
    let (stage, ids) = reviewed_tasks(2);
    fs::write(stage.path("repo/.gitignore"), "cache\n").unwrap();
    stage.git_output("repo", "add .gitignore");
    stage.git_output("repo", "commit -qm ignore");
    let seen = stage.path("seen");
    // Leaves an ignored file, a changed one and an untracked one behind.
    let command = format!(
        "pwd >> {0}; git status --porcelain >> {0}; ls -a | tr '\\n' ' ' >> {0}; \
         echo >> {0}; echo x >> cache; echo x >> list.txt; echo x > left; {CHECK} || true",
        seen.display()
    );
    stage.configure("merge_verify", &json!(command));
    stage.configure("merge_strategy", &json!("squash"));
    for id in &ids {
        let head = leave_only_the_item(&stage, id);
        stage.run_ok(&["task", "merge", id.as_str(), "--head", &head]);
    }
    let seen = fs::read_to_string(&seen).unwrap();
    let home = stage.home().verification().join("app");
    let path = home.display().to_string();
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines[0], path);
    assert_eq!(lines[1], ". .. .git .gitignore count.txt items list.txt ");
    assert_eq!(lines[2], path, "{seen}");
    let second = ". .. .git .gitignore cache count.txt items list.txt ";
    assert_eq!(
        lines[3], second,
        "ignored files are kept, everything else is as committed"
    );
    assert!(ids.iter().all(|id| is_done(&stage, id)));
    let listed = stage.run_ok(&["workspace", "list"]);
    assert!(!listed.contains("verification"), "{listed}");
}

#[test]
fn a_conflict_tells_the_agent_the_files_and_the_base() {
    let (stage, ids) = reviewed_tasks(1);
    stage.configure("merge_verify", &json!(""));
    let id = ids[0].as_str();
    let (code, answer) = stage.json(&["task", "request-changes", id, "--merge-failure", "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &json!("no-merge-failure"))
    );
    fs::write(stage.path("repo/list.txt"), "mine\n").unwrap();
    stage.git_output("repo", "commit -qam mine");
    let main = stage.git_output("repo", "rev-parse main");
    let (code, output) = stage.call(&["task", "merge", id]);
    assert_eq!(code, 3, "{output}");
    let hint = format!("`orange task request-changes {id} --merge-failure`");
    assert!(output.replace("\n      ", " ").contains(&hint), "{output}");
    stage.run_ok(&["task", "request-changes", id, "--merge-failure"]);
    stage.wait_for_status(&ids[0], "reviewing");
    stage.wait_until_idle(&ids[0]);
    let prompts = fs::read_to_string(stage.path("scripts/prompts")).unwrap();
    let short = &main[..12];
    let message =
        format!("cannot be merged into `main` (at {short}): both branches changed `list.txt`");
    assert!(prompts.contains(&message), "{prompts}");
    // The agent merged and resolved; now it is a fast-forward.
    stage.run_ok(&["task", "merge", id]);
    assert!(is_done(&stage, &ids[0]));
}

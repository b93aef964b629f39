//! Each child once, and each merged once, wherever a process dies.

use std::collections::BTreeSet;
use std::fs;

use orange_config::clock::Deadline;
use orange_engine::delegation::ChildMerge;
use orange_engine::names::TaskId;

use super::crash_marks::{reached_marks, set_crash_marks};
use crate::support::{SOON, Stage, wait_for};

const DELEGATE: &str = r#"
commit one
cat > "$ORANGE_REPORT" <<'JSON'
{"status":"in_progress","delegations":["One","Two",{"title":"Three","after":[0]}]}
JSON
exit 0
"#;

const WORK: &str = r#"
part=$(git branch --show-current | sed 's/.*-//')
echo "$part" > "part-$part.txt"
git add .
git commit -qm "part $part"
[ "$part" = 3 ] && pause last
echo '{"status":"done"}' > "$ORANGE_REPORT"
exit 0
"#;

/// A parent whose run has just reported, and an agent that hangs and thereby keeps a slot.
fn reported() -> (Stage, TaskId) {
    let stage = Stage::new("autopilot");
    stage.configure("pool_size", &6.into());
    stage.script("worker-1", "hang\n");
    stage.script("worker-2", DELEGATE);
    for turn in 3..=10 {
        stage.script(&format!("worker-{turn}"), WORK);
    }
    let hanging = stage.create(&["Keep a slot"]);
    stage.run_ok(&["task", "spawn", hanging.as_str(), "--wait", "60"]);
    wait_for("the agent that hangs", || {
        stage.path("scripts/hangs").exists()
    });
    let parent = stage.create(&["The whole"]);
    stage.run_ok(&["task", "spawn", parent.as_str(), "--wait", "60"]);
    wait_for("the report", || dead_panes(&stage) == 1);
    (stage, parent)
}

fn dead_panes(stage: &Stage) -> usize {
    let panes = stage.panes();
    panes.iter().filter(|pane| *pane == "worker:1").count()
}

/// How many agents may run: with one, only the agent that hangs.
fn limit(stage: &Stage, agents: usize) {
    let settings = format!("[limits]\nagents = {agents}\n");
    fs::write(stage.path("home/config.toml"), settings).unwrap();
}

/// A command about a task completes what is left of it; one that dies is repeated.
fn settle(stage: &Stage, tasks: &[&TaskId], is_settled: impl Fn() -> bool) {
    let in_time = Deadline::after(SOON).wait_for(|| {
        for task in tasks {
            let summary = stage.task(task).summary;
            stage.call(&["task", "update", task.as_str(), "--summary", &summary]);
        }
        is_settled()
    });
    let reached = reached_marks(stage);
    assert!(in_time, "{reached:?}\n{}", stage.diagnostics(tasks[0]));
}

fn is_delegated(stage: &Stage, parent: &TaskId) -> bool {
    let task = stage.task(parent);
    task.status.as_str() == "delegated" && task.pending.is_empty()
}

/// The children in the order of their requests.
fn children(stage: &Stage, parent: &TaskId) -> Vec<TaskId> {
    let mut children: Vec<TaskId> = stage.task(parent).children.keys().cloned().collect();
    children.sort_by_key(|child| stage.task(child).queueing.delegation.unwrap().index);
    children
}

/// Creates the children, with a death at this mark; returns how many marks were reached.
fn create(death: Option<usize>) -> usize {
    let (stage, parent) = reported();
    limit(&stage, 1);
    let deaths: Vec<usize> = death.into_iter().collect();
    let marks = ["before a commit", "after a commit", "after an effect"];
    set_crash_marks(&stage, &marks, &deaths);
    settle(&stage, &[&parent], || is_delegated(&stage, &parent));
    let reached = reached_marks(&stage);
    let case = format!("{death:?}: {reached:?}\n{}", stage.diagnostics(&parent));
    let children = children(&stage, &parent);
    assert_eq!(children.len(), 3, "{case}");
    let all = fs::read_dir(stage.home().tasks().join("app")).unwrap();
    assert_eq!(all.count(), 5, "{case}");
    let head = stage
        .git(&format!("rev-parse orange-tasks/{parent}"))
        .stdout;
    let head = String::from_utf8(head).unwrap();
    let mut attempts = BTreeSet::new();
    for (number, child) in children.iter().enumerate() {
        let task = stage.task(child);
        let link = task.queueing.delegation.unwrap();
        assert_eq!(link.index, u64::try_from(number).unwrap(), "{case}");
        assert_eq!(link.start.unwrap().as_str(), head.trim(), "{case}");
        attempts.insert(link.attempt);
    }
    assert_eq!(attempts.len(), 1, "{case}");
    let after = stage.task(&children[2]).queueing.after;
    assert_eq!(after.first(), Some(&children[0]), "{case}");
    reached.len()
}

/// Ends the last child and merges all, with a death at this mark; returns how many marks were
/// reached.
fn merge(death: Option<usize>) -> usize {
    let (stage, parent) = reported();
    settle(&stage, &[&parent], || is_delegated(&stage, &parent));
    let children = children(&stage, &parent);
    let last = &children[2];
    let is_done = |task: &TaskId| stage.task(task).status.as_str() == "done";
    let in_time = Deadline::after(SOON).wait_for(|| {
        for child in &children[..2] {
            stage.call(&["task", "spawn", child.as_str(), "--wait", "60"]);
            stage.call(&["task", "update", child.as_str(), "--priority", "1"]);
        }
        children[..2].iter().all(is_done)
    });
    assert!(in_time, "{}", stage.diagnostics(&children[0]));
    for child in &children[..2] {
        stage.wait_until_idle(child);
    }
    stage.call(&["task", "spawn", last.as_str(), "--wait", "60"]);
    stage.wait_for_status(last, "in_progress");
    stage.wait_until_idle(last);
    limit(&stage, 1);
    stage.script("last", "");
    wait_for("the end of the last", || dead_panes(&stage) == 1);
    let deaths: Vec<usize> = death.into_iter().collect();
    let marks = ["before an effect", "a child is merged", "after an effect"];
    set_crash_marks(&stage, &marks, &deaths);
    settle(&stage, &[last, &parent], || {
        let task = stage.task(&parent);
        let is_merged = task.status.as_str() == "new" && task.pending.is_empty();
        is_merged && stage.task(last).pending.is_empty()
    });
    let reached = reached_marks(&stage);
    let case = format!("{death:?}: {reached:?}\n{}", stage.diagnostics(&parent));
    let merges = stage.task(&parent).child_merges;
    assert_eq!(merges.len(), 3, "{case}");
    assert!(
        merges.values().all(|it| *it == ChildMerge::Merged),
        "{case}"
    );
    let read = |words: &str| String::from_utf8(stage.git(words).stdout).unwrap();
    let branch = format!("orange-tasks/{parent}");
    let files = read(&format!("ls-tree --name-only {branch}"));
    assert_eq!(
        files.split_whitespace().collect::<Vec<_>>(),
        ["part-1.txt", "part-2.txt", "part-3.txt", "work.txt"],
        "{case}"
    );
    // The first child's branch is ahead of its parent's, so the two others make a merge each.
    let merged = read(&format!("rev-list --count --merges main..{branch}"));
    assert_eq!(merged.trim(), "2", "{case}");
    for child in &children {
        let kept = read(&format!("rev-parse --verify {}", stage.task(child).branch));
        assert!(!kept.is_empty(), "{case}");
    }
    reached.len()
}

const PARTS: usize = 4;

fn die_at(part: usize, scene: fn(Option<usize>) -> usize) {
    let marks = scene(None);
    assert!(marks >= 9, "{marks}");
    for death in (0..marks).filter(|death| death % PARTS == part) {
        scene(Some(death));
    }
}

macro_rules! parts {
    ($($number:literal $creating:ident $merging:ident,)*) => {
        $(
            #[test]
            fn $creating() {
                die_at($number, create);
            }

            #[test]
            fn $merging() {
                die_at($number, merge);
            }
        )*
    };
}

parts! {
    0 creating_0 merging_0,
    1 creating_1 merging_1,
    2 creating_2 merging_2,
    3 creating_3 merging_3,
}

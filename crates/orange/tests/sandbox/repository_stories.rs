//! Tasks whose agents commit to a private repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::stories::{PROVE, stage};
use crate::support::{PLAN_AND_WORK, Stage, log, wait_for, way};

/// The files of the user's repository that an agent must not change, with their contents.
fn user_files(stage: &Stage) -> BTreeMap<String, Vec<u8>> {
    let repository = stage.path("repo/.git");
    let mut found = BTreeMap::new();
    for name in ["config", "HEAD", "index", "description", "refs/heads/main"] {
        let content = fs::read(repository.join(name)).unwrap_or_default();
        found.insert(name.to_owned(), content);
    }
    for entry in fs::read_dir(repository.join("hooks")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        found.insert(name, fs::read(path).unwrap());
    }
    found
}

/// The names of the files that changed, came or went.
fn changed(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let names = before.keys().chain(after.keys());
    let names = names.filter(|name| before.get(*name) != after.get(*name));
    names.cloned().collect()
}

fn fsck(stage: &Stage) {
    for arguments in ["fsck --strict", "gc --prune=now --quiet", "fsck --strict"] {
        let checked = stage.git(arguments);
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "git {arguments}: {said}");
    }
}

/// The private repositories of a task that are in use.
fn in_use(directory: &Path) -> usize {
    let runs = fs::read_dir(directory.join("runs")).unwrap();
    let runs = runs.map(|run| run.unwrap().path());
    let folders = runs.chain([directory.to_owned()]);
    let folders = folders.filter(|it| it.join("git/current").is_dir());
    folders.count()
}

#[test]
fn a_task_is_merged_and_the_repository_is_otherwise_as_before() {
    let stage = stage("default");
    let plant = "\
printf '#!/bin/sh\\ntouch ~/scripts/hooked\\n' > .git-hook; chmod +x .git-hook
hooks=$(git rev-parse --git-common-dir)/hooks; mkdir -p $hooks
for name in post-commit post-checkout pre-push reference-transaction; do cp .git-hook $hooks/$name; done
rm .git-hook
git config alias.evil '!touch ~/scripts/aliased'; git config core.fsmonitor ~/scripts/monitor
git config core.pager 'touch ~/scripts/paged'; git update-ref refs/heads/main HEAD
git stash list; git branch other; git tag planted
";
    stage.script("worker-1", &format!("{PROVE}{PLAN_AND_WORK}"));
    // What the worker left is there for the worker, and not for the reviewer.
    stage.script(
        "reviewer-1",
        "git evil; git config alias.evil | give alias; ls $(git rev-parse --git-common-dir)/hooks | give hooks\n\
         printf 'Verdict: FAIL\\nmore\\n' | section Review\nask task update --status working\n",
    );
    stage.script(
        "worker-2",
        &format!("{plant}commit two\necho 'DONE: two' | section Handoff\nask task update --status agent-review\n"),
    );
    stage.script(
        "reviewer-2",
        "git evil; git config alias.evil | give alias; ls $(git rev-parse --git-common-dir)/hooks | give hooks\n\
         git log --format=%s main..HEAD | give seen\n\
         printf 'Verdict: PASS\\nfine\\n' | section Review\nask task update --status reviewing\n",
    );
    let before = user_files(&stage);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert!(stage.path("scripts/proof").exists(), "no sandbox");
    let read = |name: &str| fs::read_to_string(stage.path("scripts").join(name)).unwrap();
    assert_eq!(
        (read("alias"), read("hooks")),
        (String::new(), String::new())
    );
    assert_eq!(read("seen"), "two\none\n");
    assert_eq!(log(&stage, &id), ["one", "two"]);
    assert_eq!(changed(&before, &user_files(&stage)), [] as [&str; 0]);
    assert!(
        stage.path("scripts/hooked").exists(),
        "the hook works inside"
    );
    fs::remove_file(stage.path("scripts/hooked")).unwrap();

    stage.run_ok(&["task", "diff", id.as_str()]);
    let worktree = stage.worktree(&id);
    let status = stage.git_in(&worktree, "status --porcelain");
    assert_eq!(String::from_utf8_lossy(&status.stdout), "", "the index");
    stage.run_ok(&["task", "merge", id.as_str()]);
    stage.wait_for_status(&id, "done");
    stage.wait_until_idle(&id);
    let merged = stage.git("log --format=%s main");
    let merged = String::from_utf8_lossy(&merged.stdout).into_owned();
    assert!(merged.contains("two\none\n"), "{merged}");
    for trace in ["hooked", "aliased", "paged"] {
        assert!(!stage.path("scripts").join(trace).exists(), "{trace}");
    }
    for arguments in [
        "tag",
        "branch --list other",
        "for-each-ref refs/orange",
        "stash list",
    ] {
        let found = stage.git(arguments);
        assert_eq!(
            String::from_utf8_lossy(&found.stdout),
            "",
            "git {arguments}"
        );
    }
    let directory = stage.home().tasks().join("app").join(id.as_str());
    assert_eq!(in_use(&directory), 0);
    assert!(
        directory.join("git/replaced-1").is_dir(),
        "what was not imported stays"
    );
    fsck(&stage);
}

#[test]
fn an_agent_rebases_on_a_default_branch_that_moved() {
    let stage = stage("default");
    stage.script("worker-1", &format!("{PROVE}{PLAN_AND_WORK}"));
    stage.script(
        "reviewer-1",
        "printf 'Verdict: PASS\\nfine\\n' | section Review\nask task update --status reviewing\n",
    );
    stage.script(
        "worker-2",
        "git rebase -q main 2>&1 | give rebased\ngit log --format=%s | give log\n",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    fs::write(stage.path("repo/other.txt"), "other").unwrap();
    assert!(stage.git("add other.txt").status.success());
    assert!(stage.git("commit -qm moved").status.success());
    stage.run_ok(&["task", "tell", id.as_str(), "-m", "rebase, please"]);
    wait_for("the rebase", || stage.path("scripts/log").exists());
    let inside = fs::read_to_string(stage.path("scripts/log")).unwrap();
    let said = fs::read_to_string(stage.path("scripts/rebased")).unwrap();
    assert_eq!(inside, "one\nmoved\nfirst\n", "{said}");
    let shown = stage.run_ok(&["task", "diff", id.as_str()]);
    assert!(
        shown.contains("work.txt") && !shown.contains("other.txt"),
        "{shown}"
    );
    assert_eq!(log(&stage, &id), ["one"]);
    fsck(&stage);
}

#[test]
fn a_branch_is_renamed_while_the_agent_waits() {
    let stage = stage("minimal");
    stage.script("worker-1", &format!("{PROVE}commit one\n"));
    stage.script(
        "worker-2",
        "commit two\ngit branch --show-current | give branch\n",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    stage.run_ok(&["task", "update", id.as_str(), "--branch", "better-name"]);
    stage.run_ok(&["task", "tell", id.as_str(), "-m", "go on"]);
    wait_for("the commit", || stage.path("scripts/branch").exists());
    let inside = fs::read_to_string(stage.path("scripts/branch")).unwrap();
    assert_eq!(inside, "better-name\n");
    stage.run_ok(&["task", "diff", id.as_str()]);
    let log = stage.git("log --reverse --format=%s main..better-name");
    assert_eq!(String::from_utf8_lossy(&log.stdout), "one\ntwo\n");
}

#[test]
fn a_cancelled_task_keeps_the_commits_that_nobody_asked_for() {
    let stage = stage("minimal");
    stage.script(
        "worker-1",
        &format!("{PROVE}commit one\necho more >> work.txt\n"),
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    stage.run_ok(&["task", "cancel", id.as_str()]);
    stage.wait_until_idle(&id);
    assert_eq!(log(&stage, &id), ["one"]);
    let saved = stage.git("for-each-ref --format=%(refname) refs/orange");
    let saved = String::from_utf8_lossy(&saved.stdout).into_owned();
    assert_eq!(saved.trim(), format!("refs/orange/rescue/{id}/1"));
    assert_eq!(
        way(&stage, &id).last().map(String::as_str),
        Some("cancelled")
    );
    fsck(&stage);
}

#[test]
fn commits_on_another_branch_stop_the_step_and_say_where_they_are() {
    let stage = stage("default");
    stage.script(
        "worker-1",
        &format!(
            "{PROVE}printf 'APPROACH: add\\nTOUCHING: work.txt\\n' | section Plan\n\
             ask task update --status working\ngit switch -qc elsewhere\ncommit one\n\
             echo 'DONE: a line' | section Handoff\nask task update --status agent-review\n\
             give asked < /dev/null\n"
        ),
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the call", || stage.path("scripts/asked").exists());
    let calls = stage.calls();
    assert!(calls.contains("its worktree is on `elsewhere`"), "{calls}");
    assert_eq!(stage.task(&id).status.as_str(), "working");
}

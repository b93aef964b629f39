//! `orange task merge`: from the review to the end.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use orange_config::clock::Deadline;
use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_engine::task::Workspace;
use serde_json::json;

use crate::support::{PASS, PLAN_AND_WORK, RunningSupervisor, SOON, Stage, wait_for, way};
use crate::task_retry::create_reviewed_task;

#[test]
fn a_merge_is_answered_when_worktree_and_remote_branch_are_released() {
    let stage = Stage::new("minimal");
    let remote = stage.add_remote();
    let serving = RunningSupervisor::start(&stage);
    let id = create_reviewed_task(&stage);
    assert!(stage.git("push -q origin fix").status.success());
    stage.run_ok(&["task", "merge", "fix", "--wait", "60"]);
    let task = stage.task(&id);
    assert_eq!(task.status.as_str(), "done");
    assert_eq!(task.workspace, Workspace::None);
    let left = stage.git_in(&remote, "rev-parse --verify -q refs/heads/fix");
    assert!(!left.status.success(), "the remote still has the branch");
    drop(serving);
}

/// Long enough for a loaded machine; it usually takes less than a second.
const LONG_WAIT: [&str; 2] = ["--wait", "60"];

impl Stage {
    /// A task whose work was reviewed.
    pub fn create_reviewed_task(&self) -> TaskId {
        self.script("worker-1", PLAN_AND_WORK);
        self.script("reviewer-1", PASS);
        let id = self.create(&["Add a line"]);
        self.run_ok(&["task", "spawn", id.as_str()]);
        self.wait_for_status(&id, "reviewing");
        self.wait_until_idle(&id);
        id
    }

    pub fn merge(&self, id: &TaskId, more: &[&str]) -> (i32, String) {
        let typed = ["task", "merge", id.as_str()];
        let typed = typed.iter().chain(&LONG_WAIT).chain(more);
        self.call(&typed.copied().collect::<Vec<&str>>())
    }

    pub fn must_merge(&self, id: &TaskId, more: &[&str]) {
        let (code, output) = self.merge(id, more);
        assert_eq!(code, 0, "{output}\n{}", self.diagnostics(id));
        self.wait_until_idle(id);
        assert_eq!(
            self.task(id).status.as_str(),
            "done",
            "{}",
            self.diagnostics(id)
        );
    }

    /// State that a refused merge must not change.
    pub fn protected_state(&self) -> (String, String, Vec<u8>) {
        let refs = self.git_output("repo", "for-each-ref refs/heads");
        let status = self.git_output("repo", "status --porcelain=v2 --untracked-files=all");
        let file = fs::read(self.path("repo/work.txt")).unwrap_or_default();
        (refs, status, file)
    }
}

fn hook(remote: &Path, script: &str) {
    let path = remote.join("hooks/pre-receive");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_reviewed_task_without_a_remote_is_merged_and_released() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let head = stage.git_output("repo", &format!("rev-parse orange-tasks/{id}"));
    stage.must_merge(&id, &[]);
    let expected = ["planning", "working", "agent-review", "reviewing", "done"];
    assert_eq!(way(&stage, &id), expected);
    assert_eq!(stage.git_output("repo", "rev-parse main"), head);
    assert_eq!(stage.git_output("repo", "status --porcelain"), "");
    assert_eq!(fs::read(stage.path("repo/work.txt")).unwrap(), b"one\n");
    assert_eq!(stage.panes(), [] as [&str; 0]);
    assert!(stage.store().workspace_of(&id).unwrap().is_none());
    assert_eq!(stage.task(&id).attention, [] as [&str; 0]);
    assert!(stage.task_text(&id).contains("status: done"));
    // Asked again, the answer is that it has already happened.
    let (code, output) = stage.merge(&id, &[]);
    assert_eq!(code, 0, "{output}");
    assert!(output.contains("already"), "{output}");
    stage.rebuild(&id);
}

#[test]
fn every_strategy_pushes_to_the_remote_and_deletes_its_branch() {
    for strategy in ["auto", "ff", "merge", "rebase", "squash"] {
        let stage = Stage::new("default");
        let remote = stage.add_remote();
        stage.configure("delete_branch", &json!(true));
        let id = stage.create_reviewed_task();
        let branch = format!("orange-tasks/{id}");
        stage.git_output("repo", &format!("push -q origin {branch}"));
        stage.must_merge(&id, &["--strategy", strategy]);
        let main = stage.git_output("repo", "rev-parse main");
        assert_eq!(stage.git_output("remote.git", "rev-parse main"), main);
        assert_eq!(stage.git_output("repo", "status --porcelain"), "");
        assert_eq!(fs::read(stage.path("repo/work.txt")).unwrap(), b"one\n");
        let parents = stage.git_output("repo", "log -1 --format=%P main");
        let expected = if strategy == "merge" { 2 } else { 1 };
        assert_eq!(parents.split(' ').count(), expected, "{strategy}");
        let output = stage.git_output("repo", "log -1 --format=%B main");
        let is_marked = output.contains(&format!("Orange-Task: {id}"));
        let has_own_commit = ["merge", "squash"].contains(&strategy);
        assert_eq!(is_marked, has_own_commit, "{output}");
        assert!(remote.exists());
        assert_eq!(
            stage.git_output("remote.git", &format!("branch --list {branch}")),
            ""
        );
        // The commits that a squash leaves behind exist nowhere else, so the branch stays.
        let kept = stage.git_output("repo", &format!("branch --list {branch}"));
        assert_eq!(kept.is_empty(), strategy != "squash", "{kept}");
        assert_eq!(stage.task(&id).attention, [] as [&str; 0]);
    }
}

#[test]
fn the_answer_says_where_the_commits_are() {
    for (has_remote, is_on_default) in [(false, true), (false, false), (true, true)] {
        let stage = Stage::new("default");
        let remote = has_remote.then(|| stage.add_remote());
        let remote = remote.map(|remote| format!("origin ({})", remote.display()));
        let id = stage.create_reviewed_task();
        if !is_on_default {
            stage.git_output("repo", "checkout -q -b mine");
        }
        let (code, output) = stage.merge(&id, &[]);
        assert_eq!(code, 0, "{output}");
        let commit = stage.git_output("repo", "rev-parse main");
        let repository = stage.path("repo").display().to_string();
        let pushed = match &remote {
            Some(remote) => format!("pushed to `{remote}`"),
            None => String::from("not pushed"),
        };
        let forwarded = if is_on_default {
            format!("fast-forwarded `{repository}`")
        } else {
            String::from("no checkout is on `main`")
        };
        let short = commit.trim().get(..12).unwrap();
        let text = format!("\n  merged as {short} into `main`, {pushed}; {forwarded}\n");
        assert!(output.contains(&text), "{text}: {output}");
        // A second merge request and the history report the same.
        let (code, answer) = stage.json(&["task", "merge", id.as_str(), "--json"]);
        assert_eq!((code, &answer["outcome"]), (0, &"already".into()));
        let merged = &answer["merged"];
        assert_eq!(merged["commit"], commit.trim());
        assert_eq!(merged["into"], "main");
        assert_eq!(merged["pushed_to"].as_str(), remote.as_deref());
        let forwarded = is_on_default.then(|| json!([repository]));
        assert_eq!(merged.get("fast_forwarded"), forwarded.as_ref());
        let history = stage.run_ok(&["task", "history", id.as_str()]);
        assert!(history.contains(text.trim()), "{history}");
    }
}

#[test]
fn a_rejected_push_leaves_the_task_in_review() {
    let stage = Stage::new("default");
    let remote = stage.add_remote();
    let id = stage.create_reviewed_task();
    hook(&remote, "echo 'no merges on Sunday' >&2; exit 1");
    let before = stage.protected_state();
    let typed = ["task", "merge", id.as_str(), "--wait", "60", "--json"];
    let (code, answer) = stage.json(&typed);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &json!("merge-failed"))
    );
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("no merges on Sunday"), "{message}");
    let hint = answer["error"]["hints"][0].as_str().unwrap();
    assert!(
        hint.contains(&format!("`orange task merge {id}`")),
        "{hint}"
    );
    assert_eq!(stage.protected_state(), before);
    assert_eq!(
        stage.git_output("remote.git", "rev-parse main"),
        stage.git_output("repo", "rev-parse main")
    );
    let task = stage.task(&id);
    assert_eq!(task.status.as_str(), "reviewing");
    assert!(
        task.attention[0].contains("no merges on Sunday"),
        "{:?}",
        task.attention
    );
    assert_eq!(stage.panes(), ["worker:0"], "the worker is still there");
    let (_, attention) = stage.json(&["attention", "--json"]);
    let items = attention["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{attention}");
    assert_eq!(items[0]["kind"], "effect-failed", "{attention}");
    // The next attempt is independent, with the remote or without.
    stage.must_merge(&id, &["--local"]);
    assert_ne!(
        stage.git_output("remote.git", "rev-parse main"),
        stage.git_output("repo", "rev-parse main")
    );
}

#[test]
fn a_remote_that_has_moved_is_merged() {
    let stage = Stage::new("default");
    stage.add_remote();
    let id = stage.create_reviewed_task();
    assert!(
        stage
            .git_in(&stage.path(""), "clone -q remote.git other")
            .status
            .success()
    );
    fs::write(stage.path("other/theirs.txt"), "theirs\n").unwrap();
    stage.git_output("other", "add theirs.txt");
    let commit = "-c user.name=B -c user.email=b@example.org commit -q -m theirs";
    stage.git_output("other", commit);
    stage.git_output("other", "push -q origin main");
    let remote_commit = stage.git_output("other", "rev-parse main");
    let before = stage.protected_state();
    // This is noticed before anything is decided: a fast-forward is no longer possible.
    let (code, output) = stage.merge(&id, &["--strategy", "ff"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("--strategy merge"), "{output}");
    assert_eq!(stage.protected_state(), before);
    stage.must_merge(&id, &["--strategy", "squash"]);
    let main = stage.git_output("repo", "rev-parse main");
    assert_eq!(stage.git_output("remote.git", "rev-parse main"), main);
    assert_eq!(stage.git_output("repo", "rev-parse main^"), remote_commit);
    assert_eq!(stage.git_output("repo", "status --porcelain"), "");
    assert!(stage.path("repo/theirs.txt").exists());
}

#[test]
fn lesson_2_an_obstacle_keeps_every_byte_and_the_status() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    fs::write(stage.path("repo/mine.txt"), "mine\n").unwrap();
    stage.git_output("repo", "add mine.txt");
    let refused = |name: &str, more: &[&str]| {
        let before = stage.protected_state();
        let (code, output) = stage.merge(&id, more);
        assert_eq!(code, 3, "{output}");
        assert!(output.contains(name), "{output}");
        assert!(output.contains("hint:"), "{output}");
        assert_eq!(stage.protected_state(), before);
        let task = stage.task(&id);
        assert_eq!(task.status.as_str(), "reviewing");
        assert_eq!(task.attention.len(), 1, "{:?}", task.attention);
    };
    refused("`mine.txt`", &[]);
    // Once committed, the file is not dirty any more, but the branch cannot be fast-forwarded.
    stage.git_output("repo", "commit -q -m mine");
    refused("--strategy merge", &["--strategy", "ff"]);
    fs::write(stage.path("repo/work.txt"), "untracked\n").unwrap();
    refused("`work.txt`", &["--strategy", "merge"]);
    // The same file with different content is a conflict.
    stage.git_output("repo", "add work.txt");
    stage.git_output("repo", "commit -q -m work");
    refused("`work.txt`", &["--strategy", "squash"]);
    stage.git_output("repo", "revert --no-edit HEAD");
    stage.must_merge(&id, &["--strategy", "merge"]);
    assert_eq!(fs::read(stage.path("repo/work.txt")).unwrap(), b"one\n");
    assert_eq!(fs::read(stage.path("repo/mine.txt")).unwrap(), b"mine\n");
}

#[test]
fn lesson_47_a_committed_task_file_is_seen_before_the_merge() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let worktree = stage.worktree(&id);
    assert!(stage.git_in(&worktree, "add -f TASK.md").status.success());
    assert!(
        stage
            .git_in(&worktree, "commit -q -m oops")
            .status
            .success()
    );
    let before = stage.protected_state();
    let (code, output) = stage.merge(&id, &[]);
    assert_eq!(code, 3, "{output}");
    assert!(
        output.contains("TASK.md") && output.contains("hint:"),
        "{output}"
    );
    let task = stage.task(&id);
    let text = "`TASK.md` was committed to `orange-tasks/";
    assert!(task.attention[0].starts_with(text), "{:?}", task.attention);
    assert_eq!(stage.protected_state(), before);
    let started = stage.store().events(&id, 0).unwrap();
    let started = started
        .iter()
        .any(|it| matches!(it.event.fact, Fact::MergeStarted { .. }));
    assert!(!started, "nothing was begun");
    let out = stage.git_in(&worktree, "rm -q --cached TASK.md");
    assert!(out.status.success(), "as the hint says");
    // Another commit does not remove it from the one before.
    assert!(stage.git_in(&worktree, "commit -q -m out").status.success());
    for strategy in ["ff", "squash"] {
        assert_eq!(stage.merge(&id, &["--strategy", strategy]).0, 3);
    }
    assert_eq!(stage.task(&id).attention.len(), 1, "it is printed once");
    assert!(
        stage
            .git_in(&worktree, "reset -q --soft HEAD~2")
            .status
            .success()
    );
    stage.must_merge(&id, &[]);
    assert!(!stage.path("repo/TASK.md").exists());
}

#[test]
fn unreviewed_work_is_merged_only_after_confirmation() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "printf 'APPROACH: a\\nTOUCHING: b\\n' | section Plan\nask task update --status working\n\
         commit one\nask task merge --yes",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    stage.wait_until_idle(&id);
    // The worker asked for it and was refused.
    let calls = stage.calls();
    assert!(calls.contains("task merge --yes -> 3"), "{calls}");
    let before = stage.protected_state();
    for more in [&[][..], &["--force"]] {
        let (code, text) = stage.merge(&id, more);
        assert_eq!(code, 3, "{text}");
        assert!(text.contains("Not reviewed. Force merge?"), "{text}");
        assert!(text.contains("--yes"), "{text}");
    }
    assert_eq!(stage.protected_state(), before);
    assert_eq!(stage.task(&id).status.as_str(), "working");
    let head = stage.git_output("repo", &format!("rev-parse {}", stage.task(&id).branch));
    // The command that confirms merges the commit that was named.
    let (code, text) = stage.merge(&id, &["--head", &head]);
    let hint = format!("--head {} --yes", &head[..12]);
    assert!(code == 3 && text.contains(&hint), "{text}");
    // At a terminal the user gets a prompt, and may say no.
    for (typed, status) in [("n", "working"), ("y", "done")] {
        // The old server, while exiting, must not get in the way of the next one.
        let outer = stage.path(&format!("outer-{typed}"));
        let tmux = |arguments: &[&str]| {
            let mut tmux = Command::new("tmux");
            tmux.arg("-S").arg(&outer).args(["-f", "/dev/null"]);
            tmux.args(arguments);
            tmux.env_clear().envs(stage.environment.variables());
            tmux.env("TERM", "xterm").current_dir(stage.path("repo"));
            let output = tmux.stdin(Stdio::null()).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let orange = env!("CARGO_BIN_EXE_orange");
        let merge = [
            orange,
            "task",
            "merge",
            id.as_str(),
            "--force",
            "--wait",
            "60",
        ];
        let start = [
            "set",
            "-g",
            "remain-on-exit",
            "on",
            ";",
            "new-session",
            "-d",
            "--",
        ];
        tmux(&[&start[..], &merge].concat());
        let mut shown = String::new();
        let is_asked = Deadline::after(SOON).wait_for(|| {
            shown = tmux(&["capture-pane", "-p"]);
            // The prompt names the commit.
            shown.contains(&format!("Force merge? ({}) [y/N]", head.get(..12).unwrap()))
        });
        assert!(is_asked, "{shown}");
        tmux(&["send-keys", typed, "Enter"]);
        wait_for("the end", || {
            tmux(&["list-panes", "-F", "#{pane_dead}"]).trim() == "1"
        });
        tmux(&["kill-server"]);
        stage.wait_until_idle(&id);
        assert_eq!(
            stage.task(&id).status.as_str(),
            status,
            "{}",
            stage.diagnostics(&id)
        );
    }
    assert_eq!(fs::read(stage.path("repo/work.txt")).unwrap(), b"one\n");
}

/// The performer dies before or after a git call; the same command then completes, and there is
/// exactly one merge.
fn performer_dies(moment: &str, is_after: bool) {
    let stage = Stage::new("default");
    stage.add_remote();
    let id = stage.create_reviewed_task();
    fs::write(stage.path("repo/mine.txt"), "mine\n").unwrap();
    stage.git_output("repo", "add mine.txt");
    stage.git_output("repo", "commit -q -m mine");
    fs::write(stage.path("repo/notes"), "untracked\n").unwrap();
    let path = std::env::var("PATH").unwrap();
    let folder = stage.path("bin");
    let deadly = stage.path("deadly");
    let deed = if is_after { "$git \"$@\"; " } else { "" };
    let script = format!(
        "#!/bin/sh\ngit=$(PATH=\"{path}\" command -v git)\n\
         if [ \"$2\" = {moment} ] && [ \"$5\" != -n ] && mv {0} {0}.used 2>/dev/null; then\n\
         {deed}kill -9 $PPID; exit 1\nfi\nexec $git \"$@\"\n",
        deadly.display()
    );
    // The call that names a committer has an extra option.
    let script = script.replace("\"$2\" = commit-tree", "\"$4\" = commit-tree");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("git"), script).unwrap();
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.join("git"), executable).unwrap();
    fs::write(&deadly, "").unwrap();
    let typed = [
        "task",
        "merge",
        id.as_str(),
        "--strategy",
        "merge",
        "--wait",
        "60",
    ];
    let mut merge = stage.orange(&typed);
    merge.env("PATH", format!("{}:{path}", folder.display()));
    let output = merge.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{moment}: {text}\n{}",
        stage.diagnostics(&id)
    );
    assert!(
        stage.path("deadly.used").exists(),
        "no process died at {moment}"
    );
    stage.wait_until_idle(&id);
    assert_eq!(stage.task(&id).status.as_str(), "done");
    let merges = stage.git_output("repo", "rev-list --count --merges main");
    assert_eq!(merges, "1", "{moment}");
    let main = stage.git_output("repo", "rev-parse main");
    assert_eq!(stage.git_output("remote.git", "rev-parse main"), main);
    assert_eq!(stage.git_output("repo", "status --porcelain"), "?? notes");
    let events = stage.store().events(&id, 0).unwrap();
    let started = events
        .iter()
        .filter(|it| matches!(it.event.fact, Fact::MergeStarted { .. }));
    assert_eq!(started.count(), 1);
}

#[test]
fn a_merge_survives_a_performer_killed_after_computing() {
    performer_dies("merge-tree", true);
}

#[test]
fn a_merge_survives_a_performer_killed_before_committing() {
    performer_dies("commit-tree", false);
}

#[test]
fn a_merge_survives_a_performer_killed_after_pushing() {
    performer_dies("push", true);
}

#[test]
fn a_merge_survives_a_performer_killed_after_replacing_files() {
    performer_dies("read-tree", true);
}

#[test]
fn a_merge_survives_a_performer_killed_after_moving_the_branch() {
    performer_dies("update-ref", true);
}

#[test]
fn nothing_is_pushed_to_a_remote_changed_by_an_agent() {
    let stage = Stage::new("default");
    let remote = stage.add_remote().display().to_string();
    let id = stage.create_reviewed_task();
    let root = stage.path("");
    assert!(
        stage
            .git_in(&root, "clone -q --bare remote.git evil.git")
            .status
            .success()
    );
    let evil = stage.path("evil.git").display().to_string();
    let main = stage.git_output("evil.git", "rev-parse main");
    stage.git_output("repo", &format!("config remote.origin.pushurl {evil}"));
    let (code, output) = stage.merge(&id, &[]);
    assert_ne!(code, 0, "{output}");
    let attention = stage.task(&id).attention.join(" ");
    let text = format!("{output} {attention}");
    assert!(
        text.contains("--push-remote") && text.contains(&evil),
        "{text}"
    );
    assert_eq!(stage.git_output("evil.git", "rev-parse main"), main);
    assert_eq!(stage.git_output("remote.git", "rev-parse main"), main);
    // The user can accept the address explicitly, and the answer names it.
    let project = stage.task(&id).project;
    let accept = ["project", "update", project.as_str(), "--remote", &remote];
    let accept: Vec<&str> = accept.into_iter().chain(["--push-remote", &evil]).collect();
    stage.run_ok(&accept);
    let (code, output) = stage.merge(&id, &[]);
    assert_eq!(code, 0, "{output}");
    assert!(
        output.contains(&format!("pushed to `origin ({evil})`")),
        "{output}"
    );
    assert_eq!(stage.git_output("remote.git", "rev-parse main"), main);
}

#[test]
fn the_reviewed_commit_and_the_commits_left_out_are_shown() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let head = stage.git_output("repo", &format!("rev-parse orange-tasks/{id}"));
    let passed = format!("{}, passed by the reviewer", &head[..12]);
    for command in ["show", "why"] {
        let output = stage.run_ok(&["task", command, id.as_str()]);
        assert!(output.contains(&passed), "{output}");
    }
    let worktree = stage.worktree(&id);
    fs::write(worktree.join("later.txt"), "later\n").unwrap();
    for arguments in ["add later.txt", "commit -qm later"] {
        assert!(stage.git_in(&worktree, arguments).status.success());
    }
    fs::write(worktree.join("notes.txt"), "notes\n").unwrap();
    let before = stage.protected_state();
    let (code, output) = stage.merge(&id, &[]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("notes.txt"), "{output}");
    assert_eq!(stage.protected_state(), before);
    let (code, output) = stage.merge(&id, &["--head", &head]);
    assert_eq!(code, 0, "{output}");
    let left_out = "1 later commit and 1 uncommitted file (`notes.txt`)";
    assert!(
        output.contains(&format!("left out: {left_out}")),
        "{output}"
    );
    assert_eq!(stage.git_output("repo", "rev-parse main"), head);
    stage.wait_until_idle(&id);
    let history = stage.run_ok(&["task", "history", id.as_str()]);
    assert!(history.contains(left_out), "{history}");
    // Everything is kept: the commit on its branch, the file as a rescue.
    let subject = stage.git_output("repo", &format!("log -1 --format=%s orange-tasks/{id}"));
    assert_eq!(subject, "later");
    let rescues = stage.git_output(
        "repo",
        "for-each-ref --format=%(refname) refs/orange/rescue",
    );
    assert_eq!(rescues.lines().count(), 1, "{rescues}");
    let notes = stage.git_output("repo", &format!("show {rescues}:notes.txt"));
    assert_eq!(notes, "notes");
}

#[test]
fn a_commit_merged_by_the_user_is_recorded_as_merged() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    stage.git_output("repo", &format!("merge -q --ff-only orange-tasks/{id}"));
    let (code, output) = stage.merge(&id, &[]);
    assert_eq!(code, 0, "{output}");
    assert!(output.contains("was already in `main` before"), "{output}");
    stage.wait_for_status(&id, "done");
}

#[test]
fn a_reviewer_names_the_commit_it_read() {
    let stage = Stage::new("default");
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script(
        "reviewer-1",
        "git commit -q --allow-empty -m later\necho 'Verdict: PASS' | section Review\n\
         ask task update --status reviewing\n\
         ask task update --status reviewing --head HEAD",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    let calls = stage.calls();
    assert!(calls.contains("--status reviewing -> 3"), "{calls}");
    let head = stage.git_output("repo", &format!("rev-parse orange-tasks/{id}"));
    let submission = stage.task(&id).submission.unwrap();
    assert_eq!(submission.commit.as_str(), head);
}

#[test]
fn lesson_32_a_branch_keeps_its_name_while_it_is_rebased() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let worktree = stage.worktree(&id);
    let branch = stage.task(&id).branch;
    let rebase = stage.git_in(&worktree, "rebase -q --exec false HEAD~1");
    assert!(!rebase.status.success(), "it stops at the command");
    let head = stage.git_in(&worktree, "symbolic-ref -q HEAD");
    assert!(!head.status.success(), "HEAD is detached");
    stage.run_ok(&["task", "update", id.as_str(), "--branch"]);
    assert_eq!(stage.task(&id).branch, branch);
    assert!(stage.git_in(&worktree, "rebase --abort").status.success());
    // With a detached HEAD there is no branch name to use.
    assert!(
        stage
            .git_in(&worktree, "switch -q --detach")
            .status
            .success()
    );
    let (code, output) = stage.call(&["task", "update", id.as_str(), "--branch"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("not on a branch"), "{output}");
    assert_eq!(stage.task(&id).branch, branch);
    stage.must_merge(&id, &[]);
}

/// Starts a merge that runs until `go` exists, in its own performer.
fn begin_merge(stage: &Stage, id: &TaskId) -> std::process::Child {
    let mut merge = stage.orange(&["task", "merge", id.as_str(), "--wait", "60"]);
    let merge = merge.stdout(Stdio::null()).stderr(Stdio::null());
    merge.spawn().unwrap()
}

pub fn cancel(stage: &Stage, id: &TaskId) {
    let (code, output) = stage.call(&["task", "cancel", id.as_str(), "--wait", "0"]);
    assert!(code == 0 || code == 5, "{output}");
    assert_eq!(stage.task(id).status.as_str(), "cancelled", "{output}");
}

#[test]
fn a_cancel_stops_a_merge_before_anything_has_moved() {
    let stage = Stage::new("default");
    stage.add_remote();
    let id = stage.create_reviewed_task();
    let main = stage.git_output("repo", "rev-parse main");
    // Another process merges into the repository, so this merge waits for its turn.
    let lock = stage.path("repo/.git/orange-merge.lock");
    let lock = fs::File::create(lock).unwrap();
    lock.lock().unwrap();
    let mut merge = begin_merge(&stage, &id);
    wait_for("the merge to begin", || {
        let pending = stage.store().pending(&id).unwrap();
        pending
            .iter()
            .any(|it| matches!(it.mark, orange_store::PendingProgress::Started { .. }))
    });
    cancel(&stage, &id);
    lock.unlock().unwrap();
    merge.wait().unwrap();
    stage.wait_until_idle(&id);
    assert_eq!(stage.git_output("repo", "rev-parse main"), main);
    assert_eq!(stage.git_output("remote.git", "rev-parse main"), main);
    let task = stage.task(&id);
    assert_eq!(task.attention, [] as [&str; 0]);
    assert_eq!(task.status.as_str(), "cancelled");
    assert!(stage.store().workspace_of(&id).unwrap().is_none());
    stage.rebuild(&id);
}

#[test]
fn a_merge_that_finished_despite_a_cancel_is_reported() {
    let stage = Stage::new("default");
    let remote = stage.add_remote();
    let id = stage.create_reviewed_task();
    let before = stage.git_output("repo", "rev-parse main");
    let (begun, go) = (stage.path("begun"), stage.path("go"));
    hook(
        &remote,
        &format!(
            "touch {}; while [ ! -e {} ]; do sleep 0.01; done",
            begun.display(),
            go.display()
        ),
    );
    let mut merge = begin_merge(&stage, &id);
    wait_for("the push to begin", || begun.exists());
    cancel(&stage, &id);
    fs::write(go, "").unwrap();
    merge.wait().unwrap();
    stage.wait_until_idle(&id);
    let main = stage.git_output("repo", "rev-parse main");
    assert_ne!(main, before);
    assert_eq!(stage.git_output("remote.git", "rev-parse main"), main);
    let task = stage.task(&id);
    assert_eq!(task.status.as_str(), "cancelled");
    let [told] = &task.attention[..] else {
        panic!("{:?}", task.attention);
    };
    assert!(told.contains(&main) && told.contains("cancelled"), "{told}");
    assert!(stage.store().workspace_of(&id).unwrap().is_none());
    stage.rebuild(&id);
}

#[test]
fn hints_fit_the_caller() {
    let stage = Stage::new("default");
    stage.script("worker-1", "ask task merge --strategy squash --local");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls().replace("\n      ", " ");
    assert!(
        calls.contains(&format!(
            "`orange task merge {id} --strategy squash --local`"
        )),
        "{calls}"
    );
    assert!(!calls.contains("--yes"), "{calls}");
    let (code, output) = stage.call(&["task", "merge", id.as_str(), "--strategy", "squash"]);
    assert_eq!(code, 3, "{output}");
    assert!(
        output.contains(&format!("orange task merge {id} --strategy squash --yes")),
        "{output}"
    );
}

#[test]
fn everything_that_can_be_merged_is_merged_in_order() {
    let stage = Stage::new("minimal");
    let (code, answer) = stage.json(&["merge", "--all", "--json"]);
    assert_eq!((code, &answer["tasks"]), (0, &json!([])));
    // The second and the third change the same line; the fourth is still being worked on.
    for (turn, (file, line)) in [("a", "one"), ("b", "two"), ("b", "three")]
        .iter()
        .enumerate()
    {
        let script = format!(
            "echo {line} > {file}.txt; git add -A; git commit -qm {line}\n\
             echo 'DONE: {line}' | section Handoff\nask task update --status reviewing\n"
        );
        stage.script(&format!("worker-{}", turn + 1), &script);
    }
    let mut ids = Vec::new();
    for number in 0..4 {
        let id = stage.create(&[&format!("Task {number}")]);
        stage.run_ok(&["task", "spawn", id.as_str()]);
        if number < 3 {
            stage.wait_for_status(&id, "reviewing");
            stage.wait_until_idle(&id);
        }
        ids.push(id);
    }
    let (code, answer) = stage.json(&["merge", "--all", "--json"]);
    assert_eq!(code, 3);
    let tasks = answer["tasks"].as_array().unwrap();
    let listed: Vec<&str> = tasks
        .iter()
        .map(|it| it["task"].as_str().unwrap())
        .collect();
    let expected: Vec<&str> = ids[..3].iter().map(TaskId::as_str).collect();
    assert_eq!(listed, expected);
    assert_eq!(tasks[0]["merged"]["into"], "main");
    assert_eq!(tasks[1]["merged"]["into"], "main");
    let problem = tasks[2]["problem"].as_str().unwrap();
    assert!(
        problem.contains("both branches changed `b.txt`"),
        "{problem}"
    );
    let hint = tasks[2]["hints"][0].as_str().unwrap();
    assert!(hint.contains("request-changes"), "{hint}");
    let statuses: Vec<String> = ids
        .iter()
        .map(|id| stage.task(id).status.to_string())
        .collect();
    assert_eq!(statuses, ["done", "done", "reviewing", "working"]);
    // In words, and again: only the one that failed is left.
    let (code, text) = stage.call(&["merge", "--all"]);
    assert_eq!(code, 3, "{text}");
    assert!(
        text.starts_with(&format!("{}: not merged: cannot merge", ids[2])),
        "{text}"
    );
    stage.git_output("repo", "revert -m 1 --no-edit HEAD");
    let text = stage.run_ok(&["merge", "--all", "--strategy", "squash"]);
    assert!(text.starts_with(&format!("{}: merged ", ids[2])), "{text}");
    assert_eq!(stage.task(&ids[2]).status.as_str(), "done");
}

#[test]
fn named_tasks_are_merged_in_the_given_order() {
    let stage = Stage::new("minimal");
    let mut ids = Vec::new();
    for (number, line) in ["one", "two"].iter().enumerate() {
        let script = format!(
            "echo {line} > same.txt; git add -A; git commit -qm {line}\n\
             echo 'DONE: {line}' | section Handoff\nask task update --status reviewing\n"
        );
        stage.script(&format!("worker-{}", number + 1), &script);
        let id = stage.create(&[&format!("Task {number}")]);
        stage.run_ok(&["task", "spawn", id.as_str()]);
        stage.wait_for_status(&id, "reviewing");
        stage.wait_until_idle(&id);
        ids.push(id);
    }
    let [one, two] = [ids[0].as_str(), ids[1].as_str()];
    let (code, usage) = stage.json(&["merge", one, two, "--head", "HEAD", "--json"]);
    assert_eq!((code, &usage["error"]["code"]), (2, &json!("usage")));
    let (code, answer) = stage.json(&["merge", two, one, "--json"]);
    assert_eq!(code, 3, "{answer}");
    let tasks = &answer["tasks"];
    assert_eq!(tasks[0]["task"], two, "{answer}");
    assert_eq!(tasks[0]["outcome"], "succeeded", "{answer}");
    let commit = stage.git_output("repo", "rev-parse main");
    let text = format!("merged as {} into `main`", &commit[..12]);
    assert!(
        tasks[0]["text"].as_str().unwrap().starts_with(&text),
        "{answer}"
    );
    assert_eq!(tasks[1]["error"]["code"], "merge-failed", "{answer}");
    assert_eq!(stage.git_output("repo", "show main:same.txt"), "two");
    let statuses = ids.iter().map(|id| stage.task(id).status.to_string());
    assert_eq!(statuses.collect::<Vec<_>>(), ["reviewing", "done"]);
}

#[test]
fn an_unpublished_submodule_is_reported_when_its_task_is_done() {
    let stage = Stage::new("minimal");
    let root = stage.path("");
    let git = |directory: &Path, call: &str| {
        let output = stage.git_in(directory, call);
        assert!(output.status.success(), "git {call}: {output:?}");
    };
    let allow = "-c protocol.file.allow=always";
    let own = "-c user.name=A -c user.email=a@example.org";
    git(&root, "init -q -b main library");
    let commit = format!("{own} commit -q --allow-empty -m first");
    git(&stage.path("library"), &commit);
    git(
        &stage.path("repo"),
        &format!("{allow} submodule --quiet add ../library lib"),
    );
    git(&stage.path("repo"), "commit -q -m with-a-submodule");
    let id = stage.create(&["--status", "reviewing", "fix", "Fix it"]);
    stage.wait_until_idle(&id);
    let worktree = stage.worktree(&id);
    git(
        &worktree,
        &format!("{allow} submodule --quiet update --init"),
    );
    git(
        &worktree.join("lib"),
        &format!("{own} commit -q --allow-empty -m unpublished"),
    );
    git(&worktree, "commit -q -a -m bump");
    let (_, output) = stage.merge(&id, &[]);
    stage.wait_for_status(&id, "done");
    let task = stage.task(&id);
    let attention = task.attention.join("; ");
    let warning = "the submodule `lib` is now at";
    assert!(attention.contains(warning), "{attention}: {output}");
    let events = stage.store().events(&id, 0).unwrap();
    // The warning is recorded with the merge, so that a kill cannot come between them.
    let facts: Vec<&Fact> = events.iter().map(|it| &it.event.fact).collect();
    let facts = serde_json::to_string(&facts).unwrap();
    assert!(facts.contains("\"warnings\":[\"the submodule"), "{facts}");
    stage.wait_until_idle(&id);
    let (_, answer) = stage.json(&["workspace", "remove", "app--1", "--json"]);
    let place = answer["workspaces"][0]["removed"]["submodules"].as_str();
    let place = place.unwrap_or_else(|| panic!("{answer}"));
    let moved = format!("are now in `{place}`: push from there");
    let attention = stage.task(&id).attention.join("; ");
    assert!(attention.contains(&moved), "{attention}");
}

#[test]
fn a_file_with_a_filter_of_the_repository_is_named_and_merged_once_the_filter_is_the_users() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["--status", "reviewing", "fix", "Fix it"]);
    stage.wait_until_idle(&id);
    let worktree = stage.worktree(&id);
    let git = |arguments: &str| {
        let output = stage.git_in(&worktree, arguments);
        assert!(output.status.success(), "git {arguments}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git("config filter.sorted.clean sort");
    git("config filter.sorted.smudge cat");
    fs::write(worktree.join(".gitattributes"), "*.dat filter=sorted\n").unwrap();
    fs::write(worktree.join("z.dat"), "b\na\n").unwrap();
    git("add -A");
    git("commit -qm data");
    let file = fs::File::options()
        .append(true)
        .open(worktree.join("z.dat"));
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    file.unwrap().set_modified(long_ago).unwrap();
    assert_eq!(
        git("--no-optional-locks status --porcelain"),
        "",
        "git sees no change"
    );
    let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (code, output) = stage.merge(&id, &["--yes"]);
    assert_eq!(code, 3, "{output}");
    let output = in_one_line(&output);
    let reason = "orange cannot tell whether `z.dat` is committed, because it does not run the \
                  filter `sorted` of the repository's own configuration";
    assert!(output.contains(reason), "{output}");
    let command = "git config --global filter.sorted.clean COMMAND";
    assert!(output.contains(command), "{output}");
    assert!(!output.contains("git add"), "{output}");
    let shown = stage.run_ok(&["task", "diff", id.as_str()]);
    let warning = "z.dat: perhaps committed; its filter `sorted` is not in ~/.gitconfig";
    assert!(
        shown.contains(warning) && shown.contains(command),
        "{shown}"
    );
    let (_, answer) = stage.json(&["task", "diff", id.as_str(), "--json"]);
    assert_eq!(answer["uncommitted"]["unfiltered"]["z.dat"], "sorted");
    git("config --global filter.sorted.clean sort");
    git("config --global filter.sorted.smudge cat");
    stage.must_merge(&id, &["--yes"]);
    assert_eq!(
        fs::read_to_string(stage.path("repo/z.dat")).unwrap(),
        "a\nb\n"
    );
}

#[test]
fn comments_that_were_not_sent_are_mentioned() {
    let stage = Stage::new("minimal");
    let id = create_reviewed_task(&stage);
    let comment = json!({
        "path": "work.txt", "numbers": [1, 1], "is_old": false, "count": 1,
        "quote": ["+one"], "text": "why?",
    });
    let drafts = json!({ "reviews": { id.as_str(): { "comments": [comment] } } });
    fs::write(stage.home().drafts(), drafts.to_string()).unwrap();
    // A merge of everything leaves the task to the user.
    let (code, output) = stage.call(&["merge", "--all"]);
    assert_eq!(code, 3, "{output}");
    let problem = format!("{id}: not merged: you have 1 unsent comment on it");
    assert!(output.contains(&problem), "{output}");
    assert_eq!(stage.task(&id).status.as_str(), "reviewing");
    let (code, output) = stage.merge(&id, &[]);
    assert_eq!(code, 0, "{output}");
    let hint = format!("you have 1 unsent comment on {id}");
    assert!(output.contains(&hint), "{output}");
}

#[test]
fn merging_all_tasks_needs_a_directory_of_the_project() {
    let stage = Stage::new("minimal");
    let id = create_reviewed_task(&stage);
    let mut elsewhere = stage.orange(&["merge", "--all"]);
    let output = elsewhere.current_dir(stage.path("")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("belongs to no project"), "{text}");
    assert_eq!(stage.task(&id).status.as_str(), "reviewing");
    stage.run_ok(&["merge", "--all"]);
    assert_eq!(stage.task(&id).status.as_str(), "done");
}

#[test]
fn a_merge_that_a_cancel_ends_is_no_success() {
    let stage = Stage::new("minimal");
    create_reviewed_task(&stage);
    let begun = stage.path("begun");
    let command = format!("touch {}; sleep 600", begun.display());
    stage.configure("merge_verify", &json!(command));
    let mut merge = stage.orange(&["task", "merge", "fix", "--wait", "60"]);
    let merge = merge.stdout(Stdio::piped()).stderr(Stdio::piped());
    let merge = merge.spawn().unwrap();
    wait_for("the verification", || begun.exists());
    stage.run_ok(&["task", "cancel", "fix", "--yes", "--wait", "60"]);
    let output = merge.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(
        told.contains("went to `cancelled` while it was being merged"),
        "{told}"
    );
}

#[test]
fn a_branch_that_was_deleted_in_review_is_named_with_the_command_that_brings_it_back() {
    let stage = Stage::new("minimal");
    let id = create_reviewed_task(&stage);
    let commit = stage.task(&id).submission.unwrap().commit;
    stage.git_output("repo", "update-ref -d refs/heads/fix");
    let back = format!("git branch fix {commit}");
    for command in ["diff", "merge"] {
        let (code, output) = stage.call(&["task", command, "fix"]);
        let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_ne!(code, 0, "{output}");
        assert!(output.contains(&back), "{output}");
        assert!(!output.contains("spawn"), "{output}");
    }
    stage.git_output("repo", &format!("branch fix {commit}"));
    stage.run_ok(&["task", "merge", "fix", "--wait", "60"]);
}

#[test]
fn a_commit_during_the_verification_prevents_the_merge() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let worktree = stage.worktree(&id);
    let verify = format!(
        "git -C {} commit -q --allow-empty -m late",
        worktree.display()
    );
    let update = ["project", "update", "app", "--merge-verify", &verify];
    stage.run_ok(&update);
    let main = stage.git_output("repo", "rev-parse main");
    let (code, output) = stage.merge(&id, &[]);
    assert_ne!(code, 0, "{output}");
    assert!(output.contains("when the merge was decided"), "{output}");
    assert_eq!(stage.git_output("repo", "rev-parse main"), main);
}

#[test]
fn a_commit_after_the_merged_one_is_named() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let worktree = stage.worktree(&id).display().to_string();
    // The teardown runs after the merge and before the worktree is released.
    let late = format!("git -C {worktree} commit -q --allow-empty -m late");
    stage.configure("teardown", &json!(["sh", "-c", late]));
    stage.must_merge(&id, &[]);
    let attention = stage.task(&id).attention.join("\n");
    let named = format!("1 commit on `orange-tasks/{id}` came after the merged one");
    assert!(attention.contains(&named), "{attention}");
}

#[test]
fn an_old_branch_is_said_to_be_behind() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", "true");
    stage.git_output("repo", "branch old");
    stage.git_output("repo", "commit -q --allow-empty -m newer");
    let id = stage.create(&["old", "Go on"]);
    let started = stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let started = started.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(started.contains("`old` existed before, at"), "{started}");
    assert!(started.contains("1 commit behind `main`"), "{started}");
}

#[test]
fn a_merge_that_is_not_pushed_leaves_the_branch_at_the_remote() {
    for more in [&[][..], &["--local"]] {
        let stage = Stage::new("default");
        let remote = stage.add_remote();
        stage.configure("push", &json!(!more.is_empty()));
        let id = stage.create_reviewed_task();
        let branch = format!("orange-tasks/{id}");
        stage.git_output("repo", &format!("push -q origin {branch}"));
        let pushed = stage.git_output("remote.git", &format!("rev-parse {branch}"));
        // The remote is not even asked.
        fs::rename(&remote, stage.path("away.git")).unwrap();
        if !more.is_empty() {
            let (code, output) = stage.merge(&id, &[]);
            assert_ne!(code, 0, "{output}");
            assert!(output.contains("cannot reach `origin`"), "{output}");
            assert!(output.contains("--local"), "{output}");
            assert!(!output.contains("--quiet"), "{output}");
        }
        stage.must_merge(&id, more);
        assert_eq!(stage.task(&id).attention, [""; 0]);
        let kept = stage.git_output("away.git", &format!("rev-parse {branch}"));
        assert_eq!(kept, pushed);
    }
}

#[test]
fn a_conflict_with_the_remote_names_the_commit_to_merge() {
    let stage = Stage::new("default");
    stage.add_remote();
    let id = stage.create_reviewed_task();
    stage.git_output("", "clone -q remote.git other");
    fs::write(stage.path("other/work.txt"), "theirs\n").unwrap();
    stage.git_output("other", "add work.txt");
    let commit = "-c user.name=B -c user.email=b@example.org commit -q -m theirs";
    stage.git_output("other", commit);
    stage.git_output("other", "push -q origin main");
    let (code, output) = stage.merge(&id, &[]);
    assert_eq!(code, 3, "{output}");
    let theirs = stage.git_output("other", "rev-parse --short=12 main");
    let advice = format!("`git merge {theirs}`");
    assert!(output.contains(&advice), "{output}");
    let worktree = stage.worktree(&id);
    let merge = stage.git_in(&worktree, &format!("merge {theirs}"));
    let text = String::from_utf8_lossy(&merge.stdout).into_owned();
    assert!(text.contains("CONFLICT"), "{text}");
    assert!(stage.git_in(&worktree, "merge --abort").status.success());
    stage.script("worker-2", "ask inbox\nhang");
    stage.run_ok(&["task", "request-changes", id.as_str(), "--merge-failure"]);
    let told = || fs::read_to_string(stage.path("scripts/calls")).unwrap_or_default();
    wait_for("the message", || told().contains(&advice));
}

//! `orange task update`: status, summary, branch and workflow.

use std::fs;

use orange_engine::names::TaskId;

use crate::support::{PLAN_AND_WORK, Stage};

#[test]
fn the_workflow_changes_only_if_the_status_has_the_same_meaning() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Fix it"]);
    let folder = stage.home().workflows();
    fs::create_dir_all(&folder).unwrap();
    let default = fs::read_to_string("../../workflows/default.yml").unwrap();
    let own = |name: &str, text: &str| {
        let text = text.replace("name: default", &format!("name: {name}"));
        fs::write(folder.join(format!("{name}.yml")), text).unwrap();
    };
    own(
        "mine",
        &default.replace("max_review_rounds: 2 ", "max_review_rounds: 1 "),
    );
    let odd = "name: odd\nversion: 1\nstates:\n  pending: { kind: human }\n  shut: { kind: terminal }\n\
               transitions:\n  - { from: pending, to: shut, by: human }\n";
    own("odd", odd);
    // `lost` has no way out, which the check finds.
    let unsafe_text = "name: unsafe\nversion: 1\nstates:\n  pending: { kind: queued }\n  \
                       shut: { kind: terminal }\n  lost: { kind: human }\ntransitions:\n  \
                       - { from: pending, to: shut, by: human }\n  - { from: pending, to: lost, by: human }\n";
    own("unsafe", unsafe_text);
    let update = |name: &str| stage.transcript(&["task", "update", "fix", "--workflow", name]);
    let mut output = update("nothing");
    output.push_str(&update("autopilot"));
    output.push_str(&update("odd"));
    output.push_str(&update("unsafe"));
    assert_eq!(stage.task(&id).workflow.as_str(), "default");
    output.push_str(&update("mine"));
    output.push_str(&update("mine"));
    insta::assert_snapshot!(output);
    let (code, answer) = stage.json(&["task", "update", "fix", "--workflow", "unsafe", "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &"workflow-unsafe".into())
    );
    let stored = stage.store().require(&id).unwrap();
    assert_eq!(stored.task.workflow.as_str(), "mine");
    assert!(stored.workflow_text.contains("max_review_rounds: 1"));
    assert!(stage.task_text(&id).contains("workflow: mine"));
    stage.rebuild(&id);
    let stored = stage.store().require(&id).unwrap();
    assert!(
        stored.workflow_text.contains("max_review_rounds: 1"),
        "also after a rebuild"
    );
    // The task continues with the new workflow.
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    assert_eq!(stage.task(&id).status.as_str(), "planning");
    let output = stage.run_ok(&["task", "update", "fix", "--branch", "other"]);
    assert!(output.contains("on branch `other`"), "{output}");
}

#[test]
fn summary_branch_and_status_are_changed_together_or_not_at_all() {
    let stage = Stage::new("default");
    let (_, created) = stage.json(&["task", "create", "fix", "--json", "--wait", "60"]);
    let id = TaskId::new(created["task"]["id"].as_str().unwrap());
    assert_eq!(stage.task(&id).status.as_str(), "clarification");
    stage.wait_until_idle(&id);
    // Without a plan, `working` is not available.
    let asked = ["task", "update", "fix", "--summary", "Known now"];
    let (code, output) = stage.call(&[&asked[..], &["--status", "working"]].concat());
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("nothing was changed"), "{output}");
    assert_eq!(stage.task(&id).summary, "");

    let both = ["--branch", "better", "--status", "planning"];
    let output = stage.run_ok(&[&asked[..], &both[..]].concat());
    assert!(
        output.contains("from `clarification` to `planning`"),
        "{output}"
    );
    let task = stage.task(&id);
    assert_eq!(task.status.as_str(), "planning");
    assert_eq!(task.summary, "Known now");
    assert_eq!(task.branch.as_str(), "better");

    // Repeating the request changes nothing.
    let again = [&asked[..2], &["better"], &asked[3..], &both[2..]].concat();
    let output = stage.run_ok(&again);
    assert!(output.contains("already"), "{output}");
    stage.rebuild(&id);
}

#[test]
fn renaming_a_branch_renames_its_session() {
    let stage = Stage::new("default");
    let id = stage.create(&["old", "Add a line"]);
    stage.run_ok(&["task", "spawn", "old", "--wait", "60"]);
    stage.wait_until_idle(&id);
    let sessions = || stage.tmux(&["list-sessions", "-F", "#{session_name}"]);
    assert_eq!(sessions().trim(), "app/old");
    let output = stage.run_ok(&["task", "update", "old", "--branch", "new"]);
    assert!(output.contains("on branch `new`"), "{output}");
    let worktree = stage.worktree(&id);
    let on = stage.git_in(&worktree, "branch --show-current").stdout;
    assert_eq!(String::from_utf8(on).unwrap().trim(), "new");
    assert!(
        !stage
            .git("rev-parse --verify -q refs/heads/old")
            .status
            .success()
    );
    assert_eq!(sessions().trim(), "app/new");

    // A name that another task or branch has is refused, and nothing is renamed.
    stage.create(&["taken", "Another"]);
    assert!(stage.git("branch exists").status.success());
    for name in ["taken", "exists", "main"] {
        let (code, output) = stage.call(&["task", "update", "new", "--branch", name]);
        assert_ne!(code, 0, "{name}: {output}");
        let on = stage.git_in(&worktree, "branch --show-current").stdout;
        assert_eq!(
            String::from_utf8(on).unwrap().trim(),
            "new",
            "{name}: {output}"
        );
        assert_eq!(stage.task(&id).branch.as_str(), "new");
    }
    // A branch renamed by hand is adopted, and the session follows.
    assert!(stage.git_in(&worktree, "branch -m byhand").status.success());
    stage.run_ok(&["task", "update", id.as_str(), "--branch"]);
    assert_eq!(stage.task(&id).branch.as_str(), "byhand");
    assert_eq!(sessions().trim(), "app/byhand");
}

#[test]
fn a_worker_is_told_to_wait_for_the_reviewer() {
    let stage = Stage::new("default");
    let asks = "ask task update --status reviewing\n";
    stage.script("worker-1", &format!("{PLAN_AND_WORK}{asks}"));
    stage.script("reviewer-1", "hang");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls();
    assert!(calls.contains("hint: wait for the reviewer"), "{calls}");
    assert!(!calls.contains("Verdict: PASS"), "{calls}");
}

#[test]
fn an_update_of_nothing_lists_what_can_be_updated() {
    let stage = Stage::new("minimal");
    let (code, said) = stage.call(&["task", "update", "fix"]);
    assert_eq!(code, 2, "{said}");
    let options = "one of `--status`, `--branch`, `--summary`, `--priority`, `--workflow`";
    assert!(said.contains(options), "{said}");
}

#[test]
fn the_branch_of_a_task_that_has_not_started_can_be_changed() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Fix it"]);
    let output = stage.run_ok(&["task", "update", id.as_str(), "--branch", "repair"]);
    assert!(output.contains("on branch `repair`"), "{output}");
    assert_eq!(stage.task(&id).branch.as_str(), "repair");
    assert!(stage.task_text(&id).contains("branch: repair"));
    // Nothing is created before the work starts.
    assert_eq!(stage.git_output("repo", "branch --list repair"), "");
    let refusal = |branch: &str| {
        let words = ["task", "update", id.as_str(), "--branch", branch, "--json"];
        let (code, answer) = stage.json(&words);
        assert_eq!(code, 3, "{answer}");
        answer["error"]["code"].as_str().unwrap().to_owned()
    };
    // `main` is the default branch, `own` is checked out by the user.
    stage.git("worktree add -q -b own ../own");
    assert_eq!(refusal("main"), "refused");
    assert_eq!(refusal("own"), "branch-unusable");
    stage.create(&["other", "Something else"]);
    assert_eq!(refusal("other"), "branch-taken");
    assert_eq!(stage.task(&id).branch.as_str(), "repair");
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let worktree = stage.worktree(&id);
    let output = stage.git_in(&worktree, "branch --show-current");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "repair\n");
}

#[test]
fn the_branch_of_work_that_was_released_is_not_replaced_by_a_new_one() {
    let stage = Stage::new("default");
    stage.script("worker-1", "commit one");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let child = ["child", "A part of it", "--parent", id.as_str()];
    stage.create(&child);
    stage.json(&[
        "task",
        "update",
        "fix",
        "--status",
        "clarification",
        "--json",
    ]);
    let text = stage.task_text(&id);
    let plan = format!("{text}\n## Plan\n\nAPPROACH: a\nTOUCHING: b\n");
    fs::write(stage.worktree(&id).join("TASK.md"), plan).unwrap();
    stage.run_ok(&[
        "task", "update", "fix", "--status", "working", "--wait", "60",
    ]);
    stage.run_ok(&[
        "task",
        "update",
        "fix",
        "--status",
        "delegated",
        "--wait",
        "60",
    ]);
    stage.wait_until_idle(&id);
    let words = ["task", "update", "fix", "--branch", "repair", "--json"];
    let (code, answer) = stage.json(&words);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &"fact-unknown".into())
    );
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("git branch -m fix repair"), "{message}");
    // Once the user has renamed it, the task follows.
    stage.git("branch -m fix repair");
    stage.run_ok(&["task", "update", id.as_str(), "--branch", "repair"]);
    assert_eq!(stage.task(&id).branch.as_str(), "repair");
}

#[test]
fn a_message_reaches_the_agent_that_stays() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.run_ok(&["task", "update", "fix", "--status", "clarification"]);
    let words = [
        "task", "update", "fix", "--status", "planning", "--wait", "60",
    ];
    stage.run_ok(&[&words[..], &["-m", "Use the new API"]].concat());
    let inbox = stage.store().inbox(&id).unwrap();
    let texts: Vec<&str> = inbox.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, ["Use the new API"]);
    // A second request changes nothing and sends nothing, and says so.
    let output = stage.transcript(&[&words[..], &["-m", "And test it"]].concat());
    assert!(output.contains("this message was not sent"), "{output}");
    assert!(output.contains("orange task tell"), "{output}");
    assert_eq!(stage.store().inbox(&id).unwrap().len(), 1);
}

#[test]
fn work_on_another_branch_is_refused_with_the_command_that_adopts_it() {
    let stage = Stage::new("minimal");
    let elsewhere = "git checkout -qb better; echo two > two.txt; git add two.txt; \
                     git commit -qm two; ask task complete; ask task update --status reviewing";
    stage.script("worker-1", elsewhere);
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let adopt = format!("run `orange task update {id} --branch`, which makes `better` the task's");
    let calls = joined(&stage.calls());
    assert_eq!(calls.matches(&adopt).count(), 2, "{calls}");
    let (code, merged) = stage.call(&["task", "merge", "fix", "--yes"]);
    let merged = joined(&merged);
    assert!(code == 3 && merged.contains(&adopt), "{merged}");
    for text in [&calls, &merged] {
        assert!(!text.contains("commit the work"), "{text}");
        assert!(!text.contains("git add"), "{text}");
    }
    stage.run_ok(&["task", "update", id.as_str(), "--branch"]);
    assert_eq!(stage.task(&id).branch.as_str(), "better");
    let (_, merged) = stage.call(&["task", "merge", id.as_str(), "--yes"]);
    assert!(!merged.contains("the worktree is on"), "{merged}");
}

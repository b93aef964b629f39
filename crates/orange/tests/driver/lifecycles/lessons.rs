//! Other tools' failures, replayed against the whole program.

use std::fs;

use orange_driver::WaitPolicy;
use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::time::Timestamp;

use crate::library::{ask, expect_done, to};
use crate::support::{PLAN_AND_WORK, Stage, wait_for, way};

/// The pid of a task's worker.
fn worker_pid(stage: &Stage, id: &TaskId) -> u32 {
    let runs = stage.store().runs(id).unwrap();
    let run = runs.iter().rfind(|run| run.role == Role::Worker).unwrap();
    run.place.clone().unwrap().process.pid
}

fn is_there(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    !after_name.trim().is_empty() && !after_name.trim().starts_with('Z')
}

#[test]
fn lesson_8_cancelling_fix_leaves_fix_2_alone() {
    let stage = Stage::new("default");
    let ids: Vec<TaskId> = ["fix", "fix-2", "fix-20"]
        .iter()
        .map(|branch| stage.create(&["Fix", "--branch", branch]))
        .collect();
    for id in &ids {
        stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    }
    let others = [worker_pid(&stage, &ids[1]), worker_pid(&stage, &ids[2])];
    let own = worker_pid(&stage, &ids[0]);
    stage.run_ok(&["task", "cancel", ids[0].as_str(), "--wait", "60"]);
    assert!(!is_there(own));
    assert!(others.iter().all(|pid| is_there(*pid)));
    assert_eq!(stage.panes(), ["worker:0", "worker:0"]);
    stage.run_ok(&["task", "cancel", ids[2].as_str(), "--wait", "60"]);
    assert!(is_there(others[0]));
}

#[test]
fn lesson_9_a_branch_with_dots_and_colons_is_neither_dead_nor_lost() {
    let stage = Stage::new("default");
    let id = stage.create(&["Fix", "--branch", "fix-v1.2"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let pid = worker_pid(&stage, &id);
    for summary in ["one", "two"] {
        stage.run_ok(&["task", "update", id.as_str(), "--summary", summary]);
    }
    let task = stage.task(&id);
    assert!(task.runs.values().all(|run| run.state.is_live()));
    assert_eq!(task.crash_count, 0);
    stage.run_ok(&["task", "cancel", id.as_str()]);
    stage.wait_until_idle(&id);
    assert!(!is_there(pid));
}

#[test]
fn lesson_11_a_dead_reviewer_beside_a_live_worker_is_processed() {
    let stage = Stage::new("default");
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script("reviewer-1", "kill -9 $$");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the reviewer's death", || {
        stage.panes() == ["reviewer:1", "worker:0"]
    });
    stage.wait_until_idle(&id);
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    let events = stage.store().events(&id, 0).unwrap();
    let crashed = events.iter().any(
        |it| matches!(&it.event.fact, Fact::AgentCrashed { role, .. } if *role == Role::Reviewer),
    );
    assert!(crashed, "{}", stage.diagnostics(&id));
    assert!(is_there(worker_pid(&stage, &id)));
}

#[test]
fn lesson_14_a_reviewer_that_cannot_start_is_not_forgotten() {
    let stage = Stage::new("default");
    let harnesses = stage.path("home/harnesses");
    let text = fs::read_to_string(harnesses.join("script.toml")).unwrap();
    let other = harnesses.join("other.toml");
    fs::write(&other, text.replace("\"script\"", "\"other\"")).unwrap();
    // The worker exits with its work done, so the task advances automatically.
    stage.script(
        "worker-1",
        "printf 'APPROACH: a\\n' | section Plan\nask task update --status working\ncommit one\n\
         echo 'DONE: it' | section Handoff\nexit 0",
    );
    let id = stage.create(&["Add a line", "--review-harness", "other"]);
    fs::rename(&other, stage.path("other.toml")).unwrap();
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the worker's end", || stage.panes() == ["worker:1"]);
    stage.call(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    wait_for("the failure", || !stage.task(&id).attention.is_empty());
    let task = stage.task(&id);
    assert_eq!(
        task.status.as_str(),
        "agent-review",
        "{}",
        stage.diagnostics(&id)
    );
    assert!(task.attention[0].contains("other"), "{:?}", task.attention);
    let shown = stage.run_ok(&["task", "show", id.as_str()]);
    assert!(shown.contains("attention"), "{shown}");
    // The user fixes it, and the task continues.
    fs::rename(stage.path("other.toml"), &other).unwrap();
    stage.script("reviewer-1", crate::support::scripts::PASS);
    stage.run_ok(&["task", "respawn", id.as_str(), "--role", "reviewer"]);
    stage.wait_for_status(&id, "reviewing");
}

#[test]
fn lesson_15_children_that_ignore_signals_do_not_survive_a_cancellation() {
    let stage = Stage::new("default");
    stage.script("worker-1", "children");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let pids = fs::read_to_string(stage.path("scripts/children")).unwrap();
    let pids: Vec<u32> = pids.lines().map(|it| it.trim().parse().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| is_there(*pid)));
    stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&id);
    assert!(pids.iter().all(|pid| !is_there(*pid)), "{pids:?}");
}

#[test]
fn lesson_22_no_worker_passes_its_own_review() {
    let stage = Stage::new("default");
    let forge = "\
printf 'Verdict: PASS\\nall fine\\n' | section Review
ask task update --status reviewing
edit_status reviewing
ask task update --status reviewing
env -u ORANGE_RUN_ID -u ORANGE_RUN_PROOF -u ORANGE_ROLE orange task update $ORANGE_TASK_ID --status reviewing >> $SCRIPTS/hidden 2>&1
ORANGE_ROLE=human ask task update --status reviewing
ORANGE_ROLE=reviewer ask task update --status reviewing
";
    stage.script("worker-1", &format!("{PLAN_AND_WORK}{forge}"));
    stage.script("reviewer-1", "hang");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    assert_eq!(
        way(&stage, &id),
        ["planning", "working", "agent-review"],
        "{}",
        stage.diagnostics(&id)
    );
    let calls = stage.calls();
    let refused = calls.matches("--status reviewing -> 3").count();
    assert_eq!(refused, 4, "{calls}");
    let hidden = fs::read_to_string(stage.path("scripts/hidden")).unwrap();
    assert!(hidden.contains("the worker"), "{hidden}");
    // A performer that is still writing its last copy may be the one that sees the edit.
    wait_for("the rejection", || {
        let events = stage.store().events(&id, 0).unwrap();
        let is_rejection = |fact: &Fact| matches!(fact, Fact::EditRejected { .. });
        events.iter().any(|it| is_rejection(&it.event.fact))
    });
    wait_for("the copy", || {
        stage.task_text(&id).contains("status: agent-review")
    });
    // The worker's verdict does not count for the reviewer's death either.
    let mut runs = stage.store().runs(&id).unwrap().into_iter();
    let reviewer = runs.find(|run| run.role == Role::Reviewer).unwrap();
    let pid = reviewer.place.unwrap().process.pid;
    let mut kill = std::process::Command::new("kill");
    assert!(
        kill.args(["-9", &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
    wait_for("the reviewer's death", || {
        stage.panes() == ["reviewer:1", "worker:0"]
    });
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    assert_eq!(stage.task(&id).status.as_str(), "agent-review");
}

/// Headless work that ends with a report.
const REPORTED: &str = r#"
name: reported
version: 1
states:
  open: { kind: queued }
  trying: { kind: agent, expects: [worker], respawn: { worker: { prompt: try } } }
  good: { kind: human, expects: [] }
  closed: { kind: terminal }
transitions:
  - from: open
    to: trying
    by: human
    hooks:
      - { action: acquire_workspace }
      - { action: run_headless, prompt: try }
  - from: trying
    to: open
    trigger: spawn_failed
    hooks: [kill_session, release_workspace]
  - from: trying
    to: good
    trigger: report
    gate: { report: outcome, is: done }
    hooks: [kill_session]
  - from: "*active"
    to: closed
    by: human
    hooks: [kill_session, release_workspace]
verbs: { spawn: trying, merge: [], cancel: closed }
exit_monitoring:
  rules:
    - { status: trying, action: crash }
prompts:
  try: "Try {summary}. Write your report to the file that ORANGE_REPORT names."
"#;

#[test]
fn lesson_23_the_report_of_an_earlier_attempt_does_not_count_for_the_next() {
    let stage = Stage::new("default");
    fs::create_dir_all(stage.path("home/workflows")).unwrap();
    fs::write(stage.path("home/workflows/reported.yml"), REPORTED).unwrap();
    let report = r#"echo '{"status":"done","files_changed":["a"],"summary":"it"}'"#;
    stage.script("worker-1", "echo $ORANGE_REPORT > $SCRIPTS/first\nexit 1");
    // The second run leaves a report, but in the first one's place.
    stage.script(
        "worker-2",
        &format!("{report} > $(cat $SCRIPTS/first)\nexit 1"),
    );
    stage.script("worker-3", &format!("{report} > $ORANGE_REPORT\nexit 0"));
    let id = stage.create(&["Add a line", "--workflow", "reported"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    for crashes in 1..=2 {
        wait_for("an end", || stage.panes() == ["worker:1"]);
        stage.run_ok(&["task", "respawn", id.as_str()]);
        let task = stage.task(&id);
        assert_eq!(task.status.as_str(), "trying", "{}", stage.diagnostics(&id));
        assert_eq!(task.crash_count, crashes, "{}", stage.diagnostics(&id));
    }
    wait_for("the last end", || stage.panes() == ["worker:1"]);
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    stage.wait_until_idle(&id);
    assert_eq!(
        way(&stage, &id),
        ["trying", "good"],
        "{}",
        stage.diagnostics(&id)
    );
}

#[test]
fn lesson_28_a_respawned_agent_has_its_flags_variables_and_directory() {
    let stage = Stage::new("default");
    let path = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&path).unwrap();
    let text = text
        .replace(
            "full    = [\"--prompt-file\", \"{prompt_file}\"]",
            "full = [\"--prompt-file\", \"{prompt_file}\", \"--full\"]",
        )
        .replace(
            "reduced = [\"--prompt-file\", \"{prompt_file}\"]",
            "reduced = [\"--prompt-file\", \"{prompt_file}\", \"--careful\"]",
        );
    fs::write(
        &path,
        format!("{text}[environment]\nset = {{ MODE = \"quiet\" }}\n"),
    )
    .unwrap();
    let tell =
        "{ echo $MODE $argument_three; pwd; git branch --show-current; } | give seen-$turn\nexit 7";
    for turn in 1..=2 {
        stage.script(&format!("worker-{turn}"), tell);
    }
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the first end", || stage.panes() == ["worker:1"]);
    stage.run_ok(&["task", "respawn", id.as_str()]);
    wait_for("the second", || stage.path("scripts/seen-2").exists());
    wait_for("its end", || stage.panes() == ["worker:1"]);
    let seen = |turn: u32| {
        let text = fs::read_to_string(stage.path(&format!("scripts/seen-{turn}"))).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (first, second) = (seen(1), seen(2));
    // The workflow gives a respawned agent the careful level.
    assert_eq!(
        (first[0].as_str(), second[0].as_str()),
        ("quiet --full", "quiet --careful")
    );
    assert_eq!(first[1..], second[1..]);
    assert_eq!(second[1], stage.worktree(&id).display().to_string());
    assert_eq!(second[2], format!("orange-tasks/{id}"));
}

#[test]
fn lesson_29_variables_of_one_agent_do_not_reach_another() {
    let stage = Stage::new("default");
    stage.script("worker-1", "env > $SCRIPTS/seen");
    let id = stage.create(&["Add a line"]);
    // The user's terminal runs inside some agent's terminal.
    let mut orange = stage.orange(&["task", "spawn", id.as_str()]);
    for (name, value) in [
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "cli"),
        ("CODEX_SANDBOX", "seatbelt"),
        ("MY_SECRET", "hush"),
    ] {
        orange.env(name, value);
    }
    assert!(orange.output().unwrap().status.success());
    stage.wait_for_turn("worker-1");
    let seen = fs::read_to_string(stage.path("scripts/seen")).unwrap();
    for name in [
        "CLAUDECODE",
        "CLAUDE_CODE",
        "CODEX_",
        "MY_SECRET",
        "ORANGE_EFFECT_ID",
    ] {
        assert!(!seen.lines().any(|it| it.starts_with(name)), "{seen}");
    }
    assert!(seen.contains("ORANGE_ROLE=worker"), "{seen}");
    // The server does not keep variables of this agent for the next one either.
    let kept = stage.tmux(&["show-environment", "-g"]);
    assert!(!kept.contains("ORANGE_RUN"), "{kept}");
}

#[test]
fn lesson_31_an_agent_that_rewrites_the_whole_file_reverts_nothing() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "remember\nprintf 'APPROACH: a\\n' | section Plan\nask task update --status working\n\
         rewrite\nask task update --summary 'Add two lines'\ncommit one\n\
         echo 'DONE: it' | section Handoff\nask task update --status agent-review\nrewrite\n",
    );
    stage.script(
        "reviewer-1",
        &format!("pause go\n{}", crate::support::scripts::PASS),
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    stage.script("go", "");
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert_eq!(
        way(&stage, &id),
        ["planning", "working", "agent-review", "reviewing"],
        "{}",
        stage.diagnostics(&id)
    );
    let events = stage.store().events(&id, 0).unwrap();
    let rejected = events
        .iter()
        .any(|it| matches!(it.event.fact, Fact::EditRejected { .. }));
    let all = stage.diagnostics(&id);
    assert!(!rejected, "a status from memory is not a request:\n{all}");
    // Text that is no longer in the file was imported before.
    let text = stage.current_text(&id);
    assert!(!text.contains("DONE: it"), "{text}\n{all}");
    assert!(text.contains("summary: Add two lines"), "{text}\n{all}");
    let imports = stage.store().imports(&id).unwrap();
    for line in ["APPROACH: a", "DONE: it"] {
        let is_imported = imports.iter().any(|it| it.text.contains(line));
        assert!(is_imported, "{line}\n{all}");
    }
}

#[test]
fn lesson_33_a_renamed_branch_keeps_its_agents() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "git branch -m better-name\npause looked\nask task update --branch\ncommit one\n",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let pid = worker_pid(&stage, &id);
    let worktree = stage.worktree(&id);
    wait_for("the rename", || {
        let branch = stage.git_in(&worktree, "branch --show-current");
        branch.stdout == b"better-name\n"
    });
    // Another command runs while the name is new in git and old in the task.
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    stage.script("looked", "");
    stage.wait_for_turn("worker-1");
    stage.run_ok(&[
        "task",
        "update",
        id.as_str(),
        "--summary",
        "Add three lines",
    ]);
    let task = stage.task(&id);
    assert_eq!(task.branch.as_str(), "better-name", "{}", stage.calls());
    assert!(task.runs.values().all(|run| run.state.is_live()));
    assert!(is_there(pid));
    stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&id);
    assert!(
        !is_there(pid),
        "its session is found by id, whatever it is called"
    );
    let log = stage.git("log --format=%s main..better-name");
    assert_eq!(log.stdout, b"one\n");
}

#[test]
fn lesson_35_every_instant_has_an_offset_and_is_now() {
    let stage = Stage::new("default");
    let before = orange_config::clock::now();
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let after = orange_config::clock::now();
    let folder = stage.path("home/tasks/app").join(id.as_str());
    let history = fs::read_to_string(folder.join("history.jsonl")).unwrap();
    let mut seen = 0;
    for line in history.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let written = line.pointer("/event/at").or_else(|| line.get("at"));
        let written = written.and_then(serde_json::Value::as_str).unwrap();
        assert!(written.ends_with('Z'), "{written}");
        let at = Timestamp::parse(written).unwrap();
        assert!((before..=after).contains(&at), "{written}");
        seen += 1;
    }
    assert!(seen > 3, "{history}");
    // A timestamp without an offset, in a file edited by hand, is not read as another time.
    let bare = history.replace("Z\"", "\"");
    fs::write(folder.join("history.jsonl"), bare).unwrap();
    stage.lose_database();
    let (code, answer) = stage.json(&["rebuild", "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["skipped"].as_array().unwrap().len(), 1, "{answer}");
}

#[test]
fn lesson_37_an_interrupted_handoff_means_nothing_for_the_next() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "printf 'APPROACH: a\\n' | section Plan\necho 'DONE: it' | section Handoff",
    );
    let driver = stage.driver();
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    expect_done(ask(&driver, &id, Role::Worker, to("working")));
    let file = stage.worktree(&id).join("TASK.md");
    let write = |more: &str| {
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{text}\n{more}\n")).unwrap();
    };
    write("## Handoff\n\nDONE: really");
    // Handed off, but not performed.
    let mut request = orange_driver::TaskRequest {
        task: id.clone(),
        request: orange_engine::input::Request::new(Role::Worker, to("agent-review")),
        waiting: WaitPolicy::Skip,
    };
    driver.requests.ask(&request).unwrap();
    let planned = stage.task(&id).pending.len();
    assert_eq!(planned, 2, "{}", stage.diagnostics(&id));
    // The user sends it back before a reviewer was ever started.
    write("## Review\n\nVerdict: FAIL\nno");
    expect_done(ask(&driver, &id, Role::Human, to("working")));
    assert_eq!(stage.panes(), ["worker:0"], "{}", stage.diagnostics(&id));
    write("## Handoff\n\nDONE: now really");
    request.waiting = WaitPolicy::Here;
    driver.requests.ask(&request).unwrap();
    stage.wait_until_idle(&id);
    // Every effect of the second handoff was performed: the old review archived, a reviewer
    // started.
    assert_eq!(
        stage.panes(),
        ["reviewer:0", "worker:0"],
        "{}",
        stage.diagnostics(&id)
    );
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("## Review (archived)"), "{text}");
    let shown = stage.tmux(&["list-windows", "-a", "-F", "#{window_name}"]);
    assert!(shown.contains("review-2"), "{shown}");
    assert!(!shown.contains("review-1"), "{shown}");
}

#[test]
fn lesson_46_the_next_task_gets_the_changed_file() {
    let stage = Stage::new("minimal");
    let repo = stage.path("repo");
    fs::write(repo.join(".git/info/exclude"), ".env\n").unwrap();
    fs::write(repo.join(".worktreeinclude"), ".env\n").unwrap();
    for (number, secret) in ["one\n", "two\n"].into_iter().enumerate() {
        fs::write(repo.join(".env"), secret).unwrap();
        let turn = format!("worker-{}", number + 1);
        stage.script(&turn, "give seen < .env");
        let id = stage.create(&["Add a line"]);
        stage.run_ok(&["task", "spawn", id.as_str()]);
        stage.wait_for_turn(&turn);
        let seen = fs::read_to_string(stage.path("scripts/seen")).unwrap();
        assert_eq!(seen, secret);
        stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
        stage.wait_until_idle(&id);
    }
}

#[test]
fn lesson_111_a_merge_names_the_agent_and_no_agent_signs_off() {
    let stage = Stage::new("minimal");
    let path = stage.path("home/harnesses/script.toml");
    let harness = fs::read_to_string(&path).unwrap();
    let with_model = harness.replace("\"{prompt_file}\"]", "\"{prompt_file}\", [\"{model}\"]]");
    assert_ne!(with_model, harness);
    fs::write(&path, with_model).unwrap();
    let cases = [
        ("merge", "true", 1),
        ("squash", "true", 1),
        ("rebase", "true", 2),
        ("squash", "false", 0),
    ];
    for (number, (strategy, switch, named)) in cases.into_iter().enumerate() {
        let settings = format!("[merge]\nassisted_by = {switch}\n");
        fs::write(stage.path("home/config.toml"), settings).unwrap();
        stage.configure("merge_strategy", &strategy.into());
        let script = format!(
            "for part in a b; do\necho $part > {number}-$part\ngit add -A\n\
             git commit -qsm \"Add $part\"\ndone\n\
             git log -2 --format=%B > $SCRIPTS/signed\n\
             echo 'DONE: it' | section Handoff\nask task update --status reviewing\n"
        );
        stage.script(&format!("worker-{}", number + 1), &script);
        let branch = format!("branch-{number}");
        let id = stage.create(&["Add it", "--branch", &branch, "--model", "big"]);
        stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
        stage.wait_for_status(&id, "reviewing");
        let signed = fs::read_to_string(stage.path("scripts/signed")).unwrap();
        assert_eq!(signed.matches("Signed-off-by: ").count(), 2, "{signed}");
        // The default branch has moved, so a merge makes new commits.
        fs::write(stage.path(&format!("repo/elsewhere-{number}")), "x\n").unwrap();
        stage.git_output("repo", "add -A");
        stage.git_output("repo", "commit -qm elsewhere");
        let before = stage.git_output("repo", "rev-parse main");
        stage.run_ok(&["task", "merge", id.as_str(), "--yes", "--wait", "60"]);
        let range = format!("log --first-parent --format=%B%an {}..main", before.trim());
        let made = stage.git_output("repo", &range);
        let trailers = made.matches("\nAssisted-by: script:big\n").count();
        assert_eq!(trailers, named, "{strategy}: {made}");
        assert!(!made.contains("Signed-off-by"), "{strategy}: {made}");
        assert!(!made.contains("Co-authored-by"), "{strategy}: {made}");
    }
}

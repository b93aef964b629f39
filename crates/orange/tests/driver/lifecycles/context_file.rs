//! A run learns what happened before it.

use std::fs;

use orange_engine::names::TaskId;

use crate::support::supervisor::RunningSupervisor;
use crate::support::{Stage, wait_for};

/// The words of the scripted runs: each keeps its prompt and the file that the prompt names.
const WORDS: &str = r#"
keep() {
    give "prompt-$1" < "$prompt_file"
    give "context-$1" < "$(sed -n 's/.*Then read \(\/[^,]*\),.*/\1/p' "$prompt_file")"
    chmod u+w "$SCRIPTS/context-$1"
}
report() { cat > "$ORANGE_REPORT"; }
"#;

fn script(stage: &Stage, turn: usize, text: &str) {
    let text = format!("{WORDS}\nkeep {turn}\n{text}\nexit 0\n");
    stage.script(&format!("worker-{turn}"), &text);
}

/// Starts a task and lets everything run until it has this status.
fn run_until(stage: &Stage, arguments: &[&str], status: &str) -> TaskId {
    let id = stage.create(arguments);
    let serving = RunningSupervisor::start(stage);
    wait_for(status, || {
        let current = stage.task(&id).status;
        if current.as_str() == "new" {
            // Does not wait for the pause between attempts.
            stage.call(&["task", "spawn", id.as_str(), "--wait", "60"]);
        }
        current.as_str() == status
    });
    stage.wait_until_idle(&id);
    drop(serving);
    id
}

fn kept(stage: &Stage, name: &str) -> String {
    fs::read_to_string(stage.path(&format!("scripts/{name}"))).unwrap()
}

#[test]
fn the_second_attempt_is_told_the_first_error_and_the_uncommitted_work() {
    let stage = Stage::new("autopilot");
    fs::create_dir_all(stage.path("repo/.orange")).unwrap();
    let instructions = stage.path("repo/.orange/instructions.md");
    fs::write(instructions, "Use tabs.\n").unwrap();
    fs::write(stage.path("home/config.toml"), "[context]\ntree = true\n").unwrap();
    stage.git_output("repo", "add -A");
    stage.git_output("repo", "commit -qm instructions");
    stage.run_ok(&["note", "add", "The tests need a database."]);
    let first = r#"echo half > half.txt
        echo '{"status":"in_progress","summary":"began","reason":"the-disk-was-full",
               "remaining":["the second half"]}' | report"#;
    script(&stage, 1, first);
    script(
        &stage,
        2,
        "git status --short > $SCRIPTS/status\ngit add -A\ngit commit -qm all\n\
         echo '{\"status\":\"done\"}' | report",
    );
    let id = run_until(&stage, &["Add a file"], "done");
    let (one, two) = (kept(&stage, "context-1"), kept(&stage, "context-2"));
    for (file, is_there) in [(&one, false), (&two, true)] {
        for part in [
            "## Attempts",
            "Reported: in_progress",
            "Summary: began",
            "- the second half",
            "## Last error",
            "## Uncommitted changes",
            "+half",
        ] {
            assert_eq!(file.contains(part), is_there, "{part}: {file}");
        }
        for part in [
            "- The tests need a database.",
            "Use tabs.",
            "## Files of the repository",
            ".orange/instructions.md",
        ] {
            assert!(file.contains(part), "{part}: {file}");
        }
    }
    assert!(two.contains("the-disk-was-full"), "{two}");
    // The prompt names the file and says none of it twice.
    let prompt = kept(&stage, "prompt-2");
    assert!(!prompt.contains("the-disk-was-full"), "{prompt}");
    assert!(prompt.contains("/CONTEXT.md, which says"), "{prompt}");
    assert!(
        prompt.contains(&format!("/home/tasks/app/{id}/runs/")),
        "{prompt}"
    );
    // The file is not in the worktree.
    assert_eq!(kept(&stage, "status").trim(), "?? half.txt");
}

#[test]
fn the_second_attempt_is_told_of_commits_on_another_branch() {
    let stage = Stage::new("autopilot");
    let first = r#"git checkout -qb feature; echo half > half.txt; git add half.txt
        git commit -qm 'the first half'
        echo '{"status":"in_progress","summary":"began","reason":"no-time"}' | report"#;
    script(&stage, 1, first);
    script(
        &stage,
        2,
        "ls > $SCRIPTS/files\necho two > two\ngit add -A\ngit commit -qm two\n\
         echo '{\"status\":\"done\"}' | report",
    );
    let id = run_until(&stage, &["Add a file"], "done");
    let commit = stage.git_output("repo", "rev-parse feature");
    let named = format!("on git branch `feature` at {}", &commit.trim()[..12]);
    let context = kept(&stage, "context-2");
    assert!(context.contains("## Other branches"), "{context}");
    assert!(context.contains(&named), "{context}");
    assert!(context.contains(" the first half\n"), "{context}");
    assert!(!kept(&stage, "files").contains("half.txt"));
    // The user still learns of it when the task is done.
    let shown = stage.run_ok(&["task", "show", id.as_str()]);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(&named), "{shown}");
}

#[test]
fn a_child_is_told_the_report_of_its_parent() {
    let stage = Stage::new("autopilot");
    let script = r#"
case $(git branch --show-current) in
orange-tasks/*-*-1) keep child; echo '{"status":"done"}' | report
    echo x > x; git add x; git commit -qm x ;;
*) if [ -e "$SCRIPTS/split" ]; then
        echo x > y; git add y; git commit -qm y; echo '{"status":"done"}' | report
    else
        touch "$SCRIPTS/split"
        echo '{"status":"in_progress","summary":"parents-words","accomplished":["the plan"],
               "delegations":["The part"]}' | report
    fi ;;
esac
exit 0
"#;
    for turn in 1..=6 {
        stage.script(&format!("worker-{turn}"), &format!("{WORDS}{script}"));
    }
    let id = run_until(&stage, &["Add two files"], "done");
    let file = kept(&stage, "context-child");
    assert!(file.contains(&format!("a part of task {id}.")), "{file}");
    assert!(file.contains("Summary: parents-words"), "{file}");
    assert!(file.contains("- the plan"), "{file}");
    assert!(!file.contains("## Attempts"), "{file}");
}

#[test]
fn an_agent_proposes_a_note_and_only_the_user_accepts_it() {
    let stage = Stage::new("autopilot");
    let words = "orange note add 'Run make db first.' > $SCRIPTS/added 2>&1\n\
                 orange note accept 1 > $SCRIPTS/accepted 2>&1; echo $? > $SCRIPTS/code\n\
                 orange note reject 1 > $SCRIPTS/rejected 2>&1\n";
    let next = "echo '{\"status\":\"in_progress\",\"reason\":\"again\"}' | report";
    script(&stage, 1, &format!("{words}{next}"));
    script(&stage, 2, "echo '{\"status\":\"needs_review\"}' | report");
    script(&stage, 3, "hang");
    let id = run_until(&stage, &["Add a file"], "needs_review");
    assert!(kept(&stage, "added").contains("waits for the user"));
    assert_ne!(kept(&stage, "code").trim(), "0");
    for answer in ["accepted", "rejected"] {
        let told = kept(&stage, answer);
        assert!(told.contains("only the user"), "{told}");
    }
    let listed = stage.run_ok(&["note", "list"]);
    assert!(listed.contains("Run make db first."), "{listed}");
    assert!(
        listed.contains(&format!("proposed by task `{id}`")),
        "{listed}"
    );
    let attention = stage.run_ok(&["attention"]);
    assert!(
        attention.contains("1 note about `app` waits"),
        "{attention}"
    );
    assert!(!kept(&stage, "context-2").contains("make db"));
    stage.run_ok(&["note", "accept", "1"]);
    let attention = stage.run_ok(&["attention"]);
    assert!(!attention.contains("1 note"), "{attention}");
    stage.run_ok(&["task", "retry", id.as_str(), "--wait", "60"]);
    stage.call(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the third run", || stage.path("scripts/context-3").exists());
    let file = kept(&stage, "context-3");
    assert!(file.contains("- Run make db first."), "{file}");
}

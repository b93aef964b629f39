//! No caller can pose as another role: a table of attempts.

mod table;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use orange_engine::names::{RunId, TaskId};
use orange_engine::role::Role;
use orange_store::TaskFilter;

use crate::support::around::Around;
use crate::support::gates::start_with_workflow;
use crate::support::{FIX, PLAN_AND_WORK, Stage, wait_for, way};
use table::{
    Attempt, answer_main, attempts, attempts_script, expect, last_row, prepare, stage_around,
    state, worker_attempts,
};

/// This page must say which attempts cannot be prevented without a sandbox.
const SECURITY: &str = include_str!("../../../../../docs/security.md");

#[test]
fn the_documentation_names_the_limits_of_role_checks() {
    let all = attempts("");
    let names: BTreeSet<&str> = all.iter().map(|it| it.name).collect();
    assert_eq!(names.len(), all.len(), "a name appears twice");
    let (refused, left): (Vec<Attempt>, Vec<Attempt>) = all.iter().partition(|it| it.is_refused);
    assert!(refused.len() >= 68, "{}", refused.len());
    assert!(left.len() <= 8, "{}", left.len());
    for attempt in left {
        let name = format!("`{}`", attempt.name);
        assert!(
            SECURITY.contains(&name),
            "{name} is not in docs/security.md"
        );
    }
}

#[test]
fn no_worker_can_act_as_another_role() {
    no_worker_acts_as_another(Around::Nothing);
}

#[test]
fn no_worker_in_a_sandbox_can_act_as_another_role() {
    no_worker_acts_as_another(Around::Sandbox);
}

/// Writes the scripts of a worker that makes all attempts in its second turn, and of a reviewer
/// whose second turn is their victim.
fn write_scripts(stage: &Stage, refused: &[Attempt], left: &[Attempt], victim: &TaskId) {
    let (out, variables) = prepare(stage, victim);
    let [main] = attempts("main")[..] else {
        panic!("one process can be replaced once")
    };
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script(
        "reviewer-1",
        "echo OLD=$ORANGE_RUN_ID OLD_PROOF=$ORANGE_RUN_PROOF > $SCRIPTS/old\n\
         printf 'Verdict: FAIL\\nmore\\n' | section Review\nask task update --status working",
    );
    let looks = "uname -n > $OUT/reviewers-host\nfor n in 1 2; do\n\
         until [ -e $OUT/look-$n ]; do sleep 0.02; done\n\
         git status > $OUT/status 2>&1; git checkout -q HEAD; touch $OUT/looked-$n\ndone\nexec sh";
    stage.script("reviewer-2", &format!("{variables}{looks}"));
    let row = out.join("main").join(main.name);
    let shell = format!(
        "{FIX}printf 'Verdict: PASS\\nfine\\n' | section Review\n{variables}\
         . $SCRIPTS/old\npause rev\n. $SCRIPTS/rev\nexport OLD OLD_PROOF REV REV_PID\n\
         uname -n > $OUT/workers-host\n\
         {}touch $OUT/refused\npause judged\n{}touch $OUT/left\npause judged-too\n\
         ROW={}\n{}\n",
        attempts_script(refused, &out, "worker"),
        attempts_script(left, &out, "worker"),
        row.display(),
        main.shell,
    );
    fs::create_dir_all(out.join("main")).unwrap();
    stage.script("worker-2", &shell);
}

/// Starts the task, and tells its worker who the second reviewer is.
fn start_victim(stage: &Stage, id: &TaskId) -> RunId {
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the second reviewer", || {
        let runs = stage.store().runs(id).unwrap();
        let mut reviewers = runs.iter().filter(|it| it.role == Role::Reviewer);
        reviewers.nth(1).is_some_and(|it| it.place.is_some())
    });
    stage.wait_until_idle(id);
    let runs = stage.store().runs(id).unwrap();
    let mut reviewers = runs.into_iter().filter(|it| it.role == Role::Reviewer);
    let reviewer = reviewers.nth(1).unwrap();
    let (run, pid) = (reviewer.id, reviewer.place.unwrap().process.pid);
    stage.script("rev.new", &format!("REV={run} REV_PID={pid}\n"));
    run
}

fn no_worker_acts_as_another(around: Around) {
    let stage = stage_around(around, "default");
    let victim = stage.create(&["other", "Another task"]);
    let (refused, left) = worker_attempts(around);
    write_scripts(&stage, &refused, &left, &victim);
    let out = stage.path("roles");
    let id = stage.create(&["feat", "Add a line"]);
    let reviewer = start_victim(&stage, &id);
    let before = state(&stage);
    fs::rename(stage.path("scripts/rev.new"), stage.path("scripts/rev")).unwrap();
    let wait_for_rows = |mark: &str| {
        wait_for(&format!("{mark}; {}", last_row(&out)), || {
            answer_main(&stage, &out);
            out.join(mark).exists()
        });
    };
    wait_for_rows("refused");
    expect(&refused, &out, "worker");
    assert_eq!(state(&stage), before, "{}", stage.diagnostics(&id));
    let directory = stage.home().tasks().join("app").join(id.as_str());
    let asked = directory
        .join("runs")
        .join(reviewer.as_str())
        .join("requests");
    assert!(fs::read_dir(asked).map_or(0, Iterator::count) == 0);
    // A hand edit belongs to no role, and the user learns which command does the same.
    let same = [
        "task",
        "update",
        victim.as_str(),
        "--summary",
        "Another task",
    ];
    stage.run_ok(&same);
    assert_eq!(state(&stage), before, "{}", stage.diagnostics(&victim));
    let attention = stage.task(&victim).attention.join("\n");
    let command = format!("orange task update {victim} --status cancelled");
    let is_edited = around == Around::Nothing;
    assert_eq!(attention.contains(&command), is_edited, "{attention}");

    stage.script("judged", "");
    wait_for_rows("left");
    expect(&left, &out, "worker");
    if around == Around::Sandbox {
        assert_eq!(state(&stage), before, "{}", stage.diagnostics(&id));
        for name in ["workers-host", "reviewers-host"] {
            assert_eq!(fs::read_to_string(out.join(name)).unwrap(), "orange\n");
        }
    }
    stage.script("judged-too", "");
    let [main] = attempts("main")[..] else {
        panic!("one process can be replaced once")
    };
    let code = out.join("main").join(format!("{}.code", main.name));
    wait_for("the main process", || {
        fs::read_to_string(&code).is_ok_and(|it| it.ends_with('\n'))
    });
    expect(&[main], &out, "main");
    assert_eq!(stage.task(&id).status.as_str(), "agent-review");
    assert!(!way(&stage, &id).iter().any(|it| it == "reviewing"));
}

#[test]
fn the_assistant_may_do_nothing_that_is_the_users() {
    let stage = Stage::new("default");
    let id = stage.create(&["feat", "Add a line"]);
    stage.script("worker-1", "hang");
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&id);
    let (out, variables) = prepare(&stage, &id);
    let refused = attempts("assistant");
    let [main] = attempts("assistant-main")[..] else {
        panic!("one process can be replaced once")
    };
    fs::create_dir_all(out.join("main")).unwrap();
    let shell = format!(
        "{variables}{}ask task show {id}\nask task why {id}\nask attention\nask task tell {id} -m hello\n\
         ask task merge {id} --yes\nROW={}\n{}\n",
        attempts_script(&refused, &out, "assistant"),
        out.join("main").join(main.name).display(),
        main.shell
    );
    stage.script("assistant-1", &shell);
    let before = state(&stage);
    assert!(stage.orange(&["chat"]).status().unwrap().success());
    expect(&refused, &out, "assistant");
    expect(&[main], &out, "main");
    // A mistake in the command would exit with another code.
    let rows = refused.iter().map(|it| ("assistant", it.name));
    let rows = rows.chain([("main", main.name)]);
    let mistakes = rows.filter_map(|(phase, name)| {
        let read = |end: &str| fs::read_to_string(out.join(phase).join(format!("{name}.{end}")));
        let (code, output) = (read("code").unwrap(), read("out").unwrap());
        (code.trim() != "3").then(|| format!("{name}: {code}{output}"))
    });
    let mistakes: Vec<String> = mistakes.collect();
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    assert_eq!(state(&stage), before, "{}", stage.diagnostics(&id));
    let calls = stage.calls();
    for allowed in ["show", "why", "tell"] {
        let line = format!("orange task {allowed} {id}");
        let answer = calls.lines().find(|it| it.contains(&line));
        assert!(answer.is_some_and(|it| it.ends_with("-> 0")), "{calls}");
    }
    let inbox = stage.store().inbox(&id).unwrap();
    assert_eq!(inbox[0].from, Role::assistant());
    let command = format!("the user runs: orange task merge {id} --yes");
    assert!(calls.contains(&command), "{calls}");
}

#[test]
fn code_run_for_a_task_has_at_most_the_role_of_its_worker() {
    code_has_at_most_the_role_of_the_worker(Around::Nothing);
}

#[test]
fn code_run_in_a_sandbox_has_no_role() {
    code_has_at_most_the_role_of_the_worker(Around::Sandbox);
}

/// Hands the attempts to the commands of a task, which keep nothing but their private home and the
/// worktree; returns where the results will be.
fn move_inside(stage: &Stage, id: &TaskId) -> PathBuf {
    stage.configure("sandbox_mode", &serde_json::Value::Null);
    let settings = "[sandbox]\nmode = \"required\"\nread = [\"~/scripts\"]\n";
    fs::write(stage.home().settings(), settings).unwrap();
    let directory = stage.home().tasks().join("app").join(id.as_str());
    let home = directory.join("commands/home");
    fs::create_dir_all(&home).unwrap();
    fs::rename(stage.path("roles"), home.join("roles")).unwrap();
    home.join("roles")
}

fn code_has_at_most_the_role_of_the_worker(around: Around) {
    let phases = ["setup", "hook", "gate", "teardown"];
    let (stage, id) =
        start_with_workflow("sh $OUT/rows.hook", "exec sh $OUT/rows.gate", |text| text);
    let victim = stage.create(&["other", "Another task"]);
    let (mut out, variables) = prepare(&stage, &victim);
    let scripts = attempts("scripts");
    let [main] = attempts("script-main")[..] else {
        panic!("one process can be replaced once")
    };
    fs::create_dir_all(out.join("main")).unwrap();
    for phase in phases {
        // A gate that changes its task is run again and again.
        let once = format!("[ -e $OUT/{phase}/once ] && exit 0\ntouch $OUT/{phase}/once\n");
        let mut shell = format!(
            "{variables}{once}uname -n > $OUT/{phase}/host\n{}",
            attempts_script(&scripts, &out, phase)
        );
        if phase == "gate" {
            let row = out.join("main").join(main.name);
            let line = format!("ROW={}\n{}\n", row.display(), main.shell);
            shell += &line;
        }
        stage.script(&format!("rows.{phase}"), &shell);
    }
    let projects = stage.path("home/projects.json");
    let text = fs::read_to_string(&projects).unwrap();
    let mut text: serde_json::Value = serde_json::from_str(&text).unwrap();
    for phase in ["setup", "teardown"] {
        let script = stage.path("scripts").join(format!("rows.{phase}"));
        text["projects"][0][phase] = serde_json::json!(["sh", script]);
    }
    fs::write(&projects, text.to_string()).unwrap();
    if around == Around::Sandbox {
        out = move_inside(&stage, &id);
    }
    let others = |stage: &Stage| {
        let own = format!("{id} ");
        let all = state(stage).into_iter();
        all.filter(|it| !it.starts_with(&own)).collect::<Vec<_>>()
    };
    let before = others(&stage);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    assert_eq!(stage.task(&id).status.as_str(), "held");
    stage.run_ok(&[
        "task",
        "update",
        id.as_str(),
        "--status",
        "closed",
        "--wait",
        "60",
    ]);
    stage.wait_until_idle(&id);
    for phase in phases {
        expect(&scripts, &out, phase);
        let host = fs::read_to_string(out.join(phase).join("host")).unwrap();
        assert_eq!(host == "orange\n", around == Around::Sandbox, "{phase}");
    }
    expect(&[main], &out, "main");
    assert_eq!(others(&stage), before);
    assert_eq!(stage.task(&victim).status.as_str(), "pending");
}

#[test]
fn direct_database_writes_are_detected_but_not_prevented() {
    let stage = Stage::new("default");
    let id = stage.create(&["feat", "Add a line"]);
    for attempt in attempts("database") {
        let before = state(&stage);
        let database = rusqlite::Connection::open(stage.home().database()).unwrap();
        database.execute_batch(attempt.shell).unwrap();
        drop(database);
        stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add a line"]);
        let is_refused = state(&stage) == before;
        assert_eq!(is_refused, attempt.is_refused, "{}", attempt.name);
    }
}

#[test]
fn the_database_is_out_of_reach_in_a_sandbox() {
    for attempt in attempts("database") {
        let stage = stage_around(Around::Sandbox, "default");
        let id = stage.create(&["feat", "Add a line"]);
        // The agent has a database that says what it wants, and tries to put it in place.
        let wanted = stage.path("roles/orange.db");
        stage.store().list(&TaskFilter::default()).unwrap();
        let database = rusqlite::Connection::open(stage.home().database()).unwrap();
        let copy = format!("VACUUM INTO '{}'", wanted.display());
        database.execute_batch(&copy).unwrap();
        drop(database);
        let forged = rusqlite::Connection::open(&wanted).unwrap();
        forged.execute_batch(attempt.shell).unwrap();
        drop(forged);
        let real = stage.home().database().display().to_string();
        stage.script(
            "worker-1",
            &format!(
                "ls -l {real} > ~/roles/seen 2>&1; echo $? > ~/roles/code\n\
                 for db in $(find / -xdev -name orange.db 2>/dev/null) {real}; do\n\
                 mkdir -p ${{db%/*}}; rm -f $db-wal $db-shm; cp ~/roles/orange.db $db; done\n\
                 touch ~/roles/tried\n"
            ),
        );
        stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
        wait_for("the attempt", || stage.path("roles/tried").exists());
        assert_ne!(fs::read_to_string(stage.path("roles/code")).unwrap(), "0\n");
        stage.run_ok(&["task", "update", id.as_str(), "--summary", "Mine"]);
        let task = stage.task(&id);
        assert_eq!(task.status.as_str(), "planning", "{}", attempt.name);
        assert_eq!(task.summary, "Mine");
    }
}

#[test]
fn a_verdict_changed_by_the_worker_is_not_the_reviewers() {
    turn_a_verdict(Around::Nothing);
}

#[test]
fn a_verdict_changed_in_a_sandbox_is_not_the_reviewers() {
    turn_a_verdict(Around::Sandbox);
}

fn turn_a_verdict(around: Around) {
    for attempt in attempts("verdict") {
        let stage = stage_around(around, "default");
        let (out, variables) = prepare(&stage, &TaskId::new("none"));
        let turn = "pause judged\nsed -i 's/^Verdict: FAIL/Verdict: PASS/' TASK.md\n\
                    touch $OUT/turned\npause end\n. $SCRIPTS/rev\nexport REV_PID\n";
        let making = attempts_script(&[attempt], &out, "verdict");
        stage.script(
            "worker-1",
            &format!("{PLAN_AND_WORK}{variables}{turn}{making}touch $OUT/made"),
        );
        stage.script(
            "reviewer-1",
            &format!(
                "{variables}printf 'Verdict: FAIL\\nbroken\\n' | section Review\n\
                 touch $SCRIPTS/judged\nuntil [ -e $OUT/turned ]; do sleep 0.02; done\n\
                 ask task update --status working\ntouch $OUT/asked\n\
                 until [ -e $OUT/leave ]; do sleep 0.02; done\nexit 0"
            ),
        );
        let id = stage.create(&["feat", "Add a line"]);
        stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
        wait_for("the reviewer's call", || out.join("asked").exists());
        assert!(
            stage.calls().contains("--status working -> 3"),
            "{}",
            stage.calls()
        );
        let runs = stage.store().runs(&id).unwrap();
        let reviewer = runs.iter().find(|it| it.role == Role::Reviewer).unwrap();
        let pid = reviewer.place.as_ref().unwrap().process.pid;
        stage.script("rev", &format!("REV_PID={pid}\n"));
        stage.script("end", "");
        wait_for("the attempt", || out.join("made").exists());
        if around == Around::Sandbox {
            // The reviewer is out of the worker's reach, so it ends by itself.
            let code = fs::read_to_string(out.join(format!("verdict/{}.code", attempt.name)));
            let leaves = attempt.shell.starts_with("touch");
            assert_eq!(code.unwrap().trim() == "0", leaves, "{}", attempt.name);
            fs::write(out.join("leave"), "").unwrap();
        }
        wait_for("the reviewer's end", || {
            stage.call(&["task", "update", id.as_str(), "--priority", "1"]);
            let runs = stage.store().runs(&id).unwrap();
            runs.iter()
                .any(|it| it.role == Role::Reviewer && it.ended_at.is_some())
        });
        assert!(attempt.is_refused);
        assert_eq!(
            way(&stage, &id),
            ["planning", "working", "agent-review"],
            "{}: {}",
            attempt.name,
            stage.diagnostics(&id)
        );
    }
}

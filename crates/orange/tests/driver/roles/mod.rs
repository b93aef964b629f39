//! No caller can pose as another role: one table of attempts.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_store::TaskFilter;

use crate::support::gates::start_with_workflow;
use crate::support::{FIX, PLAN_AND_WORK, Stage, wait_for, way};

const ATTEMPTS: &str = include_str!("attempts.txt");

const WORDS: &str = include_str!("words.sh");

/// This page must say which attempts cannot be prevented without a sandbox.
const SECURITY: &str = include_str!("../../../../../docs/security.md");

/// One line of the table.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    name: &'static str,
    shell: &'static str,
    is_refused: bool,
}

fn attempts(section: &str) -> Vec<Attempt> {
    let mut current = "";
    let mut found = Vec::new();
    for line in ATTEMPTS.lines() {
        if let Some(name) = line.strip_prefix('[') {
            current = name.trim_end_matches(']');
        } else if let Some((head, shell)) = line.split_once(": ")
            && !line.starts_with('#')
            && (section == current || section.is_empty())
        {
            let (outcome, name) = head.split_once(' ').unwrap();
            assert!(["refused", "out-of-reach"].contains(&outcome), "{line}");
            found.push(Attempt {
                name,
                shell,
                is_refused: outcome == "refused",
            });
        }
    }
    assert!(!found.is_empty(), "{section}");
    found
}

/// Everything that no attempt may change.
fn state(stage: &Stage) -> Vec<String> {
    let listed = stage.store().list(&TaskFilter::default()).unwrap().tasks;
    let tasks = listed.into_iter().map(|it| {
        let task = it.task;
        let priority = task.queueing.priority;
        format!("{} {} {priority} {}", task.id, task.status, task.summary)
    });
    let main = stage.git("rev-parse main").stdout;
    let projects = fs::read_to_string(stage.path("home/projects.json")).unwrap();
    let others = [
        String::from_utf8(main).unwrap(),
        projects,
        format!("supervised: {}", stage.driver().context.is_supervised()),
        format!("database: {}", stage.home().database().exists()),
    ];
    tasks.chain(others).collect()
}

/// Sets up a folder for scripts, attempts and results; returns it and the variables they need.
fn prepare(stage: &Stage, victim: &TaskId) -> (PathBuf, String) {
    let out = stage.path("roles");
    let bin = out.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let words = bin.join("words");
    fs::write(&words, WORDS).unwrap();
    fs::set_permissions(&words, fs::Permissions::from_mode(0o700)).unwrap();
    let names = WORDS.lines().filter_map(|line| line.strip_suffix(')'));
    for name in names.filter(|it| it.chars().all(|it| it.is_ascii_lowercase() || it == '_')) {
        symlink(&words, bin.join(name)).unwrap();
    }
    let orange = PathBuf::from(env!("CARGO_BIN_EXE_orange"));
    let variables = format!(
        "OUT={} V={victim} T=$ORANGE_TASK_ID\nPATH={}:{}:$PATH\n\
         BARE=\"env -i PATH=$PATH HOME=$HOME ORANGE_HOME=$ORANGE_HOME\"\n\
         UNKNOWN='env -u ORANGE_RUN_PROOF ORANGE_RUN_ID=x'\n\
         export OUT V T PATH BARE UNKNOWN\n",
        out.display(),
        bin.display(),
        orange.parent().unwrap().display()
    );
    (out, variables)
}

/// A shell script that makes these attempts one after the other, each in its own process.
fn attempts_script(attempts: &[Attempt], out: &std::path::Path, phase: &str) -> String {
    let folder = out.join(phase);
    fs::create_dir_all(&folder).unwrap();
    let mut shell = String::new();
    for attempt in attempts {
        let row = folder.join(attempt.name);
        fs::write(&row, attempt.shell).unwrap();
        let row = row.display();
        let line = format!("sh {row} > {row}.out 2>&1 < /dev/null; echo $? > {row}.code\n");
        shell += &line;
    }
    shell
}

/// Asserts that every attempt ended as the table says.
fn expect(attempts: &[Attempt], out: &std::path::Path, phase: &str) {
    let read = |name: &str| fs::read_to_string(out.join(phase).join(name)).unwrap_or_default();
    let broke = attempts.iter().filter_map(|attempt| {
        let code = read(&format!("{}.code", attempt.name));
        let is_refused = !matches!(code.trim(), "0" | "");
        let output = read(&format!("{}.out", attempt.name));
        (is_refused != attempt.is_refused)
            .then(|| format!("{phase} {}: {code}{output}", attempt.name))
    });
    let broke: Vec<String> = broke.collect();
    assert!(broke.is_empty(), "{}", broke.join("\n"));
}

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
    let stage = Stage::new("default");
    let victim = stage.create(&["other", "Another task"]);
    let (out, variables) = prepare(&stage, &victim);
    let (refused, left): (Vec<Attempt>, Vec<Attempt>) =
        attempts("worker").iter().partition(|it| it.is_refused);
    let [main] = attempts("main")[..] else {
        panic!("one process can be replaced once")
    };
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script(
        "reviewer-1",
        "echo OLD=$ORANGE_RUN_ID OLD_PROOF=$ORANGE_RUN_PROOF > $SCRIPTS/old\n\
         printf 'Verdict: FAIL\\nmore\\n' | section Review\nask task update --status working",
    );
    let looks = "for n in 1 2; do\n\
         until [ -e $OUT/look-$n ]; do sleep 0.02; done\n\
         git status > $OUT/status 2>&1; git checkout -q HEAD; touch $OUT/looked-$n\ndone\nexec sh";
    stage.script("reviewer-2", &format!("{variables}{looks}"));
    let row = out.join("main").join(main.name);
    let shell = format!(
        "{FIX}printf 'Verdict: PASS\\nfine\\n' | section Review\n{variables}\
         . $SCRIPTS/old\npause rev\n. $SCRIPTS/rev\nexport OLD OLD_PROOF REV REV_PID\n\
         {}touch $OUT/refused\npause judged\n{}touch $OUT/left\npause judged-too\n\
         ROW={}\n{}\n",
        attempts_script(&refused, &out, "worker"),
        attempts_script(&left, &out, "worker"),
        row.display(),
        main.shell,
    );
    fs::create_dir_all(out.join("main")).unwrap();
    stage.script("worker-2", &shell);
    let id = stage.create(&["feat", "Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the second reviewer", || {
        let runs = stage.store().runs(&id).unwrap();
        let mut reviewers = runs.iter().filter(|it| it.role == Role::Reviewer);
        reviewers.nth(1).is_some_and(|it| it.place.is_some())
    });
    stage.wait_until_idle(&id);
    let runs = stage.store().runs(&id).unwrap();
    let reviewer = runs.iter().filter(|it| it.role == Role::Reviewer).nth(1);
    let (run, pid) = reviewer
        .map(|it| (&it.id, it.place.as_ref().unwrap().process.pid))
        .unwrap();
    let before = state(&stage);
    stage.script("rev.new", &format!("REV={run} REV_PID={pid}\n"));
    fs::rename(stage.path("scripts/rev.new"), stage.path("scripts/rev")).unwrap();
    let wait_for_rows = |mark: &str| {
        wait_for(&format!("{mark}; {}", last_row(&out)), || {
            out.join(mark).exists()
        });
    };
    wait_for_rows("refused");
    expect(&refused, &out, "worker");
    assert_eq!(state(&stage), before, "{}", stage.diagnostics(&id));
    // A hand edit belongs to no role, and the user learns which command does the same.
    stage.run_ok(&[
        "task",
        "update",
        victim.as_str(),
        "--summary",
        "Another task",
    ]);
    assert_eq!(state(&stage), before, "{}", stage.diagnostics(&victim));
    let attention = stage.task(&victim).attention.join("\n");
    let command = format!("orange task update {victim} --status cancelled");
    assert!(attention.contains(&command), "{attention}");

    stage.script("judged", "");
    wait_for_rows("left");
    expect(&left, &out, "worker");
    stage.script("judged-too", "");
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

/// The latest attempt.
fn last_row(out: &std::path::Path) -> String {
    let entries = fs::read_dir(out.join("worker")).unwrap().flatten();
    let written = entries.filter(|it| it.path().extension().is_some_and(|it| it == "out"));
    let last = written.max_by_key(|it| it.metadata().and_then(|it| it.modified()).ok());
    last.map_or_else(String::new, |it| it.path().display().to_string())
}

#[test]
fn code_run_for_a_task_has_at_most_the_role_of_its_worker() {
    let phases = ["setup", "hook", "gate", "teardown"];
    let (stage, id) =
        start_with_workflow("sh $OUT/rows.hook", "exec sh $OUT/rows.gate", |text| text);
    let victim = stage.create(&["other", "Another task"]);
    let (out, variables) = prepare(&stage, &victim);
    let scripts = attempts("scripts");
    let [main] = attempts("script-main")[..] else {
        panic!("one process can be replaced once")
    };
    fs::create_dir_all(out.join("main")).unwrap();
    for phase in phases {
        // A gate that changes its task is run again and again.
        let once = format!("[ -e $OUT/{phase}/once ] && exit 0\ntouch $OUT/{phase}/once\n");
        let mut shell = format!(
            "{variables}{once}{}",
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
fn a_verdict_changed_by_the_worker_is_not_the_reviewers() {
    for attempt in attempts("verdict") {
        let stage = Stage::new("default");
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

//! Counts the processes, synced files and database statements of commands.
//!
//! The counts do not depend on how fast the machine is. A count above its limit fails: find out
//! what the new process, sync or statement is for. When you lower a count, lower its limit too.

use std::fs;
use std::process::Command;

use crate::support::Stage;
use crate::support::gates::SIDES;

/// What one command costs, all processes that it started included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    /// How often `orange` was executed.
    own: usize,
    /// Other programs that were executed.
    programs: usize,
    /// Calls of `fsync` and `fdatasync`.
    syncs: usize,
    /// Statements that `SQLite` ran.
    statements: usize,
}

const fn cost(own: usize, programs: usize, syncs: usize, statements: usize) -> Cost {
    Cost {
        own,
        programs,
        syncs,
        statements,
    }
}

/// Whether `strace` may look at other processes. On a developer's machine a test is skipped without
/// it and says so; in CI it fails.
fn can_trace() -> bool {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "trace=execve", "-o", "/dev/null", "true"]);
    let is_allowed = strace.output().is_ok_and(|it| it.status.success());
    let is_ci = std::env::var_os("CI").is_some();
    assert!(is_allowed || !is_ci, "`strace` is missing or not allowed");
    if !is_allowed {
        println!("skipped: `strace` is missing or not allowed");
    }
    is_allowed
}

/// Runs a command below `strace`, and counts.
fn measure(stage: &Stage, arguments: &[&str]) -> Cost {
    let calls = stage.path("calls");
    let statements = stage.path("home/crash-points/statements");
    fs::create_dir_all(statements.parent().unwrap()).unwrap();
    fs::write(&statements, "").unwrap();
    let orange = stage.orange(arguments);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "trace=execve,fsync,fdatasync", "-o"]);
    strace.arg(&calls).arg("--").arg(orange.get_program());
    strace.args(arguments).current_dir(stage.path("repo"));
    strace.env_clear().envs(stage.environment.variables());
    let output = strace.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    let calls = fs::read_to_string(calls).unwrap();
    let statements_text = fs::read_to_string(&statements).unwrap();
    fs::remove_file(statements).unwrap();
    let count = |names: &[String]| {
        let made = |line: &&str| names.iter().any(|name| line.contains(name));
        let failed = |line: &&str| line.contains(") = -1 ");
        calls.lines().filter(made).filter(|it| !failed(it)).count()
    };
    let program = orange.get_program().to_str().unwrap();
    let own = count(&[format!(" execve(\"{program}\"")]);
    let cost = Cost {
        own,
        programs: count(&[" execve(".to_owned()]) - own,
        syncs: count(&[" fsync(".to_owned(), " fdatasync(".to_owned()]),
        statements: statements_text.lines().count(),
    };
    if std::env::var_os("ORANGE_SHOW_COSTS").is_some() {
        println!("{arguments:?}: {cost:?}\n{calls}\n{statements_text}");
    }
    cost
}

/// The counts that are above their limits.
fn excess(what: &str, found: Cost, limit: Cost) -> Option<String> {
    println!("{what}: {found:?}");
    let is_over = found.own > limit.own
        || found.programs > limit.programs
        || found.syncs > limit.syncs
        || found.statements > limit.statements;
    is_over.then(|| format!("{what}: {found:?} is over {limit:?}"))
}

fn require_none(found: impl IntoIterator<Item = Option<String>>) {
    let found: Vec<String> = found.into_iter().flatten().collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The costs that do not depend on time: a caller that waits asks the database again and again, and
/// starts another `orange` when the first one takes long.
fn without_waiting(found: Cost) -> Cost {
    cost(0, found.programs, found.syncs, 0)
}

/// Adds copies of the only task, each with its own id and branch.
fn copy_task(stage: &Stage, copies: usize) {
    let (id, branch) = ("printf('t%05d', n)", "printf('task/t%05d', n)");
    let sql = format!(
        "PRAGMA synchronous = OFF; BEGIN;
         CREATE TEMP TABLE numbers AS WITH RECURSIVE n (n) AS
             (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {copies}) SELECT n FROM n;
         INSERT INTO tasks (id, project, version, status, workflow, workflow_hash, snapshot,
             directory, sequence) SELECT {id}, project, version, status, workflow, workflow_hash,
             json_set(snapshot, '$.id', {id}, '$.branch', {branch}), directory || n, sequence
             FROM tasks, numbers;
         INSERT INTO task_rows SELECT {id}, project, status, workflow_hash, {branch},
             summary || ' ' || n, 0, entered_at, attention, runs FROM task_rows, numbers;
         INSERT INTO events SELECT {id}, version, sequence, at, event FROM events, numbers;
         INSERT INTO imports (task, version, by_role, is_request, stray, hash, at)
             SELECT {id}, version, by_role, is_request, stray, hash, at FROM imports, numbers;
         COMMIT;"
    );
    let database = rusqlite::Connection::open(stage.path("home/orange.db")).unwrap();
    database.execute_batch(&sql).unwrap();
}

#[test]
fn creating_and_updating_a_task_cost_no_more_than_before() {
    if !can_trace() {
        return;
    }
    let stage = Stage::new("default");
    stage.create(&["The first task makes the database"]);
    let create = ["task", "create", "--no-spawn", "--branch", "one", "A task"];
    let named = ["task", "create", "--no-spawn", "Another task"];
    let created = measure(&stage, &create);
    let created_by_name = measure(&stage, &named);
    fs::create_dir_all(stage.path("home/workflows")).unwrap();
    fs::write(stage.path("home/workflows/sides.yml"), SIDES).unwrap();
    stage.create(&["Two sides", "--branch", "sided", "--workflow", "sides"]);
    let update = ["task", "update", "sided", "--status", "right"];
    let updated = measure(&stage, &update);
    require_none([
        excess("create with a branch", created, cost(1, 0, 7, 54)),
        excess("create", created_by_name, cost(1, 0, 7, 54)),
        excess("update", updated, cost(1, 0, 8, 85)),
    ]);
}

#[test]
fn starting_a_task_costs_no_more_than_before() {
    if !can_trace() {
        return;
    }
    let stage = Stage::new("minimal");
    stage.script("worker", "sleep 600");
    // The first start makes the tmux server, whose processes are not those of the command.
    stage.run_ok(&["task", "create", "--branch", "first", "A task"]);
    let start = |branch: &str| {
        let create = ["task", "create", "--branch", branch, "A task"];
        without_waiting(measure(&stage, &create))
    };
    // Which process writes TASK.md depends on time, and so does how often it is written: the
    // cheapest of three counts.
    let cheapest = |found: [Cost; 3]| found.into_iter().min_by_key(|it| it.syncs).unwrap();
    let new = cheapest(["new-1", "new-2", "new-3"].map(start));
    let reused = cheapest(["again-1", "again-2", "again-3"].map(|branch| {
        let before = branch.replace("again", "new");
        stage.run_ok(&["task", "cancel", &before, "--yes", "--wait", "60"]);
        start(branch)
    }));
    require_none([
        excess("start in a new worktree", new, cost(0, 9, 42, 0)),
        excess("start in a reused worktree", reused, cost(0, 5, 32, 0)),
    ]);
}

#[test]
fn reading_costs_the_same_with_many_tasks() {
    if !can_trace() {
        return;
    }
    let mut excesses = Vec::new();
    for copies in [9, 999] {
        let stage = Stage::new("default");
        stage.create(&["A task", "--branch", "one"]);
        copy_task(&stage, copies);
        let tasks = copies + 1;
        let what = |command: &str| format!("{command} with {tasks} tasks");
        let list = measure(&stage, &["task", "list"]);
        excesses.push(excess(&what("list"), list, cost(1, 0, 0, 14)));
        let show = measure(&stage, &["task", "show", "one"]);
        excesses.push(excess(&what("show"), show, cost(1, 0, 0, 43)));
        let why = measure(&stage, &["task", "why", "one"]);
        excesses.push(excess(&what("why"), why, cost(1, 0, 0, 44)));
    }
    require_none(excesses);
}

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
    /// Programs that were executed, our own included.
    processes: usize,
    /// Calls of `fsync` and `fdatasync`.
    syncs: usize,
    /// Statements that `SQLite` ran.
    statements: usize,
}

const fn cost(processes: usize, syncs: usize, statements: usize) -> Cost {
    Cost {
        processes,
        syncs,
        statements,
    }
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
    let count = |names: &[&str]| {
        let made = |line: &&str| names.iter().any(|name| line.contains(name));
        let failed = |line: &&str| line.contains(") = -1 ");
        calls.lines().filter(made).filter(|it| !failed(it)).count()
    };
    let cost = Cost {
        processes: count(&[" execve("]),
        syncs: count(&[" fsync(", " fdatasync("]),
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
    let is_over = found.processes > limit.processes
        || found.syncs > limit.syncs
        || found.statements > limit.statements;
    is_over.then(|| format!("{what}: {found:?} is over {limit:?}"))
}

fn require_none(found: impl IntoIterator<Item = Option<String>>) {
    let found: Vec<String> = found.into_iter().flatten().collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
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
        excess("create with a branch", created, cost(2, 9, 57)),
        excess("create", created_by_name, cost(1, 9, 57)),
        excess("update", updated, cost(1, 8, 85)),
    ]);
}

#[test]
fn starting_a_task_costs_no_more_than_before() {
    let stage = Stage::new("minimal");
    stage.script("worker", "sleep 600");
    // The first start makes the tmux server, whose processes are not those of the command.
    stage.run_ok(&["task", "create", "--branch", "first", "A task"]);
    let new = measure(&stage, &["task", "create", "--branch", "new", "A task"]);
    stage.run_ok(&["task", "cancel", "new", "--yes"]);
    let reused = measure(&stage, &["task", "create", "--branch", "again", "A task"]);
    require_none([
        excess("start in a new worktree", new, cost(15, 44, 450)),
        excess("start in a reused worktree", reused, cost(9, 34, 450)),
    ]);
}

#[test]
fn reading_costs_the_same_with_many_tasks() {
    let mut excesses = Vec::new();
    for copies in [9, 999] {
        let stage = Stage::new("default");
        stage.create(&["A task", "--branch", "one"]);
        copy_task(&stage, copies);
        let tasks = copies + 1;
        let what = |command: &str| format!("{command} with {tasks} tasks");
        let list = measure(&stage, &["task", "list"]);
        excesses.push(excess(&what("list"), list, cost(1, 0, 16)));
        let show = measure(&stage, &["task", "show", "one"]);
        excesses.push(excess(&what("show"), show, cost(1, 0, 58)));
        let why = measure(&stage, &["task", "why", "one"]);
        excesses.push(excess(&what("why"), why, cost(1, 0, 56)));
    }
    require_none(excesses);
}

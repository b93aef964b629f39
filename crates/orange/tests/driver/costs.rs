//! Counts the processes, synced files and database statements of commands.
//!
//! The counts do not depend on how fast the machine is. A count above its limit fails: find out
//! what the new process, sync or statement is for. When you lower a count, lower its limit too.
//!
//! A start has parts that do depend on time: the caller asks the database again and again until
//! the start has happened, and starts another performer if the first one takes long. So one process
//! counts per role, the one with the most statements; what the caller repeats counts once; and of
//! three starts the lowest counts are compared.

use std::collections::BTreeMap;
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

/// The calls and the statements of a command and of all processes that it started.
struct Trace {
    /// The path of `orange`.
    program: String,
    /// Lines of `strace`.
    calls: String,
    /// The statements of each process, by its id.
    statements: BTreeMap<String, Vec<String>>,
}

impl Trace {
    fn cost(&self) -> Cost {
        let own = self.executions().count();
        cost(
            own,
            self.count(&[" execve("]) - own,
            self.count(&[" fsync(", " fdatasync("]),
            self.statements.values().map(Vec::len).sum(),
        )
    }

    /// The cost of one process per role, without what it repeats while it waits.
    fn cost_per_role(&self) -> Cost {
        let mut roles: BTreeMap<&str, usize> = BTreeMap::new();
        for line in self.executions() {
            let process = line.split_whitespace().next().unwrap_or_default();
            let role = line.split('"').nth(5).unwrap_or_default();
            let statements = self.statements.get(process);
            let statements = statements.map_or(0, |it| without_repetitions(it).len());
            let most = roles.entry(role).or_default();
            *most = statements.max(*most);
        }
        Cost {
            own: roles.len(),
            statements: roles.values().sum(),
            ..self.cost()
        }
    }

    fn executions(&self) -> impl Iterator<Item = &str> {
        let execution = format!(" execve(\"{}\"", self.program);
        let calls = self.calls.lines();
        calls.filter(move |it| it.contains(&execution) && !has_failed(it))
    }

    fn count(&self, names: &[&str]) -> usize {
        let is_made = |line: &&str| names.iter().any(|name| line.contains(name));
        let calls = self.calls.lines().filter(is_made);
        calls.filter(|it| !has_failed(it)).count()
    }
}

fn has_failed(call: &str) -> bool {
    call.contains(") = -1 ")
}

/// The statements without those that repeat the ones directly before them.
fn without_repetitions(statements: &[String]) -> Vec<&String> {
    let mut kept: Vec<&String> = Vec::new();
    for statement in statements {
        kept.push(statement);
        let lengths = 1..=kept.len() / 2;
        let is_repeated = |length: &usize| {
            let (before, last) = kept.split_at(kept.len() - length);
            before.ends_with(last)
        };
        if let Some(length) = lengths.rev().find(is_repeated) {
            kept.truncate(kept.len() - length);
        }
    }
    kept
}

/// Runs a command below `strace`, and counts.
fn measure(stage: &Stage, arguments: &[&str]) -> Cost {
    trace(stage, arguments).cost()
}

fn trace(stage: &Stage, arguments: &[&str]) -> Trace {
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
    let mut by_process: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in statements_text.lines() {
        let (process, statement) = line.split_once(' ').unwrap();
        let statements = by_process.entry(process.to_owned()).or_default();
        statements.push(statement.to_owned());
    }
    if std::env::var_os("ORANGE_SHOW_COSTS").is_some() {
        println!("{arguments:?}:\n{calls}\n{statements_text}");
    }
    Trace {
        program: orange.get_program().to_str().unwrap().to_owned(),
        calls,
        statements: by_process,
    }
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

/// The lowest counts of several equal commands.
fn least(found: [Cost; 3]) -> Cost {
    let least = |count: fn(&Cost) -> usize| found.iter().map(count).min().unwrap();
    cost(
        least(|it| it.own),
        least(|it| it.programs),
        least(|it| it.syncs),
        least(|it| it.statements),
    )
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
    let stage = stage("default");
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
        excess("update", updated, cost(1, 0, 7, 85)),
    ]);
}

/// The costs are those without a sandbox.
fn stage(workflow: &str) -> Stage {
    let stage = Stage::new(workflow);
    fs::write(stage.home().settings(), "[sandbox]\nmode = \"off\"\n").unwrap();
    stage
}

#[test]
fn starting_a_task_costs_no_more_than_before() {
    if !can_trace() {
        return;
    }
    let stage = stage("minimal");
    stage.script("worker", "sleep 600");
    // The first start makes the tmux server, whose processes are not those of the command.
    stage.run_ok(&["task", "create", "--branch", "first", "A task"]);
    let start = |branch: &str| {
        let create = ["task", "create", "--branch", branch, "A task"];
        trace(&stage, &create).cost_per_role()
    };
    // Which process writes TASK.md depends on time, and so does how often it is written.
    let new = least(["new-1", "new-2", "new-3"].map(start));
    let reused = least(["again-1", "again-2", "again-3"].map(|branch| {
        let before = branch.replace("again", "new");
        stage.run_ok(&["task", "cancel", &before, "--yes", "--wait", "60"]);
        start(branch)
    }));
    require_none([
        excess("start in a new worktree", new, cost(1, 5, 31, 225)),
        excess("start in a reused worktree", reused, cost(1, 4, 29, 219)),
    ]);
}

#[test]
fn reading_costs_the_same_with_many_tasks() {
    if !can_trace() {
        return;
    }
    let mut excesses = Vec::new();
    for copies in [9, 999] {
        let stage = stage("default");
        stage.create(&["A task", "--branch", "one"]);
        copy_task(&stage, copies);
        let tasks = copies + 1;
        let what = |command: &str| format!("{command} with {tasks} tasks");
        let list = measure(&stage, &["task", "list"]);
        excesses.push(excess(&what("list"), list, cost(1, 0, 0, 14)));
        let show = measure(&stage, &["task", "show", "one"]);
        excesses.push(excess(&what("show"), show, cost(1, 0, 0, 43)));
        let why = measure(&stage, &["task", "why", "one"]);
        excesses.push(excess(&what("why"), why, cost(1, 0, 0, 45)));
    }
    require_none(excesses);
}

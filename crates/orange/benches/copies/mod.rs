//! Copies of a task, to fill a database quickly.

use std::path::Path;

use rusqlite::Connection;

/// Copies the only task, giving each copy its own id and branch. `starts` says whether they start
/// once nothing holds them back.
pub fn copy_task(database: &Path, copies: usize, starts: bool) {
    let (id, branch) = ("printf('t%05d', n)", "printf('task/t%05d', n)");
    let sql = format!(
        "PRAGMA synchronous = OFF; BEGIN;
         CREATE TEMP TABLE numbers AS WITH RECURSIVE n (n) AS
             (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {copies}) SELECT n FROM n;
         UPDATE tasks
             SET snapshot = json_set(snapshot, '$.starts_automatically', json('{starts}'));
         INSERT INTO tasks (id, project, version, status, workflow, workflow_hash, snapshot,
             directory, sequence) SELECT {id}, project, version, status, workflow, workflow_hash,
             json_set(snapshot, '$.id', {id}, '$.branch', {branch}), 'tasks/repo/' || {id}, sequence
             FROM tasks, numbers;
         INSERT INTO task_rows SELECT {id}, project, status, workflow_hash, {branch},
             summary || ' ' || n, 0, entered_at, attention, runs FROM task_rows, numbers;
         INSERT INTO events SELECT {id}, version, sequence, at, event FROM events, numbers;
         INSERT INTO imports (task, version, by_role, is_request, stray, hash, at)
             SELECT {id}, version, by_role, is_request, stray, hash, at FROM imports, numbers;
         COMMIT;"
    );
    Connection::open(database)
        .unwrap()
        .execute_batch(&sql)
        .unwrap();
}

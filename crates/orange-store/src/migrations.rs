//! Migrates a database to the current schema in numbered steps.
//!
//! `user_version` counts the steps taken. Each step and its number are one transaction, so a killed
//! process leaves a database with exactly one schema.

pub(crate) mod renames;

use rusqlite::{Connection, TransactionBehavior};

use super::error::{StoreError, failed};

type Rewrite = fn(&Connection) -> Result<(), StoreError>;

/// One step: SQL, and then what SQL cannot do.
pub(super) struct Step {
    sql: &'static str,
    rewrite: Option<Rewrite>,
}

/// Every step, in order; a released step is never changed.
pub(super) const ALL: &[Step] = &[
    sql(include_str!("migrations/1.sql")),
    sql(include_str!("migrations/2.sql")),
    sql(include_str!("migrations/3.sql")),
    sql(include_str!("migrations/4.sql")),
    sql(include_str!("migrations/5.sql")),
    sql(include_str!("migrations/6.sql")),
    sql(include_str!("migrations/7.sql")),
    sql(include_str!("migrations/8.sql")),
    sql(include_str!("migrations/9.sql")),
    Step {
        sql: include_str!("migrations/10.sql"),
        rewrite: Some(renames::rewrite),
    },
    sql(include_str!("migrations/11.sql")),
    sql(include_str!("migrations/12.sql")),
    sql(include_str!("migrations/13.sql")),
    sql(include_str!("migrations/14.sql")),
    sql(include_str!("migrations/15.sql")),
    sql(include_str!("migrations/16.sql")),
    sql(include_str!("migrations/17.sql")),
    sql(include_str!("migrations/18.sql")),
    sql(include_str!("migrations/19.sql")),
    sql(include_str!("migrations/20.sql")),
];

const fn sql(sql: &'static str) -> Step {
    Step { sql, rewrite: None }
}

/// How far a database is from the current schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schema {
    /// Up to date.
    Present,
    /// Steps are missing; this many were taken.
    Older(u32),
    /// A newer program took steps that this one does not know; this many were taken.
    Newer(u32),
}

pub(super) fn schema(connection: &Connection, steps: &[Step]) -> Result<Schema, StoreError> {
    let taken: u32 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(failed("read the schema's number"))?;
    let known = number(steps);
    Ok(match taken {
        taken if taken == known => Schema::Present,
        taken if taken < known => Schema::Older(taken),
        taken => Schema::Newer(taken),
    })
}

/// The number of the last step.
pub(super) fn number(steps: &[Step]) -> u32 {
    u32::try_from(steps.len()).unwrap_or(u32::MAX)
}

/// Takes the missing steps; returns `Newer` if a newer program has already taken more.
pub(super) fn migrate(connection: &mut Connection, steps: &[Step]) -> Result<Schema, StoreError> {
    loop {
        // Check without a lock first, because there is almost always nothing to do.
        let Schema::Older(_) = schema(connection, steps)? else {
            return schema(connection, steps);
        };
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed("migrate the schema"))?;
        // Another process may have taken steps while this one waited. `ALTER TABLE` would trust the
        // schema that this connection has cached; a query notices that the schema changed, and
        // reads it again.
        transaction
            .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
            .map_err(failed("migrate the schema"))?;
        let Schema::Older(taken) = schema(&transaction, steps)? else {
            continue;
        };
        if let Some(step) = usize::try_from(taken).ok().and_then(|at| steps.get(at)) {
            transaction
                .execute_batch(step.sql)
                .map_err(failed("bring the schema up to date"))?;
            step.rewrite
                .map_or(Ok(()), |rewrite| rewrite(&transaction))?;
        }
        transaction
            .pragma_update(None, "user_version", taken + 1)
            .map_err(failed("migrate the schema"))?;
        transaction.commit().map_err(failed("migrate the schema"))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLANTED: [Step; 3] = [
        sql("CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1);"),
        sql("ALTER TABLE a ADD COLUMN y INTEGER; UPDATE a SET y = x + 1;"),
        sql("CREATE TABLE b AS SELECT x + y AS z FROM a;"),
    ];

    fn sum(connection: &Connection) -> i64 {
        let row = |row: &rusqlite::Row<'_>| row.get(0);
        connection.query_row("SELECT z FROM b", [], row).unwrap()
    }

    #[test]
    fn every_earlier_schema_migrates_to_the_current_one() {
        for earlier in 0..=PLANTED.len() {
            let mut connection = Connection::open_in_memory().unwrap();
            let reached = migrate(&mut connection, &PLANTED[..earlier]).unwrap();
            assert_eq!(reached, Schema::Present);
            assert_eq!(migrate(&mut connection, &PLANTED).unwrap(), Schema::Present);
            assert_eq!(sum(&connection), 3, "from schema {earlier}");
        }
    }

    #[test]
    fn every_released_schema_migrates_to_the_current_one() {
        for earlier in 0..=ALL.len() {
            let mut connection = Connection::open_in_memory().unwrap();
            migrate(&mut connection, &ALL[..earlier]).unwrap();
            assert_eq!(migrate(&mut connection, ALL).unwrap(), Schema::Present);
            let tables: i64 = connection
                .query_row("SELECT count(*) FROM tasks", [], |row| row.get(0))
                .unwrap();
            assert_eq!(tables, 0);
        }
    }

    #[test]
    fn waits_of_an_older_schema_are_migrated() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &ALL[..7]).unwrap();
        let task = "INSERT INTO texts VALUES ('hash', x'');
            INSERT INTO tasks (id, project, version, status, workflow, workflow_hash, snapshot,
                directory, sequence)
            VALUES ('later', 'app', 1, 'open', 'w', 'hash', '{\"after\":[\"one\",\"two\"]}', 'd', 1)";
        connection.execute_batch(task).unwrap();
        migrate(&mut connection, ALL).unwrap();
        let found: String = connection
            .query_row(
                "SELECT group_concat(after || ' ' || task) FROM dependencies",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(found, "one later,two later");
    }

    #[test]
    fn schema_10_renames_waits_parkings_and_notifications() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &ALL[..9]).unwrap();
        let effect = r#"{"id":1,"plan":1,"effect":{"do":"merge"},"state":"given_up"}"#;
        let rows = format!(
            "INSERT INTO texts VALUES ('hash', x'');
             INSERT INTO tasks (id, project, version, status, workflow, workflow_hash, snapshot,
                 directory, sequence)
             VALUES ('k3f9', 'app', 1, 'open', 'w', 'hash', '{{\"unsettled\":1}}', 'd', 1);
             INSERT INTO pending (task, effect, planned, class, state, attempts, next_try_at, error)
             VALUES ('k3f9', 1, '{effect}', 'convergent', 'given_up', 3, 'then', 'no'),
                    ('k3f9', 2, '{effect}', 'convergent', 'waiting', 0, NULL, NULL);
             INSERT INTO parked VALUES ('claude', 'quota', 'now', 'then', 'a line');
             INSERT INTO notified VALUES ('k3f9/gave up/now/gave up', 'now'),
                    ('k3f9/question/now', 'now');"
        );
        connection.execute_batch(&rows).unwrap();
        migrate(&mut connection, ALL).unwrap();
        let all = |sql: &str| -> String {
            let joined = format!("SELECT group_concat(it, '; ') FROM ({sql})");
            connection.query_row(&joined, [], |row| row.get(0)).unwrap()
        };
        let pending = "SELECT effect || ' ' || state || ' ' || attempts || ' ' || \
                       coalesce(next_attempt_at, '-') || ' ' || coalesce(error, '-') AS it \
                       FROM pending ORDER BY effect";
        assert_eq!(all(pending), "1 failed 3 then no; 2 waiting 0 - -");
        let planned = all("SELECT DISTINCT planned AS it FROM pending");
        let renamed = r#"{"effect":{"action":"merge"},"id":1,"plan":1,"state":"failed"}"#;
        assert_eq!(planned, renamed);
        assert_eq!(all("SELECT output_line AS it FROM parked"), "a line");
        let notified = all("SELECT item AS it FROM notified ORDER BY item");
        assert_eq!(notified, "k3f9/failed/now/gave up; k3f9/question/now");
        assert_eq!(
            all("SELECT snapshot AS it FROM tasks"),
            r#"{"unfinished_plan":1}"#
        );
    }

    #[test]
    fn schema_11_adds_pull_requests_and_keeps_tasks() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &ALL[..10]).unwrap();
        let task = "INSERT INTO texts VALUES ('hash', x'');
            INSERT INTO tasks (id, project, version, status, workflow, workflow_hash, snapshot,
                directory, sequence)
            VALUES ('k3f9', 'app', 1, 'open', 'w', 'hash', '{}', 'd', 1)";
        connection.execute_batch(task).unwrap();
        migrate(&mut connection, ALL).unwrap();
        let row = "INSERT INTO pull_requests VALUES ('k3f9', 'PR_1', 7, 'abc', '{}', 'now')";
        connection.execute_batch(row).unwrap();
        let stray = row.replace("k3f9", "none");
        connection
            .execute_batch("PRAGMA foreign_keys = ON")
            .unwrap();
        assert!(connection.execute_batch(&stray).is_err());
        // The version before this one leaves the database alone.
        assert_eq!(
            migrate(&mut connection, &ALL[..10]).unwrap(),
            Schema::Newer(number(ALL))
        );
    }

    #[test]
    fn schema_12_adds_issues_and_keeps_tasks() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &ALL[..11]).unwrap();
        let task = "INSERT INTO texts VALUES ('hash', x'');
            INSERT INTO tasks (id, project, version, status, workflow, workflow_hash, snapshot,
                directory, sequence)
            VALUES ('k3f9', 'app', 1, 'open', 'w', 'hash', '{}', 'd', 1)";
        connection.execute_batch(task).unwrap();
        migrate(&mut connection, ALL).unwrap();
        let row = "INSERT INTO issue_tasks VALUES ('k3f9', 'app', 'I_1', 'r1', 'hash')";
        connection.execute_batch(row).unwrap();
        connection
            .execute_batch("PRAGMA foreign_keys = ON")
            .unwrap();
        let stray = row.replace("k3f9", "none");
        assert!(connection.execute_batch(&stray).is_err());
    }

    #[test]
    fn schema_13_adds_posts_and_keeps_tasks() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &ALL[..12]).unwrap();
        let task = "INSERT INTO texts VALUES ('hash', x'');
            INSERT INTO tasks (id, project, version, status, workflow, workflow_hash, snapshot,
                directory, sequence)
            VALUES ('k3f9', 'app', 1, 'open', 'w', 'hash', '{}', 'd', 1)";
        connection.execute_batch(task).unwrap();
        migrate(&mut connection, ALL).unwrap();
        let row = "INSERT INTO posts (task, key, attempts, is_reported) VALUES ('k3f9', 'x', 0, 0)";
        connection.execute_batch(row).unwrap();
        assert!(connection.execute_batch(row).is_err(), "one row per key");
    }

    #[test]
    fn schema_15_gives_a_request_one_child() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &ALL[..14]).unwrap();
        let task = "INSERT INTO texts VALUES ('hash', x'');
            INSERT INTO tasks (id, project, version, status, workflow, workflow_hash, snapshot,
                directory, sequence)
            VALUES ('k3f9', 'app', 1, 'open', 'w', 'hash', '{}', 'd', 1)";
        connection.execute_batch(task).unwrap();
        migrate(&mut connection, ALL).unwrap();
        let row = "INSERT INTO delegations VALUES ('p1p1', 7, 0, 'k3f9')";
        connection.execute_batch(row).unwrap();
        assert!(
            connection.execute_batch(row).is_err(),
            "one row per request"
        );
    }

    #[test]
    fn schema_16_adds_what_runs_used_and_keeps_tasks() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &ALL[..15]).unwrap();
        let task = "INSERT INTO texts VALUES ('hash', x'');
            INSERT INTO tasks (id, project, version, status, workflow, workflow_hash, snapshot,
                directory, sequence)
            VALUES ('k3f9', 'app', 1, 'open', 'w', 'hash', '{}', 'd', 1)";
        connection.execute_batch(task).unwrap();
        migrate(&mut connection, ALL).unwrap();
        let row = "INSERT INTO spend VALUES
            ('k3f9', 'r1', '2026-11-18', 'claude', NULL, 5, 7, 0, NULL, 'now')";
        connection.execute_batch(row).unwrap();
        assert!(
            connection.execute_batch(row).is_err(),
            "one row per run and day"
        );
    }

    #[test]
    fn a_failed_migration_keeps_the_previous_schema() {
        let mut connection = Connection::open_in_memory().unwrap();
        let [first, ..] = PLANTED;
        let broken = [first, sql("INSERT INTO a (x) VALUES (2); SELECT nonsense;")];
        assert!(migrate(&mut connection, &broken).is_err());
        assert_eq!(schema(&connection, &broken).unwrap(), Schema::Older(1));
        let rows = |connection: &Connection| -> i64 {
            connection
                .query_row("SELECT count(*) FROM a", [], |row| row.get(0))
                .unwrap()
        };
        assert_eq!(rows(&connection), 1);
    }

    #[test]
    fn a_step_of_another_process_is_seen_before_the_next() {
        let steps = [
            sql("CREATE TABLE a (x)"),
            sql("ALTER TABLE a ADD COLUMN y"),
            sql("ALTER TABLE a RENAME COLUMN y TO z"),
        ];
        let directory = tempfile::tempdir().unwrap();
        let open = || Connection::open(directory.path().join("a.db")).unwrap();
        let (mut one, mut other) = (open(), open());
        migrate(&mut one, &steps[..1]).unwrap();
        let tables = other.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0));
        assert_eq!(tables, Ok(1));
        migrate(&mut one, &steps[..2]).unwrap();
        assert_eq!(migrate(&mut other, &steps).unwrap(), Schema::Present);
        assert!(other.prepare("SELECT z FROM a").is_ok());
    }

    #[test]
    fn a_newer_schema_is_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &PLANTED).unwrap();
        let reached = migrate(&mut connection, &PLANTED[..1]).unwrap();
        assert_eq!(reached, Schema::Newer(3));
    }
}

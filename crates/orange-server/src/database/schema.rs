//! Numbered migrations, and whether the database has them.

use orange_fleet::chain::Sha;

use super::{Database, DatabaseError, connection};

/// One step. A released step is never changed: the database keeps the hash of its text.
struct Migration {
    name: &'static str,
    sql: &'static str,
}

macro_rules! migrations {
    ($($name:literal),+ $(,)?) => {
        &[$(Migration { name: $name, sql: include_str!(concat!("migrations/", $name, ".sql")) }),+]
    };
}

const ALL: &[Migration] = migrations![
    "0001_tables",
    "0002_clock",
    "0003_runners",
    "0004_log",
    "0005_holding",
    "0006_mail",
    "0007_tokens",
];

/// The lock is of this transaction, so that a program which dies leaves it to the next.
const BEGIN: &str = "
    begin;
    set local statement_timeout = 0;
    set local lock_timeout = 0;
    select pg_advisory_xact_lock(hashtextextended('orange migrate', 0));
    create schema if not exists orange;
    create table if not exists orange.migration (
        number integer primary key,
        name text not null,
        sha text not null,
        at timestamptz not null default clock_timestamp()
    );
";

/// What the database has.
struct Applied {
    number: i32,
    name: String,
    sha: String,
}

impl Database {
    /// Bring the tables and functions up to this program. Safe to run from many places at once.
    pub async fn migrate(&self) -> Result<(), DatabaseError> {
        let client = connection::client(&self.pool).await?;
        let failed = |error: &_| connection::failed("migrate", error);
        let done = async {
            client
                .batch_execute(BEGIN)
                .await
                .map_err(|it| failed(&it))?;
            let applied = applied(&client).await?;
            compare(&applied)?;
            for (number, step) in (1_i32..).zip(ALL).skip(applied.len()) {
                client
                    .batch_execute(step.sql)
                    .await
                    .map_err(|it| failed(&it))?;
                let sha = sha(step);
                let insert = "insert into orange.migration (number, name, sha) values ($1, $2, $3)";
                let inserted = client.execute(insert, &[&number, &step.name, &sha]).await;
                inserted.map_err(|it| failed(&it))?;
            }
            client
                .batch_execute("commit")
                .await
                .map_err(|it| failed(&it))
        };
        let done = done.await;
        if done.is_err() {
            // The transaction ends with its connection.
            drop(deadpool_postgres::Object::take(client));
        }
        done
    }

    /// Whether this program can use the database: for the start of a server, and `/readyz`.
    pub async fn check_schema(&self) -> Result<(), DatabaseError> {
        let client = connection::client(&self.pool).await?;
        let failed = |error: &_| connection::failed("check_schema", error);
        let sql = "select pg_is_in_recovery() as standby, current_setting('synchronous_commit') as commit";
        let row = client.query_one(sql, &[]).await.map_err(|it| failed(&it))?;
        let read = |error: tokio_postgres::Error| failed(&error);
        if row.try_get("standby").map_err(read)? {
            return Err(DatabaseError::Standby);
        }
        let commit: String = row.try_get("commit").map_err(read)?;
        if commit == "off" {
            return Err(DatabaseError::NotDurable {
                setting: "synchronous_commit = off".to_owned(),
            });
        }
        let applied = applied(&client).await?;
        compare(&applied)?;
        let (found, needed) = (number(applied.len()), number(ALL.len()));
        if found == 0 {
            Err(DatabaseError::NotMigrated)
        } else if found < needed {
            Err(DatabaseError::Older { found, needed })
        } else {
            Ok(())
        }
    }
}

async fn applied(client: &deadpool_postgres::Client) -> Result<Vec<Applied>, DatabaseError> {
    let failed = |error: &_| connection::failed("check_schema", error);
    let sql = "select number, name, sha from orange.migration order by number";
    let rows = client.query(sql, &[]).await.map_err(|it| failed(&it))?;
    let rows = rows.iter().map(|row| {
        Ok(Applied {
            number: row.try_get("number")?,
            name: row.try_get("name")?,
            sha: row.try_get("sha")?,
        })
    });
    let rows: Result<_, tokio_postgres::Error> = rows.collect();
    rows.map_err(|it| failed(&it))
}

/// What the database has must be the beginning of what this program has.
fn compare(applied: &[Applied]) -> Result<(), DatabaseError> {
    if let Some(last) = applied.last().filter(|_| applied.len() > ALL.len()) {
        return Err(DatabaseError::Newer {
            found: last.number,
            name: last.name.clone(),
            known: number(ALL.len()),
        });
    }
    let steps = (1_i32..).zip(ALL).zip(applied);
    for ((number, step), applied) in steps {
        if applied.number != number || applied.sha != sha(step) {
            return Err(DatabaseError::Changed { number });
        }
    }
    Ok(())
}

fn sha(step: &Migration) -> String {
    Sha::of(step.sql.as_bytes()).to_string()
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

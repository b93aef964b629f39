//! The pool of connections, and one statement per call.

use std::time::Duration;

use deadpool_postgres::{
    Client, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, NoTls, Row, Statement};

use super::DatabaseError;

pub(super) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A call that takes longer has lost its connection.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// PostgreSQL ends a statement by itself before the call gives up.
const OPTIONS: &str = "-c statement_timeout=20s -c lock_timeout=10s";

/// So often two calls may end each other's wait for rows.
const ATTEMPTS: u32 = 5;

pub(super) fn pool(url: &str, connections: usize) -> Result<Pool, DatabaseError> {
    let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
        let reason = reason(&error);
        DatabaseError::Address { reason }
    })?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        config.host_path("/var/run/postgresql");
    }
    let asked = config.get_options().unwrap_or_default();
    let options = format!("{OPTIONS} {asked}");
    config.options(options.trim());
    config.connect_timeout(Duration::from_secs(5));
    if config.get_application_name().is_none() {
        config.application_name("orange");
    }
    let recycling = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    let pool = Pool::builder(Manager::from_config(config, NoTls, recycling))
        .max_size(connections.max(1))
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(Duration::from_secs(5)))
        .create_timeout(Some(Duration::from_secs(5)))
        .build();
    pool.map_err(|error| DatabaseError::Address {
        reason: error.to_string(),
    })
}

pub(super) async fn client(pool: &Pool) -> Result<Client, DatabaseError> {
    pool.get().await.map_err(|error| {
        let reason = match &error {
            PoolError::Backend(error) => reason(error),
            PoolError::Timeout(_) => "all connections are in use".to_owned(),
            _ => error.to_string(),
        };
        DatabaseError::Unavailable { reason }
    })
}

/// Runs one statement, which is one transaction.
pub(super) async fn rows(
    pool: &Pool,
    call: &'static str,
    sql: &str,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, DatabaseError> {
    let client = client(pool).await?;
    let answer = tokio::time::timeout(CALL_TIMEOUT, async {
        let statement = prepare(&client, call, sql).await?;
        query(&client, call, &statement, parameters).await
    });
    let Ok(answer) = answer.await else {
        // No one else waits for the answer of this connection.
        drop(Object::take(client));
        return Err(timeout());
    };
    answer
}

pub(super) fn timeout() -> DatabaseError {
    DatabaseError::Unavailable {
        reason: "it did not answer in time".to_owned(),
    }
}

pub(super) async fn prepare(
    client: &Client,
    call: &'static str,
    sql: &str,
) -> Result<Statement, DatabaseError> {
    let statement = client.prepare_cached(sql).await;
    statement.map_err(|error| failed(call, &error))
}

/// Two calls that wait for each other's rows are untangled by PostgreSQL, which ends one of them
/// without a trace. That one is made again.
pub(super) async fn query(
    client: &Client,
    call: &'static str,
    statement: &Statement,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, DatabaseError> {
    let mut attempt = 1;
    loop {
        match client.query(statement, parameters).await {
            Ok(rows) => return Ok(rows),
            Err(error) if is_untangled(&error) && attempt < ATTEMPTS => {
                // The other call goes first, or both would meet again.
                tokio::time::sleep(Duration::from_millis(50) * attempt).await;
                attempt += 1;
            }
            Err(error) => return Err(failed(call, &error)),
        }
    }
}

fn is_untangled(error: &tokio_postgres::Error) -> bool {
    let codes = [
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
    ];
    error.code().is_some_and(|it| codes.contains(it))
}

pub(super) fn failed(call: &'static str, error: &tokio_postgres::Error) -> DatabaseError {
    let reason = reason(error);
    let Some(code) = error.code() else {
        return DatabaseError::Unavailable { reason };
    };
    let missing = [
        SqlState::UNDEFINED_TABLE,
        SqlState::UNDEFINED_FUNCTION,
        SqlState::INVALID_SCHEMA_NAME,
    ];
    // Shut down, starting, or out of connections, locks, memory or time.
    let passing = ["08", "53", "55", "57"];
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        DatabaseError::Standby
    } else if missing.contains(code) {
        DatabaseError::NotMigrated
    } else if passing.iter().any(|it| code.code().starts_with(it)) || is_untangled(error) {
        DatabaseError::Unavailable { reason }
    } else {
        DatabaseError::Failed { call, reason }
    }
}

/// What PostgreSQL says, which the error's own text leaves out.
fn reason(error: &tokio_postgres::Error) -> String {
    let source = std::error::Error::source(error);
    match (error.as_db_error(), source) {
        (Some(error), _) => format!("{} ({})", error.message(), error.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

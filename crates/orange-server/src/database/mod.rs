//! The database: one call per message, each one transaction.

mod connection;
mod coordinator;
mod error;
mod fleet;
mod holding;
pub mod limits;
mod log;
mod mail;
mod runners;
mod schema;
mod tokens;
mod values;
mod views;

use tokio_postgres::Row;

pub use error::{DatabaseError, ErrorKind};
pub use fleet::RunnerView;
pub use mail::StoredRequest;
pub use tokens::{NewToken, Token};

/// The pool of connections. Clones share it.
#[derive(Clone, Debug)]
pub struct Database {
    pool: deadpool_postgres::Pool,
}

impl Database {
    /// Opens one connection, so that a wrong address is noticed at once.
    pub async fn connect(url: &str, connections: usize) -> Result<Self, DatabaseError> {
        let pool = connection::pool(url, connections)?;
        drop(connection::client(&pool).await?);
        Ok(Self { pool })
    }

    /// Runs one statement, which is one transaction.
    async fn rows(
        &self,
        call: &'static str,
        sql: &str,
        parameters: connection::Parameters<'_>,
    ) -> Result<Vec<Row>, DatabaseError> {
        connection::rows(&self.pool, call, sql, parameters).await
    }

    /// The first row of an answer, when there is one.
    async fn row(
        &self,
        call: &'static str,
        sql: &str,
        parameters: connection::Parameters<'_>,
    ) -> Result<Option<Row>, DatabaseError> {
        let rows = self.rows(call, sql, parameters).await?;
        Ok(rows.into_iter().next())
    }

    /// The only row of an answer that always has one.
    async fn only(
        &self,
        call: &'static str,
        sql: &str,
        parameters: connection::Parameters<'_>,
    ) -> Result<Row, DatabaseError> {
        let row = self.row(call, sql, parameters).await?;
        row.ok_or_else(|| DatabaseError::Unreadable {
            call,
            reason: "it has no row".to_owned(),
        })
    }
}

//! Migrations, and databases that do not fit.

use orange_server::database::{Database, DatabaseError};
use postgres_fixture::{Cluster, Fsync};

use crate::fixture;

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_does_not_fit_is_named() {
    let cluster = Cluster::start(Fsync::Off).unwrap();
    let database = Database::connect(&cluster.url(), 4).await.unwrap();
    let client = fixture::client(&cluster).await;
    let error = database.check_schema().await.unwrap_err();
    assert!(matches!(error, DatabaseError::NotMigrated), "{error}");
    let error = database.mark().await.unwrap_err();
    assert!(
        error.to_string().contains("`orange server migrate`"),
        "{error}"
    );

    let at_once = (0..4).map(|_| {
        let database = database.clone();
        tokio::spawn(async move { database.migrate().await })
    });
    for migrated in at_once.collect::<Vec<_>>() {
        migrated.await.unwrap().unwrap();
    }
    database.check_schema().await.unwrap();
    database.migrate().await.unwrap();

    let change = |sql: &'static str| async { client.batch_execute(sql).await.unwrap() };
    change("insert into orange.migration values (99, '0099_later', 'x')").await;
    for error in [database.check_schema().await, database.migrate().await] {
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("`0099_later`") && error.contains("newer orange"),
            "{error}"
        );
    }
    change("delete from orange.migration where number = 99").await;
    change("update orange.migration set sha = 'other' where number = 2").await;
    for error in [database.check_schema().await, database.migrate().await] {
        let error = error.unwrap_err();
        assert!(
            matches!(error, DatabaseError::Changed { number: 2 }),
            "{error}"
        );
    }
    change("delete from orange.migration where number > 1").await;
    let error = database.check_schema().await.unwrap_err();
    assert!(
        matches!(error, DatabaseError::Older { found: 1, .. }),
        "{error}"
    );

    let url = format!("{} options='-c synchronous_commit=off'", cluster.url());
    let error = Database::connect(&url, 1)
        .await
        .unwrap()
        .check_schema()
        .await
        .unwrap_err();
    assert!(matches!(error, DatabaseError::NotDurable { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_be_reached_is_named() {
    let error = Database::connect("host=/nowhere user=orange", 1)
        .await
        .unwrap_err();
    assert!(
        matches!(error, DatabaseError::Unavailable { .. }),
        "{error}"
    );
    let error = Database::connect("no address", 1).await.unwrap_err();
    assert!(matches!(error, DatabaseError::Address { .. }), "{error}");
}

/// A migration that ends in the middle leaves nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_migration_leaves_nothing() {
    let fixture = fixture::start(Fsync::Off).await;
    let change =
        "drop schema orange cascade; create schema orange; create table orange.mail (id int)";
    fixture.client.batch_execute(change).await.unwrap();
    let error = fixture.database.migrate().await.unwrap_err();
    assert!(
        matches!(
            error,
            DatabaseError::Failed {
                call: "migrate",
                ..
            }
        ),
        "{error}"
    );
    let count = "select count(*) from pg_tables where schemaname = 'orange'";
    let tables: i64 = fixture.client.query_one(count, &[]).await.unwrap().get(0);
    assert_eq!(tables, 1);
}

//! Opening: permissions, settings, and what is refused.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use orange_store::{Creation, Store, StoreError, rebuild};
use rusqlite::Connection;

use crate::fixtures::World;
use crate::sandbox::{Sandbox, instant, minimal, source};

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn home_and_database_are_private_to_the_owner() {
    let sandbox = Sandbox::new();
    drop(sandbox.store());
    assert_eq!(mode(sandbox.home.path()), 0o700);
    assert_eq!(mode(&sandbox.home.database()), 0o600);
    // A home with too open permissions is tightened.
    fs::set_permissions(sandbox.home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(sandbox.home.database(), fs::Permissions::from_mode(0o644)).unwrap();
    drop(sandbox.store());
    assert_eq!(mode(sandbox.home.path()), 0o700);
    assert_eq!(mode(&sandbox.home.database()), 0o600);
}

#[test]
fn a_directory_that_is_shared_on_purpose_stays_shared() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.home.path()).unwrap();
    fs::set_permissions(sandbox.home.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    drop(sandbox.store());
    assert_eq!(mode(sandbox.home.path()), 0o777);
    assert_eq!(mode(&sandbox.home.database()), 0o600);
}

#[test]
fn a_newer_database_is_refused_with_what_to_do() {
    let sandbox = Sandbox::new();
    drop(sandbox.store());
    let connection = Connection::open(sandbox.home.database()).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    for refused in [
        Store::open(&sandbox.home).unwrap_err(),
        Store::open_read_only(&sandbox.home).unwrap_err(),
    ] {
        assert!(matches!(refused, StoreError::Newer { found: 99, .. }));
        assert!(refused.hints()[0].contains("install the newer orange"));
    }
}

#[test]
fn a_database_that_becomes_newer_is_no_longer_written_or_rebuilt() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let connection = Connection::open(sandbox.home.database()).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let last = store.sequence().unwrap();
    let refused = store.claim_notification("a", instant(1)).unwrap_err();
    assert!(
        matches!(refused, StoreError::Newer { found: 99, .. }),
        "{refused}"
    );
    assert_eq!(store.sequence().unwrap(), last);
    let refused = rebuild(&sandbox.home).unwrap_err();
    assert!(
        matches!(refused, StoreError::Newer { found: 99, .. }),
        "{refused}"
    );
}

#[test]
fn a_file_of_another_program_is_left_alone() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.home.path()).unwrap();
    let connection = Connection::open(sandbox.home.database()).unwrap();
    connection.execute_batch("CREATE TABLE theirs (x)").unwrap();
    drop(connection);
    let before = fs::read(sandbox.home.database()).unwrap();
    let refused = Store::open(&sandbox.home).unwrap_err();
    assert!(matches!(refused, StoreError::NotOurs { .. }), "{refused}");
    assert_eq!(fs::read(sandbox.home.database()).unwrap(), before);

    fs::write(
        sandbox.home.database(),
        "no database at all, but long enough to be taken for one. ".repeat(20),
    )
    .unwrap();
    let refused = Store::open(&sandbox.home).unwrap_err();
    assert!(matches!(refused, StoreError::NotOurs { .. }), "{refused}");
}

#[test]
fn task_directories_without_a_database_are_reported() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.home.tasks().join("coffee/k3f9")).unwrap();
    for refused in [
        Store::open(&sandbox.home).unwrap_err(),
        Store::open_read_only(&sandbox.home).unwrap_err(),
    ] {
        assert!(
            matches!(refused, StoreError::DatabaseLost { .. }),
            "{refused}"
        );
        assert!(refused.hints()[0].contains("orange rebuild"));
    }
    assert!(!sandbox.home.database().exists());
}

#[test]
fn reading_creates_nothing_and_changes_nothing() {
    let sandbox = Sandbox::new();
    let missing = Store::open_read_only(&sandbox.home).unwrap_err();
    assert!(matches!(missing, StoreError::Missing { .. }));
    assert!(!sandbox.home.path().exists());

    drop(sandbox.store());
    let mut reader = Store::open_read_only(&sandbox.home).unwrap();
    let workflow = minimal();
    let world = World::begin(&workflow);
    let refused = reader.create(&Creation {
        events: &world.events,
        workflow_text: source(&workflow),
        document: None,
        issue_text: None,
    });
    assert!(refused.is_err());
    assert_eq!(reader.sequence().unwrap(), 0);
}

#[test]
fn a_database_that_was_replaced_takes_no_more_commits() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    fs::rename(sandbox.home.database(), sandbox.home.path().join("aside")).unwrap();
    drop(Store::open(&sandbox.home).unwrap());
    let workflow = minimal();
    let world = World::begin(&workflow);
    let refused = store.create(&Creation {
        events: &world.events,
        workflow_text: source(&workflow),
        document: None,
        issue_text: None,
    });
    assert!(matches!(refused, Err(StoreError::Replaced { .. })));
}

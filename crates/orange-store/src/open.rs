//! Opens the database: safe file system, safe settings, current schema.

use std::cell::Cell;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use orange_config::Home;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::{StoreError, failed};
use super::migrations::{self, Schema};
use crate::files::filesystem;
use crate::files::filesystem::FileSystem;
use crate::steps::trace;

/// How long a writer waits for another one, which normally holds the lock for only milliseconds.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

/// How many pages the write-ahead log may hold before it is copied into the database.
const LOG_PAGES: u32 = 200;

/// How long the log file may be after a commit; a frame is a page and a header of 24 bytes.
const LOG_BYTES: u64 = LOG_PAGES as u64 * (4096 + 24);

/// Marks a database as ours; `migrations/1.sql` writes it.
const APPLICATION_ID: i32 = 0x6f72_616e;

/// One connection to orange's database, and the home that contains it.
///
/// Every thread and every process opens its own connection.
#[derive(Debug)]
pub struct Store {
    pub(super) connection: Connection,
    pub(super) home: Home,
    identity: (u64, u64),
    /// Whether the home belonged to a fleet at the last write of this connection.
    pub(super) was_joined: Cell<bool>,
}

impl Store {
    /// Opens the database for reading and writing, and creates it when there is none.
    pub fn open(home: &Home) -> Result<Store, StoreError> {
        make_private(home.path())?;
        require_safe(home.path())?;
        let path = home.database();
        if is_lost(home)? {
            let tasks = home.tasks();
            return Err(StoreError::DatabaseLost { path, tasks });
        }
        Store::open_at(&path, home)
    }

    /// Opens the database read-only; creates and changes nothing, except that it migrates a
    /// database of an earlier version first.
    pub fn open_read_only(home: &Home) -> Result<Store, StoreError> {
        Store::open_read_only_within(home, BUSY_TIMEOUT)
    }

    /// Like `open_read_only`, with a timeout for waiting until another process releases an
    /// exclusive lock.
    pub fn open_read_only_within(home: &Home, timeout: Duration) -> Result<Store, StoreError> {
        let path = home.database();
        if !path.exists() {
            return Err(if is_lost(home)? {
                let tasks = home.tasks();
                StoreError::DatabaseLost { path, tasks }
            } else {
                StoreError::Missing { path }
            });
        }
        require_safe(home.path())?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&path, flags).map_err(failed("open"))?;
        trace(&mut connection, home);
        prepare(&connection, timeout)?;
        require_ours(&connection, &path)?;
        match migrations::schema(&connection, migrations::ALL)? {
            Schema::Present => {}
            Schema::Older(_) => {
                drop(connection);
                // `Store::open` migrates or fails, so this recursion ends.
                drop(Store::open(home)?);
                return Store::open_read_only_within(home, timeout);
            }
            Schema::Newer(found) => return Err(newer(&path, found)),
        }
        Ok(Store {
            identity: identity(&path)?,
            home: home.clone(),
            connection,
            was_joined: Cell::new(false),
        })
    }

    /// Opens the database at a path; a rebuild uses this before it renames the new database into
    /// place.
    pub(super) fn open_at(path: &Path, home: &Home) -> Result<Store, StoreError> {
        make_private_file(path)
            .map_err(|error| StoreError::file("create the database", path, &error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(failed("open"))?;
        trace(&mut connection, home);
        prepare(&connection, BUSY_TIMEOUT)?;
        require_ours(&connection, path)?;
        set_wal(&connection)?;
        keep_log(&connection)?;
        connection
            .pragma_update(None, "synchronous", "FULL")
            .map_err(failed("set `synchronous`"))?;
        if let Schema::Newer(found) = migrations::migrate(&mut connection, migrations::ALL)? {
            return Err(newer(path, found));
        }
        Ok(Store {
            identity: identity(path)?,
            home: home.clone(),
            connection,
            was_joined: Cell::new(false),
        })
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Whether the home belonged to a fleet at the last write of this connection, which reads it at
    /// no cost.
    pub fn was_joined(&self) -> bool {
        self.was_joined.get()
    }

    /// Device and inode of the file that was opened.
    pub fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// Whether the connection can serve another question: the database at its path is certainly the
    /// one that was opened, and its schema is the one that was found then.
    pub fn is_reusable(&self) -> bool {
        let is_same = identity(&self.path()).is_ok_and(|now| now == self.identity);
        let schema = || migrations::schema(&self.connection, migrations::ALL);
        is_same && matches!(schema(), Ok(Schema::Present))
    }

    /// Whether another database has replaced the one that was opened.
    pub fn is_replaced(&self) -> bool {
        identity(&self.path()).is_ok_and(|now| now != self.identity)
    }

    /// Fails when a newer orange has migrated the database since it was opened.
    pub fn require_known_schema(&self) -> Result<(), StoreError> {
        match migrations::schema(&self.connection, migrations::ALL)? {
            Schema::Newer(found) => Err(newer(&self.path(), found)),
            Schema::Present | Schema::Older(_) => Ok(()),
        }
    }

    /// The path of the file that was opened.
    pub(super) fn path(&self) -> PathBuf {
        self.connection
            .path()
            .map_or_else(|| self.home.database(), PathBuf::from)
    }
}

/// Fails when the database at a path was written by a newer orange; accepts one that is missing or
/// damaged, which other code reports.
pub(super) fn refuse_newer(path: &Path) -> Result<(), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let Ok(connection) = Connection::open_with_flags(path, flags) else {
        return Ok(());
    };
    match migrations::schema(&connection, migrations::ALL) {
        Ok(Schema::Newer(found)) if require_ours(&connection, path).is_ok() => {
            Err(newer(path, found))
        }
        _ => Ok(()),
    }
}

fn newer(path: &Path, found: u32) -> StoreError {
    StoreError::Newer {
        path: path.to_owned(),
        found,
        known: migrations::number(migrations::ALL),
    }
}

/// Device and inode of a file.
pub(super) fn identity(path: &Path) -> Result<(u64, u64), StoreError> {
    let found = fs::metadata(path).map_err(|error| StoreError::file("inspect", path, &error))?;
    Ok((found.dev(), found.ino()))
}

/// Connection settings that are not stored in the file.
fn prepare(connection: &Connection, timeout: Duration) -> Result<(), StoreError> {
    connection
        .busy_timeout(timeout)
        .map_err(failed("set the busy timeout"))?;
    connection
        .pragma_update(None, "foreign_keys", true)
        .map_err(failed("set `foreign_keys`"))
}

/// Turns WAL on once; if several processes start together, the others wait for the first.
fn set_wal(connection: &Connection) -> Result<(), StoreError> {
    let mode =
        || connection.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0));
    let mut tries = 0;
    loop {
        let found: rusqlite::Result<String> = match mode() {
            Ok(found) if found == "wal" => return Ok(()),
            Err(error) => Err(error),
            Ok(_) => {
                connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
            }
        };
        tries += 1;
        match found {
            // `SQLite` fails immediately here instead of waiting for its busy timeout.
            Err(error) if tries < 1000 && is_busy(&error) => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(source) => {
                let attempt = "turn on write-ahead logging";
                return Err(StoreError::Database { attempt, source });
            }
            Ok(_) if tries < 1000 => {}
            Ok(_) => {
                let path = connection.path().map(PathBuf::from).unwrap_or_default();
                let kind = "a file system without shared memory";
                return Err(StoreError::UnsafeFileSystem { path, kind });
            }
        }
    }
}

/// Leaves the log in place when the last connection closes: copying it into the database and
/// creating a new one would take most of the time of a short command. `truncate_log` limits its
/// length.
fn keep_log(connection: &Connection) -> Result<(), StoreError> {
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .map_err(failed("keep the write-ahead log"))?;
    connection
        .pragma_update(None, "wal_autocheckpoint", LOG_PAGES)
        .map_err(failed("limit the write-ahead log"))
}

/// Truncates the log after a commit that made it long.
///
/// The commit itself has copied the log into the database, but how much of it was copied is
/// recorded only in shared memory, which goes away with the last connection. When each command is
/// the only process, the next one reads the log from its file, assumes that nothing was copied, and
/// appends. So the file itself has to be truncated. This waits for no reader or writer: the next
/// commit tries again, and the previous commit stands even if this fails.
pub(super) fn truncate_log(connection: &Connection) {
    let path = connection.path().unwrap_or_default();
    let is_long = fs::metadata(format!("{path}-wal")).is_ok_and(|log| log.len() > LOG_BYTES);
    if is_long && connection.busy_timeout(Duration::ZERO).is_ok() {
        let pragma = "PRAGMA wal_checkpoint(TRUNCATE)";
        let _left_to_the_next_commit = connection.query_row(pragma, [], |_| Ok(()));
        let _ignored = connection.busy_timeout(BUSY_TIMEOUT);
    }
}

/// Whether another connection held the lock.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// Fails unless the file is a database of orange, or an empty one.
///
/// Counts the tables before it reads the mark: a process that creates the database meanwhile writes
/// both at once, so we never see tables without a mark.
fn require_ours(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
        row.get::<_, i64>(0)
    });
    let mark = connection.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0));
    let path = path.to_owned();
    match tables.and_then(|tables| Ok((tables, mark?))) {
        Ok((_, APPLICATION_ID) | (0, 0)) => Ok(()),
        Err(error) if error.sqlite_error_code() != Some(ErrorCode::NotADatabase) => {
            Err(failed("read the schema")(error))
        }
        _ => Err(StoreError::NotOurs { path }),
    }
}

/// Whether there are tasks but no database that could contain them.
fn is_lost(home: &Home) -> Result<bool, StoreError> {
    let database = fs::metadata(home.database());
    if database.is_ok_and(|found| found.len() > 0) {
        return Ok(false);
    }
    let tasks = home.tasks();
    match fs::read_dir(&tasks) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::file("list", &tasks, &error)),
    }
}

fn require_safe(home: &Path) -> Result<(), StoreError> {
    let kind = filesystem::file_system_of(home)
        .map_err(|error| StoreError::file("find the file system of", home, &error))?;
    match kind {
        FileSystem::Local | FileSystem::Volatile { .. } => Ok(()),
        FileSystem::Unsafe { kind } => Err(StoreError::UnsafeFileSystem {
            path: home.to_owned(),
            kind,
        }),
    }
}

/// Creates a directory that only its owner can access.
pub(super) fn make_private(directory: &Path) -> Result<(), StoreError> {
    let result = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .and_then(|()| tighten(directory, &fs::metadata(directory)?, 0o700));
    result.map_err(|error| StoreError::file("create the directory", directory, &error))
}

/// Creates a file that only its owner can access. An existing file is not opened: closing it would
/// release the locks that other connections of this process hold on it.
fn make_private_file(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .and_then(|file| tighten(path, &file.metadata()?, 0o600)),
        found => tighten(path, &found?, 0o600),
    }
}

/// Removes the permissions that the mode does not grant, and adds none.
fn tighten(path: &Path, found: &fs::Metadata, mode: u32) -> io::Result<()> {
    const STICKY: u32 = 0o1000;
    let all = found.permissions().mode();
    let current = all & 0o777;
    // A directory that is shared on purpose, such as `/tmp`, keeps its permissions.
    if current & !mode == 0 || all & STICKY != 0 {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(current & mode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use orange_config::Environment;

    #[test]
    fn a_commit_is_synced_and_references_hold() {
        let directory = tempfile::tempdir().unwrap();
        let environment = Environment::of([("ORANGE_HOME", directory.path().join("home"))]);
        let home = Home::resolve(&environment).unwrap();
        let store = Store::open(&home).unwrap();
        let setting = |name: &str| -> String {
            let read = |row: &rusqlite::Row<'_>| row.get::<_, rusqlite::types::Value>(0);
            let value = store.connection.pragma_query_value(None, name, read);
            format!("{:?}", value.unwrap())
        };
        assert_eq!(setting("synchronous"), "Integer(2)");
        assert_eq!(setting("foreign_keys"), "Integer(1)");
        assert_eq!(setting("journal_mode"), "Text(\"wal\")");
        assert_eq!(setting("busy_timeout"), "Integer(20000)");
    }
}

//! The least that a list of tasks has to do.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// Selects the rows that the list shows, and prints the list's recorded output.
pub fn select(home: &Path) {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(home.join("orange.db"), flags).unwrap();
    let sql = "SELECT task, project, status, branch, summary, round, entered_at, attention, runs
               FROM task_rows ORDER BY entered_at";
    let mut statement = connection.prepare(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut read = 0;
    while let Some(row) = rows.next().unwrap() {
        for column in [0, 1, 2, 3, 4, 6, 7, 8] {
            read += row.get::<_, String>(column).unwrap().len();
        }
    }
    assert!(read > 0);
    let printed = fs::read(home.join("printed")).unwrap();
    std::io::stdout().lock().write_all(&printed).unwrap();
}

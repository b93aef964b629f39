//! The least that an update of a task has to do.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::stage::{Stage, timed};

const WORKFLOW: &str = "
name: two
version: 1
states:
  open: { kind: queued }
  held: { kind: human, expects: [] }
  closed: { kind: terminal }
transitions:
  - { from: open, to: held }
  - { from: held, to: open }
  - { from: held, to: closed }
verbs:
  spawn: held
  merge: []
  cancel: closed
";

/// A task that can move back and forth between `held` and `open`, and the folder for the minimal
/// program.
pub fn prepare(stage: &Stage) -> (String, PathBuf) {
    fs::write(stage.path("home/workflows/two.yml"), WORKFLOW).unwrap();
    let create = ["task", "create", "--no-spawn", "--workflow", "two"];
    timed(stage.orange(&create).arg("A summary"));
    let tasks = stage.path("home/tasks/repo");
    let task = fs::read_dir(tasks).unwrap().next().unwrap().unwrap();
    let task = task.file_name().into_string().unwrap();
    let mut printed = Vec::new();
    for to in ["held", "open"] {
        let mut update = stage.orange(&["task", "update", &task, "--status", to]);
        printed = update.output().unwrap().stdout;
    }
    let folder = prepare_minimal(stage, &task, &printed);
    (task, folder)
}

/// The files the minimal program works on, of the same sizes as the real ones.
fn prepare_minimal(stage: &Stage, task: &str, printed: &[u8]) -> PathBuf {
    let folder = stage.path("minimal");
    fs::create_dir(&folder).unwrap();
    let real = stage.path("home/tasks/repo").join(task);
    for name in ["TASK.md", "imported.md", "history.jsonl"] {
        fs::copy(real.join(name), folder.join(name)).unwrap();
    }
    let history = fs::read_to_string(real.join("history.jsonl")).unwrap();
    fs::write(folder.join("line"), history.lines().last().unwrap()).unwrap();
    fs::write(folder.join("printed"), printed).unwrap();
    // The newest rows are in the log; the copy needs them in the database.
    let database = Connection::open(stage.path("home/orange.db")).unwrap();
    let pragma = "PRAGMA wal_checkpoint(TRUNCATE)";
    database.query_row(pragma, [], |_| Ok(())).unwrap();
    fs::copy(stage.path("home/orange.db"), folder.join("orange.db")).unwrap();
    folder
}

/// The minimum that an update has to do.
pub fn minimal(folder: &Path) {
    let at = |name: &str| folder.join(name);
    let mut text = String::new();
    File::open(at("TASK.md"))
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    let line = fs::read_to_string(at("line")).unwrap();
    let mut database = Connection::open(at("orange.db")).unwrap();
    database
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        .unwrap();
    let writing = database
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    writing
        .execute("UPDATE sequence SET last = last + 1", [])
        .unwrap();
    for rows in [
        "INSERT INTO events (task, version, sequence, at, event)
         SELECT task, version + 2, (SELECT last FROM sequence), at, event FROM events
         ORDER BY version DESC LIMIT 2",
        "INSERT INTO imports (task, version, by_role, is_request, hash, at)
         SELECT task, version, by_role, is_request, hash, at FROM imports ORDER BY id DESC LIMIT 1",
        "UPDATE tasks SET version = version + 2, snapshot = snapshot || ' '",
    ] {
        writing.execute(rows, []).unwrap();
    }
    writing.commit().unwrap();

    let mut history = OpenOptions::new()
        .append(true)
        .open(at("history.jsonl"))
        .unwrap();
    writeln!(history, "{line}").unwrap();
    history.sync_data().unwrap();

    replace(folder, "imported.md", &text, RenameFlags::empty());
    replace(folder, "TASK.md", &text, RenameFlags::EXCHANGE);
    File::open(at("TASK.md")).unwrap().sync_all().unwrap();
    drop(database);
    std::io::stdout()
        .write_all(&fs::read(at("printed")).unwrap())
        .unwrap();
}

fn replace(folder: &Path, name: &str, text: &str, flags: RenameFlags) {
    let new = folder.join("new");
    let _absent = fs::remove_file(&new);
    let mut file = File::create_new(&new).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.sync_all().unwrap();
    renameat_with(CWD, &new, CWD, folder.join(name), flags).unwrap();
    File::open(folder).unwrap().sync_all().unwrap();
}

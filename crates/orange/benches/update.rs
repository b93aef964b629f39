//! `orange task update --status …` against a minimal program.
//!
//! Run with `cargo bench -p orange --bench update`; it fails when the ratio of the medians is over
//! 2. The minimal program is this one, started with `--minimal`: one transaction of the same rows,
//! one line of history, the import and TASK.md replaced, each made durable by the same calls in the
//! same order, and the same bytes printed. The bench alternates between both, so that a noisy
//! machine affects both alike.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark starts programs, measures time and prints what it measured"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;

const ROUNDS: usize = 60;
const LIMIT: f64 = 2.0;

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

const HARNESS: &str = "name = \"script\"\nbinary = \"/bin/sh\"\n[args]\nfull = [\"{prompt_file}\"]\n\
                       reduced = [\"{prompt_file}\"]\n";

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--minimal") {
        let folder = arguments.next().unwrap();
        minimal(Path::new(&folder));
        return;
    }
    let root = TempDir::new().unwrap();
    let (task, printed) = prepare(root.path());
    let folder = prepare_minimal(root.path(), &task, &printed);
    let (mut ours, mut least) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let to = if round % 2 == 0 { "held" } else { "open" };
        let mut update = orange(root.path(), &["task", "update", &task, "--status", to]);
        ours.push(timed(&mut update));
        let mut minimal = Command::new(std::env::current_exe().unwrap());
        minimal.arg("--minimal").arg(&folder).env_clear();
        least.push(timed(&mut minimal));
    }
    let (ours, least) = (median(ours), median(least));
    let ratio = ours.as_secs_f64() / least.as_secs_f64();
    println!("update {ours:?}, minimal {least:?}, ratio {ratio:.2}, {ROUNDS} rounds in turns");
    assert!(ratio <= LIMIT, "the ratio {ratio:.2} is over {LIMIT}");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed(command: &mut Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let start = Instant::now();
    let output = command.output().unwrap();
    let took = start.elapsed();
    assert!(output.status.success(), "{output:?}");
    took
}

fn orange(root: &Path, arguments: &[&str]) -> Command {
    let mut orange = Command::new(env!("CARGO_BIN_EXE_orange"));
    orange.args(arguments).current_dir(root.join("repo"));
    orange
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap());
    orange
        .env("HOME", root)
        .env("ORANGE_HOME", root.join("home"));
    orange
}

/// A task that can move back and forth, and the output of an update.
fn prepare(root: &Path) -> (String, Vec<u8>) {
    for folder in ["home/workflows", "home/harnesses", "repo"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("home/workflows/two.yml"), WORKFLOW).unwrap();
    fs::write(root.join("home/harnesses/script.toml"), HARNESS).unwrap();
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    for arguments in [
        &["init", "-q"][..],
        &["commit", "-q", "--allow-empty", "-m", "x"],
    ] {
        let mut git = Command::new("git");
        git.args(identity)
            .args(arguments)
            .current_dir(root.join("repo"));
        timed(&mut git);
    }
    timed(&mut orange(
        root,
        &["project", "add", "--harness", "script"],
    ));
    timed(&mut orange(
        root,
        &[
            "task",
            "create",
            "--no-spawn",
            "--workflow",
            "two",
            "A summary",
        ],
    ));
    let tasks = root.join("home/tasks/repo");
    let task = fs::read_dir(tasks).unwrap().next().unwrap().unwrap();
    let task = task.file_name().into_string().unwrap();
    let mut printed = Vec::new();
    for to in ["held", "open"] {
        let mut update = orange(root, &["task", "update", &task, "--status", to]);
        printed = update.output().unwrap().stdout;
    }
    (task, printed)
}

/// The files the minimal program works on, of the same sizes as the real ones.
fn prepare_minimal(root: &Path, task: &str, printed: &[u8]) -> std::path::PathBuf {
    let folder = root.join("minimal");
    fs::create_dir(&folder).unwrap();
    let real = root.join("home/tasks/repo").join(task);
    for name in ["TASK.md", "imported.md", "history.jsonl"] {
        fs::copy(real.join(name), folder.join(name)).unwrap();
    }
    let history = fs::read_to_string(real.join("history.jsonl")).unwrap();
    fs::write(folder.join("line"), history.lines().last().unwrap()).unwrap();
    fs::write(folder.join("printed"), printed).unwrap();
    fs::copy(root.join("home/orange.db"), folder.join("orange.db")).unwrap();
    folder
}

/// The minimum that an update has to do.
fn minimal(folder: &Path) {
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

//! Machine-readable errors: each code, reached by a real failure.

use std::fs::{self, File, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use orange_engine::names::TaskId;
use serde_json::Value;

use crate::schema_check::judge;
use crate::support::{COUNTED, Stage, start_with_gate, wait_for};

/// The exit code and the error code in a JSON answer.
#[track_caller]
fn assert_code(output: &Output, exit: i32, code: &str) {
    let text = String::from_utf8_lossy(&output.stdout);
    let answer: Result<Value, _> = serde_json::from_str(&text);
    let answer = answer.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    judge(&answer);
    assert_eq!(answer["error"]["code"], code, "{answer}");
    assert_eq!(output.status.code(), Some(exit), "{answer}");
    assert!(
        output.stderr.is_empty(),
        "narration beside JSON: {output:?}"
    );
}

impl Stage {
    /// Calls the program as a user does, with `--json`.
    #[track_caller]
    fn expect(&self, line: &str, exit: i32, code: &str) {
        let output = self.ask_program(line).output().unwrap();
        assert_code(&output, exit, code);
    }

    fn ask_program(&self, line: &str) -> Command {
        let words: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        self.orange(&words)
    }

    /// A program of this name that comes first on the `PATH`.
    fn program(&self, name: &str, script: &str) -> String {
        let folder = self.path("programs");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o700)).unwrap();
        let path = std::env::var("PATH").unwrap();
        format!("{}:{path}", folder.display())
    }

    /// A task with a running worker, and the worker's variables.
    fn with_worker(&self) -> (TaskId, [(&'static str, String); 3]) {
        let tells = "echo $ORANGE_RUN_ID > $SCRIPTS/run; echo $ORANGE_RUN_PROOF > $SCRIPTS/proof";
        self.script("worker-1", tells);
        let id = self.create(&["fix", "Fix it"]);
        self.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
        self.wait_for_turn("worker-1");
        self.wait_until_idle(&id);
        let read_script = |name: &str| {
            let text = fs::read_to_string(self.path("scripts").join(name)).unwrap();
            text.trim().to_owned()
        };
        let variables = [
            ("ORANGE_RUN_ID", read_script("run")),
            ("ORANGE_RUN_PROOF", read_script("proof")),
            ("ORANGE_TASK_ID", id.to_string()),
        ];
        (id, variables)
    }
}

#[test]
fn wrong_and_missing_arguments() {
    let stage = Stage::new("default");
    stage.expect("task show fix", 4, "task-not-found");
    let mut own = stage.ask_program("task show");
    let output = own.env("ORANGE_TASK_ID", "fix").output().unwrap();
    assert_code(&output, 4, "store-missing");
    stage.create(&["fix", "Fix it"]);
    stage.expect("task show", 2, "task-unclear");
    stage.expect("task show nothing", 4, "task-not-found");
    stage.expect("task wait fix --until nowhere", 4, "status-not-found");
    stage.expect("task list --status nowhere", 4, "status-not-found");
    stage.expect("task update fix --status nowhere", 4, "status-not-found");
    stage.expect("task create Add --status nowhere", 4, "status-not-found");
    stage.expect("task create Add --harness nothing", 4, "harness-not-found");
    stage.expect(
        "task create Add --workflow nothing",
        4,
        "workflow-not-found",
    );
    stage.expect("task attach fix --role nothing", 4, "role-not-found");
    stage.expect("task logs fix --role nothing", 4, "role-not-found");
    stage.expect("task stop fix --role nothing", 4, "role-not-found");
    stage.expect("task restart fix --role nothing", 4, "role-not-found");
    stage.expect("task respawn fix --role nothing", 4, "role-not-found");
    stage.expect("task diff fix", 3, "not-started");
    stage.expect("task merge fix --yes", 3, "not-started");
    stage.expect("task attach fix", 4, "no-agent");
    stage.expect("task logs fix", 4, "no-output");
    stage.expect("task restore fix 7", 4, "rescue-not-found");
    stage.expect("task create Fix --branch a..b", 2, "name-invalid");
    stage.expect("workspace init 99", 2, "pool-too-small");
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    stage.expect("task delete fix", 3, "not-confirmed");
    let mut showing = stage.ask_program("config show");
    let output = showing.env("ORANGE_LOG", "loud").output().unwrap();
    assert_code(&output, 2, "variable-invalid");
}

#[test]
fn ambiguous_and_unknown_projects() {
    let stage = Stage::new("default");
    let other = stage.path("other");
    fs::create_dir(&other).unwrap();
    let at = |line: &str| {
        let mut command = stage.ask_program(line);
        command.current_dir(&other).output().unwrap()
    };
    let unusable = |hint: &str| {
        let output = at("project add");
        assert_code(&output, 3, "project-unusable");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(hint), "{text}");
    };
    unusable(" init` and `");
    assert!(stage.git_in(&other, "init -q -b main").status.success());
    unusable(" commit --allow-empty -m first`, then run the command again");
    let first = "-c user.name=A -c user.email=a@b.c commit -q --allow-empty -m first";
    assert!(stage.git_in(&other, first).status.success());
    assert_code(&at("project add --name app"), 3, "project-exists");
    assert_code(&at("project add --name ä"), 2, "project-name-invalid");
    let output = at("project add");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // An installed agent would be used instead.
    fs::remove_file(stage.path("home/harnesses/script.toml")).unwrap();
    assert_code(&at("task create fix Fix"), 2, "harness-unset");
    stage.expect(
        "project update --default-branch nowhere",
        4,
        "branch-not-found",
    );
    let mut elsewhere = stage.ask_program("project show");
    let output = elsewhere.current_dir("/").output().unwrap();
    assert_code(&output, 2, "project-unclear");
}

#[test]
fn caller_errors() {
    let stage = Stage::new("default");
    let (_, variables) = stage.with_worker();
    stage.create(&["other", "Fix more"]);
    let as_worker = |line: &str, proof: Option<&str>| {
        let mut command = stage.ask_program(line);
        command.envs(variables.clone());
        if let Some(proof) = proof {
            command.env("ORANGE_RUN_PROOF", proof);
        }
        command.output().unwrap()
    };
    assert_code(&as_worker("task cancel other", None), 3, "other-task");
    assert_code(
        &as_worker("task cancel fix", Some("guessed")),
        3,
        "proof-invalid",
    );
    // An empty variable counts as unset, so this is an id without its proof.
    assert_code(&as_worker("task cancel fix", Some("")), 3, "caller-unknown");
    assert_code(&as_worker("rebuild", None), 3, "user-only");
}

#[test]
fn unexpected_worktree_contents() {
    let stage = Stage::new("default");
    let (id, _) = stage.with_worker();
    let worktree = stage.worktree(&id);
    assert!(stage.git("branch elsewhere").status.success());
    stage.expect("task update fix --branch elsewhere", 3, "fact-unknown");
    let file = worktree.join("TASK.md");
    let text = fs::read(&file).unwrap();
    fs::write(&file, "").unwrap();
    stage.expect("task update fix --status working", 3, "task-file-unknown");
    fs::write(&file, text).unwrap();
    // Uncommitted work is kept, and restoring it does not overwrite anything.
    fs::write(worktree.join("unsaved.txt"), "unsaved").unwrap();
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    let place = stage.path("place");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("unsaved.txt"), "of another").unwrap();
    let line = format!("task restore {id} 1 --directory {}", place.display());
    stage.expect(&line, 3, "not-restored");
    let kept = fs::read_to_string(place.join("unsaved.txt")).unwrap();
    assert_eq!(kept, "of another");
}

#[test]
fn failing_programs() {
    let stage = Stage::new("default");
    let (id, _) = stage.with_worker();
    let path = stage.program("tmux", "echo no >&2; exit 7");
    let output = stage
        .ask_program("task logs fix")
        .env("PATH", path)
        .output();
    assert_code(&output.unwrap(), 6, "program-failed");
    let output = stage.ask_program("task diff fix").env("PATH", "/").output();
    assert_code(&output.unwrap(), 6, "git-failed");
    // The service manager would misread the name.
    let odd = stage.path("a b");
    let mut unit = stage.ask_program("serve --unit systemd");
    let output = unit.env("ORANGE_HOME", odd).output().unwrap();
    assert_code(&output, 6, "program-not-started");
    assert_eq!(stage.task(&id).status.as_str(), "planning");
}

#[test]
fn a_repository_that_is_elsewhere() {
    let stage = Stage::new("default");
    stage.create(&["fix", "Fix it"]);
    stage.git("clone -q . ../clone");
    stage.expect("project update app --path ../clone", 3, "other-repository");
    fs::rename(stage.path("repo"), stage.path("moved")).unwrap();
    fs::create_dir(stage.path("repo")).unwrap();
    stage.expect("task diff fix", 4, "repository-missing");
    stage.run_ok(&["project", "update", "app", "--path", "../moved"]);
}

#[test]
fn unusable_files() {
    let stage = Stage::new("default");
    stage.create(&["fix", "Fix it"]);
    let log = stage.path("home/orange.log");
    let _absent = fs::remove_file(&log);
    fs::create_dir(&log).unwrap();
    stage.expect("log", 1, "system-failed");
}

#[test]
fn a_database_in_trouble() {
    let stage = Stage::new("default");
    stage.create(&["fix", "Fix it"]);
    let database = stage.home().database();
    let writer = rusqlite::Connection::open(&database).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    stage.expect("task update fix --summary Another", 5, "store-busy");
    writer.execute_batch("ROLLBACK").unwrap();
    writer
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    drop(writer);
    let whole = fs::read(&database).unwrap();
    let mut torn = whole.clone();
    torn[4096..].fill(0xa5);
    fs::write(&database, torn).unwrap();
    stage.expect("task list --all", 3, "store-unusable");
    stage.lose_database();
    fs::create_dir(&database).unwrap();
    stage.expect("task list --all", 1, "store-failed");
    fs::remove_dir(&database).unwrap();
    stage.expect("task show fix", 3, "store-unusable");
    fs::write(&database, whole).unwrap();
    stage.run_ok(&["task", "show", "fix"]);
}

#[test]
fn a_second_supervisor_is_refused() {
    let stage = Stage::new("default");
    let (code, answer) = stage.json(&["serve", "--detach", "--json"]);
    assert_eq!(
        (code, &answer["is_supervised"]),
        (0, &true.into()),
        "{answer}"
    );
    let pid = &answer["pid"];
    stage.expect("serve --detach", 5, "already-supervised");
    let (code, ended) = stage.json(&["serve", "--stop", "--json"]);
    assert_eq!(
        (code, &ended["is_supervised"]),
        (0, &false.into()),
        "{ended}"
    );
    assert_eq!(&ended["pid"], pid, "{ended}");
    let (code, nobody) = stage.json(&["serve", "--stop", "--json"]);
    assert_eq!((code, &nobody["pid"]), (0, &Value::Null), "{nobody}");

    // A supervisor that exits at once is noticed by the process that started it.
    let config = stage.path("home/config.toml");
    fs::write(&config, "nonsense = 1\n").unwrap();
    stage.expect("serve --detach", 6, "supervisor-not-started");
    fs::remove_file(config).unwrap();

    stage.run_ok(&["workspace", "init", "1"]);
    let locks = stage.path("home/workspaces/.locks");
    let held: Vec<File> = fs::read_dir(locks)
        .unwrap()
        .map(|entry| File::open(entry.unwrap().path()).unwrap())
        .collect();
    assert!(!held.is_empty());
    for lock in &held {
        lock.lock().unwrap();
    }
    stage.expect("workspace init 1", 5, "workspace-busy");
}

#[test]
fn a_slow_gate() {
    let (stage, id) = start_with_gate("exit 0", COUNTED);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let line = format!("task update {id} --status closed --wait 1");
    stage.expect(&line, 5, "gate-running");
    stage.script("answer", "0");
    wait_for("the gate", || {
        let commands = stage.store().gate_commands(&id).unwrap();
        commands.iter().all(|it| it.answer.is_some())
    });
}

#[test]
fn a_worktree_that_waits_for_the_remote() {
    let stage = Stage::new("minimal");
    // It accepts connections and never answers.
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let remote = format!("git://{}/app.git", server.local_addr().unwrap());
    stage.git(&format!("remote add origin {remote}"));
    stage.run_ok(&["project", "update", "app", "--remote", &remote]);
    let id = stage.create(&["Add a line"]);
    let (code, answer) = stage.call(&["task", "spawn", id.as_str(), "--wait", "1"]);
    assert_eq!(code, 5, "{answer}");
    for command in ["task diff", "task merge --yes", "task path"] {
        stage.expect(&format!("{command} {id}"), 5, "worktree-not-ready");
    }
    drop(server);
    stage.wait_until_idle(&id);
    stage.run_ok(&["task", "diff", id.as_str()]);
}

#[test]
fn a_constantly_changing_task() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", WORKS);
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    stage.expect("task merge fix --head nowhere", 4, "commit-not-found");
    // The branch is renamed whenever it is inspected, so the gathered facts never apply. The git of
    // the merge asks for that and waits; a program below git could not act for the user.
    let git = Command::new("sh").args(["-c", "command -v git"]).output();
    let git = String::from_utf8(git.unwrap().stdout).unwrap();
    let requests = stage.path("renames");
    fs::create_dir(&requests).unwrap();
    let folder = requests.display();
    let changes = format!(
        "case \"$*\" in *{MARK}*) touch '{folder}/'$$; while [ -e '{folder}/'$$ ]; do sleep 0.01; \
         done;; esac\nexec {} \"$@\"",
        git.trim()
    );
    let path = stage.program("git", &changes);
    let is_over = AtomicBool::new(false);
    let output = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for request in fs::read_dir(&requests).unwrap().flatten() {
                    let branch = format!("fix-{}", request.file_name().display());
                    let update = ["task", "update", id.as_str(), "--branch", &branch];
                    stage.orange(&update).output().unwrap();
                    fs::remove_file(request.path()).unwrap();
                }
                thread::sleep(Duration::from_millis(10));
            }
        });
        let mut merge = stage.ask_program(&format!("task merge {id} --local --wait 600"));
        let output = merge.env("PATH", path).output();
        is_over.store(true, Ordering::Relaxed);
        output.unwrap()
    });
    assert_code(&output, 5, "task-contended");
    assert_eq!(stage.task(&id).status.as_str(), "reviewing");
}

const WORKS: &str = "commit one; echo 'DONE: one' | section Handoff; ask task complete";

/// The git command that runs once whenever a decision about a branch is prepared.
const MARK: &str = "ls-tree";

//! The table of attempts: reading it, making them, judging them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use orange_engine::names::TaskId;
use orange_store::TaskFilter;

use crate::support::Stage;
use crate::support::around::Around;

const ATTEMPTS: &str = include_str!("attempts.txt");

const WORDS: &str = include_str!("words.sh");

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    pub name: &'static str,
    pub shell: &'static str,
    pub is_refused: bool,
}

pub fn attempts(section: &str) -> Vec<Attempt> {
    let mut current = "";
    let mut found = Vec::new();
    for line in ATTEMPTS.lines() {
        if let Some(name) = line.strip_prefix('[') {
            current = name.trim_end_matches(']');
        } else if let Some((head, shell)) = line.split_once(": ")
            && !line.starts_with('#')
            && (section == current || section.is_empty())
        {
            let (outcome, name) = head.split_once(' ').unwrap();
            assert!(["refused", "out-of-reach"].contains(&outcome), "{line}");
            found.push(Attempt {
                name,
                shell,
                is_refused: outcome == "refused",
            });
        }
    }
    assert!(!found.is_empty(), "{section}");
    found
}

/// The attempts that are refused without a sandbox, and those that are refused in one alone, with
/// what is expected here.
pub fn worker_attempts(around: Around) -> (Vec<Attempt>, Vec<Attempt>) {
    let (refused, mut left): (Vec<Attempt>, Vec<Attempt>) =
        attempts("worker").iter().partition(|it| it.is_refused);
    for attempt in &mut left {
        attempt.is_refused = around == Around::Sandbox;
    }
    (refused, left)
}

/// A stage whose agents can make attempts in `roles`.
pub fn stage_around(around: Around, workflow: &str) -> Stage {
    let stage = Stage::new(workflow);
    fs::create_dir(stage.path("roles")).unwrap();
    if around == Around::Sandbox {
        stage.require_sandbox(&["~/scripts", "~/roles"]);
    }
    stage
}

/// Everything that no attempt may change.
pub fn state(stage: &Stage) -> Vec<String> {
    let listed = stage.store().list(&TaskFilter::default()).unwrap().tasks;
    let tasks = listed.into_iter().map(|it| {
        let task = it.task;
        let priority = task.queueing.priority;
        format!("{} {} {priority} {}", task.id, task.status, task.summary)
    });
    let main = stage.git("rev-parse main").stdout;
    let projects = fs::read_to_string(stage.path("home/projects.json")).unwrap();
    let others = [
        String::from_utf8(main).unwrap(),
        projects,
        format!("supervised: {}", stage.driver().context.is_supervised()),
        format!("database: {}", stage.home().database().exists()),
    ];
    tasks.chain(others).collect()
}

/// Sets up a folder for scripts, attempts and results; returns it and the variables they need.
pub fn prepare(stage: &Stage, victim: &TaskId) -> (PathBuf, String) {
    let out = stage.path("roles");
    let bin = out.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let words = bin.join("words");
    fs::write(&words, WORDS).unwrap();
    fs::set_permissions(&words, fs::Permissions::from_mode(0o700)).unwrap();
    let names = WORDS.lines().filter_map(|line| line.strip_suffix(')'));
    for name in names.filter(|it| it.chars().all(|it| it.is_ascii_lowercase() || it == '_')) {
        symlink(&words, bin.join(name)).unwrap();
    }
    let orange = PathBuf::from(env!("CARGO_BIN_EXE_orange"));
    let variables = format!(
        "OUT={} V={victim} T=$ORANGE_TASK_ID\nPATH={}:{}:$PATH\nexport ORANGE_HOME={}\n\
         BARE=\"env -i PATH=$PATH HOME=$HOME ORANGE_HOME=$ORANGE_HOME\"\n\
         UNKNOWN='env -u ORANGE_RUN_PROOF ORANGE_RUN_ID=x'\n\
         export OUT V T PATH BARE UNKNOWN\n",
        out.display(),
        bin.display(),
        orange.parent().unwrap().display(),
        stage.home().path().display(),
    );
    (out, variables)
}

/// A shell script that makes these attempts one after the other, each in its own process.
pub fn attempts_script(attempts: &[Attempt], out: &Path, phase: &str) -> String {
    let folder = out.join(phase);
    fs::create_dir_all(&folder).unwrap();
    let mut shell = String::new();
    for attempt in attempts {
        let row = folder.join(attempt.name);
        fs::write(&row, attempt.shell).unwrap();
        let row = row.display();
        let line = format!("sh {row} > {row}.out 2>&1 < /dev/null; echo $? > {row}.code\n");
        shell += &line;
    }
    shell
}

/// Asserts that every attempt ended as the table says.
pub fn expect(attempts: &[Attempt], out: &Path, phase: &str) {
    let read = |name: &str| fs::read_to_string(out.join(phase).join(name)).unwrap_or_default();
    let broke = attempts.iter().filter_map(|attempt| {
        let code = read(&format!("{}.code", attempt.name));
        let is_refused = !matches!(code.trim(), "0" | "");
        let output = read(&format!("{}.out", attempt.name));
        (is_refused != attempt.is_refused)
            .then(|| format!("{phase} {}: {code}{output}", attempt.name))
    });
    let broke: Vec<String> = broke.collect();
    assert!(broke.is_empty(), "{}", broke.join("\n"));
}

/// The latest attempt.
pub fn last_row(out: &Path) -> String {
    let entries = fs::read_dir(out.join("worker")).unwrap().flatten();
    let written = entries.filter(|it| it.path().extension().is_some_and(|it| it == "out"));
    let last = written.max_by_key(|it| it.metadata().and_then(|it| it.modified()).ok());
    last.map_or_else(String::new, |it| it.path().display().to_string())
}

/// Says where the default branch is, if an attempt has asked.
pub fn answer_main(stage: &Stage, out: &Path) {
    if fs::remove_file(out.join("main-asked")).is_ok() {
        let commit = stage.git("rev-parse main").stdout;
        fs::write(out.join("main-is.new"), commit).unwrap();
        fs::rename(out.join("main-is.new"), out.join("main-is")).unwrap();
    }
}

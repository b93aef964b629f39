//! Watches agents for a secret that only orange may have.
//!
//! An agent's process is one that carries a run's mark, runs in orange's tmux server, or descends
//! from such a process. All of them are looked at many times per second while a test runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The pause between two looks at all processes: shorter than any program of an agent runs.
const PAUSE: Duration = Duration::from_millis(10);

pub struct SecretWatch {
    is_over: Arc<AtomicBool>,
    watcher: JoinHandle<Sightings>,
}

/// What a watch saw.
#[derive(Debug, Default)]
pub struct Sightings {
    /// Where the secret was.
    pub leaks: BTreeSet<String>,
    /// The names of the programs that agents ran, and of the agents.
    pub programs: BTreeSet<String>,
}

impl SecretWatch {
    pub fn start(secret: &str) -> SecretWatch {
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, secret) = (Arc::clone(&is_over), secret.to_owned());
        let watcher = thread::spawn(move || {
            let mut seen = Sightings::default();
            while !over.load(Ordering::Relaxed) {
                seen.look(&secret);
                thread::sleep(PAUSE);
            }
            seen
        });
        SecretWatch { is_over, watcher }
    }

    pub fn finish(self) -> Sightings {
        self.is_over.store(true, Ordering::Relaxed);
        self.watcher.join().unwrap()
    }
}

impl Sightings {
    /// Looks once at every process.
    fn look(&mut self, secret: &str) {
        let processes = processes();
        let agents = agents(&processes);
        for (pid, process) in &processes {
            let (name, line) = (&process.name, &process.command_line);
            // No process may have it there, not even orange: every user can read it.
            if line.contains(secret) {
                self.leaks.insert(format!("arguments of {name}"));
            }
            if !agents.contains(pid) {
                continue;
            }
            self.programs.insert(name.clone());
            if process.environment.contains(secret) {
                self.leaks.insert(format!("environment of {name}: {line}"));
            }
        }
    }
}

struct Process {
    parent: u32,
    name: String,
    command_line: String,
    environment: String,
}

/// The processes of this namespace, by their ids.
fn processes() -> BTreeMap<u32, Process> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else {
            continue;
        };
        // Everything about a process that has ended is empty.
        let read = |file: &str| {
            let bytes = fs::read(entry.path().join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let stat = read("stat");
        let Some((start, rest)) = stat.rsplit_once(')') else {
            continue;
        };
        let name = start.split_once('(').map_or("", |(_, name)| name);
        let parent = rest.split_whitespace().nth(1).unwrap_or_default();
        let process = Process {
            parent: parent.parse().unwrap_or(0),
            name: name.to_owned(),
            command_line: read("cmdline").replace('\0', " "),
            environment: read("environ"),
        };
        found.insert(pid, process);
    }
    found
}

/// The ids of the agents' processes, and of the tmux servers in which they run.
fn agents(processes: &BTreeMap<u32, Process>) -> BTreeSet<u32> {
    let is_root = |it: &Process| {
        let mut variables = it.environment.split('\0');
        it.name.starts_with("tmux: server") || variables.any(|it| it.starts_with("ORANGE_RUN_ID="))
    };
    let roots = processes.iter().filter(|(_, it)| is_root(it));
    let mut found: BTreeSet<u32> = roots.map(|(pid, _)| *pid).collect();
    loop {
        let children = processes
            .iter()
            .filter(|(_, it)| found.contains(&it.parent));
        let children: Vec<u32> = children.map(|(pid, _)| *pid).collect();
        let before = found.len();
        found.extend(children);
        if found.len() == before {
            return found;
        }
    }
}

/// The files below a folder that contain the secret.
pub fn files_with(secret: &str, folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(metadata) = fs::symlink_metadata(&path) else {
                continue;
            };
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_file() {
                let bytes = fs::read(&path).unwrap_or_default();
                if String::from_utf8_lossy(&bytes).contains(secret) {
                    found.push(path.display().to_string());
                }
            }
        }
    }
    found
}

//! Agents that append to TASK.md and rewrite it meanwhile.

#![expect(
    clippy::disallowed_methods,
    reason = "agents are processes of their own, so these tests start some"
)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use orange_engine::document::{Document, Frontmatter};
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_store::{ImportResult, Store, bind, import, project};

use crate::fixtures::{World, new_task};
use crate::sandbox::{RecordedTask, Sandbox, instant, minimal, nudge};

const PROJECTIONS: usize = 300;

/// A shell that edits TASK.md until a file named `stop` appears next to it.
struct Agent(Child);

/// A failing test leaves no process behind.
impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Agent {
    fn start(directory: &Path, script: &str) -> Agent {
        let child = Command::new("sh")
            .args(["-c", script])
            .current_dir(directory)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Agent(child)
    }

    fn finish(mut self, directory: &Path) {
        fs::write(directory.join("stop"), "").unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

/// A step that an agent repeats, counting in `i`, far faster than any real agent.
fn forever(name: &str, step: &str) -> String {
    format!(
        "i=0; while [ ! -e stop ]; do i=$((i+1)); {step}; sleep 0.008; done; echo $i > {name}.count"
    )
}

/// Appends numbered lines, opening and closing the file for each.
fn appender(name: &str) -> String {
    forever(name, &format!("echo \"{name} $i.\" >> TASK.md"))
}

/// Appends numbered lines through a descriptor that it reopens only now and then.
fn descriptor_appender(name: &str) -> String {
    let step = "[ $((i % 5)) = 1 ] && exec 3>> TASK.md";
    forever(name, &format!("{step}; echo \"{name} $i.\" >&3"))
}

fn begin() -> (Sandbox, Store, TaskId) {
    let sandbox = Sandbox::in_memory();
    let mut store = sandbox.store();
    let workflow = minimal();
    let text = Some("---\nmine: kept\n---\n## Notes\n\n");
    let world = World::create_with(&workflow, &new_task("A", None), text).unwrap();
    let id = RecordedTask::of(&mut store, world).world.task.id;
    project(&mut store, &id, instant(1)).unwrap();
    bind(
        &mut store,
        &id,
        &sandbox.worktree().join("TASK.md"),
        instant(2),
    )
    .unwrap();
    (sandbox, store, id)
}

/// Commits and projects many times, with an import every tenth time.
fn work(store: &mut Store, id: &TaskId) {
    for at in 0..PROJECTIONS {
        nudge(store, id);
        project(store, id, instant(2)).unwrap();
        if at % 10 == 0 {
            keep_import(store, id);
        }
    }
}

/// Reads the document and stores it, as every call does.
fn keep_import(store: &mut Store, id: &TaskId) {
    if let ImportResult::Read(read) = import(store, id, instant(3)).unwrap() {
        let import = orange_store::Import {
            version: 1,
            by: Role::Worker,
            with_request: false,
            stray: false,
            text: read.document.text(),
            at: instant(3),
        };
        store.keep_import(id, &import).unwrap();
    }
}

/// Everything in TASK.md or in an import, after the agents are gone.
fn all_texts(sandbox: &Sandbox, store: &mut Store, id: &TaskId) -> Vec<String> {
    for _ in 0..3 {
        keep_import(store, id);
    }
    project(store, id, instant(4)).unwrap();
    let mut texts: Vec<String> = store
        .imports(id)
        .unwrap()
        .into_iter()
        .map(|import| import.text)
        .collect();
    texts.push(fs::read_to_string(sandbox.task_file()).unwrap());
    texts
}

fn check_frontmatter(sandbox: &Sandbox, store: &Store, id: &TaskId) {
    let task = store.require(id).unwrap().task;
    let text = fs::read(sandbox.task_file()).unwrap();
    let document = Document::parse(&text).unwrap();
    let Frontmatter::Present(fields) = document.frontmatter() else {
        panic!("{:?}", document.frontmatter());
    };
    assert_eq!(fields.text("status"), Some(task.status.as_str()));
    assert_eq!(fields.integer("version"), i64::try_from(task.version).ok());
    assert_eq!(fields.text("mine"), Some("kept"));
}

fn check_lines(texts: &[String], name: &str, count: usize) {
    let lines: std::collections::BTreeSet<&str> =
        texts.iter().flat_map(|text| text.lines()).collect();
    let missing: Vec<usize> = (1..=count)
        .filter(|number| !lines.contains(format!("{name} {number}.").as_str()))
        .collect();
    let first = missing.first();
    assert!(
        missing.is_empty(),
        "{name}: of {count} lines {} are lost, the first is {first:?}",
        missing.len()
    );
}

fn counted(directory: &Path, name: &str) -> usize {
    let text = fs::read_to_string(directory.join(format!("{name}.count"))).unwrap();
    text.trim().parse().unwrap()
}

#[test]
fn no_line_is_lost_while_agents_append() {
    let (sandbox, mut store, id) = begin();
    let worktree = sandbox.worktree();
    let agents = [
        Agent::start(&worktree, &appender("one")),
        Agent::start(&worktree, &descriptor_appender("two")),
    ];
    work(&mut store, &id);
    for agent in agents {
        agent.finish(&worktree);
    }
    let texts = all_texts(&sandbox, &mut store, &id);
    for name in ["one", "two"] {
        let count = counted(&worktree, name);
        assert!(count > 20, "the agent wrote {count} lines");
        check_lines(&texts, name, count);
    }
    check_frontmatter(&sandbox, &store, &id);
}

/// Rewrites the whole file from memory, always with its first frontmatter.
fn rewriter(put: &str) -> String {
    let step = format!("body=\"$body\nwhole $i.\"; {put}");
    format!("head=$(cat TASK.md); body=''; {}", forever("whole", &step))
}

fn agents_rewrite(put: &str) {
    let (sandbox, mut store, id) = begin();
    let worktree = sandbox.worktree();
    let agent = Agent::start(&worktree, &rewriter(put));
    work(&mut store, &id);
    agent.finish(&worktree);
    let texts = all_texts(&sandbox, &mut store, &id);
    let count = counted(&worktree, "whole");
    assert!(count > 20, "the agent wrote {count} times");
    check_lines(&texts, "whole", count);
    check_frontmatter(&sandbox, &store, &id);
}

#[test]
fn no_line_and_no_status_is_lost_while_an_agent_replaces_the_file() {
    agents_rewrite("printf '%s\\n%s\\n' \"$head\" \"$body\" > .new && mv .new TASK.md");
}

#[test]
fn no_line_and_no_status_is_lost_while_an_agent_writes_over_the_file() {
    agents_rewrite("printf '%s\\n%s\\n' \"$head\" \"$body\" > TASK.md");
}

#[test]
fn concurrent_projections_do_not_conflict() {
    let (sandbox, mut store, id) = begin();
    let worktree = sandbox.worktree();
    let agent = Agent::start(&worktree, &appender("one"));
    let others: Vec<_> = (0..3)
        .map(|_| {
            let (home, id) = (sandbox.home.clone(), id.clone());
            thread::spawn(move || {
                let mut store = Store::open(&home).unwrap();
                for _ in 0..40 {
                    project(&mut store, &id, instant(2)).unwrap();
                    keep_import(&mut store, &id);
                }
            })
        })
        .collect();
    for _ in 0..40 {
        nudge(&mut store, &id);
        project(&mut store, &id, instant(2)).unwrap();
    }
    for other in others {
        other.join().unwrap();
    }
    agent.finish(&worktree);
    let texts = all_texts(&sandbox, &mut store, &id);
    check_lines(&texts, "one", counted(&worktree, "one"));
    check_frontmatter(&sandbox, &store, &id);
}

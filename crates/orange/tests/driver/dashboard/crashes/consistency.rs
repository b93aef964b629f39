//! Every frame shows exactly what the store held at that moment.
//!
//! While the dashboard runs, everything else is killed at random, as in the supervisor's chaos
//! test. The dashboard logs each frame with the commit it shows; afterwards the events are replayed
//! up to that commit and compared with the frame. The long run is
//! `CHAOS_TASKS=40 CHAOS_SECONDS=300 cargo nextest run -p orange --features crash-points --test
//! driver every_frame`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use orange_engine::apply::replay;
use orange_engine::event::Event;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{FieldName, TaskId};
use orange_engine::task::RunState;
use orange_engine::time::{Timestamp, age};
use orange_engine::{Task, Workflow};
use serde::Deserialize;

use crate::supervisor::chaos::{World, number};
use crate::support::{Stage, Terminal};

const ZONES: [&str; 3] = ["NEEDS YOU", "RUNNING", "QUEUE AND DONE"];

#[derive(Clone, Deserialize)]
struct Frame {
    sequence: u64,
    is_loaded: bool,
    now: i64,
    header: Vec<String>,
    list: Vec<String>,
}

/// The tasks as of one commit, built from events alone.
struct ExpectedList<'a> {
    workflow: &'a Workflow,
    tasks: BTreeMap<TaskId, Task>,
}

impl ExpectedList<'_> {
    fn kind(&self, task: &Task) -> Option<Kind> {
        self.workflow.state(&task.status).map(|state| state.kind)
    }

    /// The zone in which a list of open tasks shows a task.
    fn zone(&self, task: &Task) -> Option<usize> {
        match self.kind(task) {
            _ if !task.attention.is_empty() => Some(0),
            Some(Kind::Human) | None => Some(0),
            Some(Kind::Agent) => Some(1),
            Some(Kind::Waiting | Kind::Queued) => Some(2),
            Some(Kind::Terminal) => None,
        }
    }

    fn count(&self, zone: usize) -> usize {
        let zones = self.tasks.values().map(|task| self.zone(task));
        zones.filter(|it| *it == Some(zone)).count()
    }

    /// Everything in a frame that does not match.
    fn mismatches(&self, frame: &Frame) -> Vec<String> {
        let mut lies = Vec::new();
        let [needs, running, rest] = [0, 1, 2].map(|zone| self.count(zone));
        let needing = if needs == 1 { "needs you" } else { "need you" };
        let header = format!("{needs} {needing}  {running} running  {rest} queued");
        if !frame.header.iter().any(|line| line.contains(&header)) {
            lies.push(format!("{:?} is not {header:?}", frame.header));
        }
        let mut drawn = BTreeSet::new();
        let mut zone = None;
        for line in frame.list.iter().filter(|line| !line.is_empty()) {
            let is_title = |title: &&str| line.trim_start().starts_with(*title);
            if let Some(at) = ZONES.iter().position(is_title) {
                zone = Some(at);
                let expected = format!("{} {} ", ZONES[at], self.count(at));
                if !line.contains(&expected) {
                    lies.push(format!("{line:?} is not {expected:?}"));
                }
                continue;
            }
            let id = line.split_whitespace().nth(1).unwrap_or_default();
            let Some(task) = self.tasks.get(&TaskId::new(id)) else {
                // The text that is shown when nothing is open.
                if needs + running + rest > 0 {
                    lies.push(format!("{line:?} is no task"));
                }
                continue;
            };
            drawn.insert(task.id.clone());
            if self.zone(task) != zone {
                lies.push(format!("{line:?} is in the wrong zone"));
            }
            row(line, task, Timestamp::from_millis(frame.now), &mut lies);
        }
        let open = self.tasks.values().filter(|it| self.zone(it).is_some());
        let open: BTreeSet<TaskId> = open.map(|task| task.id.clone()).collect();
        if drawn != open {
            lies.push(format!("{drawn:?} are drawn, {open:?} are open"));
        }
        lies
    }
}

/// Compares a line with its task, column by column.
fn row(line: &str, task: &Task, now: Timestamp, lies: &mut Vec<String>) {
    let mut lie = |what: &str| lies.push(format!("{what} of {line:?}; it was {task:?}"));
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut states = task.runs.values().map(|run| &run.state);
    if !states.clone().any(|state| *state == RunState::Alive) {
        let has_ended = states.any(|state| matches!(state, RunState::Ended { .. }));
        if words[0] != if has_ended { "✗" } else { "○" } {
            lie("the sign");
        }
    }
    if words[2] != task.status.as_str() {
        lie("the status");
    }
    let round = task.value(&FieldName::new("review_round"));
    let shown = words[3]
        .split('/')
        .next()
        .and_then(|it| it.strip_prefix('r'));
    if shown.and_then(|it| it.parse().ok()).unwrap_or(0) != round {
        lie("the round");
    }
    if words.last() != Some(&age(now, task.entered.at).as_str()) {
        lie("the age");
    }
    let reason = task.attention.first().map(|reason| {
        let begin: String = reason.chars().take(12).collect();
        format!("! {begin}")
    });
    match reason {
        Some(reason) if !line.contains(&reason) => lie("the reason to look"),
        None if line.contains("! ") => lie("the missing reason to look"),
        _ => {}
    }
    // A long summary may be truncated.
    let rest = line.split_once("Write").map_or("", |(_, rest)| rest);
    let expected = task.summary.strip_prefix("Write").unwrap_or_default();
    let alike = rest
        .chars()
        .zip(expected.chars())
        .take_while(|(a, b)| a == b);
    let alike = alike.count();
    let is_cut = rest.chars().nth(alike) == Some('…');
    if alike < expected.chars().count() && !(is_cut && alike > 2) {
        lie("the summary");
    }
}

/// The mismatches in all frames, and how many commits were seen.
fn compare(stage: &Stage, frames: &[Frame]) -> (Vec<String>, usize) {
    let events = stage.store().events_since(0).unwrap();
    let first = events.first().map(|it| it.task.clone()).unwrap();
    let workflow = stage.driver().views.workflow_of(&first).unwrap();
    let mut past = ExpectedList {
        workflow: &workflow,
        tasks: BTreeMap::new(),
    };
    let mut histories: BTreeMap<TaskId, Vec<Event>> = BTreeMap::new();
    let mut events = events.into_iter().peekable();
    let (mut lies, mut seen, mut last) = (Vec::new(), BTreeSet::new(), 0);
    for (number, frame) in frames.iter().enumerate() {
        assert!(frame.sequence >= last, "frame {number} goes back in time");
        last = frame.sequence;
        let mut changed = BTreeSet::new();
        while let Some(next) = events.next_if(|it| it.sequence <= frame.sequence) {
            changed.insert(next.task.clone());
            histories.entry(next.task).or_default().push(next.event);
        }
        for id in changed {
            let task = replay(&histories[&id]).unwrap();
            past.tasks.insert(id, task);
        }
        seen.insert(frame.sequence);
        let found = past.mismatches(frame).into_iter();
        lies.extend(found.map(|lie| format!("frame {number}, commit {last}: {lie}")));
    }
    (lies, seen.len())
}

#[test]
fn every_frame_shows_what_the_store_held_then() {
    let seed = number("CHAOS_SEED", 1);
    let tasks = number("CHAOS_TASKS", 10);
    let seconds = number("CHAOS_SECONDS", 20);
    let world = World::new(seed, tasks);
    world.create_tasks();
    let stage = &world.stage;
    fs::create_dir_all(stage.path("home/crash-points")).unwrap();
    fs::write(stage.path("home/crash-points/frames"), "").unwrap();
    let terminal = Terminal::start(stage, "dash", 200, "orange ");
    // Make room for all tasks.
    terminal.resize(200, usize::try_from(tasks).unwrap() + 20);
    terminal.wait_for("? help");
    terminal.wait_for(&format!("QUEUE AND DONE {tasks}"));
    world.run(Duration::from_secs(seconds), Duration::ZERO);
    terminal.press(&["q"]);
    assert!(terminal.finish().contains("[exit 0]"));
    let written = fs::read_to_string(stage.path("home/crash-points/frames")).unwrap();
    let frames = written
        .lines()
        .map(|line| serde_json::from_str::<Frame>(line).unwrap());
    let frames: Vec<Frame> = frames.filter(|frame| frame.is_loaded).collect();
    let (lies, commits) = compare(stage, &frames);
    println!("{} frames as of {commits} commits", frames.len());
    assert!(lies.is_empty(), "seed {seed}:\n{}", lies.join("\n"));
    assert!(frames.len() > 50 && commits > 20, "too little was drawn");

    // A false frame is detected.
    let has_row = |frame: &&Frame| frame.list.iter().any(|line| line.contains("Write"));
    let mut last = frames.iter().rfind(has_row).unwrap().clone();
    let mut rows = last.list.iter_mut();
    let row = rows.find(|line| line.contains("Write")).unwrap();
    let status = row.split_whitespace().nth(2).unwrap().to_owned();
    *row = row.replacen(&status, "elsewhere", 1);
    let (lies, _) = compare(stage, &[last]);
    assert!(
        lies.iter().any(|lie| lie.contains("the status")),
        "{lies:?}"
    );
}

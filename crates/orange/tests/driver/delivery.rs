//! Two hundred messages to agents that make delivery hard.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, thread};

use orange_config::clock::{Deadline, Stopwatch};
use orange_driver::{Answer, Message};
use orange_engine::input::RequestKind;
use orange_engine::names::TaskId;
use orange_engine::role::Role;

use crate::library::{ask, to};
use crate::support::{SOON, Stage, wait_for};

const DIFFICULT: &str = include_str!("difficult.sh");

/// How agents make delivery hard; in the last one the user scrolls.
const DIFFICULTIES: [&str; 7] = [
    "plain", "swallow", "deaf", "slow", "dialog", "busy", "scrolled",
];

/// How many messages an agent gets: fewer where each takes seconds, and 203 in total.
fn messages(way: &str) -> usize {
    match way {
        "deaf" => 5,
        _ => 33,
    }
}

const NUDGE: &str = "Message from orange: run orange inbox and do what it says.";

fn stage() -> Stage {
    let stage = Stage::new("default");
    let agent = stage.path("difficult");
    fs::write(&agent, DIFFICULT).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o700)).unwrap();
    for way in DIFFICULTIES {
        let how = if way == "scrolled" { "plain" } else { way };
        let events = match way {
            "slow" => "[\"session-start\", \"prompt-submitted\"]",
            _ => "[]",
        };
        let text = format!(
            "name = \"{way}\"\nbinary = \"{}\"\nevents = {events}\n[args]\n\
             full = [\"{how}\", \"{{prompt_file}}\"]\nreduced = [\"{how}\", \"{{prompt_file}}\"]\n",
            agent.display()
        );
        let file = stage.path(&format!("home/harnesses/{way}.toml"));
        fs::write(file, text).unwrap();
    }
    stage
}

/// One agent and its records.
struct Agent<'a> {
    stage: &'a Stage,
    way: &'static str,
    id: TaskId,
}

impl Agent<'_> {
    fn start<'a>(stage: &'a Stage, way: &'static str) -> Agent<'a> {
        let id = stage.create(&["Add a line", "--status", "reviewing", "--harness", way]);
        stage.run_ok(&["task", "respawn", id.as_str(), "--role", "worker"]);
        let agent = Agent { stage, way, id };
        // A slow agent gets its first messages before it is ready.
        wait_for("an agent to talk to", || {
            way == "slow" || agent.is_running()
        });
        agent
    }

    fn is_running(&self) -> bool {
        let shown = self.stage.tmux(&["capture-pane", "-p", "-t", &self.pane()]);
        shown.contains('>') || shown.contains("2. Skip")
    }

    fn folder(&self) -> PathBuf {
        let runs = self.stage.home().tasks().join("app").join(self.id.as_str());
        let mut runs = fs::read_dir(runs.join("runs")).unwrap().flatten();
        runs.next().unwrap().path().join("launch")
    }

    fn recorded_file(&self, name: &str) -> String {
        fs::read_to_string(self.folder().join(name)).unwrap_or_default()
    }

    fn pane(&self) -> String {
        let format = "#{pane_id} #{@orange_task}";
        let panes = self.stage.tmux(&["list-panes", "-a", "-F", format]);
        let pane = panes.lines().find(|it| it.ends_with(self.id.as_str()));
        let pane = pane.and_then(|pane| pane.split(' ').next());
        pane.unwrap_or_else(|| panic!("{panes}")).to_owned()
    }

    fn is_scrolled(&self) -> bool {
        let pane = self.pane();
        let mode = ["display-message", "-p", "-t", &pane, "#{pane_in_mode}"];
        self.stage.tmux(&mode).trim() == "1"
    }

    fn inbox(&self) -> Vec<Message> {
        self.stage.store().inbox(&self.id).unwrap()
    }

    /// Moves the task between two statuses, each of which sends the worker a message.
    fn send(&self, count: usize) {
        let driver = self.stage.driver();
        for _ in 0..count {
            let before = self.inbox().len();
            let status = self.stage.task(&self.id).status;
            let there = if status.as_str() == "working" {
                "stuck"
            } else {
                "working"
            };
            let move_on = || -> RequestKind { to(there) };
            let is_requested = Deadline::after(SOON).wait_for(|| {
                let answer = ask(&driver, &self.id, Role::Human, move_on());
                !matches!(answer, Answer::Refused(_))
            });
            assert!(is_requested, "{}", self.stage.diagnostics(&self.id));
            // Another performer, left over from the agent's start, may be working on it.
            wait_for("the message to be written", || {
                driver.performer.perform(&self.id).unwrap();
                self.inbox().len() > before
            });
            assert_eq!(self.inbox().len(), before + 1, "{}", self.way);
        }
    }

    /// Performs what is pending until every message is read or has failed.
    fn settle(&self) {
        let driver = self.stage.driver();
        let settled = Deadline::after(3 * SOON).wait_for(|| {
            driver.performer.perform(&self.id).unwrap();
            let is_given_up = !self.stage.task(&self.id).attention.is_empty();
            is_given_up || self.inbox().iter().all(|it| it.read_at.is_some())
        });
        assert!(
            settled,
            "{}: {:#?}\n{}",
            self.way,
            self.inbox(),
            self.stage.diagnostics(&self.id)
        );
    }

    /// Why messages are undelivered, as the program reports it.
    fn reasons(&self) -> BTreeSet<String> {
        let (_, shown) = self
            .stage
            .json(&["task", "show", self.id.as_str(), "--json"]);
        let inbox = shown["inbox"].as_array().unwrap();
        let undelivered = inbox.iter().filter(|it| it["undelivered"] == true);
        undelivered
            .map(|it| it["reason"].as_str().unwrap().to_owned())
            .collect()
    }

    fn run(&self) {
        let all = messages(self.way);
        let half = all / 2;
        match self.way {
            "dialog" => {
                self.send(half);
                assert_eq!(
                    self.reasons(),
                    BTreeSet::from([String::from("its terminal asks `❯ 1. Install`")])
                );
                fs::write(self.folder().join("answered"), "").unwrap();
            }
            "scrolled" => {
                let pane = self.pane();
                self.stage.tmux(&["copy-mode", "-t", &pane]);
                self.send(half);
                assert!(self.is_scrolled(), "the user keeps scrolling");
                assert_eq!(
                    self.reasons(),
                    BTreeSet::from([String::from("you are scrolling in its terminal")])
                );
                self.stage.tmux(&["send-keys", "-t", &pane, "-X", "cancel"]);
            }
            _ => self.send(half),
        }
        self.send(all - half);
        self.settle();
        self.check();
    }

    fn check(&self) {
        let (inbox, way, all) = (self.inbox(), self.way, messages(self.way));
        assert_eq!(inbox.len(), all, "{way}");
        let effects: BTreeSet<_> = inbox.iter().map(|it| it.effect).collect();
        assert_eq!(effects.len(), all, "{way}: none is there twice");
        assert_eq!(
            self.recorded_file("obeyed"),
            "",
            "no key went into a dialog"
        );
        assert_eq!(self.recorded_file("errors"), "", "{way}");
        let sent = self.recorded_file("sent");
        assert!(sent.lines().all(|it| it == NUDGE), "{way}: {sent}");
        let read = self
            .recorded_file("inbox")
            .matches("from the engine")
            .count();
        if way == "deaf" {
            assert_eq!((read, sent.as_str()), (0, ""));
            let reasons = self.reasons();
            let words = "press Enter in its terminal";
            assert!(reasons.iter().any(|it| it.contains(words)), "{reasons:?}");
            let (_, queue) = self.stage.json(&["attention", "--json"]);
            let items = queue["items"].as_array().unwrap();
            let is_own = |kind: &str| {
                let id = self.id.as_str();
                items
                    .iter()
                    .any(|it| it["kind"] == kind && it["task"] == id)
            };
            assert!(is_own("undelivered"), "{queue}");
            return;
        }
        assert_eq!(read, all, "{way}: each is read once\n{sent}");
        assert_eq!(self.reasons(), BTreeSet::new(), "{way}");
    }
}

#[test]
fn lesson_24_two_hundred_messages_are_read_once_or_shown_as_undelivered() {
    let stage = stage();
    let began = Stopwatch::start();
    let agents = DIFFICULTIES.map(|way| Agent::start(&stage, way));
    thread::scope(|scope| {
        for agent in &agents {
            scope.spawn(|| agent.run());
        }
    });
    let count: usize = agents.iter().map(|agent| agent.inbox().len()).sum();
    println!("{count} messages in {:?}", began.elapsed());
    assert!(count >= 200);
    assert!(began.elapsed() < Duration::from_mins(3), "{began:?}");
}

//! An agent that reports events about itself.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use orange_config::clock;
use orange_engine::names::TaskId;
use serde_json::Value;

use crate::support::Stage;

/// A task with a running worker, and the worker's id and proof.
pub struct ReportingAgent {
    pub stage: Stage,
    pub id: TaskId,
    run: String,
    proof: String,
}

impl ReportingAgent {
    pub fn new() -> ReportingAgent {
        ReportingAgent::with_stage(Stage::new("default"))
    }

    /// The same on a prepared stage.
    pub fn with_stage(stage: Stage) -> ReportingAgent {
        ReportingAgent::start(stage, |stage| {
            let id = stage.create(&["Add a line"]);
            stage.run_ok(&["task", "spawn", id.as_str()]);
            id
        })
    }

    /// The same in a status that waits for the user, who may send the work back.
    pub fn in_review() -> ReportingAgent {
        ReportingAgent::start(Stage::new("default"), |stage| {
            let id = stage.create(&["Add a line", "--status", "reviewing"]);
            stage.run_ok(&["task", "respawn", id.as_str(), "--role", "worker"]);
            id
        })
    }

    pub fn start(stage: Stage, start: impl FnOnce(&Stage) -> TaskId) -> ReportingAgent {
        stage.script(
            "worker-1",
            "echo $ORANGE_RUN_ID > $SCRIPTS/run\necho $ORANGE_RUN_PROOF > $SCRIPTS/proof\n",
        );
        let id = start(&stage);
        stage.wait_for_turn("worker-1");
        stage.wait_until_idle(&id);
        let kept = |name: &str| {
            let text = fs::read_to_string(stage.path("scripts").join(name)).unwrap();
            text.trim().to_owned()
        };
        let (run, proof) = (kept("run"), kept("proof"));
        ReportingAgent {
            stage,
            id,
            run,
            proof,
        }
    }

    /// The command as the agent's hook calls it.
    pub fn hook(&self, arguments: &[&str]) -> Command {
        let words = ["agent-event"].into_iter().chain(arguments.iter().copied());
        self.command(&words.collect::<Vec<_>>())
    }

    /// A command in the environment of the agent.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut hook = self.stage.orange(arguments);
        hook.env("ORANGE_TASK_ID", self.id.as_str());
        hook.env("ORANGE_RUN_ID", &self.run);
        hook.env("ORANGE_RUN_PROOF", &self.proof);
        hook
    }

    /// Reports an event; the hook must never disturb the agent.
    pub fn tell(&self, arguments: &[&str]) {
        assert_silent(&self.hook(arguments).output().unwrap());
    }

    pub fn report_with(&self, arguments: &[&str], input: &[u8]) {
        let mut hook = self.hook(arguments);
        hook.stdin(Stdio::piped());
        hook.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = hook.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        assert_silent(&child.wait_with_output().unwrap());
    }

    /// Appends lines to a transcript of the agent, written now; returns its path.
    pub fn write_transcript(&self, name: &str, lines: &[&str]) -> String {
        let folder = self.stage.path("transcripts");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        let file = fs::OpenOptions::new().append(true).create(true).open(&path);
        let now = clock::now().to_string();
        for line in lines {
            let line = line.replace("NOW", &now);
            writeln!(file.as_ref().unwrap(), "{line}").unwrap();
        }
        path.to_str().unwrap().to_owned()
    }

    /// What `task show` says that the agents of the task used.
    pub fn usage(&self) -> Value {
        let show = ["task", "show", self.id.as_str(), "--json"];
        self.stage.json(&show).1["usage"].clone()
    }

    pub fn file(&self) -> PathBuf {
        let task = self.stage.home().tasks().join("app").join(self.id.as_str());
        task.join("runs").join(&self.run).join("events.jsonl")
    }

    pub fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap_or_default()
    }

    pub fn activity(&self) -> Value {
        let (_, shown) = self
            .stage
            .json(&["task", "show", self.id.as_str(), "--json"]);
        shown["activities"][0].clone()
    }

    pub fn dropped_events(&self) -> Vec<String> {
        let log = fs::read_to_string(self.stage.home().log()).unwrap();
        let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
        let dropped = lines.filter(|line: &Value| line["name"] == "agent_event.dropped");
        dropped
            .map(|line| line["reason"].as_str().unwrap().to_owned())
            .collect()
    }
}

pub fn assert_silent(output: &Output) {
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"", "{output:?}");
    assert_eq!(output.stderr, b"", "{output:?}");
}

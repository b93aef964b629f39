//! Stores what an agent's hook reports.
//!
//! A hook that fails, waits or prints disturbs its agent. So nothing here opens the database, waits
//! for a lock or returns an answer: an event that cannot be stored becomes a line in the log.

use std::fs;
use std::path::PathBuf;

use orange_config::clock;
use orange_config::{LogLevel, ORANGE_RUN_ID, ORANGE_RUN_PROOF, ORANGE_TASK_ID};
use orange_effects::private_file;
use orange_engine::activity::{AgentEvent, AgentEventKind};
use orange_engine::names::{ProjectName, RequestId, RunId, TaskId};
use orange_store::append_agent_event;
use serde_json::{Value, json};

use crate::agents::Agents;
use crate::context::ids;
use crate::context::run_location;

/// How many bytes of a file with a secret's hash are read; no hash is longer.
const LARGEST_HASH: u64 = 1024;

/// The longest text that is taken from a hook's payload.
const LONGEST_TEXT: usize = 500;

/// The fields that hold the conversation's id in a hook's payload.
const SESSION_IDS: [&str; 5] = [
    "session_id",
    "sessionId",
    "session-id",
    "thread_id",
    "thread-id",
];

/// The fields that hold the path of the transcript.
const TRANSCRIPTS: [&str; 3] = ["transcript_path", "transcriptPath", "transcript"];

/// The fields that hold a message to the user.
const MESSAGES: [&str; 3] = ["message", "reason", "last-assistant-message"];

/// The fields that hold the reasons why the agent cannot continue; all of them are kept.
const FAILURES: [&str; 4] = [
    "error",
    "error_details",
    "message",
    "last_assistant_message",
];

/// What a hook reports.
#[derive(Clone, Debug, Default)]
pub struct HookEvent {
    /// The name of the event.
    pub kind: String,
    /// Its position among the events of the run; the current time when absent.
    pub sequence: Option<u64>,
    /// The agent's own id for its conversation.
    pub session_id: Option<String>,
    /// The path of its transcript.
    pub transcript: Option<String>,
    /// The payload that the hook received.
    pub payload: Option<Vec<u8>>,
    /// The permission request that the event belongs to.
    pub request: Option<RequestId>,
}

/// The run of the agent that called.
pub(super) struct OwnRun {
    project: ProjectName,
    run: RunId,
    pub(super) directory: PathBuf,
}

impl Agents {
    /// Stores an event of the agent that this process belongs to; logs an event that cannot be
    /// stored.
    pub fn store_agent_event(&self, event: HookEvent) {
        // The agent of a chat has the same hooks, but belongs to no task.
        if self.own_variable(ORANGE_RUN_ID) == Some(self.context.assistant_run().as_str()) {
            return;
        }
        let task = TaskId::new(self.own_variable(ORANGE_TASK_ID).unwrap_or_default());
        let kind = event.kind.clone();
        if let Err(reason) = self.try_store(&task, event) {
            let more = json!({ "event": kind, "reason": reason });
            self.context
                .log(LogLevel::Warn, &task, "agent_event.dropped", more);
        }
    }

    pub(super) fn own_variable(&self, name: &str) -> Option<&str> {
        self.context.environment.variable(name)?.to_str()
    }

    fn try_store(&self, task: &TaskId, hook_event: HookEvent) -> Result<(), String> {
        let kind = AgentEventKind::from_name(&hook_event.kind).ok_or("unknown kind of event")?;
        let own = self.own_run(task)?;
        let payload = hook_event.payload.as_deref().and_then(parse_payload);
        let field = |names: &[&str]| {
            payload
                .as_ref()
                .and_then(|payload| first_text(payload, names))
        };
        let message = match kind {
            AgentEventKind::Failed => {
                let all = FAILURES.iter().filter_map(|name| field(&[name]));
                Some(all.collect::<Vec<_>>().join(": ")).filter(|it| !it.is_empty())
            }
            _ => field(&MESSAGES),
        };
        let event = AgentEvent {
            kind,
            sequence: hook_event.sequence.unwrap_or_else(clock::ticks),
            at: clock::now(),
            session_id: hook_event.session_id.or_else(|| field(&SESSION_IDS)),
            transcript: hook_event.transcript.or_else(|| field(&TRANSCRIPTS)),
            message,
            request: hook_event.request,
        };
        let appended = append_agent_event(&own.directory, &event, payload.as_ref());
        appended.map_err(|error| error.to_string())?;
        if kind.ends_turn() {
            self.record_usage(&own.project, task, &own.run);
        }
        Ok(())
    }

    /// The run that this process's variables name. Fails unless they also contain the run's proof.
    pub(super) fn own_run(&self, task: &TaskId) -> Result<OwnRun, String> {
        let (Some(run), Some(proof)) = (
            self.own_variable(ORANGE_RUN_ID),
            self.own_variable(ORANGE_RUN_PROOF),
        ) else {
            return Err(String::from(
                "it was not reported by an agent that orange started",
            ));
        };
        let run = RunId::new(run);
        let project = self.project_of(task, &run);
        let project = project.ok_or("its task has no such run")?;
        let failed = |error: &dyn ToString| error.to_string();
        let launch = self.context.launch_directory(&project, task, &run);
        let launch = launch.map_err(|error| failed(&error))?;
        let hash = private_file::read(&run_location::proof_file(&launch), LARGEST_HASH);
        let hash = hash.map_err(|error| failed(&error))?;
        if hash != ids::hash(proof).into_bytes() {
            return Err(String::from("its proof does not match its run"));
        }
        let directory = self.context.run_directory(&project, task, &run);
        let directory = directory.map_err(|error| failed(&error))?;
        Ok(OwnRun {
            project,
            run,
            directory,
        })
    }

    /// The project whose folder contains a run of the task; found without the database.
    fn project_of(&self, task: &TaskId, run: &RunId) -> Option<ProjectName> {
        let folders = fs::read_dir(self.context.home.tasks()).ok()?.flatten();
        let mut projects = folders.filter_map(|folder| folder.file_name().into_string().ok());
        projects.find_map(|name| {
            let project = ProjectName::new(name);
            let directory = self.context.run_directory(&project, task, run).ok()?;
            directory.is_dir().then_some(project)
        })
    }
}

/// The payload of a hook; kept as text when it is not JSON.
pub(super) fn parse_payload(bytes: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let parsed = serde_json::from_str(text).ok();
    Some(parsed.unwrap_or_else(|| text.into()))
}

/// The first of these fields that holds a text.
fn first_text(payload: &Value, names: &[&str]) -> Option<String> {
    let mut found = names.iter().filter_map(|name| payload.get(name)?.as_str());
    let found = found.find(|text| !text.is_empty())?;
    Some(found.chars().take(LONGEST_TEXT).collect())
}

//! Lets an agent's hook ask the user for permission.
//!
//! The hook must never block the agent forever: if anything fails here, the hook prints nothing,
//! and the agent shows its own dialog.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_config::clock::{self, Deadline};
use orange_config::{LogLevel, ORANGE_REPORT, ORANGE_TASK_ID};
use orange_effects::process::is_output_closed;
use orange_engine::activity::AgentEventKind;
use orange_engine::names::{ProjectName, RequestId, RunId, TaskId};
use orange_engine::permission::{PermissionOutcome, PermissionRequest};
use orange_store::{
    AgentEventReader, AnswerResult, FiledRequest, ReportedEvent, answer_permission_request,
    permission_requests,
};
use serde_json::{Value, json};

use crate::agents::Agents;
use crate::agents::events::{HookEvent, parse_payload};
use crate::context::ids;

/// How often a waiting hook looks for the answer; an answer must reach the agent within a second.
const POLL: Duration = Duration::from_millis(50);

/// The longest wait. The shipped harnesses let their hooks run a little longer.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// A request with a longer text is left to the agent's own dialog, because orange shows a request
/// in full or not at all.
const LONGEST_COMMAND: usize = 100_000;

/// How many requests of one agent may wait at once.
const MOST_REQUESTS: usize = 20;

/// The length of a request's id.
const ID_LENGTH: usize = 6;

/// A request that waits for its answer.
struct WaitingRequest {
    run_directory: PathBuf,
    request: PermissionRequest,
    filed: FiledRequest,
    deadline: Deadline,
}

/// How a request of this agent was decided.
#[derive(Debug)]
pub struct PermissionDecision {
    filed: FiledRequest,
    outcome: PermissionOutcome,
}

impl PermissionDecision {
    /// What the hook prints; nothing if the agent's own dialog takes over.
    pub fn hook_output(&self) -> Option<String> {
        let decision = match &self.outcome {
            PermissionOutcome::Allowed => json!({ "behavior": "allow" }),
            PermissionOutcome::Denied { reason } => {
                let reason = reason.as_deref().unwrap_or("the user denied it");
                json!({ "behavior": "deny", "message": reason })
            }
            PermissionOutcome::LeftToTerminal
            | PermissionOutcome::TimedOut
            | PermissionOutcome::Overtaken => return None,
        };
        let decision = json!({ "hookEventName": "PermissionRequest", "decision": decision });
        Some(json!({ "hookSpecificOutput": decision }).to_string())
    }

    /// Records that the agent has the answer; call this after the output is written.
    pub fn confirm(self) {
        self.filed.confirm();
    }
}

impl Agents {
    /// Asks the user for the permission that the hook's payload describes. Waits for the answer
    /// until a time limit, or until no process reads the hook's output any more. Returns `None` if
    /// the user cannot be asked.
    ///
    /// If `has_dialog`, the agent shows its own dialog meanwhile, and ends the hook when the user
    /// answers there. So the hook keeps running after orange has stopped waiting: only the end of
    /// the hook shows that the dialog is gone.
    pub fn ask_permission(
        &self,
        payload: Option<Vec<u8>>,
        has_dialog: bool,
        output: BorrowedFd<'_>,
    ) -> Option<PermissionDecision> {
        let task = TaskId::new(self.own_variable(ORANGE_TASK_ID).unwrap_or_default());
        let waiting = self.file_request(&task, payload.as_deref());
        // Store the event after the request, so that the notification can show the request.
        self.store_agent_event(HookEvent {
            kind: AgentEventKind::PermissionWait.as_str().to_owned(),
            payload,
            request: waiting.as_ref().ok().map(|it| it.request.id.clone()),
            ..HookEvent::default()
        });
        let waiting = match waiting {
            Ok(waiting) => waiting,
            Err(reason) => {
                let more = json!({ "reason": reason });
                self.context
                    .log(LogLevel::Warn, &task, "permission.not_asked", more);
                return None;
            }
        };
        if has_dialog {
            // Without the mark, the agent is shown as waiting for longer than it waits.
            let _unmarked = waiting.filed.mark_dialog();
        }
        let outcome = wait_for_answer(&waiting, output);
        let is_in_terminal = matches!(
            outcome,
            PermissionOutcome::LeftToTerminal | PermissionOutcome::TimedOut
        );
        if has_dialog && is_in_terminal {
            wait_for_dialog(&waiting, output);
        }
        let more = json!({ "request": waiting.request.id, "outcome": outcome });
        self.context
            .log(LogLevel::Info, &task, "permission.ended", more);
        if matches!(
            outcome,
            PermissionOutcome::Allowed | PermissionOutcome::Denied { .. }
        ) {
            // No hook reports that the agent continues after a denial.
            self.store_agent_event(HookEvent {
                kind: AgentEventKind::Working.as_str().to_owned(),
                ..HookEvent::default()
            });
        }
        Some(PermissionDecision {
            filed: waiting.filed,
            outcome,
        })
    }

    fn file_request(
        &self,
        task: &TaskId,
        payload: Option<&[u8]>,
    ) -> Result<WaitingRequest, String> {
        if self.own_variable(ORANGE_REPORT).is_some() {
            return Err(String::from("a headless run cannot ask"));
        }
        let run_directory = self.own_run(task)?.directory;
        let payload = payload.and_then(parse_payload);
        let payload = payload.ok_or("the hook passed no payload")?;
        let settings = self.context.settings(None);
        let settings = settings.map_err(|error| error.to_string())?;
        let wait = settings.permission_wait.min(LONGEST_WAIT);
        let request = request(&payload, wait)?;
        let open = permission_requests(&run_directory).into_iter();
        if open.filter(|it| it.is_open).count() >= MOST_REQUESTS {
            return Err(String::from(
                "too many requests of this agent are already waiting",
            ));
        }
        let filed = FiledRequest::file(&run_directory, &request);
        let filed = filed.map_err(|error| error.to_string())?;
        let more = json!({ "request": request.id, "tool": request.tool });
        self.context
            .log(LogLevel::Info, task, "permission.asked", more);
        Ok(WaitingRequest {
            run_directory,
            request,
            filed,
            deadline: Deadline::after(wait),
        })
    }

    /// Whether the agent has continued after this request without an answer from orange: its hook
    /// has ended although the request or the agent's dialog was still open. No agent reports
    /// whether the user agreed or pressed Escape.
    pub(super) fn is_abandoned(
        &self,
        project: &ProjectName,
        task: &TaskId,
        run: &RunId,
        request: &RequestId,
    ) -> bool {
        let Ok(directory) = self.context.run_directory(project, task, run) else {
            return false;
        };
        let mut found = permission_requests(&directory).into_iter();
        found.any(|it| {
            let is_left_open = match it.outcome {
                None | Some(PermissionOutcome::Overtaken) => true,
                Some(PermissionOutcome::LeftToTerminal | PermissionOutcome::TimedOut) => {
                    it.has_dialog
                }
                Some(PermissionOutcome::Allowed | PermissionOutcome::Denied { .. }) => false,
            };
            it.request.id == *request && !it.has_hook && is_left_open
        })
    }

    /// The requests of a run that wait for an answer, the oldest first.
    pub(crate) fn open_requests(
        &self,
        project: &ProjectName,
        task: &TaskId,
        run: &RunId,
    ) -> Vec<PermissionRequest> {
        let Ok(directory) = self.context.run_directory(project, task, run) else {
            return Vec::new();
        };
        let open = permission_requests(&directory).into_iter();
        open.filter(|it| it.is_open).map(|it| it.request).collect()
    }
}

/// Leaves the requests of a run to the agent's terminal, because the user opens it: some agents
/// show their own dialog only when no hook waits any more.
pub(super) fn leave_requests_to_terminal(run_directory: &Path) {
    for found in permission_requests(run_directory) {
        let outcome = PermissionOutcome::LeftToTerminal;
        // A request that ends meanwhile needs no answer.
        let _ended: Result<AnswerResult, _> =
            answer_permission_request(run_directory, &found.request.id, &outcome);
    }
}

/// Waits until the user answers, the agent continues by itself, or the deadline passes.
fn wait_for_answer(waiting: &WaitingRequest, output: BorrowedFd<'_>) -> PermissionOutcome {
    let mut events = AgentEventReader::at_end(&waiting.run_directory);
    loop {
        if let Some(outcome) = waiting.filed.outcome() {
            return outcome;
        }
        if waiting.deadline.has_passed() {
            return waiting.filed.end(PermissionOutcome::TimedOut);
        }
        let reported = events.read_new();
        let is_overtaken = reported.iter().any(|it| is_overtaken(&waiting.request, it));
        // If no process reads the output any more, the agent is gone.
        if is_overtaken || is_output_closed(output) {
            return waiting.filed.end(PermissionOutcome::Overtaken);
        }
        clock::sleep_until(clock::after(POLL), POLL);
    }
}

/// Waits until the agent continues after its own dialog, or for as long as a hook may run.
fn wait_for_dialog(waiting: &WaitingRequest, output: BorrowedFd<'_>) {
    let mut events = AgentEventReader::at_end(&waiting.run_directory);
    Deadline::after(LONGEST_WAIT).wait_for(|| {
        let reported = events.read_new();
        let is_overtaken = reported.iter().any(|it| is_overtaken(&waiting.request, it));
        is_overtaken || is_output_closed(output)
    });
}

/// Whether an event shows that the agent continues without the answer: the tool has run, or the
/// turn is over. Other tools and subagents report while the agent waits, so their events do not
/// count.
fn is_overtaken(request: &PermissionRequest, reported: &ReportedEvent) -> bool {
    match reported.event.kind {
        AgentEventKind::Working => reported.payload.as_ref().is_some_and(|payload| {
            let has_run = payload["hook_event_name"]
                .as_str()
                .is_some_and(|it| it.starts_with("PostToolUse"));
            has_run
                && payload["tool_name"] == request.tool.as_str()
                && command(&payload["tool_input"]) == request.command
        }),
        AgentEventKind::PermissionWait | AgentEventKind::InputWait => false,
        AgentEventKind::SessionStart
        | AgentEventKind::PromptSubmitted
        | AgentEventKind::Idle
        | AgentEventKind::Failed
        | AgentEventKind::SessionEnd => true,
    }
}

/// Reads the permission request from the payload of an agent's hook.
fn request(payload: &Value, wait: Duration) -> Result<PermissionRequest, String> {
    let tool = payload["tool_name"].as_str().filter(|it| !it.is_empty());
    let tool = tool.ok_or("the hook does not name a tool")?;
    let command = command(&payload["tool_input"]);
    let directory = payload["cwd"].as_str().map(str::to_owned);
    let length = tool.len() + command.len() + directory.as_ref().map_or(0, String::len);
    if length > LONGEST_COMMAND {
        return Err(format!("its text has {length} bytes, which is too much"));
    }
    let id = ids::request_id(ID_LENGTH).map_err(|error| error.to_string())?;
    Ok(PermissionRequest {
        id,
        tool: tool.to_owned(),
        command,
        directory,
        asked_at: clock::now(),
        until: clock::after(wait),
    })
}

/// What a tool would do, in full: its command, then the name and value of every other part of its
/// input, except the agent's own description.
fn command(input: &Value) -> String {
    let Value::Object(parts) = input else {
        return match input {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
    };
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut lines: Vec<String> = parts.get("command").map(text).into_iter().collect();
    for (name, value) in parts {
        if name != "command" && name != "description" {
            lines.push(format!("{name}: {}", text(value)));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use orange_engine::activity::AgentEvent;

    use super::*;

    fn asked(payload: &Value) -> PermissionRequest {
        request(payload, Duration::from_mins(1)).unwrap()
    }

    #[test]
    fn a_request_shows_everything_but_the_agents_own_description() {
        let payload = json!({
            "cwd": "/work", "tool_name": "Bash",
            "tool_input": {
                "command": "git push\nrm -rf x", "description": "Harmless", "timeout": 5,
                "dangerouslyDisableSandbox": true,
            },
        });
        let request = asked(&payload);
        assert_eq!(request.tool, "Bash");
        assert_eq!(request.directory.as_deref(), Some("/work"));
        assert_eq!(
            request.command,
            "git push\nrm -rf x\ndangerouslyDisableSandbox: true\ntimeout: 5"
        );
        assert_eq!(request.until.millis() - request.asked_at.millis(), 60_000);
        let edit = json!({ "tool_name": "Edit", "tool_input": { "file_path": "/etc/hosts", "new_string": "a" } });
        assert_eq!(asked(&edit).command, "file_path: /etc/hosts\nnew_string: a");
        let other = json!({ "tool_name": "X", "tool_input": ["a"] });
        assert_eq!(asked(&other).command, r#"["a"]"#);
    }

    #[test]
    fn what_cannot_be_shown_in_full_is_not_asked() {
        let wait = Duration::from_mins(1);
        let long = "x".repeat(LONGEST_COMMAND);
        let long = json!({ "tool_name": "Bash", "tool_input": { "command": long } });
        assert!(request(&long, wait).unwrap_err().contains("too much"));
        assert!(request(&json!("text"), wait).is_err());
        assert!(request(&json!({ "tool_input": {} }), wait).is_err());
    }

    #[test]
    fn only_the_same_tool_or_the_end_of_the_turn_overtakes_a_request() {
        let payload = |event: &str, command: &str| {
            json!({
                "hook_event_name": event, "tool_name": "Bash",
                "tool_input": { "command": command, "description": "any" },
            })
        };
        let waiting = asked(&payload("PermissionRequest", "git push"));
        let overtakes = |kind, payload: Option<Value>| {
            let event = AgentEvent {
                kind,
                sequence: 1,
                at: clock::now(),
                session_id: None,
                transcript: None,
                message: None,
                request: None,
            };
            is_overtaken(&waiting, &ReportedEvent { event, payload })
        };
        let working = AgentEventKind::Working;
        assert!(overtakes(working, Some(payload("PostToolUse", "git push"))));
        let failed = payload("PostToolUseFailure", "git push");
        assert!(overtakes(working, Some(failed)));
        assert!(!overtakes(working, Some(payload("PreToolUse", "git push"))));
        assert!(!overtakes(working, Some(payload("PostToolUse", "ls"))));
        assert!(!overtakes(working, None));
        assert!(!overtakes(AgentEventKind::PermissionWait, None));
        assert!(overtakes(AgentEventKind::Idle, None));
        assert!(overtakes(AgentEventKind::PromptSubmitted, None));
    }
}

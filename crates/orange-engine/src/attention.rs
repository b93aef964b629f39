//! What needs the user: the items that follow from a task's state.

mod item;

use serde::Serialize;

pub use item::{Item, ItemKind};

use crate::activity::{Activity, ActivityState};
use crate::document::reading::visible_text;
use crate::document::{Document, SectionName};
use crate::effect::MERGE;
use crate::language::Workflow;
use crate::language::verbs::Verb;
use crate::language::workflow::{Kind, State, Target, Trigger};
use crate::names::{RunId, Status, TaskId};
use crate::permission::PermissionRequest;
use crate::role::Role;
use crate::time::Timestamp;

/// How long an agent may take to read a message it was notified of, in milliseconds.
const READ_TIMEOUT_MILLIS: i64 = 120_000;

/// The section in which agents write their questions.
const QUESTIONS: &str = "Questions";

/// The maximum length of a question that is shown, in characters.
const MAX_QUESTION_CHARS: usize = 4000;

/// What the user is asked for in a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// To answer an agent that is running.
    Question,
    /// To review the work.
    Review,
    /// To help a task that is stuck.
    Stuck,
    /// To decide how the task continues.
    Decision,
}

/// What the user is asked for in a state, if anything.
pub fn need(workflow: &Workflow, state: &State) -> Option<Need> {
    if state.kind != Kind::Human {
        return None;
    }
    let leads_to = |verb: Verb, target: &Target| {
        let mut targets = workflow.verbs.get(&verb).into_iter().flatten();
        targets.any(|known| known == target)
    };
    if leads_to(Verb::Stuck, &Target::Status(state.name.clone())) {
        return Some(Need::Stuck);
    }
    let is_end = |target: &Target| match target {
        Target::Status(status) => workflow.is_terminal(status),
        Target::Previous => false,
    };
    // Where the user can accept the work, the user is asked to review it. An edge written for
    // `"*active"` does not count: it holds for every active state and says nothing about this one.
    let mut edges = workflow.edges_from(&state.name);
    let can_accept = edges.any(|edge| {
        let is_by_request = matches!(edge.trigger, Trigger::Request | Trigger::Merged);
        let accepts_work = leads_to(Verb::Merge, &edge.to) || leads_to(Verb::Complete, &edge.to);
        is_by_request
            && !edge.is_from_active
            && accepts_work
            && is_end(&edge.to)
            && edge.is_open_to(&Role::Human)
    });
    Some(if can_accept {
        Need::Review
    } else if state.expects.is_empty() {
        Need::Decision
    } else {
        Need::Question
    })
}

/// The roles whose agents are expected to request the next status. If only the user or an agent's
/// exit moves the task on, the agent may be idle, and its role is not listed.
pub fn working_roles(workflow: &Workflow, state: &State) -> Vec<Role> {
    if state.kind != Kind::Agent {
        return Vec::new();
    }
    let moves_task = |role: &&Role| {
        let mut edges = workflow.edges_from(&state.name);
        edges.any(|edge| edge.trigger == Trigger::Request && edge.is_open_to(role))
    };
    let expected = state.expects.iter().filter(moves_task);
    expected.cloned().collect()
}

/// The question that an agent has written into the task's text.
pub fn question(document: &Document) -> Option<String> {
    let section = document.section(&SectionName::from_title(QUESTIONS))?;
    let text = visible_text(document.content(section));
    if text.is_empty() {
        return None;
    }
    Some(match text.char_indices().nth(MAX_QUESTION_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    })
}

/// The state of a task, as far as it may need the user.
#[derive(Clone, Debug)]
pub struct TaskAttention<'a> {
    pub task: &'a TaskId,
    pub status: &'a Status,
    /// When the task entered its status.
    pub entered_at: Timestamp,
    /// What the user is asked for in this status.
    pub need: Option<Need>,
    /// The question that its agent has written down.
    pub question: Option<String>,
    /// Whether the task waits in a queue for its work to start.
    pub is_queued: bool,
    /// Whether an agent that the status expects has ended and can be respawned.
    pub is_agent_missing: bool,
    /// Other reasons why the user should look.
    pub reasons: Vec<Reason<'a>>,
    /// Messages that have not reached an agent.
    pub unread: Vec<WaitingMessage<'a>>,
    /// What the task's live agents reported.
    pub agents: Vec<Agent<'a>>,
    /// The agents that have exited although the task expects them, if no supervisor reacts.
    pub exited: Vec<(&'a Role, &'a RunId)>,
}

/// Why the user should look at a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason<'a> {
    pub text: &'a str,
    pub since: Timestamp,
    /// Whether the reason is a failed effect.
    pub is_failed_effect: bool,
    /// Whether the reason is that the user stopped an agent.
    pub is_stop: bool,
}

/// A message that no agent has read.
#[derive(Clone, Copy, Debug)]
pub struct WaitingMessage<'a> {
    pub id: u64,
    pub to: &'a Role,
    pub written_at: Timestamp,
    /// What prevents the delivery, if known.
    pub problem: Option<&'a str>,
    /// Whether the agent confirmed that it was notified.
    pub is_confirmed: bool,
}

/// An agent and what it seems to be doing.
#[derive(Clone, Copy, Debug)]
pub struct Agent<'a> {
    pub role: &'a Role,
    pub run: &'a RunId,
    pub activity: &'a Activity,
    /// Its requests for permission that wait for an answer.
    pub requests: &'a [PermissionRequest],
}

/// Everything for which a task needs the user.
pub fn items(attention: &TaskAttention<'_>, now: Timestamp) -> Vec<Item> {
    let cause = attention.cause();
    let mut items: Vec<Item> = attention.need_item(cause).into_iter().collect();
    let reasons = attention.reasons.iter().filter(|it| Some(*it) != cause);
    items.extend(reasons.filter_map(|it| attention.reason_item(it)));
    let unread = attention.unread.iter();
    items.extend(unread.filter_map(|it| attention.undelivered_item(it, now)));
    items.extend(
        attention
            .agents
            .iter()
            .filter_map(|it| attention.agent_item(it)),
    );
    for agent in &attention.agents {
        let requests = agent.requests.iter();
        items.extend(requests.map(|it| attention.request_item(agent.role, it)));
    }
    items.extend(attention.exited.iter().map(|(role, run)| {
        let text = format!(
            "the {role} has exited; orange reacts at the next command that changes the task"
        );
        attention.item(ItemKind::Exited, run.as_str(), attention.entered_at, text)
    }));
    items
}

/// The item that has waited longest comes first.
pub fn sort_items(items: &mut [Item]) {
    items.sort_by(|one, two| (one.since, &one.key).cmp(&(two.since, &two.key)));
}

impl TaskAttention<'_> {
    fn item(&self, kind: ItemKind, key_suffix: &str, since: Timestamp, text: String) -> Item {
        let task = self.task;
        let subcommand = match kind {
            ItemKind::Review => "diff",
            // For a queued task, the failed effect is its start, which `spawn` retries.
            ItemKind::EffectFailed if self.is_queued => "spawn",
            // Without its agent, the task cannot continue, and no terminal can be opened.
            ItemKind::Question | ItemKind::Stuck | ItemKind::Trouble if self.is_agent_missing => {
                "respawn"
            }
            ItemKind::Question
            | ItemKind::Undelivered
            | ItemKind::Permission
            | ItemKind::Input
            | ItemKind::Silent
            | ItemKind::Stalled => "attach",
            // `respawn` also finishes what the exited agent has left ready.
            ItemKind::Exited => "respawn",
            ItemKind::Stopped => "restart",
            ItemKind::Stuck
            | ItemKind::Decision
            | ItemKind::Trouble
            | ItemKind::EffectFailed
            | ItemKind::Parked
            | ItemKind::Budget
            | ItemKind::Notes
            | ItemKind::Job
            | ItemKind::Policy => "why",
        };
        Item {
            key: format!("{task}/{kind}/{key_suffix}"),
            since,
            task: Some(task.clone()),
            harness: None,
            kind,
            text,
            question: None,
            command: format!("orange task {subcommand} {task}"),
            request: None,
        }
    }

    /// What the status asks the user for. After a failed merge, it does not ask for a review: the
    /// user has to look at the failure first, which is an item of its own.
    fn current_need(&self) -> Option<Need> {
        let is_merge_failed = self.reasons.iter().any(|reason| {
            let error = reason.text.strip_prefix(MERGE);
            reason.is_failed_effect && error.is_some_and(|error| error.starts_with(": "))
        });
        self.need
            .filter(|need| *need != Need::Review || !is_merge_failed)
    }

    /// Why the task came to the user, if that was recorded with the status change.
    fn cause(&self) -> Option<&Reason<'_>> {
        self.current_need()?;
        let mut reasons = self.reasons.iter();
        reasons.find(|it| it.since == self.entered_at && !it.is_failed_effect)
    }

    fn need_item(&self, cause: Option<&Reason<'_>>) -> Option<Item> {
        if let (Need::Question, Some(question)) = (self.current_need()?, &self.question) {
            let words: Vec<&str> = question.split_whitespace().collect();
            let text = format!("an agent asks: {}", words.join(" "));
            let key_suffix = self.entered_at.to_string();
            let item = self.item(ItemKind::Question, &key_suffix, self.entered_at, text);
            return Some(Item {
                question: Some(question.clone()),
                ..item
            });
        }
        let (kind, text) = match self.current_need()? {
            Need::Question => (
                ItemKind::Question,
                "an agent has a question; answer in its terminal",
            ),
            Need::Review if cause.is_none() => {
                (ItemKind::Review, "the work is ready for your review")
            }
            Need::Stuck => (ItemKind::Stuck, "the task is stuck and needs your help"),
            // Work that came here because something is missing is not ready.
            Need::Decision | Need::Review => {
                (ItemKind::Decision, "the task waits for your decision")
            }
        };
        let since = self.entered_at;
        let cause = cause.map(|it| format!(": {}", it.text)).unwrap_or_default();
        let text = format!("{text}{cause}");
        Some(self.item(kind, &since.to_string(), since, text))
    }

    fn reason_item(&self, reason: &Reason<'_>) -> Option<Item> {
        // An undelivered message gets its own item, which says what prevents the delivery.
        let mut unread = self.unread.iter().filter_map(|it| it.problem);
        if reason.is_failed_effect && unread.any(|problem| reason.text.ends_with(problem)) {
            return None;
        }
        let kind = if reason.is_failed_effect {
            ItemKind::EffectFailed
        } else if reason.is_stop {
            ItemKind::Stopped
        } else {
            ItemKind::Trouble
        };
        let key_suffix = format!("{}/{}", reason.since, reason.text);
        Some(self.item(kind, &key_suffix, reason.since, reason.text.to_owned()))
    }

    fn undelivered_item(&self, message: &WaitingMessage<'_>, now: Timestamp) -> Option<Item> {
        let waited = now.millis().saturating_sub(message.written_at.millis());
        let (id, to) = (message.id, message.to);
        let why = match message.problem {
            Some(problem) => problem,
            None if message.is_confirmed || waited < READ_TIMEOUT_MILLIS => return None,
            None => "the agent was notified, but has not read the message",
        };
        let text = format!("a message to the {to}: {why}");
        Some(self.item(
            ItemKind::Undelivered,
            &id.to_string(),
            message.written_at,
            text,
        ))
    }

    fn agent_item(&self, agent: &Agent<'_>) -> Option<Item> {
        let kind = match agent.activity.state {
            ActivityState::WaitingForPermission => ItemKind::Permission,
            ActivityState::WaitingForInput => ItemKind::Input,
            ActivityState::Failed => ItemKind::Trouble,
            ActivityState::Silent => return self.silent_item(agent),
            ActivityState::Stalled => return self.stalled_item(agent),
            ActivityState::Working | ActivityState::Idle | ActivityState::Unknown => return None,
        };
        // Each request is an item of its own.
        if kind == ItemKind::Permission && !agent.requests.is_empty() {
            return None;
        }
        // If the status already asks the user, an agent that waits for input is not a second item.
        if kind == ItemKind::Input && self.need.is_some() {
            return None;
        }
        let evidence = agent.activity.evidence.as_ref()?;
        let key_suffix = format!("{}/{}", agent.run, evidence.sequence);
        let message = evidence.message.as_ref().map(|it| format!(": {it}"));
        let (role, state) = (agent.role, agent.activity.state);
        let text = format!("the {role} is {state}{}", message.unwrap_or_default());
        Some(self.item(kind, &key_suffix, evidence.at, text))
    }

    fn request_item(&self, role: &Role, request: &PermissionRequest) -> Item {
        let (id, asked_at) = (&request.id, request.asked_at);
        let text = format!("the {role} asks to use {}", request.excerpt());
        Item {
            command: format!("orange allow {id}"),
            request: Some(request.clone()),
            ..self.item(ItemKind::Permission, id.as_str(), asked_at, text)
        }
    }

    fn silent_item(&self, agent: &Agent<'_>) -> Option<Item> {
        let (role, run) = (agent.role, agent.run.as_str());
        let text =
            format!("the {role} has reported nothing since it was started; check its terminal");
        Some(self.item(ItemKind::Silent, run, agent.activity.silent_since?, text))
    }

    fn stalled_item(&self, agent: &Agent<'_>) -> Option<Item> {
        let (role, status, since) = (agent.role, self.status, agent.activity.stalled_since?);
        // A message that is on its way will wake the agent, or get an item of its own.
        let mut unread = self.unread.iter();
        if unread.any(|it| it.to == role && !it.is_confirmed) {
            return None;
        }
        let text = format!("the {role} is idle, but `{status}` waits for its work");
        let key_suffix = format!("{}/{since}", agent.run);
        Some(self.item(ItemKind::Stalled, &key_suffix, since, text))
    }
}

#[cfg(test)]
mod tests;

//! What needs the user: the items that follow from a task's state.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::activity::{Activity, Doing};
use crate::language::Workflow;
use crate::language::verbs::Verb;
use crate::language::workflow::{Kind, State, Target, Trigger};
use crate::names::{HarnessName, RunId, TaskId};
use crate::parking::{self, Parking};
use crate::role::Role;
use crate::time::Timestamp;

/// How long an agent may take to read a message it was notified of, in milliseconds.
const TAKES_TO_READ: i64 = 120_000;

/// What a person is asked for in a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// To answer an agent that is there to talk to.
    Question,
    /// To say whether the work is good.
    Review,
    /// To help where nobody knew how to go on.
    Stuck,
    /// To decide how it goes on.
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
    // Where the user can accept the work, the question is whether it is good. An edge that leads
    // there from any state says nothing about this one.
    let mut edges = workflow.edges_from(&state.name);
    let accepts = edges.any(|edge| {
        let is_asked = matches!(edge.trigger, Trigger::Request | Trigger::Merged);
        let is_asked = is_asked && !edge.from_any;
        let is_accepted = leads_to(Verb::Merge, &edge.to) || leads_to(Verb::Complete, &edge.to);
        is_asked && is_accepted && is_end(&edge.to) && edge.is_open_to(&Role::Human)
    });
    Some(if accepts {
        Need::Review
    } else if state.expects.is_empty() {
        Need::Decision
    } else {
        Need::Question
    })
}

/// What an item is about.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ItemKind {
    /// An agent asks something.
    Question,
    /// Work waits to be judged.
    Review,
    /// Nobody knew how to go on.
    Stuck,
    /// Somebody has to say how it goes on.
    Decision,
    /// Something went wrong.
    Trouble,
    /// An effect was given up.
    GaveUp,
    /// A message has not reached its agent.
    Undelivered,
    /// An agent waits until something is allowed.
    Permission,
    /// An agent says that it waits for an answer.
    Input,
    /// An agent was started and has told nothing.
    Silent,
    /// Nothing is started on a harness.
    Parked,
}

impl ItemKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ItemKind::Question => "question",
            ItemKind::Review => "review",
            ItemKind::Stuck => "is stuck",
            ItemKind::Decision => "decision",
            ItemKind::Trouble => "trouble",
            ItemKind::GaveUp => "gave up",
            ItemKind::Undelivered => "undelivered",
            ItemKind::Permission => "permission",
            ItemKind::Input => "input",
            ItemKind::Silent => "silent",
            ItemKind::Parked => "parked",
        }
    }
}

impl fmt::Display for ItemKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Something that needs a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Item {
    /// The same for the same thing, however often it is asked for.
    pub key: String,
    /// Since when.
    pub since: Timestamp,
    /// The task; nothing where it is about a harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The harness; nothing where it is about a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<HarnessName>,
    /// What it is about.
    pub kind: ItemKind,
    /// What is needed.
    pub told: String,
    /// What to run.
    pub command: String,
}

impl Item {
    /// The name of the task or the harness.
    pub fn subject(&self) -> &str {
        let task = self.task.as_ref().map(TaskId::as_str);
        task.or(self.harness.as_ref().map(HarnessName::as_str))
            .unwrap_or_default()
    }

    /// A harness on which no agents are started.
    pub fn parked(parking: &Parking) -> Item {
        let Parking { harness, since, .. } = parking;
        let command = match parking.reason {
            parking::Reason::Quota => String::from("orange harness list"),
            parking::Reason::Login => format!("orange harness unpark {harness}"),
        };
        Item {
            key: format!("harness/{harness}/{since}"),
            since: *since,
            task: None,
            harness: Some(harness.clone()),
            kind: ItemKind::Parked,
            told: parking.to_string(),
            command,
        }
    }
}

/// The state of a task, as far as it may need the user.
#[derive(Clone, Debug)]
pub struct Standing<'a> {
    pub task: &'a TaskId,
    /// When the task entered its status.
    pub entered_at: Timestamp,
    /// What the user is asked for in this status.
    pub need: Option<Need>,
    /// Whether the task waits in a queue for its work to start.
    pub is_queued: bool,
    /// Other reasons why the user should look.
    pub reasons: Vec<Reason<'a>>,
    /// Messages that have not reached an agent.
    pub unread: Vec<Unread<'a>>,
    /// What the task's live agents reported.
    pub agents: Vec<Agent<'a>>,
}

/// Why the user should look at a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason<'a> {
    pub told: &'a str,
    pub since: Timestamp,
    /// Whether it is an effect that failed.
    pub is_given_up: bool,
}

/// A message that no agent has read.
#[derive(Clone, Copy, Debug)]
pub struct Unread<'a> {
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
}

/// Everything for which a task needs the user.
pub fn items(standing: &Standing<'_>, now: Timestamp) -> Vec<Item> {
    let cause = standing.cause();
    let mut items: Vec<Item> = standing.asked(cause).into_iter().collect();
    let reasons = standing.reasons.iter().filter(|it| Some(*it) != cause);
    items.extend(reasons.filter_map(|it| standing.look(it)));
    let unread = standing.unread.iter();
    items.extend(unread.filter_map(|it| standing.undelivered(it, now)));
    items.extend(standing.agents.iter().filter_map(|it| standing.waits(it)));
    items
}

/// The item that has waited longest comes first.
pub fn in_order(items: &mut [Item]) {
    items.sort_by(|one, two| (one.since, &one.key).cmp(&(two.since, &two.key)));
}

impl Standing<'_> {
    fn item(&self, kind: ItemKind, what: &str, since: Timestamp, told: String) -> Item {
        let task = self.task;
        let word = match kind {
            ItemKind::Review => "diff",
            // In a queue, the effect that failed is the start.
            ItemKind::GaveUp if self.is_queued => "spawn",
            ItemKind::Question
            | ItemKind::Undelivered
            | ItemKind::Permission
            | ItemKind::Input
            | ItemKind::Silent => "attach",
            ItemKind::Stuck
            | ItemKind::Decision
            | ItemKind::Trouble
            | ItemKind::GaveUp
            | ItemKind::Parked => "why",
        };
        Item {
            key: format!("{task}/{kind}/{what}"),
            since,
            task: Some(task.clone()),
            harness: None,
            kind,
            told,
            command: format!("orange task {word} {task}"),
        }
    }

    /// Why the task came to the user, if that was recorded with the status change.
    fn cause(&self) -> Option<&Reason<'_>> {
        self.need?;
        let mut reasons = self.reasons.iter();
        reasons.find(|it| it.since == self.entered_at && !it.is_given_up)
    }

    fn asked(&self, cause: Option<&Reason<'_>>) -> Option<Item> {
        let (kind, told) = match self.need? {
            Need::Question => (ItemKind::Question, "an agent asks; answer in its terminal"),
            Need::Review => (ItemKind::Review, "the work waits to be reviewed"),
            Need::Stuck => (ItemKind::Stuck, "nobody knew how to go on"),
            Need::Decision => (ItemKind::Decision, "somebody has to say how it goes on"),
        };
        let since = self.entered_at;
        let cause = cause.map(|it| format!(": {}", it.told)).unwrap_or_default();
        let told = format!("{told}{cause}");
        Some(self.item(kind, &since.to_string(), since, told))
    }

    fn look(&self, reason: &Reason<'_>) -> Option<Item> {
        // An undelivered message gets its own item, which says what prevents the delivery.
        let mut unread = self.unread.iter().filter_map(|it| it.problem);
        if reason.is_given_up && unread.any(|problem| reason.told.ends_with(problem)) {
            return None;
        }
        let kind = if reason.is_given_up {
            ItemKind::GaveUp
        } else {
            ItemKind::Trouble
        };
        let what = format!("{}/{}", reason.since, reason.told);
        Some(self.item(kind, &what, reason.since, reason.told.to_owned()))
    }

    fn undelivered(&self, message: &Unread<'_>, now: Timestamp) -> Option<Item> {
        let waited = now.millis().saturating_sub(message.written_at.millis());
        let (id, to) = (message.id, message.to);
        let why = match message.problem {
            Some(problem) => problem,
            None if message.is_confirmed || waited < TAKES_TO_READ => return None,
            None => "it was told of it, and has not read it",
        };
        let told = format!("a message to the {to}: {why}");
        Some(self.item(
            ItemKind::Undelivered,
            &id.to_string(),
            message.written_at,
            told,
        ))
    }

    fn waits(&self, agent: &Agent<'_>) -> Option<Item> {
        let kind = match agent.activity.doing {
            Doing::WaitingForPermission => ItemKind::Permission,
            Doing::WaitingForInput => ItemKind::Input,
            Doing::Failed => ItemKind::Trouble,
            Doing::Silent => return self.silent(agent),
            Doing::Working | Doing::Idle | Doing::Unknown => return None,
        };
        // If the status already asks the user, an agent that waits for input is not a second item.
        if kind == ItemKind::Input && self.need.is_some() {
            return None;
        }
        let told = agent.activity.evidence.as_ref()?;
        let what = format!("{}/{}", agent.run, told.sequence);
        let words = told.message.as_ref().map(|it| format!(": {it}"));
        let (role, doing) = (agent.role, agent.activity.doing);
        let words = format!("the {role} is {doing}{}", words.unwrap_or_default());
        Some(self.item(kind, &what, told.at, words))
    }

    fn silent(&self, agent: &Agent<'_>) -> Option<Item> {
        let (role, run) = (agent.role, agent.run.as_str());
        let told =
            format!("the {role} has told nothing since it was started; look at its terminal");
        Some(self.item(ItemKind::Silent, run, agent.activity.silent_since?, told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::{AgentEvent, AgentEventKind};
    use crate::language::load;
    use crate::shipped;

    #[test]
    fn what_a_person_is_asked_for_follows_from_the_workflow() {
        let mut found = Vec::new();
        for shipped in shipped::ALL {
            let workflow = load(shipped.source).workflow.unwrap();
            for state in &workflow.states {
                if let Some(need) = need(&workflow, state) {
                    found.push(format!("{}: {} {need:?}", shipped.name, state.name));
                }
            }
        }
        found.sort();
        assert_eq!(
            found,
            [
                "autopilot: blocked Review",
                "autopilot: needs_review Review",
                "default: clarification Question",
                "default: reviewing Review",
                "default: stuck Stuck",
                "minimal: reviewing Review",
                "respawn: clarification Question",
                "respawn: reviewing Review",
                "respawn: stuck Stuck",
            ]
        );
    }

    fn waiting(kind: AgentEventKind) -> Activity {
        Activity::of(&[AgentEvent {
            kind,
            sequence: 7,
            at: Timestamp::from_millis(5000),
            session_id: None,
            transcript: None,
            message: Some(String::from("May I?")),
        }])
    }

    #[test]
    fn every_reason_is_an_item_with_a_command() {
        let (task, role, run) = (TaskId::new("k3f9"), Role::Worker, RunId::new("r1"));
        let permission = waiting(AgentEventKind::PermissionWait);
        let reason = |told, is_given_up| Reason {
            told,
            since: Timestamp::from_millis(3000),
            is_given_up,
        };
        let message = |id, problem, is_confirmed| Unread {
            id,
            to: &role,
            written_at: Timestamp::from_millis(4000),
            problem,
            is_confirmed,
        };
        let standing = Standing {
            task: &task,
            entered_at: Timestamp::from_millis(2000),
            need: Some(Need::Review),
            is_queued: false,
            reasons: vec![
                reason("the worker crashed", false),
                reason("push_branch: no remote", true),
                reason("notify_worker: somebody scrolls", true),
            ],
            unread: vec![
                message(1, Some("somebody scrolls"), false),
                message(2, None, false),
                message(3, None, true),
            ],
            agents: vec![Agent {
                role: &role,
                run: &run,
                activity: &permission,
            }],
        };
        let told = |now: i64| {
            let mut items = items(&standing, Timestamp::from_millis(now));
            in_order(&mut items);
            let told = items.iter();
            let told = told.map(|it| format!("{}; {}; {}", it.kind, it.told, it.command));
            told.collect::<Vec<String>>()
        };
        let expected = [
            "review; the work waits to be reviewed; orange task diff k3f9",
            "gave up; push_branch: no remote; orange task why k3f9",
            "trouble; the worker crashed; orange task why k3f9",
            "undelivered; a message to the worker: somebody scrolls; orange task attach k3f9",
            "permission; the worker is waiting for permission: May I?; orange task attach k3f9",
        ];
        assert_eq!(told(6000), expected);
        let later = told(4000 + TAKES_TO_READ);
        assert_eq!(later.len(), 6, "{later:?}");
        assert!(later[4].contains("has not read it"), "{later:?}");
    }

    fn with_reason<'a>(task: &'a TaskId, need: Option<Need>, reason: Reason<'a>) -> Standing<'a> {
        Standing {
            task,
            entered_at: Timestamp::from_millis(2000),
            need,
            is_queued: need.is_none(),
            reasons: vec![reason],
            unread: Vec::new(),
            agents: Vec::new(),
        }
    }

    #[test]
    fn why_a_task_came_to_a_person_is_part_of_what_is_asked() {
        let task = TaskId::new("k3f9");
        let reason = |since| Reason {
            told: "the run reported `blocked`: no key",
            since: Timestamp::from_millis(since),
            is_given_up: false,
        };
        let told = |since| {
            let standing = with_reason(&task, Some(Need::Review), reason(since));
            let items = items(&standing, Timestamp::from_millis(6000));
            items.into_iter().map(|it| it.told).collect::<Vec<_>>()
        };
        let with_it = "the work waits to be reviewed: the run reported `blocked`: no key";
        assert_eq!(told(2000), [with_it]);
        // A reason that came up later is a separate item.
        assert_eq!(told(3000).len(), 2);
    }

    #[test]
    fn a_start_that_was_given_up_names_the_command_that_starts_again() {
        let task = TaskId::new("k3f9");
        let reason = Reason {
            told: "spawn_agent: `nonexistent` is not installed",
            since: Timestamp::from_millis(2000),
            is_given_up: true,
        };
        let standing = with_reason(&task, None, reason);
        let items = items(&standing, Timestamp::from_millis(6000));
        assert_eq!(items.len(), 1);
        assert_eq!(items[0].kind, ItemKind::GaveUp);
        assert_eq!(items[0].command, "orange task spawn k3f9");
    }

    /// A task about which only an agent is known.
    fn with_agent<'a>(task: &'a TaskId, need: Option<Need>, agent: Agent<'a>) -> Standing<'a> {
        Standing {
            task,
            entered_at: Timestamp::default(),
            need,
            is_queued: false,
            reasons: Vec::new(),
            unread: Vec::new(),
            agents: vec![agent],
        }
    }

    #[test]
    fn an_agent_that_never_told_that_it_started_is_looked_at() {
        let (task, role, run) = (TaskId::new("k3f9"), Role::Worker, RunId::new("r1"));
        let since = Timestamp::from_millis(1000);
        let told = |now: i64| {
            let now = Timestamp::from_millis(now);
            let activity = Activity::untold(since, now);
            let agent = Agent {
                role: &role,
                run: &run,
                activity: &activity,
            };
            items(&with_agent(&task, None, agent), now)
        };
        assert_eq!(told(2000), []);
        let silent = told(1_000_000);
        assert_eq!(silent.len(), 1, "{silent:?}");
        assert_eq!(
            silent,
            told(2_000_000),
            "it is the same thing all the while"
        );
        assert_eq!(silent[0].kind, ItemKind::Silent);
        assert_eq!(silent[0].since, since);
        assert_eq!(silent[0].command, "orange task attach k3f9");
    }

    #[test]
    fn an_answer_that_a_status_asks_for_anyway_is_asked_for_once() {
        let (task, role, run) = (TaskId::new("k3f9"), Role::Worker, RunId::new("r1"));
        let activity = waiting(AgentEventKind::InputWait);
        let agent = Agent {
            role: &role,
            run: &run,
            activity: &activity,
        };
        let kinds = |need| {
            let items = items(&with_agent(&task, need, agent), Timestamp::default());
            items.iter().map(|item| item.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(Some(Need::Question)), [ItemKind::Question]);
        assert_eq!(kinds(None), [ItemKind::Input]);
    }
}

//! What an agent seems to be doing, judged by its reports.
//!
//! This only informs the user. No decision reads it, because an agent reports nothing when the user
//! interrupts it or grants it a permission.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::RequestId;
use crate::time::Timestamp;

/// How long an agent may take to report that it has started, in milliseconds.
const START_TIMEOUT_MILLIS: i64 = 120_000;

/// How long an agent may be idle while the task's status waits for its work, in milliseconds.
const IDLE_TIMEOUT_MILLIS: i64 = 60_000;

/// What an agent can report about itself.
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
pub enum AgentEventKind {
    /// It has started and accepts input.
    SessionStart,
    /// It has received the text that was typed.
    PromptSubmitted,
    /// It is working.
    Working,
    /// It asks for permission.
    PermissionWait,
    /// It asks for other input.
    InputWait,
    /// It has finished its turn.
    Idle,
    /// It could not continue, and says why.
    Failed,
    /// It exits.
    SessionEnd,
}

impl AgentEventKind {
    /// Every kind with its command-line name.
    pub const ALL: [(&'static str, AgentEventKind); 8] = [
        ("session-start", AgentEventKind::SessionStart),
        ("prompt-submitted", AgentEventKind::PromptSubmitted),
        ("working", AgentEventKind::Working),
        ("permission-wait", AgentEventKind::PermissionWait),
        ("input-wait", AgentEventKind::InputWait),
        ("idle", AgentEventKind::Idle),
        ("failed", AgentEventKind::Failed),
        ("session-end", AgentEventKind::SessionEnd),
    ];

    pub fn from_name(name: &str) -> Option<AgentEventKind> {
        let mut all = AgentEventKind::ALL.iter();
        all.find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// Whether the agent has stopped working for now.
    pub fn ends_turn(self) -> bool {
        matches!(
            self,
            AgentEventKind::Idle | AgentEventKind::Failed | AgentEventKind::SessionEnd
        )
    }

    pub fn as_str(self) -> &'static str {
        let mut all = AgentEventKind::ALL.iter();
        all.find(|(_, kind)| *kind == self)
            .map_or("", |(name, _)| name)
    }
}

impl fmt::Display for AgentEventKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Something that an agent reported about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentEvent {
    /// What it reported.
    pub kind: AgentEventKind,
    /// Its number among the events of its run: the highest is the newest, whatever arrives last.
    pub sequence: u64,
    /// When it was reported.
    pub at: Timestamp,
    /// The agent's own id of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The path of the agent's transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// The message that came with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The request for permission that waits in orange's queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
}

/// What an agent seems to be doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ActivityState {
    /// It is working.
    Working,
    /// It waits for permission.
    WaitingForPermission,
    /// It waits for an answer.
    WaitingForInput,
    /// It waits for instructions.
    Idle,
    /// It could not continue, and waits.
    Failed,
    /// It should have reported its start by now, and has not.
    Silent,
    /// It has been idle for a while, although its status waits for its work.
    Stalled,
    /// Its reports do not say.
    Unknown,
}

impl ActivityState {
    /// The state in one word; empty when unknown.
    pub fn label(self) -> &'static str {
        match self {
            ActivityState::Working => "working",
            ActivityState::WaitingForPermission | ActivityState::WaitingForInput => "waiting",
            ActivityState::Idle => "idle",
            ActivityState::Failed => "failed",
            ActivityState::Silent => "silent",
            ActivityState::Stalled => "stalled",
            ActivityState::Unknown => "",
        }
    }

    /// Whether, as far as is known, only the user can make the agent continue.
    pub fn is_waiting(self) -> bool {
        matches!(
            self,
            ActivityState::WaitingForPermission
                | ActivityState::WaitingForInput
                | ActivityState::Failed
                | ActivityState::Silent
                | ActivityState::Stalled
        )
    }
}

impl fmt::Display for ActivityState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            ActivityState::Working => "working",
            ActivityState::WaitingForPermission => "waiting for permission",
            ActivityState::WaitingForInput => "waiting for an answer",
            ActivityState::Idle => "idle",
            ActivityState::Failed => "unable to continue",
            ActivityState::Silent => "silent",
            ActivityState::Stalled => "stalled",
            ActivityState::Unknown => "unknown",
        })
    }
}

/// What an agent seems to be doing, and the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Activity {
    /// What it seems to be doing.
    pub state: ActivityState,
    /// The newest event that the agent reported; absent if it reported none.
    pub evidence: Option<AgentEvent>,
    /// When a silent agent was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<Timestamp>,
    /// Since when a stalled agent has kept its status waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled_since: Option<Timestamp>,
}

impl Activity {
    /// The activity of an agent that has reported nothing since it was started at `since`, although
    /// agents of its harness report their start.
    pub fn without_events(since: Timestamp, now: Timestamp) -> Activity {
        let waited = now.millis().saturating_sub(since.millis());
        let silent_since = (waited >= START_TIMEOUT_MILLIS).then_some(since);
        Activity {
            state: silent_since.map_or(ActivityState::Unknown, |_| ActivityState::Silent),
            evidence: None,
            silent_since,
            stalled_since: None,
        }
    }

    /// The activity that follows from all events of one run, in order of arrival.
    pub fn from_events(events: &[AgentEvent]) -> Activity {
        let newest = events.iter().max_by_key(|event| event.sequence);
        let state = newest.map_or(ActivityState::Unknown, |event| match event.kind {
            AgentEventKind::PromptSubmitted | AgentEventKind::Working => ActivityState::Working,
            AgentEventKind::PermissionWait => ActivityState::WaitingForPermission,
            AgentEventKind::InputWait => ActivityState::WaitingForInput,
            AgentEventKind::Idle => ActivityState::Idle,
            AgentEventKind::Failed => ActivityState::Failed,
            // The start event does not say whether the agent has a prompt to work on.
            AgentEventKind::SessionStart | AgentEventKind::SessionEnd => ActivityState::Unknown,
        });
        Activity {
            state,
            evidence: newest.cloned(),
            silent_since: None,
            stalled_since: None,
        }
    }

    /// Marks an idle agent as stalled if the task's status has waited too long for the agent's
    /// work. The status was entered at `entered_at`; idle time before that does not count.
    pub fn expect_work(&mut self, entered_at: Timestamp, now: Timestamp) {
        let Some(event) = &self.evidence else {
            return;
        };
        let since = event.at.max(entered_at);
        let waited = now.millis().saturating_sub(since.millis());
        if self.state == ActivityState::Idle && waited >= IDLE_TIMEOUT_MILLIS {
            self.state = ActivityState::Stalled;
            self.stalled_since = Some(since);
        }
    }
}

/// Since when an agent has reported only failures; `None` if its last report was something else.
pub fn failing_since(events: &[AgentEvent]) -> Option<Timestamp> {
    let mut latest_first: Vec<&AgentEvent> = events.iter().collect();
    latest_first.sort_by_key(|event| std::cmp::Reverse(event.sequence));
    let failing = latest_first.into_iter();
    let failing = failing.take_while(|event| event.kind == AgentEventKind::Failed);
    failing.map(|event| event.at).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(sequence: u64, kind: AgentEventKind) -> AgentEvent {
        AgentEvent {
            kind,
            sequence,
            at: Timestamp::default(),
            session_id: None,
            transcript: None,
            message: None,
            request: None,
        }
    }

    #[test]
    fn a_repeated_failure_keeps_the_time_of_the_first() {
        let at = |sequence: u64, kind| AgentEvent {
            at: Timestamp::from_millis(i64::try_from(sequence).unwrap()),
            ..event(sequence, kind)
        };
        let mut lines = vec![
            at(1, AgentEventKind::Failed),
            at(2, AgentEventKind::Working),
            at(4, AgentEventKind::Failed),
            at(3, AgentEventKind::Failed),
        ];
        assert_eq!(failing_since(&lines), Some(Timestamp::from_millis(3)));
        lines.push(at(5, AgentEventKind::Idle));
        assert_eq!(failing_since(&lines), None);
        assert_eq!(failing_since(&[]), None);
    }

    #[test]
    fn an_agent_without_events_is_unknown() {
        let activity = Activity::from_events(&[]);
        assert_eq!(activity.state, ActivityState::Unknown);
        assert_eq!(activity.evidence, None);
    }

    #[test]
    fn an_agent_without_events_becomes_silent() {
        let since = Timestamp::from_millis(1000);
        let after = |millis| Activity::without_events(since, Timestamp::from_millis(1000 + millis));
        assert_eq!(after(START_TIMEOUT_MILLIS - 1), Activity::from_events(&[]));
        let silent = after(START_TIMEOUT_MILLIS);
        assert_eq!(silent.state, ActivityState::Silent);
        assert_eq!(silent.silent_since, Some(since));
        assert!(silent.state.is_waiting(), "a person should look");
        // A clock that was set back makes no agent look silent.
        assert_eq!(after(-5000).state, ActivityState::Unknown);
    }

    #[test]
    fn an_idle_agent_whose_status_waits_for_it_becomes_stalled() {
        let after = |kind, entered_at, waited| {
            let mut activity = Activity::from_events(&[event(1, kind)]);
            activity.expect_work(
                Timestamp::from_millis(entered_at),
                Timestamp::from_millis(entered_at + waited),
            );
            activity
        };
        let early = after(AgentEventKind::Idle, 5000, IDLE_TIMEOUT_MILLIS - 1);
        assert_eq!(early.state, ActivityState::Idle, "the status is new");
        let stalled = after(AgentEventKind::Idle, 5000, IDLE_TIMEOUT_MILLIS);
        assert_eq!(stalled.state, ActivityState::Stalled);
        assert_eq!(stalled.stalled_since, Some(Timestamp::from_millis(5000)));
        assert!(stalled.state.is_waiting(), "a person should look");
        for kind in [AgentEventKind::Working, AgentEventKind::PermissionWait] {
            let activity = after(kind, 5000, 10 * IDLE_TIMEOUT_MILLIS);
            assert_eq!(activity, Activity::from_events(&[event(1, kind)]));
        }
        // A clock that was set back makes no agent look stalled.
        assert_eq!(after(AgentEventKind::Idle, 5000, -9000).state, early.state);
    }

    #[test]
    fn the_newest_event_counts_not_the_last_to_arrive() {
        let waits = event(5, AgentEventKind::PermissionWait);
        let late = event(3, AgentEventKind::Working);
        let activity =
            Activity::from_events(&[event(1, AgentEventKind::SessionStart), waits.clone(), late]);
        assert_eq!(activity.state, ActivityState::WaitingForPermission);
        assert_eq!(activity.evidence, Some(waits));
        // Of two events with the same number, the one that arrived last counts.
        let same = [
            event(7, AgentEventKind::Working),
            event(7, AgentEventKind::Idle),
        ];
        assert_eq!(Activity::from_events(&same).state, ActivityState::Idle);
    }

    #[test]
    fn every_kind_has_one_name_and_a_meaning() {
        for (name, kind) in AgentEventKind::ALL {
            assert_eq!(AgentEventKind::from_name(name), Some(kind));
            assert_eq!(kind.as_str(), name);
            assert_eq!(
                serde_json::to_value(kind).unwrap(),
                serde_json::json!(name),
                "{name}"
            );
        }
        assert_eq!(AgentEventKind::from_name("SessionStart"), None);
        let doing =
            AgentEventKind::ALL.map(|(_, kind)| Activity::from_events(&[event(1, kind)]).state);
        assert_eq!(
            doing,
            [
                ActivityState::Unknown,
                ActivityState::Working,
                ActivityState::Working,
                ActivityState::WaitingForPermission,
                ActivityState::WaitingForInput,
                ActivityState::Idle,
                ActivityState::Failed,
                ActivityState::Unknown
            ]
        );
    }
}

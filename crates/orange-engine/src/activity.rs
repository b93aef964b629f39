//! What an agent seems to be doing, judged by its reports.
//!
//! This only informs the user. No decision reads it, because an agent reports nothing when the user
//! interrupts it or grants it a permission.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// How long an agent may take to report that it has started, in milliseconds.
const TAKES_TO_START: i64 = 120_000;

/// What an agent can tell of itself.
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
    /// It has started and takes input.
    SessionStart,
    /// It has taken in what somebody typed.
    PromptSubmitted,
    /// It does something.
    Working,
    /// It asks whether it may do something.
    PermissionWait,
    /// It asks something else.
    InputWait,
    /// It has come to the end of what it was told.
    Idle,
    /// It could not go on with what it was told, and says why.
    Failed,
    /// It ends.
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

    pub fn named(name: &str) -> Option<AgentEventKind> {
        let mut all = AgentEventKind::ALL.iter();
        all.find(|(known, _)| *known == name).map(|(_, kind)| *kind)
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

/// Something that an agent told of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentEvent {
    /// What.
    pub kind: AgentEventKind,
    /// Its place among those of its run; one that arrives late is not taken for the newest.
    pub sequence: u64,
    /// When it was told.
    pub at: Timestamp,
    /// The agent's own name for its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Where the agent keeps its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// What the agent said with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What an agent seems to be doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Doing {
    /// It works.
    Working,
    /// It waits until somebody allows something.
    WaitingForPermission,
    /// It waits for an answer.
    WaitingForInput,
    /// It waits to be told something.
    Idle,
    /// It could not go on, and waits.
    Failed,
    /// It should have told long ago that it has started, and has not.
    Silent,
    /// It told nothing that says so.
    Unknown,
}

impl Doing {
    /// The state in one word; empty when unknown.
    pub fn word(self) -> &'static str {
        match self {
            Doing::Working => "working",
            Doing::WaitingForPermission | Doing::WaitingForInput => "waiting",
            Doing::Idle => "idle",
            Doing::Failed => "failed",
            Doing::Silent => "silent",
            Doing::Unknown => "",
        }
    }

    /// Whether, as far as we know, only the user can get the agent going again.
    pub fn is_waiting(self) -> bool {
        matches!(
            self,
            Doing::WaitingForPermission | Doing::WaitingForInput | Doing::Failed | Doing::Silent
        )
    }
}

impl fmt::Display for Doing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Doing::Working => "working",
            Doing::WaitingForPermission => "waiting for permission",
            Doing::WaitingForInput => "waiting for an answer",
            Doing::Idle => "idle",
            Doing::Failed => "unable to go on",
            Doing::Silent => "silent",
            Doing::Unknown => "unknown",
        })
    }
}

/// What an agent seems to be doing, and what that is taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Activity {
    /// What.
    pub doing: Doing,
    /// The newest thing that the agent told; nothing when it told nothing.
    pub evidence: Option<AgentEvent>,
    /// When one that is silent was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<Timestamp>,
}

impl Activity {
    /// The activity of an agent that reports its start but has reported nothing since `since`.
    pub fn untold(since: Timestamp, now: Timestamp) -> Activity {
        let waited = now.millis().saturating_sub(since.millis());
        let silent_since = (waited >= TAKES_TO_START).then_some(since);
        Activity {
            doing: silent_since.map_or(Doing::Unknown, |_| Doing::Silent),
            evidence: None,
            silent_since,
        }
    }

    /// The activity that follows from all events of one run, in order of arrival.
    pub fn of(events: &[AgentEvent]) -> Activity {
        let newest = events.iter().max_by_key(|event| event.sequence);
        let doing = newest.map_or(Doing::Unknown, |event| match event.kind {
            AgentEventKind::PromptSubmitted | AgentEventKind::Working => Doing::Working,
            AgentEventKind::PermissionWait => Doing::WaitingForPermission,
            AgentEventKind::InputWait => Doing::WaitingForInput,
            AgentEventKind::Idle => Doing::Idle,
            AgentEventKind::Failed => Doing::Failed,
            // The event does not say whether the agent was started with a prompt.
            AgentEventKind::SessionStart | AgentEventKind::SessionEnd => Doing::Unknown,
        });
        Activity {
            doing,
            evidence: newest.cloned(),
            silent_since: None,
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
        }
    }

    #[test]
    fn an_agent_that_fails_again_has_failed_since_the_first_time() {
        let at = |sequence: u64, kind| AgentEvent {
            at: Timestamp::from_millis(i64::try_from(sequence).unwrap()),
            ..event(sequence, kind)
        };
        let mut told = vec![
            at(1, AgentEventKind::Failed),
            at(2, AgentEventKind::Working),
            at(4, AgentEventKind::Failed),
            at(3, AgentEventKind::Failed),
        ];
        assert_eq!(failing_since(&told), Some(Timestamp::from_millis(3)));
        told.push(at(5, AgentEventKind::Idle));
        assert_eq!(failing_since(&told), None);
        assert_eq!(failing_since(&[]), None);
    }

    #[test]
    fn an_agent_that_told_nothing_is_unknown() {
        let activity = Activity::of(&[]);
        assert_eq!(activity.doing, Doing::Unknown);
        assert_eq!(activity.evidence, None);
    }

    #[test]
    fn an_agent_that_should_have_told_long_ago_is_silent() {
        let since = Timestamp::from_millis(1000);
        let after = |millis| Activity::untold(since, Timestamp::from_millis(1000 + millis));
        assert_eq!(after(TAKES_TO_START - 1), Activity::of(&[]));
        let silent = after(TAKES_TO_START);
        assert_eq!(silent.doing, Doing::Silent);
        assert_eq!(silent.silent_since, Some(since));
        assert!(silent.doing.is_waiting(), "a person should look");
        // A clock that was set back makes no agent look silent.
        assert_eq!(after(-5000).doing, Doing::Unknown);
    }

    #[test]
    fn what_was_told_last_counts_and_not_what_arrived_last() {
        let waits = event(5, AgentEventKind::PermissionWait);
        let late = event(3, AgentEventKind::Working);
        let activity = Activity::of(&[event(1, AgentEventKind::SessionStart), waits.clone(), late]);
        assert_eq!(activity.doing, Doing::WaitingForPermission);
        assert_eq!(activity.evidence, Some(waits));
        // Of two events with the same number, the one that arrived last counts.
        let same = [
            event(7, AgentEventKind::Working),
            event(7, AgentEventKind::Idle),
        ];
        assert_eq!(Activity::of(&same).doing, Doing::Idle);
    }

    #[test]
    fn every_kind_has_one_name_and_a_meaning() {
        for (name, kind) in AgentEventKind::ALL {
            assert_eq!(AgentEventKind::named(name), Some(kind));
            assert_eq!(kind.as_str(), name);
            assert_eq!(
                serde_json::to_value(kind).unwrap(),
                serde_json::json!(name),
                "{name}"
            );
        }
        assert_eq!(AgentEventKind::named("SessionStart"), None);
        let doing = AgentEventKind::ALL.map(|(_, kind)| Activity::of(&[event(1, kind)]).doing);
        assert_eq!(
            doing,
            [
                Doing::Unknown,
                Doing::Working,
                Doing::Working,
                Doing::WaitingForPermission,
                Doing::WaitingForInput,
                Doing::Idle,
                Doing::Failed,
                Doing::Unknown
            ]
        );
    }
}

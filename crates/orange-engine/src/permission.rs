//! Requests of agents for permission, and how they end.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::RequestId;
use crate::time::Timestamp;

/// How much of a request fits into one line of the queue, in characters.
const EXCERPT_CHARS: usize = 120;

/// What an agent asks the user to permit once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PermissionRequest {
    /// Its id, for `orange allow` and `orange deny`.
    pub id: RequestId,
    /// The agent's name for the tool that it wants to use.
    pub tool: String,
    /// What it wants to do, in full: a shell command, or the input of the tool.
    pub command: String,
    /// The directory in which it wants to do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// When the agent asked.
    pub asked_at: Timestamp,
    /// When the agent's own dialog takes over.
    pub until: Timestamp,
}

impl PermissionRequest {
    /// The tool and the beginning of the command, in one line; `[...]` stands for what is left out.
    pub fn excerpt(&self) -> String {
        let first = self.command.lines().next().unwrap_or_default();
        let shown: String = first.chars().take(EXCERPT_CHARS).collect();
        let rest = if shown == self.command { "" } else { " [...]" };
        format!("{}: {shown}{rest}", self.tool)
    }
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum PermissionOutcome {
    /// The user allowed it once.
    Allowed,
    /// The user denied it.
    Denied {
        /// The reason that the agent gets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The user opened the agent's terminal to answer there.
    LeftToTerminal,
    /// No answer came in time.
    TimedOut,
    /// The agent continued without this answer: it was answered in its terminal, or gave up.
    Overtaken,
}

impl fmt::Display for PermissionOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            PermissionOutcome::Allowed => "it was allowed",
            PermissionOutcome::Denied { .. } => "it was denied",
            PermissionOutcome::LeftToTerminal => "it was left to the agent's terminal",
            PermissionOutcome::TimedOut => {
                "it was not answered in time, and the agent shows its own dialog"
            }
            PermissionOutcome::Overtaken => "the agent has continued without this answer",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_says_when_something_is_left_out() {
        let request = |command: &str| PermissionRequest {
            id: RequestId::new("a2b3c4"),
            tool: String::from("Bash"),
            command: command.to_owned(),
            directory: None,
            asked_at: Timestamp::default(),
            until: Timestamp::default(),
        };
        assert_eq!(request("git push").excerpt(), "Bash: git push");
        assert_eq!(
            request("git push\nrm -rf x").excerpt(),
            "Bash: git push [...]"
        );
        let long = "x".repeat(EXCERPT_CHARS + 1);
        let expected = format!("Bash: {} [...]", "x".repeat(EXCERPT_CHARS));
        assert_eq!(request(&long).excerpt(), expected);
        assert_eq!(request("").excerpt(), "Bash: ");
    }

    #[test]
    fn an_outcome_reads_back() {
        for outcome in [
            PermissionOutcome::Allowed,
            PermissionOutcome::Denied { reason: None },
            PermissionOutcome::Denied {
                reason: Some(String::from("not today")),
            },
            PermissionOutcome::LeftToTerminal,
            PermissionOutcome::TimedOut,
            PermissionOutcome::Overtaken,
        ] {
            let written = serde_json::to_string(&outcome).unwrap();
            assert_eq!(
                serde_json::from_str::<PermissionOutcome>(&written).unwrap(),
                outcome
            );
            assert!(!outcome.to_string().is_empty());
        }
    }
}

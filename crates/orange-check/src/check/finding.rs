//! Findings: what the check reports about a workflow that loads.

use std::fmt;

use orange_engine::language::Position;
use serde::Serialize;

use super::story::Story;

/// One result of checking a workflow.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Finding {
    /// The kind of finding.
    pub code: FindingCode,
    /// How severe it is.
    pub severity: Severity,
    /// The position in the file that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Position>,
    /// What was found, and where.
    pub message: String,
    /// How to fix it.
    pub hint: String,
    /// The steps that lead to it; absent if the file alone shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<Story>,
}

/// How severe a finding is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// No task can use the workflow.
    Error,
    /// Tasks can use the workflow, but you should check it.
    Warning,
    /// Worth knowing; nothing is wrong.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// Declares each code together with its severity, so that no code lacks one.
macro_rules! codes {
    ($($(#[$meta:meta])+ $name:ident = $text:literal, $severity:ident;)+) => {
        /// The stable name of a kind of finding; scripts may match on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FindingCode {
            $($(#[$meta])+ $name,)+
        }

        impl FindingCode {
            pub const ALL: &[FindingCode] = &[$(FindingCode::$name),+];

            /// The code for scripts.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(FindingCode::$name => $text,)+
                }
            }

            /// How severe findings of this kind are.
            pub fn severity(self) -> Severity {
                match self {
                    $(FindingCode::$name => Severity::$severity,)+
                }
            }
        }
    };
}

codes! {
    /// A state that no task can reach.
    StateUnreachable = "state-unreachable", Warning;
    /// A task can reach a situation from which no end is reachable.
    EndUnreachable = "end-unreachable", Error;
    /// An ended task still holds a workspace.
    WorkspaceLeaked = "workspace-leaked", Error;
    /// An ended task still has a live agent.
    AgentLeaked = "agent-leaked", Error;
    /// If a hook fails, a task ends without releasing its workspace or ending its agents.
    FailureLeaksResources = "failure-leaks-resources", Warning;
    /// A hook runs where no workspace is held.
    HookWithoutWorkspace = "hook-without-workspace", Error;
    /// A gate's command runs where no workspace is held.
    GateWithoutWorkspace = "gate-without-workspace", Error;
    /// A workspace is released while an agent is alive in it.
    AgentEvicted = "agent-evicted", Error;
    /// A message goes to an agent that is not running and cannot be started.
    RecipientMissing = "recipient-missing", Error;
    /// A second agent of a role is started next to the first.
    AgentDuplicated = "agent-duplicated", Error;
    /// A task enters a state that expects an agent, but none is running or starting.
    AgentAbsent = "agent-absent", Error;
    /// A start by the scheduler can fail, and no edge handles that.
    StartFailureUnhandled = "start-failure-unhandled", Warning;
    /// An exit rule leads to a state, but no transition lets the engine go there.
    ExitTargetMissing = "exit-target-missing", Error;
    /// An exit rule's transition is refused although everything it requires is there.
    ExitRefused = "exit-refused", Error;
    /// An exit rule never applies, or never leads where it says.
    ExitRuleDead = "exit-rule-dead", Warning;
    /// A state expects an agent, but no exit rule covers the agent's death.
    ExitRuleMissing = "exit-rule-missing", Error;
    /// A state expects an agent but does not define how to respawn it.
    RespawnMissing = "respawn-missing", Error;
    /// A cycle needs no user, and no counter ends it.
    EndlessLoop = "endless-loop", Error;
    /// A counter grows beyond what it is compared with.
    LimitExceeded = "limit-exceeded", Warning;
    /// A transition can never be taken.
    EdgeDead = "edge-dead", Warning;
    /// No task can be created in this state: the entry's `when` is never true.
    EntryDead = "entry-dead", Warning;
    /// An agent that did the work can approve it itself.
    SelfReview = "self-review", Error;
    /// A section of TASK.md left over from one round can pass the gate of a later round.
    StaleArtifact = "stale-artifact", Error;
    /// An agent can end the task on its own request.
    AgentMayFinish = "agent-may-finish", Warning;
    /// A transition kills the agent that requested it. The transition still takes place.
    RequesterKilled = "requester-killed", Note;
    /// A verb leads to a state that no role can request.
    VerbTargetMissing = "verb-target-missing", Warning;
    /// A state's kind does not fit what it expects or where it leads.
    KindMismatch = "kind-mismatch", Warning;
    /// A prompt tells an agent to request a status that is not open to it.
    PromptStatusClosed = "prompt-status-closed", Warning;
    /// A variable is in double braces and is not filled in.
    VariableInBraces = "variable-in-braces", Warning;
    /// No prompt mentions a section to the agent that needs it to move on.
    SectionUnmentioned = "section-unmentioned", Warning;
    /// A declared name is not used.
    Unused = "unused", Warning;
    /// The scheduler never starts the tasks of a queue.
    ManualStart = "manual-start", Note;
    /// A setting has no effect.
    SettingIgnored = "setting-ignored", Note;
    /// A pull request can be merged although neither its checks nor the user approved it.
    MergeUnchecked = "merge-unchecked", Error;
    /// A task can end although the merge of its pull request was not observed.
    MergeUnobserved = "merge-unobserved", Error;
    /// The search was stopped before it had covered everything.
    SearchIncomplete = "search-incomplete", Warning;
}

impl fmt::Display for FindingCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl schemars::JsonSchema for FindingCode {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FindingCode".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

impl Serialize for FindingCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Finding {
    /// A finding without a story.
    pub(super) fn new(
        code: FindingCode,
        at: Option<Position>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Finding {
        Finding {
            code,
            severity: code.severity(),
            at,
            message: message.into(),
            hint: hint.into(),
            story: None,
        }
    }

    /// The same finding, with the story of how it happens.
    pub(super) fn with_story(mut self, story: Story) -> Finding {
        self.story = Some(story);
        self
    }
}

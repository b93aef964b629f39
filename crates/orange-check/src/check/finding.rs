//! Findings: what is wrong with a workflow that loads, and how bad.

use std::fmt;

use orange_engine::language::Position;
use serde::Serialize;

use super::story::Story;

/// One thing that a workflow does, or cannot do, and should not, or should.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Finding {
    /// What kind of finding it is.
    pub code: FindingCode,
    /// How bad it is.
    pub severity: Severity,
    /// Where the file says what leads to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Position>,
    /// What is wrong, on what.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// How it comes about, when it is about something that can happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<Story>,
}

/// How bad a finding is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The workflow must not be bound to a task.
    Error,
    /// It can be bound; somebody should look.
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

/// Declares the codes with their severity, so that none is without one.
macro_rules! codes {
    ($($(#[$meta:meta])+ $name:ident = $text:literal, $severity:ident;)+) => {
        /// The stable name of a kind of finding; scripts may match on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FindingCode {
            $($(#[$meta])+ $name,)+
        }

        impl FindingCode {
            pub const ALL: &[FindingCode] = &[$(FindingCode::$name),+];

            /// The code as scripts read it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(FindingCode::$name => $text,)+
                }
            }

            /// How bad findings of this kind are.
            pub fn severity(self) -> Severity {
                match self {
                    $(FindingCode::$name => Severity::$severity,)+
                }
            }
        }
    };
}

codes! {
    /// No task ever comes into a state.
    StateUnreachable = "state-unreachable", Warning;
    /// A task can come to where no end is reachable.
    NoWayToEnd = "no-way-to-end", Error;
    /// An ended task still holds a workspace.
    WorkspaceLeaked = "workspace-leaked", Error;
    /// An ended task still has a live agent.
    AgentLeaked = "agent-leaked", Error;
    /// When a hook fails, an ended task keeps what it holds.
    FailureKeepsHold = "failure-keeps-hold", Warning;
    /// A hook runs where no workspace is held.
    HookWithoutWorkspace = "hook-without-workspace", Error;
    /// A gate's command runs where no workspace is held.
    GateWithoutWorkspace = "gate-without-workspace", Error;
    /// A workspace is given back while an agent is alive in it.
    AgentEvicted = "agent-evicted", Error;
    /// A message goes to an agent that is not there and cannot be brought.
    NobodyToTell = "nobody-to-tell", Error;
    /// A second agent of a role is started beside the first.
    AgentDoubled = "agent-doubled", Error;
    /// A state is entered that expects an agent, and none is there or coming.
    AgentAbsent = "agent-absent", Error;
    /// What the scheduler starts can fail, and nothing follows.
    StartUnanswered = "start-unanswered", Warning;
    /// An exit rule leads to a state that the engine has no edge to.
    ExitTargetMissing = "exit-target-missing", Error;
    /// An exit rule's transition is refused though everything it asks for is there.
    ExitRefused = "exit-refused", Error;
    /// An exit rule is never asked, or never leads where it says.
    ExitRuleDead = "exit-rule-dead", Warning;
    /// A state expects an agent whose death no exit rule speaks of.
    ExitRuleMissing = "exit-rule-missing", Error;
    /// A state expects an agent and does not say how to bring it back.
    RespawnMissing = "respawn-missing", Error;
    /// A cycle needs no person and no counter ends it.
    EndlessLoop = "endless-loop", Error;
    /// A counter grows beyond what it is compared with.
    LimitExceeded = "limit-exceeded", Warning;
    /// A transition can never be taken.
    EdgeDead = "edge-dead", Warning;
    /// An entry is never open.
    EntryDead = "entry-dead", Warning;
    /// Who did the work can pass its own review.
    JudgesItself = "judges-itself", Error;
    /// What decided one round decides the next one too.
    StaleArtifact = "stale-artifact", Error;
    /// An agent can end the task by asking for it.
    AgentMayFinish = "agent-may-finish", Warning;
    /// A transition ends the agent that asked for it, and happens all the same.
    AskerEnded = "asker-ended", Note;
    /// A verb leads to a state that nobody can ask for.
    VerbLeadsNowhere = "verb-leads-nowhere", Warning;
    /// A state is of a kind that does not fit what it expects or where it leads.
    KindMismatch = "kind-mismatch", Warning;
    /// A prompt tells an agent to ask for a status that is not open to it.
    PromptStatusClosed = "prompt-status-closed", Warning;
    /// A variable stands in double braces and is not filled in.
    VariableInBraces = "variable-in-braces", Warning;
    /// No prompt tells an agent of a section that its way on depends on.
    SectionUnmentioned = "section-unmentioned", Warning;
    /// A declared name is not used.
    Unused = "unused", Warning;
    /// A setting has no effect.
    SettingIgnored = "setting-ignored", Note;
    /// A hook, gate or trigger that this version cannot perform.
    NotAvailable = "not-available", Error;
    /// The search was stopped before it had seen everything.
    SearchBounded = "search-bounded", Warning;
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
    /// A finding about what the file says.
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

    /// The same finding, with how it comes about.
    pub(super) fn told(mut self, story: Story) -> Finding {
        self.story = Some(story);
        self
    }
}

//! Newtypes for ids and names.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};

/// Declares that each of these types serializes as the text that it displays.
macro_rules! written_as_text {
    ($($name:ident),+ $(,)?) => {$(
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string" })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )+};
}

pub(crate) use written_as_text;

/// Declares a cheap-to-clone string newtype.
macro_rules! name {
    ($(#[$meta:meta] $name:ident),+ $(,)?) => {$(
        #[$meta]
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl AsRef<str>) -> Self {
                Self(Arc::from(text.as_ref()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        written_as_text!($name);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::new)
            }
        }
    )+};
}

name! {
    /// The status of a task: a name from its workflow, never a Rust enum.
    Status,
    /// The opaque, short id of a task.
    TaskId,
    /// A registered project.
    ProjectName,
    /// A git branch. A task's branch can be renamed; the task's id never changes.
    BranchName,
    /// A coding-agent program.
    HarnessName,
    /// One start of an agent.
    RunId,
    /// A request of an agent for permission.
    RequestId,
    /// A slot of the workspace pool.
    WorkspaceName,
    /// A git commit.
    CommitId,
    /// The name of a workflow.
    WorkflowName,
    /// The name of a gate in a workflow.
    GateName,
    /// The name of a prompt in a workflow.
    PromptName,
    /// A numeric field of a task, which a guard (`when`) can compare.
    FieldName,
    /// A number that a workflow declares once, for its guards and prompts.
    LimitName,
    /// A job of the user's schedule.
    JobName,
    /// A group of tasks that do the same work with different agents.
    GroupName,
    /// An opaque text that no earlier input contained; run ids are made from it.
    FreshId,
}

impl CommitId {
    /// Its first twelve digits: enough for git, and short enough to read.
    pub fn short(&self) -> &str {
        self.as_str().get(..12).unwrap_or(self.as_str())
    }
}

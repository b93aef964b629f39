//! Which harness does the work of a task, and why.
//!
//! The user's own choice comes first, then the labels of an issue, then the rules of the settings,
//! then the router if there is one, then the default. A choice is made once; it is made again only
//! when the user starts the task again.

mod answer;
mod rule;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::{HarnessName, TaskId};

pub use answer::{Offer, Offers, Profile, RouterAnswer};
pub use rule::{RouteRule, RouteSubject, first_match};

/// What the choice of a harness depends on, and the choice.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Routing {
    /// The task's labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Why the task has its harness; absent until that is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
    /// Whether the task is split into child tasks before its work begins.
    #[serde(default, skip_serializing_if = "Split::is_no")]
    pub split: Split,
}

/// Whether a task is split into child tasks before its work begins.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Nothing suggests it.
    #[default]
    No,
    /// The router suggests it, and the user decides.
    Suggested,
    /// The router suggested it, but it is not done.
    Ignored,
    /// The next run plans it.
    Wanted,
    /// A run has planned it.
    Planned,
}

/// The commands that answer whether to split a task.
pub fn split_commands(task: &TaskId) -> String {
    format!(
        "`orange task spawn {task} --plan` lets a run plan the parts, `orange task spawn {task}` \
         starts it as one task"
    )
}

impl Split {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes what it may skip by reference"
    )]
    fn is_no(&self) -> bool {
        *self == Split::No
    }
}

impl Routing {
    /// The routing of a task whose harness was chosen when it was created.
    pub fn chosen() -> Routing {
        Routing {
            labels: Vec::new(),
            route: Some(Route {
                by: RoutedBy::Creator,
                reason: String::new(),
                profile: Profile::default(),
                skills: Vec::new(),
            }),
            split: Split::No,
        }
    }

    pub fn is_unset(&self) -> bool {
        *self == Routing::default()
    }

    /// Forgets a choice that orange made, so that it is made again; the user's own choice stays.
    ///
    /// A user who moves a task on after the router suggested a split answers that question and
    /// asks for no other choice.
    pub(crate) fn forget(&mut self) {
        match self.split {
            Split::Suggested => {
                self.split = Split::Ignored;
                return;
            }
            // A task is planned once.
            Split::Wanted | Split::Planned => {}
            Split::No | Split::Ignored => self.split = Split::No,
        }
        self.route = self.route.take().filter(|route| route.by.is_explicit());
    }
}

/// Why a task has its harness.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Route {
    /// What chose it.
    pub by: RoutedBy,
    /// The reason, in a sentence; empty if someone chose it for this task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the router says about the agent that the task needs.
    #[serde(default, skip_serializing_if = "Profile::is_empty")]
    pub profile: Profile,
    /// The skills that the agent is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
}

/// What chose a harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoutedBy {
    /// The user, or the agent that created the task.
    Creator,
    /// A rule of the settings.
    Rule,
    /// The router.
    Router,
    /// Nothing did: it is the default.
    Default,
}

impl RoutedBy {
    /// Whether someone chose it for this task.
    fn is_explicit(self) -> bool {
        self == RoutedBy::Creator
    }
}

/// A chosen harness.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Choice {
    /// The harness.
    pub harness: HarnessName,
    /// The model; the harness's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The effort; the harness's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Why it was chosen.
    pub route: Route,
    /// Whether the task is split before its work begins.
    #[serde(default, skip_serializing_if = "Split::is_no")]
    pub split: Split,
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Choice {
            harness,
            model,
            route,
            split,
            ..
        } = self;
        let model = model
            .as_ref()
            .map(|model| format!(" with the model `{model}`"));
        let model = model.unwrap_or_default();
        let chosen_by = match route.by {
            RoutedBy::Creator => "was chosen when the task was created",
            RoutedBy::Rule => "was chosen by a rule",
            RoutedBy::Router => "was chosen by the router",
            RoutedBy::Default => "is the default",
        };
        write!(formatter, "`{harness}`{model} {chosen_by}")?;
        if !route.reason.is_empty() {
            write!(formatter, ": {}", route.reason)?;
        }
        match split {
            Split::No | Split::Ignored => Ok(()),
            Split::Suggested => formatter.write_str("; it suggests splitting the task"),
            Split::Wanted => formatter.write_str("; the next run plans how to split the task"),
            Split::Planned => formatter.write_str("; a run planned how to split the task"),
        }
    }
}

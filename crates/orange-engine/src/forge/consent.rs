//! Decides whether an issue may become a task.
//!
//! A label is consent when an account with enough permission set it, and only for the text that
//! the issue had at that moment. Issue forms set labels for any author, and a text can be edited
//! after the label was set, so the label alone proves nothing.

use std::collections::BTreeSet;
use std::fmt;

use super::account::{Account, Permission, Permissions, may};
use super::issue::{Issue, IssueEvent, IssueEventKind, Revision, is_same_label};
use super::knowledge::Knowledge;
use crate::time::Timestamp;

/// How much later than its label event an unchanged issue may be stamped: the forge stamps the two
/// separately, in whole seconds.
const STAMP_TOLERANCE_MILLIS: i64 = 1000;

/// What an issue needs to become a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentRule {
    pub label: String,
    pub permission: Permission,
}

/// What orange remembers about an issue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssueRecord {
    /// The revision for which consent was recorded, by label or by the user.
    pub approved: Option<Revision>,
    /// The revision that the user does not want.
    pub ignored: Option<Revision>,
    /// Revisions for which a task was created.
    pub started: BTreeSet<Revision>,
}

/// What was read about an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueReading<'a> {
    pub issue: &'a Issue,
    pub events: &'a [IssueEvent],
    /// Whether every page of the events was read.
    pub is_complete: bool,
    /// When the body was last edited; `None` when it never was.
    pub edited: Knowledge<Timestamp>,
    pub permissions: &'a Permissions,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// A task may be created for this revision.
    Given {
        revision: Revision,
        /// The account that set the label; absent when the consent was recorded before.
        by: Option<Account>,
    },
    Refused(RefusalReason),
    /// Something has to be read first.
    Unknown(UnknownReason),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    PullRequest,
    Closed,
    /// The user does not want this revision.
    Ignored,
    NoLabel,
    /// The account that set the label may not give consent.
    NotAllowed {
        actor: Option<Account>,
    },
    /// The label was set before the issue was moved to this repository or reopened.
    LabelIsOld,
    /// The text may have changed since consent was given.
    Edited,
    AlreadyStarted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownReason {
    EventsIncomplete,
    /// The label is there, but no event says which account set it.
    NoLabelEvent,
    PermissionUnknown {
        actor: Account,
    },
}

impl ConsentRule {
    /// Decides whether this issue may become a task now.
    pub fn judge(&self, reading: &IssueReading<'_>, record: &IssueRecord) -> Consent {
        let issue = reading.issue;
        let refused = Consent::Refused;
        if issue.is_pull_request {
            return refused(RefusalReason::PullRequest);
        }
        if !issue.is_open {
            return refused(RefusalReason::Closed);
        }
        let revision = issue.revision();
        if record.started.contains(&revision) {
            return refused(RefusalReason::AlreadyStarted);
        }
        if record.ignored.as_ref() == Some(&revision) {
            return refused(RefusalReason::Ignored);
        }
        if record.approved.as_ref() == Some(&revision) {
            return Consent::Given { revision, by: None };
        }
        if !issue.has_label(&self.label) {
            return refused(RefusalReason::NoLabel);
        }
        if !reading.is_complete {
            return Consent::Unknown(UnknownReason::EventsIncomplete);
        }
        let Some(labeled) = label_event(reading.events, &self.label) else {
            return Consent::Unknown(UnknownReason::NoLabelEvent);
        };
        match may(reading.permissions, labeled.actor.as_ref(), self.permission) {
            Knowledge::Known(true) => {}
            Knowledge::Known(false) | Knowledge::None => {
                let actor = labeled.actor.clone();
                return refused(RefusalReason::NotAllowed { actor });
            }
            Knowledge::Unknown => {
                return match labeled.actor.clone() {
                    Some(actor) => Consent::Unknown(UnknownReason::PermissionUnknown { actor }),
                    None => refused(RefusalReason::NotAllowed { actor: None }),
                };
            }
        }
        if is_before_a_new_start(labeled, reading.events) {
            return refused(RefusalReason::LabelIsOld);
        }
        if !is_same_text_since(labeled.at, reading) {
            return refused(RefusalReason::Edited);
        }
        Consent::Given {
            revision,
            by: labeled.actor.clone(),
        }
    }
}

/// The event that set a label which the issue has now.
pub(super) fn label_event<'a>(events: &'a [IssueEvent], label: &str) -> Option<&'a IssueEvent> {
    let about_label = events.iter().filter(|event| match &event.kind {
        IssueEventKind::Labeled(it) | IssueEventKind::Unlabeled(it) => is_same_label(it, label),
        _ => false,
    });
    // Of two events in one second, the later in the list is the later one.
    let last = about_label.max_by_key(|event| event.at)?;
    matches!(last.kind, IssueEventKind::Labeled(_)).then_some(last)
}

fn is_before_a_new_start(labeled: &IssueEvent, events: &[IssueEvent]) -> bool {
    events.iter().any(|event| {
        let starts_anew = matches!(
            event.kind,
            IssueEventKind::Transferred | IssueEventKind::Reopened
        );
        starts_anew && event.at >= labeled.at
    })
}

/// Whether the text is proven to be the same since `then`. The forge counts whole seconds, so a
/// change in the same second may have come later.
fn is_same_text_since(then: Timestamp, reading: &IssueReading<'_>) -> bool {
    let mut after = reading.events.iter().filter(|event| event.at >= then);
    if after.any(|event| event.kind == IssueEventKind::Renamed) {
        return false;
    }
    let latest = Timestamp::from_millis(then.millis() + STAMP_TOLERANCE_MILLIS);
    match reading.edited {
        Knowledge::None => true,
        Knowledge::Known(edited) => edited < then,
        // Every change updates the issue's time, so the text is proven to be the same only if
        // nothing has changed the issue.
        Knowledge::Unknown => reading.issue.updated <= latest,
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            RefusalReason::PullRequest => "it is a pull request",
            RefusalReason::Closed => "it is closed",
            RefusalReason::Ignored => "you ignored this text",
            RefusalReason::NoLabel => "it does not have the label",
            RefusalReason::NotAllowed { actor: Some(actor) } => {
                return write!(
                    formatter,
                    "{actor} set the label and may not write to the repository"
                );
            }
            RefusalReason::NotAllowed { actor: None } => "a deleted account set the label",
            RefusalReason::LabelIsOld => "the label is from before it was moved here or reopened",
            RefusalReason::Edited => "the text may have changed since the label was set",
            RefusalReason::AlreadyStarted => "a task was created for this text",
        })
    }
}

impl fmt::Display for UnknownReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnknownReason::EventsIncomplete => {
                formatter.write_str("not all of its events could be read")
            }
            UnknownReason::NoLabelEvent => {
                formatter.write_str("no event says which account set the label")
            }
            UnknownReason::PermissionUnknown { actor } => {
                write!(formatter, "GitHub does not say what {actor} may do")
            }
        }
    }
}

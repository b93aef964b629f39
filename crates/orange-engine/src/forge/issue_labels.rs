//! Reads settings of a task from the labels of its issue.
//!
//! Issue forms and readers can choose labels too, so a label counts only if an account with enough
//! permission set it. The caller checks whether an agent or a workflow of that name exists.

use super::account::{Permission, may};
use super::consent::{IssueReading, label_event};
use super::knowledge::Knowledge;

/// The longest value that a label may have.
const MAX_VALUE: usize = 100;

/// What the labels of an issue ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSettings {
    /// The coding agent.
    pub agent: Option<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    pub workflow: Option<String>,
    pub priority: Option<i64>,
    /// Labels without a meaning of their own, set by an account with enough permission.
    pub others: Vec<String>,
    /// Why labels were left out, one sentence each.
    pub problems: Vec<String>,
}

/// The settings in the labels `agent:NAME`, `model:NAME`, `effort:NAME`, `workflow:NAME` and
/// `priority:NUMBER` that accounts with this permission set.
pub fn read_labels(reading: &IssueReading<'_>, needed: Permission) -> LabelSettings {
    let mut settings = LabelSettings::default();
    for label in &reading.issue.labels {
        let (key, value) = label.split_once(':').unwrap_or((label, ""));
        let (key, value) = (key.trim().to_lowercase(), value.trim());
        let is_setting = ["agent", "model", "effort", "workflow", "priority"];
        if !is_setting.contains(&key.as_str()) || !label.contains(':') {
            // A rule that chooses the agent looks at it.
            if judge(reading, label, needed).is_ok() {
                settings.others.push(label.clone());
            }
            continue;
        }
        let shown: String = label.chars().filter(|it| !it.is_control()).collect();
        let result = judge(reading, label, needed).and_then(|()| settings.set(&key, value));
        if let Err(reason) = result {
            let problem = format!("the label `{shown}` was left out: {reason}");
            settings.problems.push(problem);
        }
    }
    settings
}

/// Whether an account with enough permission set a label.
fn judge(reading: &IssueReading<'_>, label: &str, needed: Permission) -> Result<(), &'static str> {
    let event = label_event(reading.events, label);
    let (true, Some(event)) = (reading.is_complete, event) else {
        return Err("no event says which account set it");
    };
    match may(reading.permissions, event.actor.as_ref(), needed) {
        Knowledge::Known(true) => Ok(()),
        Knowledge::Known(false) | Knowledge::None => {
            Err("the account that set it may not write to the repository")
        }
        Knowledge::Unknown => Err("the permission of the account that set it is unknown"),
    }
}

impl LabelSettings {
    fn set(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        if key == "priority" {
            let number = value.parse().map_err(|_| "its value is not a number")?;
            return fill(&mut self.priority, number);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/:@-".contains(c);
        let starts_plain = value.starts_with(|c: char| c.is_ascii_alphanumeric());
        let is_name = starts_plain && value.chars().all(is_plain);
        if !is_name || value.len() > MAX_VALUE {
            return Err("its value is not a name");
        }
        let place = match key {
            "agent" => &mut self.agent,
            "model" => &mut self.model,
            "effort" => &mut self.effort,
            _ => &mut self.workflow,
        };
        fill(place, value.to_owned())
    }
}

/// Sets a value that is not set yet: only the first label of a kind counts.
fn fill<T>(place: &mut Option<T>, value: T) -> Result<(), &'static str> {
    if place.is_some() {
        return Err("another label says the same kind of thing");
    }
    *place = Some(value);
    Ok(())
}

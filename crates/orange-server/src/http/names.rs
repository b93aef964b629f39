//! Names and numbers that callers send, before anything else looks at them.

use orange_fleet::ids::{HarnessName, Label, ProjectId, TaskId};
use orange_fleet::message::{CreateTask, PostRequest, Register};

use crate::http::limits::{MAX_NAME, MOST_AFTER};
use crate::http::refusal::Refusal;

/// A name is short, is there, and can be shown on one line.
pub fn check_name(what: &str, name: &str) -> Result<(), Refusal> {
    let is_plain = !name.chars().any(char::is_control);
    if is_plain && (1..=MAX_NAME).contains(&name.len()) {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "{what} must have 1 to {MAX_NAME} bytes and no control characters"
    )))
}

fn check_names<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
    for name in names {
        check_name(what, name)?;
    }
    Ok(())
}

pub fn check_register(call: &Register) -> Result<(), Refusal> {
    let able = &call.capabilities;
    // The database counts on from here.
    if call.seen.0 >= u64::from(u32::MAX) {
        return Err(Refusal::invalid("`seen` is not an incarnation"));
    }
    check_name("the home", call.home.as_str())?;
    check_names("a project", able.projects.iter().map(ProjectId::as_str))?;
    check_names("a harness", able.harnesses.iter().map(HarnessName::as_str))?;
    check_names("a label", able.labels.iter().map(Label::as_str))
}

pub fn check_create(call: &CreateTask) -> Result<(), Refusal> {
    let needs = &call.needs;
    check_name("the id of the task", call.task.as_str())?;
    check_name("the project", needs.project.as_str())?;
    check_names("a harness", needs.harnesses.iter().map(HarnessName::as_str))?;
    check_names("a label", needs.labels.iter().map(Label::as_str))?;
    if call.after.len() > MOST_AFTER {
        let message = format!("a task can wait for at most {MOST_AFTER} others");
        return Err(Refusal::too_large(message));
    }
    check_names("a task in `after`", call.after.iter().map(TaskId::as_str))?;
    check_names("the parent", call.parent.iter().map(TaskId::as_str))
}

pub fn check_post(call: &PostRequest) -> Result<(), Refusal> {
    check_name("the key", call.key.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_plain() {
        let longest = "x".repeat(MAX_NAME);
        for good in ["k3f9", "owner/repo", "ä b", &longest] {
            assert!(check_name("it", good).is_ok(), "{good}");
        }
        let long = "x".repeat(MAX_NAME + 1);
        for bad in ["", "a\0", "a\nb", "\u{7f}", &long] {
            assert!(check_name("it", bad).is_err(), "{bad:?}");
        }
    }
}

//! The words of answers.

use super::channel::Channel;
use crate::names::TaskId;

/// The most tasks that a list names.
const MAX_TASKS: usize = 30;

/// The most characters of a summary in a list.
const MAX_SUMMARY: usize = 100;

/// One task in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLine {
    pub id: String,
    pub status: String,
    pub summary: String,
    /// Whether it needs the user.
    pub needs_user: bool,
}

/// What can be asked for.
pub fn help() -> String {
    String::from(
        "list: the unfinished tasks\n\
         show TASK: what a task is and where it stands\n\
         why TASK: why it is there\n\
         new TEXT: create a task (`new --project NAME TEXT` names the project)\n\
         tell TASK TEXT: send its running agent a message\n\
         Everything else, such as merging or cancelling, is done at the machine.",
    )
}

/// What can be asked for in a comment on an issue or pull request of a task.
pub fn help_in_comments() -> String {
    String::from(
        "/orange status: where the task of this issue or pull request stands\n\
         /orange why: why it is there\n\
         /orange tell TEXT: send its running agent a message\n\
         /orange request-changes TEXT: send its work back\n\
         /orange list: the unfinished tasks of this repository\n\
         /orange new TEXT: create a task; further lines are its context\n\
         Everything else, such as merging or cancelling, is done at the machine of orange.",
    )
}

/// The unfinished tasks, in the given order.
pub fn list(tasks: &[TaskLine]) -> String {
    if tasks.is_empty() {
        return String::from("there are no unfinished tasks");
    }
    let mut lines: Vec<String> = tasks.iter().take(MAX_TASKS).map(line).collect();
    if tasks.len() > MAX_TASKS {
        let more = tasks.len() - MAX_TASKS;
        lines.push(format!("and {more} more; `orange ls` shows them"));
    }
    lines.join("\n")
}

fn line(task: &TaskLine) -> String {
    let needs = if task.needs_user { " (needs you)" } else { "" };
    let summary = cut(&task.summary, MAX_SUMMARY);
    format!("{} {}{needs}: {summary}", task.id, task.status)
}

/// A task was created.
pub fn created(task: &TaskId) -> String {
    format!("created task {task}")
}

/// A message was sent to the agent of a task.
pub fn told(task: &TaskId) -> String {
    format!("sent to the agent of {task}")
}

/// The work of a task was sent back.
pub fn sent_back(task: &TaskId) -> String {
    format!("sent the work of {task} back")
}

/// No task that may be seen has this name. It is the same answer for a task that exists elsewhere.
pub fn unknown_task(name: &str) -> String {
    format!("there is no task `{name}` here; `list` shows the tasks")
}

/// The first line of a message to an agent. It names the chat message, so that it is found again
/// and not sent twice.
pub fn origin_line(channel: Channel, sender: &str, message: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_graphic();
    let sender: String = sender.chars().filter(is_plain).collect();
    format!("From {sender} by {channel} (message {message}):")
}

/// An answer that fits its channel, without control characters.
pub fn fit(channel: Channel, text: &str) -> String {
    let is_shown = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
    let text: String = text.chars().filter(is_shown).collect();
    cut(&text, channel.answer_limit())
}

fn cut(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(number: usize) -> TaskLine {
        TaskLine {
            id: format!("t{number}"),
            status: String::from("working"),
            summary: "ä".repeat(200),
            needs_user: number == 0,
        }
    }

    #[test]
    fn a_list_is_short() {
        assert_eq!(list(&[]), "there are no unfinished tasks");
        let tasks: Vec<TaskLine> = (0..40).map(task).collect();
        let text = list(&tasks);
        assert_eq!(text.lines().count(), 31);
        assert!(text.starts_with("t0 working (needs you): ä"), "{text}");
        assert!(text.ends_with("and 10 more; `orange ls` shows them"));
        assert!(text.chars().count() < Channel::Telegram.answer_limit());
    }

    #[test]
    fn an_answer_fits_its_channel() {
        for channel in Channel::ALL {
            let fitted = fit(channel, &"🍊".repeat(30_000));
            assert_eq!(fitted.chars().count(), channel.answer_limit());
            assert!(fitted.ends_with('…'));
        }
        assert_eq!(fit(Channel::Matrix, "a\0\x1b[2J\r\nb\t"), "a[2J\nb\t");
        assert!(help().len() < 600);
        assert!(help_in_comments().len() < 600);
    }

    #[test]
    fn the_origin_cannot_be_forged_by_a_name() {
        let line = origin_line(Channel::Telegram, "a\n b (message 2):", "1");
        assert_eq!(line, "From ab(message2): by Telegram (message 1):");
    }
}

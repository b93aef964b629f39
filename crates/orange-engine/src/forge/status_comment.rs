//! The comment, labels and state that a task's issue should have.
//!
//! The comment is a pure function of the task: the same task always gives the same text, so an
//! unchanged task costs no request. The text contains nothing that changes while nothing is
//! recorded: times end with the last change of the status, and usage counts the runs that have
//! ended.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use super::account::Account;
use super::issue::{IssueLink, digest};
use super::marker::{has_key, marker};
use super::text::fence;
use crate::attention::{Need, need};
use crate::language::Workflow;
use crate::language::workflow::{Kind, Trigger};
use crate::names::TaskId;
use crate::report::Report;
use crate::task::Task;
use crate::time::Timestamp;
use crate::usage::{Usage, duration};

/// How every status comment begins.
const HEADING: &str = "### orange: ";

/// How a notice about a refused write begins.
const NOTICE: &str = "cannot post to ";

/// The most items of a list, and the most characters of a line, that come from a report.
const MAX_ITEMS: usize = 20;
const MAX_LINE: usize = 300;

/// A label that orange sets at an issue and removes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusLabel {
    /// The task needs the user, and not for a review.
    Blocked,
    /// The work waits for a person's review.
    NeedsReview,
}

impl StatusLabel {
    pub const ALL: [StatusLabel; 2] = [StatusLabel::Blocked, StatusLabel::NeedsReview];

    pub fn as_str(self) -> &'static str {
        match self {
            StatusLabel::Blocked => "blocked",
            StatusLabel::NeedsReview => "needs-review",
        }
    }

    /// What the forge shows beside the name.
    pub fn description(self) -> &'static str {
        match self {
            StatusLabel::Blocked => "The work on this cannot go on without a person",
            StatusLabel::NeedsReview => "The work on this waits for a person's review",
        }
    }
}

impl fmt::Display for StatusLabel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What an issue should look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueStatus {
    /// The text of the comment, before redaction.
    pub comment: String,
    pub labels: BTreeSet<StatusLabel>,
    /// Whether the issue is done: the work is merged.
    pub is_closed: bool,
}

impl IssueStatus {
    /// Identifies the text of the comment.
    pub fn comment_digest(&self) -> String {
        digest([self.comment.as_str()])
    }
}

/// A task, and the other facts that its status comment names.
#[derive(Clone, Copy, Debug)]
pub struct StatusFacts<'a> {
    pub task: &'a Task,
    pub workflow: &'a Workflow,
    pub created: Timestamp,
    /// What the runs that have ended used.
    pub usage: &'a Usage,
    /// Folders of this machine, which are removed from the text of a report.
    pub folders: &'a [String],
}

impl StatusFacts<'_> {
    pub fn issue_status(&self) -> IssueStatus {
        IssueStatus {
            comment: self.comment(),
            labels: self.labels(),
            is_closed: self.is_merged(),
        }
    }

    fn has_ended(&self) -> bool {
        self.workflow.is_terminal(&self.task.status)
    }

    /// Whether the task has ended because its work is in the default branch.
    fn is_merged(&self) -> bool {
        let merged = [Some(Trigger::Merged), Some(Trigger::PrMerged)];
        self.has_ended() && merged.contains(&self.task.entered.trigger)
    }

    fn need(&self) -> Option<Need> {
        let state = self.workflow.state(&self.task.status)?;
        need(self.workflow, state)
    }

    fn labels(&self) -> BTreeSet<StatusLabel> {
        let label = match self.need() {
            _ if self.has_ended() => None,
            Some(Need::Review) => Some(StatusLabel::NeedsReview),
            Some(_) => Some(StatusLabel::Blocked),
            None => self.needs_help().then_some(StatusLabel::Blocked),
        };
        label.into_iter().collect()
    }

    /// Whether something but a failed post needs the user: a label that could not be set must not
    /// ask for another label.
    fn needs_help(&self) -> bool {
        let mut reasons = self.task.attention.iter();
        reasons.any(|it| !it.starts_with(NOTICE))
    }

    /// The status in plain words.
    fn words(&self) -> &'static str {
        let task = self.task;
        if self.has_ended() {
            return if self.is_merged() {
                "finished, and the work is merged"
            } else if self.workflow.is_cancelled(&task.status) {
                "cancelled, and nothing is merged"
            } else {
                "finished"
            };
        }
        let kind = self.workflow.state(&task.status).map(|state| state.kind);
        match (self.need(), kind) {
            (Some(Need::Review), _) => "waits for a person's review",
            (Some(Need::Question), _) => "an agent has a question for a person",
            (Some(Need::Stuck), _) => "stuck, and needs a person",
            (Some(Need::Decision), _) => "waits for a person's decision",
            (None, _) if self.needs_help() => "needs a person",
            (None, Some(Kind::Queued)) => "waits to be started",
            (None, Some(Kind::Agent)) => "an agent works on it",
            (None, _) if task.children.values().any(Option::is_none) => "waits for its child tasks",
            (None, _) if task.pull_request.is_some() => "waits for its pull request",
            (None, _) => "waits",
        }
    }

    fn result(&self) -> Option<&'static str> {
        let is_cancelled = self.workflow.is_cancelled(&self.task.status);
        match (self.has_ended(), self.is_merged(), is_cancelled) {
            (false, ..) => None,
            (true, true, _) => Some("merged into the default branch"),
            (true, false, true) => Some("nothing was merged"),
            (true, false, false) => Some("not merged by orange"),
        }
    }

    fn comment(&self) -> String {
        let task = self.task;
        let mut text = format!("{HEADING}{}\n\n| | |\n|---|---|\n", self.words());
        let mut row = |name: &str, value: &str| {
            let _never_fails = writeln!(text, "| {name} | {value} |");
        };
        row("Status", &code(task.status.as_str()));
        if let Some(result) = self.result() {
            row("Result", result);
        }
        row("Branch", &code(task.branch.as_str()));
        if let Some(link) = &task.pull_request {
            row("Pull request", &format!("#{}", link.number));
        }
        let seconds = task.entered.at.seconds_since(self.created);
        let name = if self.has_ended() {
            "Duration"
        } else {
            "Time until this status"
        };
        row(name, &duration(seconds));
        let is_running = task.runs.values().any(|run| run.state.is_live());
        let tokens = match (self.usage.runs, is_running) {
            (0, true) => String::from("unknown until the agent has ended"),
            (_, true) => format!(
                "{}, without the agent that runs now",
                self.usage.tokens_words()
            ),
            (_, false) => self.usage.tokens_words(),
        };
        row("Tokens", &tokens);
        let cost = match (self.usage.runs, is_running) {
            (0, true) => String::from("unknown"),
            _ => self.usage.cost_words(),
        };
        row("Cost", &cost);
        let model = task.agent_settings.model.as_deref();
        let model = model.map_or_else(|| String::from("unknown"), code);
        row("Agent", &code(task.harness.as_str()));
        row("Model", &model);
        if let Some(report) = &task.report {
            text.push_str(&self.report(report));
        }
        let id = &task.id;
        let _never_fails = write!(
            text,
            "\n<sub>orange keeps this comment up to date for its task `{id}`. To stop that, set \
             `forge.issues.comment` to `\"none\"` in the settings of orange.</sub>\n\n{}",
            marker(&comment_key(id))
        );
        text
    }

    /// What the report of the current attempt says. It was written by an agent, so all of it is in
    /// fences, where the forge reads no mention, no reference, no image and no marker.
    fn report(&self, report: &Report) -> String {
        let mut text = String::new();
        let summary = self.line(&report.summary);
        let lists = [
            ("Summary", vec![summary]),
            ("Accomplished", self.items(&report.accomplished)),
            ("Remaining", self.items(&report.remaining)),
        ];
        for (name, lines) in lists {
            let lines: Vec<String> = lines.into_iter().filter(|it| !it.is_empty()).collect();
            if !lines.is_empty() {
                let fenced = fence(&lines.join("\n"), "text");
                let _never_fails = write!(text, "\n**{name}**\n\n{fenced}");
            }
        }
        text
    }

    fn items(&self, items: &[String]) -> Vec<String> {
        let shown = items.iter().take(MAX_ITEMS);
        let mut lines: Vec<String> = shown
            .map(|it| self.line(it))
            .filter(|it| !it.is_empty())
            .map(|it| format!("- {it}"))
            .collect();
        if items.len() > MAX_ITEMS {
            lines.push(format!("- and {} more", items.len() - MAX_ITEMS));
        }
        lines
    }

    /// A text from an agent: on one line, without folders of this machine, and without the opening
    /// of a comment, by which orange finds its own texts.
    fn line(&self, text: &str) -> String {
        let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for folder in self.folders.iter().filter(|it| it.len() > 1) {
            line = line.replace(folder.as_str(), "…");
        }
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        let line = line.replace("<!--", "<! --");
        match line.char_indices().nth(MAX_LINE) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

/// A name as code in a table cell, without characters that would end the code or the cell.
fn code(name: &str) -> String {
    let plain = |c: char| match c {
        '`' | '|' | '<' | '>' => ' ',
        c if c.is_control() => ' ',
        c => c,
    };
    let plain: String = name.chars().take(MAX_LINE).map(plain).collect();
    format!("`{}`", plain.trim())
}

/// The key of a task's status comment.
fn comment_key(task: &TaskId) -> String {
    format!("{task}/status")
}

/// Whether this is the status comment of a task. A text that only quotes one begins differently.
pub fn is_status_comment(
    body: &str,
    author: Option<&Account>,
    own: &Account,
    task: &TaskId,
) -> bool {
    let key = comment_key(task);
    has_key(body, author, own, &key)
        && body.starts_with(HEADING)
        && body.trim_end().ends_with(&marker(&key))
}

/// The notice about writes that the forge has refused.
pub fn refusal_notice(issue: &IssueLink, what: &str, reason: &str) -> String {
    format!(
        "{NOTICE}{issue}: {what}: {reason}; check with `orange forge status`, or turn it off with \
         `forge.issues` in config.toml"
    )
}

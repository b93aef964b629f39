//! The text that shows a policy in full.
//!
//! Its author may be hostile. Every line has a number, so that none can be scrolled away unseen, and
//! every character that a terminal does not show as itself is written as an escape.

use std::collections::BTreeMap;

use orange_config::{POLICY_WORKFLOWS, PolicyWorkflow};
use orange_driver::PolicyProposal;
use orange_engine::shipped_workflows;

use super::policy::PolicySetting;
use crate::output::{Style, Text};

/// How many digits of a hash are shown.
const HASH_DIGITS: usize = 16;

pub fn text(proposal: &PolicyProposal, settings: &[PolicySetting<'_>]) -> Text {
    let mut text = Text::new();
    let mut line = |style, line: &str| {
        text.push(style, line);
        text.end_line();
    };
    let (project, committed) = (&proposal.project, &proposal.committed);
    line(
        Style::Bold,
        &format!(
            "Policy of project {}: commit {} of branch {}, hash {}",
            project.name,
            committed.commit.short(),
            project.default_branch,
            short_hash(proposal)
        ),
    );
    if let Some(pinned) = &proposal.pinned {
        let (commit, at) = (pinned.commit.short(), pinned.allowed_at);
        line(
            Style::Plain,
            &format!("You allowed the one of commit {commit} at {at}."),
        );
    }
    if !settings.is_empty() {
        line(Style::Plain, "");
        line(Style::Bold, "Settings");
    }
    let width = settings.iter().map(|it| it.key.len()).max();
    let width = width.unwrap_or_default();
    for setting in settings {
        let value = visible(&setting.value.to_string());
        let note = if setting.is_overridden {
            "  (you set it yourself: your value counts)"
        } else {
            ""
        };
        line(
            Style::Plain,
            &format!("  {:width$}  {value}{note}", setting.key),
        );
    }
    for workflow in proposal.policy.workflows() {
        line(Style::Plain, "");
        line(Style::Bold, &workflow_title(proposal, workflow));
        for (number, content) in workflow.text.lines().enumerate() {
            let number = number + 1;
            line(
                Style::Plain,
                &format!("  {number:>4}  {}", visible(content)),
            );
        }
    }
    // At the end, where a long workflow does not scroll it away.
    let changes = changes(proposal);
    if !changes.is_empty() {
        line(Style::Plain, "");
        line(Style::Bold, "Changed since you allowed it");
    }
    for change in changes {
        line(Style::Plain, &format!("  {change}"));
    }
    line(Style::Plain, "");
    text
}

/// How the policy differs from the one that the user allowed.
fn changes(proposal: &PolicyProposal) -> Vec<String> {
    let Some(allowed) = &proposal.allowed else {
        return Vec::new();
    };
    let policy = &proposal.policy;
    let before: BTreeMap<_, _> = allowed.values().collect();
    let now: BTreeMap<_, _> = policy.values().collect();
    let mut changes = Vec::new();
    for (key, value) in &now {
        match before.get(key) {
            None => changes.push(format!("{key}: new")),
            Some(old) if old != value => {
                changes.push(format!("{key}: was {}", visible(&old.to_string())));
            }
            Some(_) => {}
        }
    }
    let removed = before.keys().filter(|key| !now.contains_key(*key));
    changes.extend(removed.map(|key| format!("{key}: removed")));
    for workflow in policy.workflows() {
        let mut old = allowed.workflows().iter();
        match old.find(|it| it.name == workflow.name) {
            None => changes.push(format!("workflow {}: new", workflow.name)),
            Some(old) if old.text != workflow.text => {
                changes.push(format!("workflow {}: changed", workflow.name));
            }
            Some(_) => {}
        }
    }
    let is_gone = |old: &&PolicyWorkflow| policy.workflows().iter().all(|it| it.name != old.name);
    let removed = allowed.workflows().iter().filter(is_gone);
    changes.extend(removed.map(|old| format!("workflow {}: removed", old.name)));
    changes
}

/// The beginning of the hash, which is enough for `--hash`.
pub fn short_hash(proposal: &PolicyProposal) -> &str {
    let hash = proposal.committed.hash.as_str();
    hash.get(..HASH_DIGITS).unwrap_or(hash)
}

fn workflow_title(proposal: &PolicyProposal, workflow: &PolicyWorkflow) -> String {
    let name = &workflow.name;
    let path = format!("{POLICY_WORKFLOWS}/{name}.yml");
    let mut notes = vec![path.clone()];
    if shipped_workflows::find(name).is_some() {
        notes.push(String::from("replaces the shipped workflow"));
    }
    if let Some(pinned) = &proposal.pinned {
        let known = pinned.files.iter().find(|it| it.path == path);
        notes.push(String::from(match known {
            None => "new",
            Some(known) if known.text == workflow.text => "unchanged",
            Some(_) => "changed",
        }));
    }
    format!("Workflow {name} ({})", notes.join(", "))
}

/// The text with an escape for every character that is not visible as itself: controls, marks that
/// change the direction of the text, spaces without width, combining marks.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\'' | '\\' => shown.push(character),
            '\t' => shown.push_str("    "),
            other => shown.extend(other.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_hide_is_written_as_an_escape() {
        for (text, shown) in [
            (
                "run: \"make\"\t# 'a\\b' ä 日本",
                "run: \"make\"    # 'a\\b' ä 日本",
            ),
            ("a\u{1b}[2Kb\rc\u{8}", "a\\u{1b}[2Kb\\rc\\u{8}"),
            ("a\u{9b}2J\u{7f}", "a\\u{9b}2J\\u{7f}"),
            (
                "\u{202e}x\u{2066}y\u{200f}",
                "\\u{202e}x\\u{2066}y\\u{200f}",
            ),
            (
                "a\u{200b}b\u{feff}c\u{2060}",
                "a\\u{200b}b\\u{feff}c\\u{2060}",
            ),
            ("e\u{301}\u{e0061}\u{2028}", "e\\u{301}\\u{e0061}\\u{2028}"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }
}

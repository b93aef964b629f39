//! Dialogs about all marked tasks, and the results of their requests.

use std::collections::{BTreeMap, BTreeSet};

use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;

use super::merge::{self, unsent};
use crate::output::{display_width, truncate};
use crate::tui::keys::KeyAction;
use crate::tui::layout::popup_width;
use crate::tui::model::Model;
use crate::tui::model::command::Action;
use crate::tui::model::entry::{EnterAction, Entry};
use crate::tui::model::field::Field;
use crate::tui::model::message::ActionResult;
use crate::tui::model::mode::{Alert, Choice, MessageDraft, Mode, Question};
use crate::tui::theme::Tone;

/// How many tasks a dialog describes, and how many more it names.
const MAX_DESCRIBED: usize = 8;
const MAX_NAMED: usize = 20;

/// How many different questions of workflows one answer may confirm.
const MAX_QUESTIONS: usize = 3;

/// How many results a dialog describes.
const MAX_RESULTS: usize = 5;

/// Opens the dialog about the marked tasks; returns whether the action is for them.
pub(super) fn open_dialog(model: &mut Model, action: KeyAction) -> bool {
    let marked = model.list.marked();
    let mode = match action {
        _ if marked.is_empty() => return false,
        KeyAction::Verb(Verb::Merge) => Mode::Confirm(merge_question(model, &marked)),
        KeyAction::Verb(Verb::Cancel) => Mode::Confirm(cancel_question(model, &marked)),
        KeyAction::Verb(verb @ Verb::RequestChanges) => {
            let title = format!("What should change in {}?", count(&marked));
            let note = |entry: &Entry| with_comments(model, entry, missing_way(entry, verb));
            let lines = describe(model, &marked, &note);
            Mode::Write(message(
                model,
                title,
                &RequestKind::Verb(verb),
                &marked,
                lines,
            ))
        }
        KeyAction::Tell => {
            let title = format!("Message to the agents of {}", count(&marked));
            let note = |entry: &Entry| {
                let is_missing = !entry.has_agent();
                String::from(if is_missing { "has no agent" } else { "" })
            };
            let lines = describe(model, &marked, &note);
            let ask = RequestKind::Tell { role: None };
            Mode::Write(message(model, title, &ask, &marked, lines))
        }
        KeyAction::Delete => Mode::Confirm(delete_question(model, &marked)),
        KeyAction::Enter if marked.iter().any(|entry| entry.can_start()) => {
            Mode::Confirm(start_question(model, &marked))
        }
        _ => return false,
    };
    model.mode = mode;
    true
}

fn merge_question(model: &Model, marked: &[&Entry]) -> Question {
    let note = |entry: &Entry| with_comments(model, entry, missing_way(entry, Verb::Merge));
    let mut consequences = describe(model, marked, &note);
    consequences.extend([
        String::from(
            "In this order, each on the result of the one before. A task that cannot be merged \
             stays as it is, and the others go on.",
        ),
        String::from("Then their agents are stopped and their worktrees are released."),
    ]);
    let confirms = add_questions(marked, Verb::Merge, &mut consequences);
    let choice = |(key, label, strategy)| {
        let actions = marked.iter().map(|entry| {
            let action = merge::request(entry, strategy);
            confirm(action, entry, Verb::Merge, confirms)
        });
        Choice {
            key,
            label,
            action: Action::Several(actions.collect()),
        }
    };
    Question {
        text: format!("Merge {}?", count(marked)),
        consequences,
        choices: merge::WAYS.into_iter().map(choice).collect(),
    }
}

fn cancel_question(model: &Model, marked: &[&Entry]) -> Question {
    let note = |entry: &Entry| missing_way(entry, Verb::Cancel);
    let mut consequences = describe(model, marked, &note);
    consequences.extend([
        String::from("Their agents are stopped and their worktrees are released."),
        String::from(
            "Kept: the commits on their branches. Uncommitted changes are saved; `orange task \
             restore TASK` restores them.",
        ),
    ]);
    let confirms = add_questions(marked, Verb::Cancel, &mut consequences);
    let actions = marked.iter().map(|entry| {
        let action = Action::ask(&entry.row.id, RequestKind::Verb(Verb::Cancel));
        confirm(action, entry, Verb::Cancel, confirms)
    });
    Question {
        text: format!("Cancel {}?", count(marked)),
        consequences,
        choices: vec![Choice::yes(Action::Several(actions.collect()))],
    }
}

fn delete_question(model: &Model, marked: &[&Entry]) -> Question {
    let note = |entry: &Entry| {
        let is_open = !entry.is_ended();
        String::from(if is_open { "not finished" } else { "" })
    };
    let mut consequences = describe(model, marked, &note);
    consequences.extend([
        String::from("They are no longer listed; their directories are moved to the trash."),
        String::from("Kept: the branches, saved work and history. `u` restores one at a time."),
    ]);
    let actions = marked.iter().map(|it| Action::Delete(it.row.id.clone()));
    Question {
        text: format!("Delete {}?", count(marked)),
        consequences,
        choices: vec![Choice::yes(Action::Several(actions.collect()))],
    }
}

/// Asks whether to start the agents of those marked tasks that have none.
fn start_question(model: &Model, marked: &[&Entry]) -> Question {
    let (started, rest): (Vec<&Entry>, Vec<&Entry>) =
        marked.iter().partition(|entry| entry.can_start());
    let mut consequences = describe(model, &started, &|_| String::new());
    consequences.push(String::from("An agent is started for each of them."));
    if !rest.is_empty() {
        let names = names(&rest);
        consequences.push(format!("Marked, but nothing to start: {names}."));
    }
    let actions = started.iter().map(|entry| {
        let ask = match entry.enter_action() {
            EnterAction::Respawn => RequestKind::Respawn { role: None },
            _ => RequestKind::Verb(Verb::Spawn),
        };
        Action::ask(&entry.row.id, ask)
    });
    Question {
        text: format!("Start the agents of {}?", count(&started)),
        consequences,
        choices: vec![Choice::yes(Action::Several(actions.collect()))],
    }
}

fn message(
    model: &Model,
    title: String,
    ask: &RequestKind,
    marked: &[&Entry],
    explanation: Vec<String>,
) -> MessageDraft {
    let sends_comments = *ask == RequestKind::Verb(Verb::RequestChanges);
    let has_comments = |entry: &&Entry| !model.drafts.review(&entry.row.id).comments.is_empty();
    let actions = marked.iter();
    let actions = actions.map(|entry| Action::ask(&entry.row.id, ask.clone()));
    let action = Action::Several(actions.collect());
    MessageDraft {
        title,
        explanation,
        text: Field::of(model.drafts.message_for(&action)),
        action,
        is_optional: sends_comments && marked.iter().all(has_comments),
    }
}

fn count(entries: &[&Entry]) -> String {
    match entries.len() {
        1 => String::from("1 task"),
        count => format!("{count} tasks"),
    }
}

/// One line per task, with its note. Tasks that do not fit are only named. Also names the tasks
/// that the list does not show.
fn describe(model: &Model, entries: &[&Entry], note: &dyn Fn(&Entry) -> String) -> Vec<String> {
    let room = usize::from(model.height.saturating_sub(14)).clamp(2, MAX_DESCRIBED);
    let line = |entry: &&Entry| {
        let row = &entry.row;
        let note = match note(entry) {
            note if note.is_empty() => note,
            note => format!(" ({note})"),
        };
        let text = format!("{} {}{note} {}", row.id, row.status_text(), entry.summary());
        let width = popup_width(model.width);
        if display_width(&text) > width {
            truncate(&text, width)
        } else {
            text
        }
    };
    let mut lines: Vec<String> = entries.iter().take(room).map(line).collect();
    if let Some(rest) = entries.get(room..).filter(|rest| !rest.is_empty()) {
        lines.push(format!("and {} more: {}", rest.len(), names(rest)));
    }
    let shown: BTreeSet<_> = model.list.shown_tasks().collect();
    let hidden = entries.iter().filter(|it| !shown.contains(&it.row.id));
    let hidden: Vec<&Entry> = hidden.copied().collect();
    if !hidden.is_empty() {
        lines.push(format!("Not in the list now: {}.", names(&hidden)));
    }
    lines.push(String::new());
    lines
}

fn names(entries: &[&Entry]) -> String {
    let named = entries.iter().take(MAX_NAMED);
    let mut names: Vec<String> = named.map(|it| it.row.id.to_string()).collect();
    if entries.len() > MAX_NAMED {
        names.push(format!("{} more", entries.len() - MAX_NAMED));
    }
    names.join(", ")
}

/// Says that a verb is not available; empty if it is, or if that is not known yet.
fn missing_way(entry: &Entry, verb: Verb) -> String {
    match entry.glance {
        Some(_) if entry.way(verb).is_none() => format!("no {verb} from here"),
        _ => String::new(),
    }
}

fn with_comments(model: &Model, entry: &Entry, note: String) -> String {
    match model.drafts.review(&entry.row.id).comments.len() {
        0 => note,
        count if note.is_empty() => unsent(count).trim_end_matches('.').to_owned(),
        _ => note,
    }
}

/// Adds the questions that workflows ask before this step, with the tasks that they are about.
/// Returns whether all questions are shown, so that a yes confirms them.
fn add_questions(marked: &[&Entry], verb: Verb, lines: &mut Vec<String>) -> bool {
    let mut questions: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in marked {
        if let Some(question) = entry.way(verb).and_then(|way| way.question()) {
            questions.entry(question).or_default().push(entry);
        }
    }
    if questions.len() > MAX_QUESTIONS {
        lines.push(String::from(
            "Their workflows ask too many different questions to confirm together; those that ask \
             one are refused.",
        ));
        return false;
    }
    for (question, entries) in questions {
        let names = names(&entries);
        lines.push(format!("The workflow asks about {names}: {question}"));
    }
    true
}

fn confirm(action: Action, entry: &Entry, verb: Verb, confirms: bool) -> Action {
    let question = entry.way(verb).and_then(|way| way.question());
    match question.filter(|_| confirms) {
        Some(_) => action.with_confirmation(),
        None => action,
    }
}

/// Reports what became of several actions: how many were done, and why the others were not.
pub(super) fn show_results(model: &mut Model, all: &Action, results: Vec<(Action, ActionResult)>) {
    let (mut done, mut refused, mut failed) = (0, 0, 0);
    let (mut lines, mut hints) = (Vec::new(), Vec::new());
    for (action, result) in results {
        let (word, alert) = match result {
            ActionResult::Done { task, .. } => {
                done += 1;
                super::incoming::note_done(model, &action, task.as_ref());
                continue;
            }
            ActionResult::NeedsConfirmation { question, .. } => {
                refused += 1;
                lines.push(format!("{}: asks first: {question}", action.subject()));
                continue;
            }
            ActionResult::Refused(alert) => {
                refused += 1;
                ("refused", alert)
            }
            ActionResult::Failed(alert) => {
                failed += 1;
                ("failed", alert)
            }
            ActionResult::Registered { .. } | ActionResult::Several(_) => continue,
        };
        let reason = alert.lines.join(" ");
        lines.push(format!("{}: {word}: {reason}", action.subject()));
        hints.extend(alert.hints);
    }
    let counts = [
        (done, format!("{done} done")),
        (refused, format!("{refused} refused")),
        (failed, format!("{failed} failed")),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(_, text)| text).collect();
    let text = format!("{}: {}", all.description(), counts.join(", "));
    if lines.is_empty() {
        model.drafts.forget(all);
        model.set_notice(Tone::Good, text);
    } else if model.mode == Mode::Browse {
        let more = lines.len().saturating_sub(MAX_RESULTS);
        lines.truncate(MAX_RESULTS);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        hints.truncate(1);
        model.mode = Mode::Alert(Alert {
            title: text,
            lines,
            hints,
            offer: None,
        });
    } else {
        model.set_notice(Tone::Bad, format!("{text}; {}", lines.join("; ")));
    }
}

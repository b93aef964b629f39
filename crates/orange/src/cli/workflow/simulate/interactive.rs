//! The interactive dialogue at a terminal, line by line.

use orange_engine::Workflow;

use super::answer::Answer;
use super::dialogue::Dialogue;
use super::parse::{self, Action};
use super::script;
use super::view::View;
use crate::cli::Error;
use crate::output::Output;

enum Next {
    /// Show this, then where the task is and the usual next steps.
    Show(View),
    /// Show where the task is and every next step.
    ShowAll,
    /// Show only this.
    Say(View),
    Quit,
}

/// Runs the dialogue until the input ends or the user quits.
pub fn run(workflow: &Workflow, output: &mut Output) -> Result<(), Error> {
    let mut dialogue = Dialogue::new(workflow);
    let mut view = View::new(output.answer_width());
    view.sentence(&format!(
        "Walking a task through `{}`. Nothing is started, written or merged.",
        workflow.name
    ));
    view.sentence("Type a number or a line; 1 is the usual next step. `help` lists the rest.");
    let mut next = Next::Show(view);
    loop {
        match next {
            Next::Quit => return Ok(()),
            Next::Say(view) => output.answer(&view.into_text())?,
            Next::Show(mut view) => {
                view.gap();
                push_situation(&mut view, &dialogue, false);
                output.answer(&view.into_text())?;
            }
            Next::ShowAll => {
                let mut view = View::new(output.answer_width());
                push_situation(&mut view, &dialogue, true);
                output.answer(&view.into_text())?;
            }
        }
        let Some(typed) = output.ask("\n> ")? else {
            return Ok(());
        };
        next = follow(&mut dialogue, typed.trim(), output.answer_width());
    }
}

/// Adds where the task is and what can happen next.
fn push_situation(view: &mut View, dialogue: &Dialogue<'_>, shows_all: bool) {
    match dialogue.place() {
        Some(place) => view.place(&place),
        None => view.sentence("No task yet. Begin one with one of these lines:"),
    }
    view.gap();
    let choices = dialogue.choices();
    view.menu(&choices, shows_all);
    if choices.is_empty() {
        view.sentence("The task is finished. `undo` goes back, `restart` starts over.");
    }
}

fn follow(dialogue: &mut Dialogue<'_>, typed: &str, width: Option<usize>) -> Next {
    let mut view = View::new(width);
    match typed {
        "" => return Next::ShowAll,
        "quit" | "exit" | "q" => return Next::Quit,
        "help" | "?" => {
            help(&mut view);
            return Next::Say(view);
        }
        "script" => {
            for line in script::to_script(dialogue) {
                view.push_line(&line);
            }
            return Next::Say(view);
        }
        _ => {}
    }
    let action = match typed.parse::<usize>() {
        Ok(number) => {
            let mut choices = dialogue.choices();
            if !(1..=choices.len()).contains(&number) {
                let last = choices.len();
                view.unknown(&format!("the numbers go from 1 to {last}"), &[]);
                return Next::Say(view);
            }
            Action::Step(Box::new(choices.swap_remove(number - 1).step))
        }
        Err(_) => match parse::parse_lenient(dialogue, typed) {
            Ok(action) => action,
            Err(unknown) => {
                view.unknown(&unknown.reason, &unknown.nearest);
                return Next::Say(view);
            }
        },
    };
    let past = match action {
        Action::Undo => {
            match dialogue.undo() {
                Some(line) => view.sentence(&format!("Undone: {line}")),
                None => view.sentence("Nothing to undo."),
            }
            return Next::Show(view);
        }
        Action::Restart => {
            dialogue.restart();
            view.sentence("Restarted.");
            return Next::Show(view);
        }
        Action::Empty => dialogue.empty_task_file(),
        Action::Step(step) => dialogue.take(&step),
    };
    view.step(&past.line, &past.answer, past.note.as_deref());
    match past.answer {
        Answer::Decided(_) => Next::Show(view),
        // Do not show the situation again: the task has not moved, and the refusal says what is
        // missing.
        _ => Next::Say(view),
    }
}

fn help(view: &mut View) {
    for (what, does) in [
        ("a number", "take that step of the menu"),
        (
            "a line of the menu",
            "the same; the beginning of the line is enough",
        ),
        (
            "worker requests STATUS",
            "a request by any role for any status, to see what is refused and why",
        ),
        (
            "..., with ## SECTION",
            "with new text in that section; also `PASS in ## SECTION`, `git gates passing`",
        ),
        (
            "...; spawn_agent fails",
            "the same step, but one of its effects fails",
        ),
        ("TASK.md is emptied", "remove everything from TASK.md"),
        ("undo, restart", "undo one line, or all of them"),
        ("script", "print the lines so far, for --script"),
        (
            "Enter",
            "show where the task is, and everything that can happen",
        ),
        ("quit, Ctrl-D", "quit"),
    ] {
        view.entry(what, does);
    }
}

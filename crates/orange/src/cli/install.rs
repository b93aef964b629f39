//! `orange install`.

use orange_config::Environment;
use orange_driver::{Lesson, Taught, Teaching};
use orange_engine::names::HarnessName;
use serde::Serialize;

use super::request::driving::driver;
use crate::cli::{Error, Exit, Shape, push_error};
use crate::output::{Alignment, Cell, Output, Style, Table, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.install/1");

/// Teach your agents to use orange.
///
/// Writes a skill, `orange/SKILL.md`, into where each installed agent keeps the person's skills.
/// An agent that you talk to then knows how to create tasks and follow them; one that works on a
/// task knows how to do its part. It is made from the workflows that are in use, so run this again
/// when you have changed one; `orange doctor` says when that is.
///
/// A file that orange did not write, or that somebody has changed since, is left as it is; the
/// exit code is then 3.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this harness, also when its program is not installed yet.
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,
    /// Remove what this command wrote, and nothing else.
    #[arg(long)]
    pub uninstall: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    skills: &'a [Taught],
    /// The workflows that the skill tells about; none when it was removed.
    workflows: &'a [String],
}

/// Writes or removes the skills, and reports what it did.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let named = args.harness.as_deref().map(HarnessName::new);
    let lesson = if args.uninstall {
        Lesson::Forget
    } else {
        Lesson::Teach
    };
    let (skills, workflows) = driver(environment)?.admin.teach(named.as_ref(), lesson)?;
    let is_short = |it: &&Taught| matches!(it.outcome, Teaching::Left | Teaching::Failed);
    let exit = match skills.iter().find(is_short) {
        Some(_) => Exit::Refused,
        None => Exit::Ok,
    };
    if output.is_json() {
        let body = Body {
            skills: &skills,
            workflows: &workflows,
        };
        SHAPE.print(&body, output)?;
        return Ok(exit);
    }
    output.answer(&table(&skills).to_text(output.answer_width()))?;
    let width = output.narration_width();
    let mut complaint = Text::new();
    for skill in skills.iter().filter(is_short) {
        let reason = skill.reason.as_deref().unwrap_or_default();
        let (name, path) = (&skill.harness, skill.path.display());
        let message = format!("cannot change the skill of `{name}`, `{path}`: {reason}");
        let hints: Vec<String> = skill.mend.iter().cloned().collect();
        push_error(&mut complaint, &message, &hints, width, 0);
    }
    output.complain(&complaint);
    Ok(exit)
}

fn table(skills: &[Taught]) -> Table<2> {
    let columns = ["HARNESS", "SKILL"].map(|name| (name, Alignment::Left));
    let mut table = Table::new(columns, "FILE");
    for skill in skills {
        let (word, style) = match skill.outcome {
            Teaching::Written => ("written", Style::Good),
            Teaching::Updated => ("updated", Style::Good),
            Teaching::Already => ("already there", Style::Plain),
            Teaching::Removed => ("removed", Style::Good),
            Teaching::Absent => ("not there", Style::Plain),
            Teaching::Left => ("left as it is", Style::Warn),
            Teaching::Failed => ("failed", Style::Bad),
        };
        let harness = skill.harness.as_str();
        let row = [Cell::new(Style::Bold, harness), Cell::new(style, word)];
        let path = skill.path.display().to_string();
        table.push(row, Cell::new(Style::Plain, &path));
    }
    table
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;
    use orange_engine::skill::skill;
    use orange_engine::{load, shipped};

    use crate::cli::help;

    #[test]
    fn every_command_that_the_skill_names_is_one() {
        for shipped in shipped::ALL {
            let workflow = load(shipped.source).workflow.unwrap();
            let text = skill(&[&workflow]);
            let named = text.split('`').filter(|it| it.starts_with("orange "));
            let mut count = 0;
            for line in named {
                let typed = line.replace('"', "");
                let parsed = help::command(None).try_get_matches_from(typed.split(' '));
                let is_one = match &parsed {
                    Ok(_) => true,
                    Err(error) => error.kind() == ErrorKind::DisplayHelp,
                };
                assert!(is_one, "{}: `{line}`: {parsed:?}", shipped.name);
                count += 1;
            }
            assert!(count > 10, "{text}");
        }
    }
}

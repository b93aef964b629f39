//! `orange install`.

use orange_config::Environment;
use orange_driver::{InstallReport, SkillAction, SkillOutcome};
use orange_engine::names::HarnessName;
use serde::Serialize;

use super::request::requests::driver;
use crate::cli::{Error, Exit, Shape, push_error};
use crate::output::{Alignment, Cell, Output, Style, Table, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.install/1");

/// Teach your agents to use orange.
///
/// Writes a skill, `orange/SKILL.md`, into the skills directory of each installed agent. With this
/// skill, an agent that you talk to can create and follow tasks, and an agent that works on a task
/// knows its part. The skill describes the workflows in use, so run this again after you change
/// one; `orange doctor` tells you when the skill is out of date.
///
/// Also adds the MCP server `orange` to the settings of each agent that can use one, so that it has
/// the tools of `orange mcp`. Nothing else in that file changes.
///
/// A file that orange did not write, or that was changed since, is not overwritten, and neither is
/// another server with this name; the exit code is then 3.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this harness, even if its program is not installed yet.
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,
    /// Remove the files and entries that this command wrote, and nothing else.
    #[arg(long)]
    pub uninstall: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    skills: &'a [InstallReport],
    /// The entries of the MCP server in the settings of agents.
    mcp_servers: &'a [InstallReport],
    /// The workflows that the skill describes; empty if it was removed.
    workflows: &'a [String],
}

/// Writes or removes the skills, and reports what it did.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let requested = args.harness.as_deref().map(HarnessName::new);
    let action = if args.uninstall {
        SkillAction::Remove
    } else {
        SkillAction::Install
    };
    let admin = driver(environment)?.admin;
    let (skills, workflows) = admin.update_skills(requested.as_ref(), action)?;
    let servers = if cfg!(feature = "mcp") || args.uninstall {
        admin.update_mcp_servers(requested.as_ref(), action)?
    } else {
        Vec::new()
    };
    let is_problem =
        |it: &&InstallReport| matches!(it.outcome, SkillOutcome::Kept | SkillOutcome::Failed);
    let problems = |of: &'static str, reports: &[InstallReport]| {
        let problems = reports.iter().filter(is_problem).cloned();
        problems.map(move |it| (of, it)).collect::<Vec<_>>()
    };
    let problems = [problems("skill", &skills), problems("MCP server", &servers)].concat();
    let exit = if problems.is_empty() {
        Exit::Ok
    } else {
        Exit::Refused
    };
    if output.is_json() {
        let body = Body {
            skills: &skills,
            mcp_servers: &servers,
            workflows: &workflows,
        };
        SHAPE.print(&body, output)?;
        return Ok(exit);
    }
    output.answer(&table("SKILL", &skills).to_text(output.answer_width()))?;
    if !servers.is_empty() {
        output.answer(&Text::line(Style::Plain, ""))?;
        output.answer(&table("MCP", &servers).to_text(output.answer_width()))?;
    }
    let width = output.narration_width();
    let mut errors = Text::new();
    for (of, report) in &problems {
        let reason = report.reason.as_deref().unwrap_or_default();
        let (name, path) = (&report.harness, report.path.display());
        let message = format!("cannot change the {of} of `{name}`, `{path}`: {reason}");
        let hints: Vec<String> = report.fix.iter().cloned().collect();
        push_error(&mut errors, &message, &hints, width, 0);
    }
    output.print_error(&errors);
    Ok(exit)
}

fn table(heading: &'static str, reports: &[InstallReport]) -> Table<2> {
    let columns = ["HARNESS", heading].map(|name| (name, Alignment::Left));
    let mut table = Table::new(columns, "FILE");
    for report in reports {
        let (word, style) = match report.outcome {
            SkillOutcome::Written => ("written", Style::Good),
            SkillOutcome::Updated => ("updated", Style::Good),
            SkillOutcome::Unchanged => ("up to date", Style::Plain),
            SkillOutcome::Removed => ("removed", Style::Good),
            SkillOutcome::Absent => ("not installed", Style::Plain),
            SkillOutcome::Kept => ("left as it is", Style::Warn),
            SkillOutcome::Failed => ("failed", Style::Bad),
        };
        let harness = report.harness.as_str();
        let row = [Cell::new(Style::Bold, harness), Cell::new(style, word)];
        let path = report.path.display().to_string();
        table.push(row, Cell::new(Style::Plain, &path));
    }
    table
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;
    use orange_engine::skill::skill;
    use orange_engine::{load, shipped_workflows};

    use crate::cli::help;

    #[test]
    fn every_command_in_the_skill_exists() {
        for shipped in shipped_workflows::ALL {
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

//! `orange uninstall`.

use std::path::Path;

use orange_config::Environment;
use orange_driver::{UninstallPlan, UninstallReport};
use serde::Serialize;

use super::answer::words::{SUBMODULES_KEPT, count_noun};
use super::request::progress::{WaitMode, run_with_progress};
use super::request::requests::{Consent, ask_consent, driver};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.uninstall/1");

/// Remove orange from this machine.
///
/// Lists everything first, and asks. Stops the agents and the supervisor, saves uncommitted work as
/// branches `orange-saved/…`, and removes worktrees, lines in `.git/info/exclude`, skills, MCP
/// servers in the settings of agents, the tmux server and orange's home directory. Your branches
/// stay. Tasks, workflows and settings are moved to a folder beside it. A worktree whose changes
/// cannot be saved is listed and kept; fix the cause and run the command again. The program itself
/// is removed if the install script installed it; otherwise the command that removes it is shown.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Uninstall without asking.
    #[arg(long)]
    pub yes: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    plan: &'a UninstallPlan,
    report: &'a UninstallReport,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let plan = driver.admin.plan_uninstall()?;
    if !output.is_json() {
        output.answer(&plan_text(&plan, output.answer_width()))?;
    }
    if !args.yes {
        let refused = |reason: &str| {
            let message = format!("cannot uninstall orange: {reason}");
            Error::new(Exit::Refused, "not-confirmed", message)
        };
        match ask_consent("Uninstall orange?", output)? {
            Consent::Given => {}
            Consent::Denied => return Err(refused("you answered no")),
            Consent::NotAsked => {
                return Err(refused("this needs your confirmation").hint(
                    "run `orange uninstall --yes` to confirm; your branches are kept, and \
                     uncommitted work is saved first",
                ));
            }
        }
    }
    let mode = WaitMode::for_work(output);
    let (report, _) = run_with_progress(driver.context.progress(), mode, || {
        driver.admin.uninstall(&plan)
    });
    let report = report?;
    if output.is_json() {
        let body = Body {
            plan: &plan,
            report: &report,
        };
        SHAPE.print(&body, output)?;
    } else {
        let binary = std::env::current_exe()?;
        let text = report_text(&plan, &report, &binary, output.answer_width());
        output.answer(&text)?;
    }
    Ok(
        if report.problems.is_empty() && report.program_problems.is_empty() {
            Exit::Ok
        } else {
            Exit::ExternalFailed
        },
    )
}

/// A text of headings, with lines below each.
struct List {
    text: Text,
    width: Option<usize>,
}

impl List {
    fn heading(&mut self, heading: &str) {
        self.text.push(Style::Bold, heading);
        self.text.end_line();
    }

    fn line(&mut self, style: Style, line: &str) {
        let line = format!("  {line}");
        self.text.push_line(&[(style, &line)], 4, self.width);
    }
}

fn plan_text(plan: &UninstallPlan, width: Option<usize>) -> Text {
    let text = Text::new();
    let mut list = List { text, width };
    list.heading("Will stop:");
    for agent in &plan.agents {
        let line = format!("the {} of task {}", agent.role, agent.task);
        list.line(Style::Plain, &line);
    }
    let others = [
        (plan.supervisor, "the supervisor"),
        (plan.tmux_server, "the tmux server of orange"),
    ];
    for (_, line) in others.iter().filter(|(is_running, _)| *is_running) {
        list.line(Style::Plain, line);
    }
    if plan.agents.is_empty() && !plan.supervisor && !plan.tmux_server {
        list.line(Style::Plain, "nothing is running");
    }
    if !plan.merges.is_empty() {
        list.heading("Will finish or undo:");
    }
    for task in &plan.merges {
        list.line(
            Style::Plain,
            &format!("the unfinished merge of task {task}"),
        );
    }
    list.heading("Will remove:");
    for worktree in &plan.worktrees {
        let task = worktree.task.as_ref();
        let task = task.map_or_else(String::new, |it| format!(" (task {it})"));
        let saved = match worktree.uncommitted {
            0 => String::new(),
            count => format!("; {} saved first", count_noun(count, "uncommitted file")),
        };
        let line = format!("worktree {}{task}{saved}", worktree.path.display());
        list.line(Style::Plain, &line);
    }
    for excluded in &plan.excludes {
        let lines = excluded.lines.join("`, `");
        let file = excluded.repository.join(".git/info/exclude");
        list.line(Style::Plain, &format!("`{lines}` in {}", file.display()));
    }
    for fetched in &plan.pull_requests {
        let heads = count_noun(fetched.numbers.len(), "head");
        let repository = fetched.repository.display();
        let line = format!("refs/orange/pull-requests in {repository}: {heads}, fetched before");
        list.line(Style::Plain, &line);
    }
    for skill in &plan.skills {
        list.line(Style::Plain, &format!("skill {}", skill.display()));
    }
    for file in &plan.mcp_servers {
        let line = format!("the MCP server `orange` in {}", file.display());
        list.line(Style::Plain, &line);
    }
    let home = plan.home.display();
    if plan.kept_worktrees.is_empty() {
        list.line(Style::Plain, &format!("orange's home directory {home}"));
    }
    if !plan.program.is_empty() {
        let files = count_noun(plan.program.len(), "file");
        let line = format!("the program: {files} that the install script put on this machine");
        list.line(Style::Plain, &line);
    }
    list.heading("Will keep:");
    for kept in &plan.kept_worktrees {
        list.line(Style::Warn, &format!("worktree {kept}"));
    }
    if !plan.kept_worktrees.is_empty() {
        let line = format!("orange's home directory {home}, until these worktrees can be removed");
        list.line(Style::Warn, &line);
    }
    for kept in &plan.kept_branches {
        let commits = count_noun(
            usize::try_from(kept.commits).unwrap_or(usize::MAX),
            "commit",
        );
        let (branch, repository) = (&kept.branch, kept.repository.display());
        let line = format!("branch `{branch}` in {repository}: {commits} not merged");
        list.line(Style::Plain, &line);
    }
    list.line(
        Style::Plain,
        "every other branch, and refs/orange (saved work)",
    );
    let export = plan.export.display();
    for worktree in &plan.moved_worktrees {
        let worktree = worktree.display();
        let line = format!("worktree {worktree}, moved to {export}: its repository is gone");
        list.line(Style::Plain, &line);
    }
    let moved = format!("tasks, workflows, settings and ignored files, moved to {export}");
    list.line(Style::Plain, &moved);
    for problem in &plan.problems {
        list.line(Style::Bad, problem);
    }
    list.text
}

fn report_text(
    plan: &UninstallPlan,
    report: &UninstallReport,
    binary: &Path,
    width: Option<usize>,
) -> Text {
    let text = Text::new();
    let mut list = List { text, width };
    for saved in &report.saved_branches {
        let (branch, repository) = (&saved.branch, saved.repository.display());
        let line = format!("uncommitted work is on branch `{branch}` in {repository}");
        list.line(Style::Plain, &line);
    }
    for kept in &report.kept_submodules {
        let line = format!("{SUBMODULES_KEPT} {}", kept.display());
        list.line(Style::Plain, &line);
    }
    if let Some(export) = &report.export {
        list.line(
            Style::Plain,
            &format!("your files are in {}", export.display()),
        );
    }
    if !report.problems.is_empty() {
        list.heading("Not removed:");
        for problem in &report.problems {
            list.line(Style::Bad, problem);
        }
        let again = "orange's home directory stays; solve this, then run `orange uninstall` again";
        list.line(Style::Plain, again);
        return list.text;
    }
    for left in &report.left {
        let line = format!("left, because orange did not create it: {}", left.display());
        list.line(Style::Plain, &line);
    }
    let home = plan.home.display();
    let done = if report.is_removed {
        format!("orange is uninstalled; {home} is gone")
    } else {
        format!("orange is uninstalled; {home} has only these files left")
    };
    list.heading(&done);
    if plan.program.is_empty() {
        let line = format!(
            "to remove the program itself: `{}`",
            removal_command(binary)
        );
        list.line(Style::Plain, &line);
    } else if report.program_problems.is_empty() {
        list.line(Style::Plain, "the program is removed too");
    }
    for problem in &report.program_problems {
        list.line(Style::Bad, problem);
    }
    list.text
}

/// The command that removes a program: that of what installed it.
fn removal_command(binary: &Path) -> String {
    if binary.parent().is_some_and(|it| it.ends_with(".cargo/bin")) {
        return String::from("cargo uninstall orange");
    }
    let prefix = binary.parent().and_then(Path::parent);
    let note = prefix.map(|it| it.join("share/orange/removal-command"));
    let note = note.and_then(|it| std::fs::read_to_string(it).ok());
    note.map_or_else(
        || format!("rm {}", binary.display()),
        |it| it.trim().to_owned(),
    )
}

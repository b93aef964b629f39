//! The program's own help: everyday commands first, on one screen.

use std::fmt::Write as _;

use clap::builder::styling::{AnsiColor, Style, Styles};
use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::arguments::Arguments;
use super::task::SHORT_FORMS;

/// The maximum width of the help: longer lines are hard to read, however wide the terminal is.
const WIDEST: usize = 100;

/// The width of the help without a terminal.
const DEFAULT_WIDTH: usize = 80;

/// The column in which the names of a group begin.
const INDENT: usize = 12;

const HEADING: Style = Style::new().bold();
const LITERAL: Style = AnsiColor::Cyan.on_default();

/// The commands that the help explains with a line each.
const EVERYDAY: [&str; 10] = [
    "new",
    "ls",
    "attach",
    "diff",
    "why",
    "logs",
    "tell",
    "merge",
    "cancel",
    "attention",
];

/// The commands whose subcommands the help lists by name.
const PARENTS: [&str; 2] = ["task", "workflow"];

/// The other commands, by what they are for; the help only names them.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Oversight",
        &["allow", "deny", "sandbox", "budget", "report"],
    ),
    (
        "Automation",
        &[
            "job",
            "issue",
            "forge",
            "note",
            "chat",
            #[cfg(feature = "mcp")]
            "mcp",
            "runner",
            #[cfg(feature = "server")]
            "server",
            #[cfg(feature = "web")]
            "web",
        ],
    ),
    (
        "Setup",
        &[
            "project",
            "harness",
            "workspace",
            "install",
            "doctor",
            "serve",
            "demo",
            "uninstall",
        ],
    ),
    (
        "Plumbing",
        &[
            "config",
            "inbox",
            "log",
            "schema",
            "completions",
            "man",
            "rebuild",
            "agent-event",
        ],
    ),
];

/// The command line; the program's own help fits on a screen of 24 rows.
pub fn command(terminal_width: Option<usize>) -> Command {
    let command = commands();
    let width = terminal_width.unwrap_or(DEFAULT_WIDTH).min(WIDEST);
    let overview = overview(&command, width);
    let template = format!(
        "{{about}}
{{usage-heading}} {LITERAL}orange [COMMAND]{LITERAL:#}    without a command: the dashboard

{overview}{HEADING}Options:{HEADING:#}    --all (projects), -q (quiet), --json, -h, -V
Run {LITERAL}orange help COMMAND{LITERAL:#} for details, {LITERAL}orange demo{LITERAL:#} to try it."
    );
    let styles = Styles::styled()
        .header(HEADING)
        .usage(HEADING)
        .literal(LITERAL);
    command
        .long_about(None)
        .styles(styles)
        .term_width(width)
        .help_template(template)
}

/// The command line: with `--json` on every command that supports it, and with a note in the help
/// of each short form that names its full command.
pub fn commands() -> Command {
    let mut command = with_json(Arguments::command());
    for (short, long) in SHORT_FORMS {
        let note = format!("Short for {LITERAL}orange task {long}{LITERAL:#}.");
        command = command.mut_subcommand(short, |it| it.after_help(note));
    }
    command
}

/// Commands without an answer in JSON, which get no `--json`.
const WITHOUT_JSON: [&str; 17] = [
    "agent-ask",
    "agent-event",
    "completions",
    "demo",
    "detach",
    "exec-run",
    "freeze-agents",
    "gather",
    "man",
    "openapi",
    "perform",
    "run-job",
    "sandbox-attempts",
    "sandbox-confine",
    "sandbox-init",
    "status-line",
    "tether",
];

/// Adds `--json` to every command except those in `WITHOUT_JSON`.
fn with_json(command: Command) -> Command {
    command.mut_subcommands(|inner| {
        // A group that does something by itself too takes `--json` like any other command.
        let is_group = inner.is_subcommand_required_set();
        let inner = if inner.has_subcommands() {
            with_json(inner)
        } else {
            inner
        };
        if is_group {
            return inner;
        }
        if WITHOUT_JSON.contains(&inner.get_name()) {
            return inner;
        }
        let json = Arg::new("json").long("json").action(ArgAction::SetTrue);
        let help = match inner.get_name() {
            "log" => "Print one JSON object per line",
            "attach" => "Print errors as JSON",
            _ => "Print JSON",
        };
        inner.arg(json.help(help))
    })
}

/// The everyday commands with a line each, then the names of the others by group.
fn overview(command: &Command, width: usize) -> String {
    let mut overview = format!("{HEADING}Everyday:{HEADING:#}\n");
    for name in EVERYDAY {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(overview, "  {LITERAL}{name:9}{LITERAL:#}  {about}");
    }
    for parent in PARENTS {
        let heading = format!("{parent} …");
        let names = subcommands(command, parent);
        push_names(&mut overview, (LITERAL, &heading), &names, width);
    }
    for (group, names) in GROUPS {
        let heading = format!("{group}:");
        push_names(&mut overview, (HEADING, &heading), names, width);
    }
    overview
}

/// Adds a heading and the names after it, in as many lines as needed.
fn push_names(overview: &mut String, heading: (Style, &str), names: &[&str], width: usize) {
    let (style, heading) = heading;
    let _ = write!(overview, "{style}{heading:INDENT$}{style:#}");
    let mut column = INDENT;
    let names = names.join(", ");
    for word in names.split(' ') {
        if column > INDENT && column + 1 + word.len() > width {
            let _ = write!(overview, "\n{:INDENT$}", "");
            column = INDENT;
        }
        let gap = if column > INDENT { " " } else { "" };
        let _ = write!(overview, "{gap}{LITERAL}{word}{LITERAL:#}");
        column += gap.len() + word.len();
    }
    overview.push('\n');
}

/// The subcommands of `parent`, except those that have a short form.
fn subcommands<'a>(command: &'a Command, parent: &str) -> Vec<&'a str> {
    let inner = command.find_subcommand(parent).into_iter();
    let inner = inner.flat_map(Command::get_subcommands);
    let inner = inner.map(Command::get_name);
    let is_short = |name: &&str| parent == "task" && SHORT_FORMS.iter().any(|it| it.1 == *name);
    inner.filter(|name| !is_short(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_is_in_the_help_once() {
        let command = commands();
        let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
        let mut visible: Vec<&str> = visible.map(Command::get_name).collect();
        let grouped = GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
        let mut listed: Vec<&str> = EVERYDAY.into_iter().chain(PARENTS).chain(grouped).collect();
        visible.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, visible);
    }

    #[test]
    fn the_help_fits_on_one_screen() {
        let help = command(Some(80)).render_help().to_string();
        assert!(help.trim_end().lines().count() <= 24, "{help}");
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{help}");
    }

    #[test]
    fn a_short_form_is_a_task_command() {
        let command = commands();
        let task = command.find_subcommand("task").unwrap();
        for (short, long) in SHORT_FORMS {
            let short = command.find_subcommand(short).unwrap();
            let long = task.find_subcommand(long).unwrap();
            assert_eq!(short.get_about().unwrap(), long.get_about().unwrap());
        }
    }
}

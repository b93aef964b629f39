//! Help text that gets a new user started.

use clap::builder::styling::{AnsiColor, Style, Styles};
use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::arguments::Arguments;

/// Longer lines are hard to read, however wide the terminal is.
const WIDEST: usize = 100;

/// The width of the help without a terminal.
const USUAL: usize = 80;

const HEADING: Style = Style::new().bold();
const LITERAL: Style = AnsiColor::Cyan.on_default();

/// The command line; the program's own help lists one line per command.
pub fn command(terminal_width: Option<usize>) -> Command {
    let command = commands();
    let overview = overview(&command);
    let template = format!(
        "{{about-with-newline}}
{{usage-heading}} {{usage}}

{HEADING}Commands:{HEADING:#}
{overview}
{HEADING}Options:{HEADING:#}
{{options}}{{after-help}}"
    );
    let after = format!(
        "{HEADING}Start here:{HEADING:#}
  {LITERAL}orange demo{LITERAL:#}
  {LITERAL}orange workflow simulate default{LITERAL:#}
  {LITERAL}orange project add --harness NAME{LITERAL:#}
  {LITERAL}orange task create my-branch \"What is to be done\"{LITERAL:#}
  {LITERAL}orange task attach TASK{LITERAL:#}

{HEADING}Your own workflows:{HEADING:#}
  They live in ~/orange/workflows/NAME.yml; ORANGE_HOME names another home than ~/orange.

Every command explains itself: {LITERAL}orange help workflow check{LITERAL:#}"
    );
    let styles = Styles::styled()
        .header(HEADING)
        .usage(HEADING)
        .literal(LITERAL);
    // `-h` shows the long text too: its users are just as new.
    let about = command.get_long_about().cloned().unwrap_or_default();
    command
        .about(about)
        .long_about(None)
        .styles(styles)
        .term_width(terminal_width.unwrap_or(USUAL).min(WIDEST))
        .help_template(template)
        .after_help(after)
}

/// The command line, with `--json` on every command that supports it.
pub fn commands() -> Command {
    with_json(Arguments::command())
}

/// Commands without an answer in JSON, which get no `--json`.
const WITHOUT_JSON: [&str; 8] = [
    "agent-event",
    "completions",
    "demo",
    "detach",
    "exec-run",
    "gather",
    "man",
    "perform",
];

/// Adds `--json` to every command except those in `WITHOUT_JSON`.
fn with_json(command: Command) -> Command {
    command.mut_subcommands(|inner| {
        if inner.has_subcommands() {
            return with_json(inner);
        }
        if WITHOUT_JSON.contains(&inner.get_name()) {
            return inner;
        }
        let json = Arg::new("json").long("json").action(ArgAction::SetTrue);
        inner.arg(json.help("Answer in JSON, for programs"))
    })
}

/// One line per command: its name and what it does.
fn overview(command: &Command) -> String {
    let mut lines = Vec::new();
    collect(command, "", &mut lines);
    let widest = lines.iter().map(|(name, _)| name.len()).max();
    let widest = widest.unwrap_or_default();
    let line = |(name, about): &(String, String)| {
        format!("  {LITERAL}{name:widest$}{LITERAL:#}  {about}\n")
    };
    lines.iter().map(line).collect()
}

fn collect(command: &Command, before: &str, lines: &mut Vec<(String, String)>) {
    for command in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        let name = format!("{before}{}", command.get_name());
        if command.has_subcommands() {
            collect(command, &format!("{name} "), lines);
        } else {
            let about = command.get_about().map(ToString::to_string);
            lines.push((name, about.unwrap_or_default()));
        }
    }
}

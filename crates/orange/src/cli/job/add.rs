//! `orange job add`.

use orange_config::{Environment, NewJob};

use super::print_job;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Add a job.
///
/// The schedule has five fields: minute, hour, day of the month, month, day of the week, such as
/// `0 9 * * 1-5` for 9:00 on weekdays. At each of these times the job creates a task with the
/// summary, or runs the command of `--command` in the project's directory. A command does not count
/// as you: orange refuses to change anything for it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// When: five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`.
    #[arg(value_name = "SCHEDULE")]
    pub schedule: String,
    /// The task in one sentence.
    #[arg(value_name = "SUMMARY")]
    pub summary: Option<String>,
    /// Run this shell command instead of creating a task.
    #[arg(
        long,
        value_name = "COMMAND",
        allow_hyphen_values = true,
        conflicts_with_all = ["summary", "context", "workflow", "harness", "model", "effort", "priority"]
    )]
    pub command: Option<String>,
    /// The name [default: made from the summary or the command].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The project [default: that of this directory, else the only registered one].
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// The time zone, such as `Europe/Berlin` [default: that of this machine].
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Further information for the agent.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub context: Option<String>,
    /// The workflow [default: the project's].
    #[arg(long, value_name = "NAME")]
    pub workflow: Option<String>,
    /// The agent [default: the project's].
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,
    /// The model of the agent.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// The reasoning effort of the agent.
    #[arg(long, value_name = "EFFORT")]
    pub effort: Option<String>,
    /// Tasks with a higher priority start first.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub priority: Option<i64>,
    /// Times that passed while orange did not run: `skip`, make up for `one` or for `all` [default:
    /// one].
    #[arg(long, value_name = "RULE", value_parser = ["skip", "one", "all"])]
    pub missed: Option<String>,
    /// How long ago a missed time may be, such as `6h` [default: 24h].
    #[arg(long, value_name = "DURATION")]
    pub window: Option<String>,
    /// While an earlier run works: `skip`, `queue` after it, or `replace` it [default: skip].
    #[arg(long, value_name = "RULE", value_parser = ["skip", "queue", "replace"])]
    pub overlap: Option<String>,
    /// Pause after this many failures in a row; 0 for never [default: 3].
    #[arg(long, value_name = "COUNT")]
    pub pause_after: Option<u32>,
    /// End the command after this time, such as `10m` [default: 30m].
    #[arg(long, value_name = "DURATION", requires = "command")]
    pub timeout: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let work = args.summary.as_ref().or(args.command.as_ref());
    let work = work.ok_or_else(|| {
        Error::usage("`orange job add` needs a summary, or a command with `--command COMMAND`")
            .hint("`orange job add --help` has examples")
    })?;
    let driver = driver(environment)?;
    let project = driver.requests.project_of_job(args.project.as_deref())?;
    let name = args.name.clone().unwrap_or_else(|| name_from(work));
    let new = NewJob::default()
        .text("name", Some(name))
        .text("schedule", Some(args.schedule.as_str()))
        .text("zone", args.zone.as_deref())
        .text("project", Some(project.as_str()))
        .text("summary", args.summary.as_deref())
        .text("command", args.command.as_deref())
        .text("context", args.context.as_deref())
        .text("workflow", args.workflow.as_deref())
        .text("harness", args.harness.as_deref())
        .text("model", args.model.as_deref())
        .text("effort", args.effort.as_deref())
        .number("priority", args.priority)
        .text("missed", args.missed.as_deref())
        .text("window", args.window.as_deref())
        .text("overlap", args.overlap.as_deref())
        .number("pause_after", args.pause_after.map(i64::from))
        .text("timeout", args.timeout.as_deref());
    let job = driver.requests.add_job(&new)?;
    print_job(&job, "added", output)
}

/// The first words of a text, as a name.
fn name_from(text: &str) -> String {
    let words = text.split(|it: char| !it.is_ascii_alphanumeric());
    let words = words.filter(|it| !it.is_empty()).take(4);
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    let name = words.join("-");
    let name = name.get(..40).unwrap_or(&name).trim_end_matches('-');
    if name.is_empty() { "job" } else { name }.to_owned()
}

//! `orange sandbox explain`.

use std::path::PathBuf;

use orange_config::{Environment, HostPort, NetworkMode, SandboxMode};
use orange_driver::{Level, SandboxExplanation, SandboxInside};
use orange_engine::wording::describe_bytes;

use crate::cli::request::requests::TaskArg;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<SandboxExplanation>("orange.sandbox.explain/1");

/// Explain the sandbox of a task's agent.
///
/// Shows what the live agent sees, reaches and keeps; if none is alive, what the next worker gets.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: TaskArg,
    /// Show the arguments of bwrap instead, one per line.
    #[arg(long)]
    pub argv: bool,
    /// Show instead a profile for `sandbox-exec` of macOS that allows the same; untested.
    #[arg(long, conflicts_with = "argv")]
    pub seatbelt: bool,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (driver, task) = args.target.find(environment)?;
    if args.seatbelt && !output.is_json() {
        let profile = driver.workspaces.seatbelt_profile(&task)?;
        return answer_lines(profile.lines(), output);
    }
    let explanation = driver.workspaces.explain_sandbox(&task)?;
    if output.is_json() {
        return SHAPE.print(&explanation, output);
    }
    if args.argv {
        let words = explanation.inside.iter().flat_map(|it| &it.bwrap);
        return answer_lines(words.map(String::as_str), output);
    }
    output.answer(&text(&explanation, output.answer_width()))?;
    Ok(Exit::Ok)
}

fn answer_lines<'a>(
    lines: impl Iterator<Item = &'a str>,
    output: &mut Output,
) -> Result<Exit, Error> {
    let mut text = Text::new();
    for line in lines {
        text.push(Style::Plain, line);
        text.end_line();
    }
    output.answer(&text)?;
    Ok(Exit::Ok)
}

/// Lines of a name and a value.
struct Lines {
    text: Text,
    width: Option<usize>,
}

impl Lines {
    fn push(&mut self, name: &str, value: &str) {
        let name = format!("{name:<11}");
        let parts = [(Style::Bold, name.as_str()), (Style::Plain, value)];
        self.text.push_line(&parts, name.len(), self.width);
    }

    /// One value per line.
    fn push_all(&mut self, name: &str, values: impl IntoIterator<Item = String>) {
        for (index, value) in values.into_iter().enumerate() {
            self.push(if index == 0 { name } else { "" }, &value);
        }
    }
}

fn text(explanation: &SandboxExplanation, width: Option<usize>) -> Text {
    let mut lines = Lines {
        text: Text::new(),
        width,
    };
    let whose = match &explanation.run {
        Some(run) => format!("{} ({run}), running now", explanation.role),
        None => format!("the next {}", explanation.role),
    };
    lines.push("agent", &format!("{whose}, with {}", explanation.harness));
    let level = match (explanation.level, &explanation.run) {
        (Level::Full, _) => String::from("full"),
        (Level::Partial, _) => String::from("partial: Landlock and seccomp without namespaces"),
        (Level::None, Some(_)) => String::from("none: it was started without a sandbox"),
        (Level::None, None) if explanation.is_needed => {
            String::from("none: agents do not start, because the workflow needs a sandbox")
        }
        (Level::None, None) => String::from(match explanation.mode {
            SandboxMode::Off => "none: `sandbox.mode` is \"off\"",
            SandboxMode::Auto | SandboxMode::Required => "none: agents do not start",
        }),
    };
    lines.push("level", &level);
    for gap in &explanation.gaps {
        lines.push(
            "missing",
            &format!("{}. To fix it: {}", gap.reason, gap.fix),
        );
    }
    if let Some(inside) = &explanation.inside {
        push_inside(&mut lines, inside, explanation.level);
    }
    lines.text
}

/// What the agent can do at the partial level alone.
const WEAKER: [&str; 6] = [
    "git in its worktree outside may run what the agent wrote there",
    "it sees the names and arguments of your processes",
    "it sees whether a file exists, its size and its times, and can change its mode",
    "it reads the addresses in the configuration of your repository",
    "with a limited network, programs cannot open ports",
    "/tmp, /dev/shm, Unix sockets and new terminals are refused",
];

fn push_inside(lines: &mut Lines, inside: &SandboxInside, level: Level) {
    let hosts: Vec<String> = inside.hosts.iter().map(HostPort::to_string).collect();
    let mut network = match (inside.network, hosts.as_slice()) {
        (NetworkMode::Open, _) => {
            String::from("open: everything that this machine reaches, also its own ports")
        }
        (NetworkMode::None, _) | (NetworkMode::List, []) => String::from("none"),
        (NetworkMode::List, hosts) => format!("only {}", hosts.join(", ")),
    };
    if inside.has_outside_text && inside.network != NetworkMode::Open {
        network.push_str(" (the task has text from an issue or a pull request)");
    }
    lines.push("network", &network);
    let login = inside.login_outside.as_ref().map_or_else(
        || String::from("none stays outside"),
        |name| format!("{name} stays outside, and is added to requests"),
    );
    lines.push("login", &login);
    let repository = inside.shared_repository.as_ref().map_or_else(
        || String::from("private; commits are imported into yours"),
        |reason| {
            let part = match level {
                Level::Partial => "its refs and objects, not its configuration and hooks",
                Level::None | Level::Full => "all of it",
            };
            format!("yours, because {reason}: the agent can change {part}")
        },
    );
    lines.push("repository", &repository);
    let home = inside
        .home
        .iter()
        .map(|it| format!("private, in {}", it.display()));
    lines.push_all("home", home);
    lines.push_all("writes", paths(&inside.writes));
    lines.push_all("copies", paths(&inside.copies));
    lines.push_all("reads", paths(&inside.reads));
    lines.push_all("not shown", paths(&inside.not_shown));
    lines.push(
        "hides",
        match level {
            Level::Partial => "the content of everything else in your home, and of orange's home",
            Level::None | Level::Full => {
                "everything else in your home, orange's home, your processes"
            }
        },
    );
    lines.push("", &inside.hidden_variables.join(", "));
    if level == Level::Partial {
        lines.push_all("weaker", WEAKER.map(str::to_owned));
    }
    let processes = inside.max_processes.map(|it| format!("{it} processes"));
    let bytes = inside.max_file_bytes;
    let bytes = bytes.map(|it| format!("{} per file", describe_bytes(it)));
    let temporary = inside.max_temporary_bytes;
    let temporary = temporary.map(|it| format!("{} in /tmp", describe_bytes(it)));
    let limits: Vec<String> = processes
        .into_iter()
        .chain(bytes)
        .chain(temporary)
        .collect();
    lines.push(
        "limits",
        &format!("{}; memory is not limited", limits.join(", ")),
    );
}

fn paths(paths: &[PathBuf]) -> impl Iterator<Item = String> {
    paths.iter().map(|it| it.display().to_string())
}

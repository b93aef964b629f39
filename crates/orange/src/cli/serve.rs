//! `orange serve`.

use std::path::Path;
use std::thread;
use std::time::Duration;

use orange_config::Environment;
use orange_driver::Driver;
use orange_driver::supervisor::{Settings, Supervisor};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

/// How long a supervisor may take to start or to stop.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(30);

/// Run the supervisor.
///
/// The supervisor reacts when an agent exits, a file is written, a timeout expires or a queued task
/// can start, and does what the workflow says. There is at most one supervisor for each home
/// directory. You can stop it at any time: agents keep running, and the next supervisor continues.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run in the background.
    #[arg(long, conflicts_with = "stop")]
    pub detach: bool,
    /// Stop the running supervisor; agents keep running.
    #[arg(long)]
    pub stop: bool,
    /// Print a service file that starts the supervisor at login.
    #[arg(long, value_name = "MANAGER", conflicts_with_all = ["detach", "stop"])]
    pub unit: Option<Manager>,
}

pub const SHAPE: Shape = Shape::of::<Body>("orange.serve/1");

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    /// Whether a supervisor is running for this home.
    is_supervised: bool,
    /// The process that was started or stopped.
    pid: Option<u32>,
    /// The service file.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
}

/// A service manager.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Manager {
    /// `~/.config/systemd/user/orange.service`
    Systemd,
    /// `~/Library/LaunchAgents/orange.plist`
    Launchd,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    driver.callers.require_user("supervise")?;
    if let Some(manager) = args.unit {
        let orange = std::env::current_exe().map_err(Error::not_started)?;
        let unit = unit(manager, &orange, driver.context.home().path())?;
        if !output.is_json() {
            output.answer_exactly(unit.as_bytes())?;
            return Ok(Exit::Ok);
        }
        let body = Body {
            is_supervised: driver.context.is_supervised(),
            pid: None,
            unit: Some(unit),
        };
        return SHAPE.print(&body, output);
    }
    if args.stop {
        let pid = driver.context.stop_supervisor(SUPERVISOR_TIMEOUT)?;
        let text = match pid {
            Some(pid) => format!("supervisor stopped (pid {pid}); agents keep running"),
            None => String::from("no supervisor is running"),
        };
        let body = Body {
            is_supervised: false,
            pid,
            unit: None,
        };
        return answer(&text, &body, output);
    }
    if args.detach {
        let pid = driver.context.start_supervisor(SUPERVISOR_TIMEOUT)?;
        let body = Body {
            is_supervised: true,
            pid: Some(pid),
            unit: None,
        };
        let text = format!("supervisor running (pid {pid})");
        return answer(&text, &body, output);
    }
    supervise(driver, output)
}

fn supervise(driver: Driver, output: &mut Output) -> Result<Exit, Error> {
    let home = driver.context.home().path().display().to_string();
    let settings = Settings::from(&driver.context.settings(None)?.supervisor);
    let supervisor = Supervisor::new(driver, settings)?;
    let stopper = supervisor.stopper();
    let signals = Signals::new([SIGINT, SIGTERM]);
    let mut signals = signals.map_err(Error::not_started)?;
    let handle = signals.handle();
    let listener = thread::spawn(move || {
        if signals.forever().next().is_some() {
            stopper.stop();
        }
    });
    let mut text = Text::new();
    text.push(
        Style::Plain,
        &format!("supervising {home}; stop with Ctrl-C, agents keep running"),
    );
    text.end_line();
    output.narrate(&text);
    let result = supervisor.run();
    handle.close();
    // This does not block: closing the handle has ended the listener's wait for signals.
    let _joined = listener.join();
    result?;
    Ok(Exit::Ok)
}

/// The text of the service file. It tells the service manager to stop only the supervisor, so that
/// agents keep running.
fn unit(manager: Manager, orange: &Path, home: &Path) -> Result<String, Error> {
    let plain = |path: &Path| {
        let text = path.to_str().filter(|text| text.chars().all(is_plain));
        text.map(str::to_owned).ok_or_else(|| {
            let shown = path.display();
            Error::not_started(format!(
                "`{shown}` has characters that are special to a service manager; move it"
            ))
        })
    };
    let (orange, home) = (plain(orange)?, plain(home)?);
    Ok(match manager {
        Manager::Systemd => format!(
            "# Save as ~/.config/systemd/user/orange.service, then run:\n\
             #   systemctl --user enable --now orange\n\
             [Unit]\n\
             Description=orange supervises coding agents\n\n\
             [Service]\n\
             Environment=ORANGE_HOME={home}\n\
             ExecStart={orange} serve\n\
             Restart=on-failure\n\
             KillMode=process\n\n\
             [Install]\n\
             WantedBy=default.target\n"
        ),
        Manager::Launchd => format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!-- Save as ~/Library/LaunchAgents/orange.plist, then run:\n     \
             launchctl load ~/Library/LaunchAgents/orange.plist -->\n\
             <plist version=\"1.0\"><dict>\n\
             <key>Label</key><string>orange</string>\n\
             <key>ProgramArguments</key>\n\
             <array><string>{orange}</string><string>serve</string></array>\n\
             <key>EnvironmentVariables</key>\n\
             <dict><key>ORANGE_HOME</key><string>{home}</string></dict>\n\
             <key>RunAtLoad</key><true/>\n\
             <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n\
             <key>AbandonProcessGroup</key><true/>\n\
             </dict></plist>\n"
        ),
    })
}

fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "/._-+@".contains(character)
}

fn answer(message: &str, body: &Body, output: &mut Output) -> Result<Exit, Error> {
    if output.is_json() {
        return SHAPE.print(body, output);
    }
    let text = Text::line(Style::Plain, message);
    output.answer(&text)?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use orange_engine::chat::answer::{TaskLine, help, list, unknown_task};
    use orange_engine::chat::command::{USER_COMMANDS, read_command};

    use crate::cli::help::command;

    /// Every answer that can name a command line.
    fn answers() -> Vec<String> {
        let task = TaskLine {
            id: String::from("k3f9"),
            status: String::from("working"),
            summary: String::from("Fix it"),
            needs_user: false,
        };
        let mut answers = vec![help(), list(&vec![task; 40]), unknown_task("k3f9")];
        let named = USER_COMMANDS.iter().map(|(name, _)| name);
        answers.extend(named.map(|name| read_command(&format!("{name} k3f9"), &[]).unwrap_err()));
        answers
    }

    #[test]
    fn every_command_line_that_a_chat_is_answered_with_exists() {
        let mut count = 0;
        for answer in answers() {
            let lines = answer.split(['`', '\n']);
            for line in lines.filter(|it| it.starts_with("orange ")) {
                let typed = line.replace("NUMBER", "1");
                let parsed = command(None).try_get_matches_from(typed.split(' '));
                assert!(parsed.is_ok(), "`{line}`: {parsed:?}");
                count += 1;
            }
        }
        assert_eq!(count, USER_COMMANDS.len() + 1);
    }
}

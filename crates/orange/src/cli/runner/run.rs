//! `orange runner run`.

use std::thread;
use std::time::Duration;

use orange_config::Environment;
use orange_driver::fleet::Runner;
use orange_driver::supervisor::{Settings, Supervisor};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::{Output, Style, Text};

/// Work on tasks of the fleet.
///
/// Runs the supervisor too, unless `orange serve` does. You can stop it at any time: agents keep
/// running for as long as the server may count on this machine, then they are frozen until it runs
/// again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many tasks it holds at most.
    #[arg(long, value_name = "COUNT", default_value_t = 4)]
    pub room: u32,
    /// Seconds between two saves of uncommitted work.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub save_work: u64,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    driver.callers.require_user("work for a fleet")?;
    let runner = Runner::new(
        driver.clone(),
        args.room,
        Duration::from_secs(args.save_work),
    )?;
    let supervisor = if driver.context.is_supervised() {
        None
    } else {
        let settings = Settings::from(&driver.context.settings(None)?.supervisor);
        Some(Supervisor::new(driver.clone(), settings)?)
    };
    let stop_supervisor = supervisor.as_ref().map(Supervisor::stopper);
    let stopper = runner.stopper();
    let signals = Signals::new([SIGINT, SIGTERM]);
    let mut signals = signals.map_err(Error::not_started)?;
    let handle = signals.handle();
    let listener = thread::spawn(move || {
        if signals.forever().next().is_some() {
            stopper.stop();
        }
    });
    let mut text = Text::new();
    text.push(Style::Plain, "working for the fleet; stop with Ctrl-C");
    text.end_line();
    output.narrate(&text);
    let supervising = supervisor.map(|it| thread::spawn(move || it.run()));
    let result = runner.run();
    if let Some(stopper) = stop_supervisor {
        stopper.stop();
    }
    handle.close();
    // Neither blocks: closing the handle has ended the listener's wait, and the supervisor stops.
    let _joined = listener.join();
    let supervised = supervising.map(thread::JoinHandle::join);
    result?;
    if let Some(Ok(supervised)) = supervised {
        supervised?;
    }
    Ok(Exit::Ok)
}

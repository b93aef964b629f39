//! `orange demo`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use orange_config::Environment;
use orange_config::clock::Deadline;
use orange_driver::supervisor::{Settings, Stopper, Supervisor};
use orange_driver::{Answer, Asked, Demo, Driver, Follower, NewWork, TaskRow, Waiting};
use orange_engine::activity::Doing;
use orange_engine::attention::Need;
use orange_engine::effect::MergeStrategy;
use orange_engine::event::Fact;
use orange_engine::history::told;
use orange_engine::input::{Ask, Request};
use orange_engine::language::workflow::Kind;
use orange_engine::names::{BranchName, TaskId};
use orange_engine::role::Role;
use orange_engine::task::{Queueing, Tuning};
use orange_engine::time::Timestamp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::Dashboard;
use super::request::interrupted::{Signal, Waited};
use super::task::matters;
use crate::cli::{Error, Exit};
use crate::output::{Output, Style, Text};

/// Poll interval for changes.
const TICK: Duration = Duration::from_millis(100);

/// How long nothing may happen before the demo fails, on top of the agents' pauses.
const STILL: Duration = Duration::from_mins(3);

/// The branch of each demo task, and a summary that tells the user what to do.
const TASKS: &[(&str, &str)] = &[
    ("french", "Greet in French: watch it, then press m to merge"),
    ("polite", "Greet nicely: press i to answer its question"),
];

/// One more task, for users who want to try things.
const WAITING: (&str, &str) = ("goodbye", "Say goodbye: press Enter to start it");

/// The answer to the second task's question when there is no user to give one.
const ANSWER: &str = "With the name, please.";

/// See it all in two minutes.
///
/// Agents that follow a script work on two tasks, in a repository and a home of their own in a
/// temporary folder: they plan, work, are reviewed, fail once and mend it, and one asks what is
/// meant. At a terminal the dashboard opens, and you review and merge; elsewhere, or with
/// `--no-dashboard`, each step is printed and yours are played too.
///
/// No account and no key is needed, and nothing of yours is touched: not your home, your projects,
/// your settings or your tmux. Everything goes at the end, the folder too, unless it is kept.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print each step as it happens, and play the person too.
    #[arg(long)]
    pub no_dashboard: bool,
    /// Leave the folder where it is at the end; everything that runs in it is ended.
    #[arg(long)]
    pub keep: bool,
    /// How many seconds agents rest between two steps.
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub pause: u64,
}

fn stuck(branch: &str) -> Error {
    let message =
        format!("cannot play the demo to its end: nothing happens any more with `{branch}`");
    Error::new(Exit::Unexpected, "system-failed", message).hint(
        "run `orange demo --no-dashboard --keep`, and read `orange/orange.log` in the folder that \
         it names",
    )
}

/// Shows or plays the demo, then cleans up.
pub fn run(
    args: &Args,
    dashboard: Dashboard,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let orange = std::env::current_exe().map_err(Error::not_started)?;
    let asked = Signals::listen().map_err(Error::not_started)?;
    for left in Demo::left(environment, &orange) {
        let folder = left.folder().display();
        say(
            output,
            &format!("removing `{folder}`, which a demo that was killed has left"),
        );
        left.end(false)?;
    }
    let demo = Demo::new(environment, &orange, args.pause)?;
    let folder = demo.folder().display().to_string();
    let end = if args.keep {
        "stays"
    } else {
        "is removed at the end"
    };
    say(output, &format!("everything is in `{folder}`, which {end}"));
    let played = if args.no_dashboard || !output.has_person() {
        play(&demo, args.pause, &asked, output)
    } else {
        show(&demo, dashboard, output)
    };
    let home = demo.driver().context.home().path().display().to_string();
    demo.end(args.keep)?;
    played?;
    say(
        output,
        &if args.keep {
            format!(
                "`ORANGE_HOME={home} orange task list --all-statuses --all` shows what was done"
            )
        } else {
            format!("removed `{folder}`; `orange` in a repository of yours opens the same")
        },
    );
    Ok(Exit::Ok)
}

fn say(output: &mut Output, text: &str) {
    let mut said = Text::new();
    said.push_line(&[(Style::Plain, text)], 2, output.narration_width());
    output.narrate(&said);
}

/// The signals received. None of them kills this process: it has to clean up first.
struct Signals {
    interrupt: Arc<AtomicBool>,
    end: Arc<AtomicBool>,
}

impl Signals {
    fn listen() -> std::io::Result<Signals> {
        let heard = Signals {
            interrupt: Arc::default(),
            end: Arc::default(),
        };
        flag::register(SIGINT, Arc::clone(&heard.interrupt))?;
        for signal in [SIGTERM, SIGHUP] {
            flag::register(signal, Arc::clone(&heard.end))?;
        }
        Ok(heard)
    }

    fn heard(&self) -> Option<Signal> {
        let end = self.end.load(Ordering::SeqCst).then_some(Signal::Terminate);
        let interrupt = self.interrupt.load(Ordering::SeqCst);
        interrupt.then_some(Signal::Interrupt).or(end)
    }
}

/// Opens the dashboard, which also supervises, until the user quits it.
fn show(demo: &Demo, dashboard: Dashboard, output: &Output) -> Result<(), Error> {
    for task in TASKS {
        begin(demo, task, true)?;
    }
    begin(demo, &WAITING, false)?;
    let shown = dashboard(demo.driver(), Some(demo.project()), false, output);
    shown.map_err(Error::dashboard)
}

/// Plays the demo to its end and prints each step.
fn play(demo: &Demo, pause: u64, asked: &Signals, output: &mut Output) -> Result<(), Error> {
    let supervising = Supervising::start(demo.driver())?;
    let mut tasks = Vec::new();
    for task in TASKS {
        tasks.push(Played::new(begin(demo, task, true)?, task.0));
    }
    let still = STILL + Duration::from_secs(pause.saturating_mul(10));
    let mut follower = demo.driver().views.follower();
    let mut patience = Deadline::after(still);
    while tasks.iter().any(|task| !task.is_over) {
        if let Some(signal) = asked.heard() {
            return Err(signal.during(&Waited::Demo));
        }
        if advance(demo.driver(), &mut follower, &mut tasks, output)? {
            patience = Deadline::after(still);
        } else if patience.has_passed() {
            let left = tasks.iter().find(|task| !task.is_over);
            return Err(stuck(left.map_or("", |task| task.branch)));
        }
        let mut is_merging = tasks.iter().any(|task| task.is_merging && !task.is_over);
        for task in tasks.iter_mut().filter(|task| !task.is_over) {
            task.answer(demo.driver(), is_merging, output)?;
            is_merging |= task.is_merging;
        }
        thread::sleep(TICK);
    }
    drop(supervising);
    Ok(())
}

/// Prints what has happened since the last call; returns whether anything has.
fn advance(
    driver: &Driver,
    follower: &mut Follower,
    tasks: &mut [Played],
    output: &mut Output,
) -> Result<bool, Error> {
    let Some(change) = follower.change()? else {
        return Ok(false);
    };
    for row in change.rows {
        if let Some(task) = tasks.iter_mut().find(|task| task.id == row.id) {
            task.row = Some(row);
            task.tell(driver, output)?;
        }
    }
    Ok(true)
}

fn begin(demo: &Demo, (branch, summary): &(&str, &str), starts: bool) -> Result<TaskId, Error> {
    let new = NewWork {
        project: Some(demo.project()),
        by: Role::Human,
        summary: (*summary).to_owned(),
        context: None,
        branch: Some(BranchName::new(*branch)),
        workflow: None,
        harness: None,
        review_harness: None,
        status: None,
        tuning: Tuning::default(),
        queueing: Queueing::default(),
    };
    // The supervisor performs what this plans.
    let begun = demo.driver().requests.begin(&new, starts, Waiting::Not)?;
    match begun.created {
        Answer::Done(changed) | Answer::StillRunning(changed) => Ok(changed.task.id),
        Answer::Already(task) => Ok(task.id),
        Answer::Refused(refusal) => Err(refusal.into()),
    }
}

/// A task of the demo without the dashboard.
struct Played {
    id: TaskId,
    branch: &'static str,
    row: Option<TaskRow>,
    version: u64,
    /// When the task entered the status in which the user's part was last played.
    acted: Option<Timestamp>,
    is_merging: bool,
    is_over: bool,
}

impl Played {
    fn new(id: TaskId, branch: &'static str) -> Played {
        Played {
            id,
            branch,
            row: None,
            version: 0,
            acted: None,
            is_merging: false,
            is_over: false,
        }
    }

    fn tell(&mut self, driver: &Driver, output: &mut Output) -> Result<(), Error> {
        let all = driver.views.history(&self.id, 0)?;
        let new = all.iter().filter(|event| event.version > self.version);
        for event in new.filter(|event| matters(&event.fact)) {
            let told = told(&event.fact, &all);
            let style = match &event.fact {
                Fact::StatusChanged(_) => Style::Bold,
                Fact::AttentionRaised { .. } => Style::Bad,
                _ => Style::Plain,
            };
            self.line(style, told.lines().next().unwrap_or_default(), output)?;
        }
        self.version = all.last().map_or(self.version, |event| event.version);
        Ok(())
    }

    fn line(&self, style: Style, text: &str, output: &mut Output) -> Result<(), Error> {
        let name = format!("{:7} ", self.branch);
        let mut line = Text::new();
        line.push_line(
            &[(Style::Plain, &name), (style, text)],
            name.len(),
            output.answer_width(),
        );
        Ok(output.answer(&line)?)
    }

    /// Answers a question and merges reviewed work, once per status that asks for it.
    fn answer(
        &mut self,
        driver: &Driver,
        is_merging: bool,
        output: &mut Output,
    ) -> Result<(), Error> {
        let Some(row) = self.row.clone() else {
            return Ok(());
        };
        self.is_over = row.kind == Some(Kind::Terminal);
        if self.acted == row.entered_at {
            return Ok(());
        }
        let (ask, message, told) = match row.need {
            // The answer is sent only once the agent has asked and waits for it.
            Some(Need::Question) if is_waiting(driver, &row) => (
                Ask::Tell { role: None },
                Some(ANSWER.to_owned()),
                format!("you answer: {ANSWER}"),
            ),
            // One merge at a time: each is decided for the default branch as it is then.
            Some(Need::Review) if !is_merging => (
                Ask::Merge {
                    leave_rest: false,
                    strategy: MergeStrategy::Merge,
                    local: true,
                },
                None,
                String::from("you merge it"),
            ),
            _ => return Ok(()),
        };
        self.acted = row.entered_at;
        self.is_merging = row.need == Some(Need::Review);
        self.line(Style::Good, &told, output)?;
        let came = driver.requests.ask(&Asked {
            task: self.id.clone(),
            request: Request {
                by: Role::Human,
                ask,
                confirmed: false,
                message,
                head: None,
            },
            waiting: Waiting::Not,
        })?;
        match came {
            Answer::Refused(refusal) => Err(refusal.into()),
            Answer::Done(_) | Answer::StillRunning(_) | Answer::Already(_) => Ok(()),
        }
    }
}

/// Whether the agent reports that it waits for the user.
fn is_waiting(driver: &Driver, row: &TaskRow) -> bool {
    let doing = driver.views.doing_of(std::slice::from_ref(row));
    let waits = [Doing::WaitingForPermission, Doing::WaitingForInput];
    doing
        .get(&row.id)
        .is_some_and(|doing| waits.contains(doing))
}

/// The supervisor in this process; dropping this asks it to stop.
struct Supervising {
    stopper: Stopper,
    _thread: JoinHandle<()>,
}

impl Supervising {
    fn start(driver: &Driver) -> Result<Supervising, Error> {
        let supervisor = Supervisor::new(driver.clone(), Settings::default())?;
        let stopper = supervisor.stopper();
        let thread = thread::Builder::new().name(String::from("supervise"));
        let thread = thread.spawn(move || {
            // If it fails, the demo notices that nothing happens any more.
            let _ended = supervisor.run();
        });
        let thread = thread.map_err(Error::not_started)?;
        Ok(Supervising {
            stopper,
            _thread: thread,
        })
    }
}

impl Drop for Supervising {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

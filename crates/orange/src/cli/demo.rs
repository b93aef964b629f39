//! `orange demo`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use orange_config::Environment;
use orange_config::clock::Deadline;
use orange_driver::supervisor::{Settings, Stopper, Supervisor};
use orange_driver::{
    Answer, Demo, Driver, Follower, NewTaskRequest, TaskRequest, TaskRow, WaitPolicy,
};
use orange_engine::activity::ActivityState;
use orange_engine::attention::Need;
use orange_engine::event::Fact;
use orange_engine::history::{describe, is_notable};
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::workflow::Kind;
use orange_engine::names::{BranchName, TaskId};
use orange_engine::role::Role;
use orange_engine::task::{AgentSettings, Queueing};
use orange_engine::time::Timestamp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::Dashboard;
use super::request::interruption::{Signal, WaitSubject};
use crate::cli::{Error, Exit};
use crate::output::{Output, Style, Text};

/// Poll interval for changes.
const TICK: Duration = Duration::from_millis(100);

/// The demo fails if nothing happens for this long, plus the agents' pauses.
const STALL_TIMEOUT: Duration = Duration::from_mins(3);

/// The branch of each demo task, and a summary that tells the user what to do.
const TASKS: &[(&str, &str)] = &[
    ("french", "Greet in French: watch it, then press m to merge"),
    ("polite", "Greet nicely: press i to answer its question"),
];

/// One more task, which the user can start.
const WAITING: (&str, &str) = ("goodbye", "Say goodbye: press Enter to start it");

/// The answer to the second task's question when there is no user to give one.
const ANSWER: &str = "With the name, please.";

/// Try orange in two minutes.
///
/// Scripted agents work on two tasks in a temporary folder with its own repository and home
/// directory. They plan, work and get reviewed; one fails its review once and fixes the work, and
/// one asks a question. At a terminal the dashboard opens, and you review and merge. Otherwise, or
/// with `--no-dashboard`, the demo prints each step and plays your part too.
///
/// You need no account and no key. The demo does not touch your tasks, projects, settings or tmux.
/// At the end everything is removed, including the folder, unless you pass `--keep`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print each step as it happens, and play your part too.
    #[arg(long)]
    pub no_dashboard: bool,
    /// Keep the folder at the end; everything that runs in it is stopped.
    #[arg(long)]
    pub keep: bool,
    /// Seconds that agents pause between two steps.
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub pause: u64,
}

fn stalled_error(branch: &str) -> Error {
    let message = format!("cannot finish the demo: `{branch}` makes no progress");
    Error::new(Exit::Unexpected, "system-failed", message).hint(
        "run `orange demo --no-dashboard --keep`, and read `orange/orange.log` in the folder that \
         it prints",
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
    let signals = Signals::listen().map_err(Error::not_started)?;
    for abandoned in Demo::find_abandoned(environment, &orange) {
        let folder = abandoned.folder().display();
        narrate(
            output,
            &format!("removing `{folder}`, left by a demo that was killed"),
        );
        abandoned.end(false)?;
    }
    let demo = Demo::new(environment, &orange, args.pause)?;
    let folder = demo.folder().display().to_string();
    let end = if args.keep {
        "is kept"
    } else {
        "is removed at the end"
    };
    narrate(output, &format!("everything is in `{folder}`, which {end}"));
    let result = if args.no_dashboard || !output.is_interactive() {
        play(&demo, args.pause, &signals, output)
    } else {
        show(&demo, dashboard, output)
    };
    let home = demo.driver().context.home().path().display().to_string();
    demo.end(args.keep)?;
    result?;
    narrate(
        output,
        &if args.keep {
            format!(
                "`ORANGE_HOME={home} orange task list --all-statuses --all` shows what was done"
            )
        } else {
            format!("removed `{folder}`; run `orange` in your own repository to open its dashboard")
        },
    );
    Ok(Exit::Ok)
}

fn narrate(output: &mut Output, text: &str) {
    let mut message = Text::new();
    message.push_line(&[(Style::Plain, text)], 2, output.narration_width());
    output.narrate(&message);
}

/// The signals received. None of them kills this process: it has to clean up first.
struct Signals {
    interrupt: Arc<AtomicBool>,
    end: Arc<AtomicBool>,
}

impl Signals {
    fn listen() -> std::io::Result<Signals> {
        let signals = Signals {
            interrupt: Arc::default(),
            end: Arc::default(),
        };
        flag::register(SIGINT, Arc::clone(&signals.interrupt))?;
        for signal in [SIGTERM, SIGHUP] {
            flag::register(signal, Arc::clone(&signals.end))?;
        }
        Ok(signals)
    }

    fn received(&self) -> Option<Signal> {
        let end = self.end.load(Ordering::SeqCst).then_some(Signal::Terminate);
        let interrupt = self.interrupt.load(Ordering::SeqCst);
        interrupt.then_some(Signal::Interrupt).or(end)
    }
}

/// Opens the dashboard until the user quits it. The dashboard also supervises the agents.
fn show(demo: &Demo, dashboard: Dashboard, output: &Output) -> Result<(), Error> {
    let mut tasks = Vec::new();
    for task in TASKS {
        tasks.push(create_task(demo, task, true)?);
    }
    create_task(demo, &WAITING, false)?;
    let result = dashboard(demo.driver(), Some(demo.project()), false, &tasks, output);
    result.map_err(Error::dashboard)
}

/// Plays the demo to its end and prints each step.
fn play(demo: &Demo, pause: u64, signals: &Signals, output: &mut Output) -> Result<(), Error> {
    let supervisor = SupervisorThread::start(demo.driver())?;
    let mut tasks = Vec::new();
    for task in TASKS {
        tasks.push(DemoTask::new(create_task(demo, task, true)?, task.0));
    }
    let stall_timeout = STALL_TIMEOUT + Duration::from_secs(pause.saturating_mul(10));
    let mut follower = demo.driver().views.follower();
    let mut stall_deadline = Deadline::after(stall_timeout);
    while tasks.iter().any(|task| !task.is_over) {
        if let Some(signal) = signals.received() {
            return Err(signal.interruption_error(&WaitSubject::Demo));
        }
        if advance(demo.driver(), &mut follower, &mut tasks, output)? {
            stall_deadline = Deadline::after(stall_timeout);
        } else if stall_deadline.has_passed() {
            let stalled = tasks.iter().find(|task| !task.is_over);
            return Err(stalled_error(stalled.map_or("", |task| task.branch)));
        }
        let mut is_merging = tasks.iter().any(|task| task.is_merging && !task.is_over);
        for task in tasks.iter_mut().filter(|task| !task.is_over) {
            task.answer(demo.driver(), is_merging, output)?;
            is_merging |= task.is_merging;
        }
        thread::sleep(TICK);
    }
    drop(supervisor);
    Ok(())
}

/// Prints what has happened since the last call; returns whether anything has.
fn advance(
    driver: &Driver,
    follower: &mut Follower,
    tasks: &mut [DemoTask],
    output: &mut Output,
) -> Result<bool, Error> {
    let Some(change) = follower.change()? else {
        return Ok(false);
    };
    for row in change.rows {
        if let Some(task) = tasks.iter_mut().find(|task| task.id == row.id) {
            task.row = Some(row);
            task.print_new_events(driver, output)?;
        }
    }
    Ok(true)
}

fn create_task(
    demo: &Demo,
    (branch, summary): &(&str, &str),
    starts: bool,
) -> Result<TaskId, Error> {
    let new = NewTaskRequest {
        project: Some(demo.project()),
        by: Role::Human,
        summary: (*summary).to_owned(),
        context: None,
        branch: Some(BranchName::new(*branch)),
        workflow: None,
        harness: None,
        review_harness: None,
        status: None,
        agent_settings: AgentSettings::default(),
        labels: Vec::new(),
        queueing: Queueing::default(),
        issue: None,
        job: None,
        pull_request: None,
    };
    // Do not wait: the supervisor performs the effects that this request plans.
    let created = demo
        .driver()
        .requests
        .create_and_start(&new, starts, WaitPolicy::Skip)?;
    match created.created {
        Answer::Done(changed) | Answer::StillRunning(changed) => Ok(changed.task.id),
        Answer::AlreadyDone(task) => Ok(task.id),
        Answer::Refused(refusal) => Err(refusal.into()),
    }
}

/// A task of a demo that runs without the dashboard.
struct DemoTask {
    id: TaskId,
    branch: &'static str,
    row: Option<TaskRow>,
    /// The version of the latest event that has been handled.
    version: u64,
    /// When the task entered the status in which the user's part was last played.
    acted_in_status_since: Option<Timestamp>,
    is_merging: bool,
    is_over: bool,
}

impl DemoTask {
    fn new(id: TaskId, branch: &'static str) -> DemoTask {
        DemoTask {
            id,
            branch,
            row: None,
            version: 0,
            acted_in_status_since: None,
            is_merging: false,
            is_over: false,
        }
    }

    fn print_new_events(&mut self, driver: &Driver, output: &mut Output) -> Result<(), Error> {
        let all = driver.views.history(&self.id, 0)?;
        let new = all.iter().filter(|event| event.version > self.version);
        for event in new.filter(|event| is_notable(&event.fact)) {
            let text = describe(&event.fact, &all);
            let style = match &event.fact {
                Fact::StatusChanged(_) => Style::Bold,
                Fact::AttentionRaised { .. } => Style::Bad,
                _ => Style::Plain,
            };
            self.line(style, text.lines().next().unwrap_or_default(), output)?;
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
        if self.acted_in_status_since == row.entered_at {
            return Ok(());
        }
        let (kind, message, message_line) = match row.need {
            // The answer is sent only once the agent has asked and waits for it.
            Some(Need::Question) if is_waiting(driver, &row) => (
                RequestKind::Tell { role: None },
                Some(ANSWER.to_owned()),
                format!("you answer: {ANSWER}"),
            ),
            // One merge at a time: each decision is about the tip of the default branch, which the
            // previous merge moves.
            Some(Need::Review) if !is_merging => (
                RequestKind::Merge {
                    only_head: false,
                    strategy: None,
                    local: true,
                },
                None,
                String::from("you merge it"),
            ),
            _ => return Ok(()),
        };
        self.acted_in_status_since = row.entered_at;
        self.is_merging = row.need == Some(Need::Review);
        self.line(Style::Good, &message_line, output)?;
        let result = driver.requests.ask(&TaskRequest {
            task: self.id.clone(),
            request: Request {
                by: Role::Human,
                kind,
                is_confirmed: false,
                message,
                head: None,
                if_version: None,
            },
            waiting: WaitPolicy::Skip,
        })?;
        match result {
            Answer::Refused(refusal) => Err(refusal.into()),
            Answer::Done(_) | Answer::StillRunning(_) | Answer::AlreadyDone(_) => Ok(()),
        }
    }
}

/// Whether the agent reports that it waits for the user.
fn is_waiting(driver: &Driver, row: &TaskRow) -> bool {
    let states = driver.views.activity_states(std::slice::from_ref(row));
    let waiting_states = [
        ActivityState::WaitingForPermission,
        ActivityState::WaitingForInput,
    ];
    states
        .get(&row.id)
        .is_some_and(|state| waiting_states.contains(state))
}

/// The supervisor, on a thread of this process. Dropping this value asks the supervisor to stop.
struct SupervisorThread {
    stopper: Stopper,
    _thread: JoinHandle<()>,
}

impl SupervisorThread {
    fn start(driver: &Driver) -> Result<SupervisorThread, Error> {
        let supervisor = Supervisor::new(driver.clone(), Settings::default())?;
        let stopper = supervisor.stopper();
        let thread = thread::Builder::new().name(String::from("supervise"));
        let thread = thread.spawn(move || {
            // If the supervisor fails, the demo notices that nothing happens any more.
            let _ended = supervisor.run();
        });
        let thread = thread.map_err(Error::not_started)?;
        Ok(SupervisorThread {
            stopper,
            _thread: thread,
        })
    }
}

impl Drop for SupervisorThread {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

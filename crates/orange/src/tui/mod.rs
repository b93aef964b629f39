//! The dashboard: shows tasks and takes requests by key.
//!
//! Several threads gather data or listen for input, and send messages. The main thread applies each
//! message with the pure function `update`, and draws the model; to draw, it never queries the
//! store, tmux or git. A request that a key makes goes to the driver, as in every other front end.

mod ansi;
mod buttons;
mod diff_keys;
mod draft_saver;
mod fit;
mod frames;
mod fuzzy;
mod gather;
mod input;
mod keys;
mod layout;
mod model;
mod panic_hook;
mod perform;
mod run;
mod screen;
mod supervisor_thread;
mod syntax;
#[cfg(test)]
mod tests;
mod theme;
mod update;
mod view;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use draft_saver::DraftSaver;
use gather::Gatherers;
use input::Input;
use model::Model;
use model::demo::Demo;
use model::list::List;
use model::message::Message;
use model::mode::Mode;
use orange_config::clock;
use orange_driver::Driver;
use orange_engine::names::{ProjectName, TaskId};
use panic_hook::PanicRecord;
use run::Runner;
use screen::Screen;
use supervisor_thread::SupervisorThread;
use theme::Theme;
use update::update;

use crate::output::Output;

/// How often the clock is updated if nothing else happens.
const TICK: Duration = Duration::from_secs(1);

/// The maximum number of messages that are applied before the next frame is drawn.
const MAX_MESSAGES_PER_FRAME: usize = 256;

/// Shows the dashboard until the user quits it; the error says why it failed. In the demo, it also
/// leads the user through the demo's tasks.
pub fn open(
    driver: &Driver,
    project: Option<ProjectName>,
    shows_all_projects: bool,
    demo_tasks: &[TaskId],
    output: &Output,
) -> Result<(), String> {
    // Ignore a mistake in the settings here: the dashboard works without this setting, and every
    // request that needs the settings reports the mistake.
    let background = driver
        .context
        .settings(None)
        .ok()
        .and_then(|it| it.background);
    let terminal_colours = driver.context.terminal_colours();
    let theme = Theme::of(
        output.is_coloured(),
        background,
        terminal_colours.as_deref(),
    );
    let (sender, receiver) = mpsc::channel();
    // Install the panic hook before any other thread can panic.
    let panic_record = PanicRecord::watch(driver, &sender);
    let gatherers = Gatherers::start(driver, theme, &sender);
    let mut model = Model::new(theme, List::new(project, shows_all_projects), clock::now());
    model.demo = (!demo_tasks.is_empty()).then(|| Demo::new(demo_tasks));
    let (drafts, problem) = draft_saver::load(driver);
    model.drafts = drafts;
    model.mode = problem.map_or(Mode::Browse, Mode::Alert);
    let result = catch_unwind(AssertUnwindSafe(|| {
        show(driver, model, gatherers, (sender, receiver))
    }));
    if let Some(message) = panic_record.message() {
        return Err(format!(
            "the dashboard failed: {message}; agents keep running; for details see `{}`",
            driver.context.home().log().display()
        ));
    }
    let result = result.unwrap_or(Ok(()));
    result.map_err(|error| format!("the terminal failed: {error}"))
}

fn show(
    driver: &Driver,
    mut model: Model,
    gatherers: Gatherers,
    (sender, receiver): (Sender<Message>, Receiver<Message>),
) -> io::Result<()> {
    let mut screen = Screen::take()?;
    (model.width, model.height) = screen.size()?;
    let runner = Runner {
        driver: driver.clone(),
        input: Input::start(&sender)?,
        gatherers,
        sender: sender.clone(),
        draft_saver: DraftSaver::start(driver, model.drafts.clone(), &sender)?,
    };
    let supervisor = SupervisorThread::start(driver, &sender);
    let result = run_loop(&mut model, &mut screen, &runner, &receiver);
    drop(screen);
    supervisor.stop();
    // Other processes perform the effects that are still due. If they cannot be started, the next
    // command performs these effects: all of them are recorded.
    let _left_for_later = driver.context.hand_over();
    result
}

/// Applies messages and draws, until the end.
fn run_loop(
    model: &mut Model,
    screen: &mut Screen,
    runner: &Runner,
    receiver: &Receiver<Message>,
) -> io::Result<()> {
    loop {
        // Check the size: no event reports a resize from before the listener started, or from while
        // another program had the terminal.
        let (width, height) = screen.size()?;
        let resized = Message::Resized(width, height);
        let has_other_size = (width, height) != (model.width, model.height);
        if has_other_size && apply(model, screen, runner, resized)? {
            return Ok(());
        }
        frames::record_frame(model, screen.draw(model)?);
        let first = match receiver.recv_timeout(TICK) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        frames::start_frame();
        let tick = Message::Tick(clock::now());
        let pending = receiver.try_iter().take(MAX_MESSAGES_PER_FRAME);
        let all: Vec<Message> = std::iter::once(tick).chain(first).chain(pending).collect();
        for message in all {
            if apply(model, screen, runner, message)? {
                return Ok(());
            }
        }
    }
}

/// Applies a message and runs the resulting commands; returns whether the program is over.
fn apply(
    model: &mut Model,
    screen: &mut Screen,
    runner: &Runner,
    message: Message,
) -> io::Result<bool> {
    for command in update(model, message) {
        if runner.run(command, screen)? {
            return Ok(true);
        }
    }
    Ok(false)
}

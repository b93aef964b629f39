//! Runs the commands that `update` returns.

use std::io;
use std::sync::mpsc::Sender;
use std::thread;

use orange_driver::{Driver, DriverError};
use orange_engine::names::TaskId;
use signal_hook::consts::SIGTSTP;
use signal_hook::low_level::emulate_default_handler;

use super::draft_saver::DraftSaver;
use super::gather::Gatherers;
use super::gather::choices::choices;
use super::input::Input;
use super::model::command::{Action, Command};
use super::model::message::{ActionResult, Message};
use super::model::mode::Alert;
use super::perform;
use super::screen::Screen;

#[derive(Debug)]
pub struct Runner {
    pub driver: Driver,
    pub sender: Sender<Message>,
    pub gatherers: Gatherers,
    pub input: Input,
    pub draft_saver: DraftSaver,
}

impl Runner {
    /// Runs a command; returns whether the program is over.
    pub fn run(&self, command: Command, screen: &mut Screen) -> io::Result<bool> {
        match command {
            Command::Quit => return Ok(true),
            Command::Suspend => self.suspend(),
            Command::Redraw => self.reclaim_terminal(screen)?,
            Command::Watch(viewport) => self.gatherers.watch(&viewport),
            Command::Reload(tasks) => self.gatherers.reload(&tasks),
            Command::Refresh => self.gatherers.refresh(),
            Command::Act(number, action) => self.act(number, action),
            Command::Attach(task) => self.look_up_agent(task),
            Command::Show(agent_terminal) => {
                let show = || self.driver.agents.show(&agent_terminal);
                let result = self.lend_terminal(screen, show)?;
                let result = result.map_err(|error| failure_alert(&error, "attach"));
                self.send(Message::TerminalReturned(result));
            }
            Command::EditTask(task) => {
                let result =
                    self.lend_terminal(screen, || self.driver.requests.edit_task(&task))?;
                let result = result.map_err(|error| failure_alert(&error, "edit TASK.md"));
                self.send(Message::TerminalReturned(result));
            }
            Command::Open(task, tool) => {
                let open = || self.driver.workspaces.open_worktree(&task, tool);
                let result = self.lend_terminal(screen, open)?;
                let result = result.map_err(|error| failure_alert(&error, "open the worktree"));
                self.send(Message::TerminalReturned(result.map(|_| ())));
            }
            Command::EditText(text) => {
                let result =
                    self.lend_terminal(screen, || self.driver.requests.edit_text(&text))?;
                self.send(match result {
                    Ok((text, failure)) => {
                        Message::Edited(Some(text), failure.map(|it| it.to_string()))
                    }
                    Err(error) => Message::Edited(None, Some(error.to_string())),
                });
            }
            Command::Copy(text) => screen.copy(&text)?,
            Command::LoadChoices => {
                let driver = self.driver.clone();
                self.spawn(move || Message::Choices(choices(&driver)));
            }
            Command::SaveDrafts(drafts) => self.draft_saver.save(*drafts),
            Command::ForecastMerge(task) => {
                let driver = self.driver.clone();
                self.spawn(move || {
                    let forecast = driver.workspaces.forecast_merge(&task).map(Box::new);
                    Message::MergeForecast(task, forecast.map_err(|error| error.to_string()))
                });
            }
            Command::LoadWorkspaces => {
                let driver = self.driver.clone();
                self.spawn(move || {
                    let found = driver.workspaces.workspaces(None);
                    Message::Workspaces(found.map_err(|error| error.to_string()))
                });
            }
        }
        Ok(false)
    }

    fn act(&self, number: u64, action: Action) {
        let (driver, sender) = (self.driver.clone(), self.sender.clone());
        let work = move || {
            if driver.context.is_recording_blocked() {
                let _over = sender.send(Message::Blocked(number));
            }
            Message::Answered(number, perform::perform(&driver, &action))
        };
        if !self.spawn(work) {
            let alert = Alert {
                title: String::from("Failed"),
                lines: vec![String::from(
                    "the system could not start a thread for this request",
                )],
                hints: Vec::new(),
                offer: None,
            };
            self.send(Message::Answered(number, ActionResult::Failed(alert)));
        }
    }

    /// Looks up an agent on another thread than the one that draws: the store and tmux may be slow.
    fn look_up_agent(&self, task: TaskId) {
        let driver = self.driver.clone();
        self.spawn(move || {
            let found = driver.agents.attach(&task, None).map(Box::new);
            let found = found.map_err(|error| failure_alert(&error, "attach"));
            Message::AgentFound(task, found)
        });
    }

    /// Does the work on its own thread; returns whether the thread could be started.
    fn spawn(&self, work: impl FnOnce() -> Message + Send + 'static) -> bool {
        let sender = self.sender.clone();
        let thread = thread::Builder::new().name(String::from("act"));
        let started = thread.spawn(move || {
            let _ended = sender.send(work());
        });
        started.is_ok()
    }

    /// Lends the terminal to another program until that program ends.
    fn lend_terminal<T>(
        &self,
        screen: &mut Screen,
        work: impl FnOnce() -> Result<T, DriverError>,
    ) -> io::Result<Result<T, DriverError>> {
        self.input.pause();
        Screen::leave();
        let result = work();
        self.reclaim_terminal(screen)?;
        Ok(result)
    }

    /// Suspends this process. The process may stop only after this function has returned, so the
    /// terminal is not taken back here, but when the process is continued.
    fn suspend(&self) {
        self.input.pause();
        Screen::leave();
        let _stopped = emulate_default_handler(SIGTSTP);
    }

    /// Takes the terminal back, which may have another size by now.
    fn reclaim_terminal(&self, screen: &mut Screen) -> io::Result<()> {
        screen.reclaim()?;
        self.input.resume();
        let (width, height) = screen.size()?;
        self.send(Message::Resized(width, height));
        Ok(())
    }

    fn send(&self, message: Message) {
        // The receiver belongs to this thread, so it still exists.
        let _over = self.sender.send(message);
    }
}

fn failure_alert(error: &DriverError, what: &str) -> Alert {
    Alert {
        title: format!("Cannot {what}"),
        lines: vec![error.to_string()],
        hints: error.report().hints,
        offer: None,
    }
}

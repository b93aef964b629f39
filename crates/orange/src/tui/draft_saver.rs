//! Saves and reloads drafts in a thread of its own.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use orange_driver::{DraftsFile, DraftsVersion, Driver, DriverError};

use super::model::drafts::{Drafts, SavedDrafts};
use super::model::message::Message;
use super::model::mode::Alert;

/// How often the file is checked for drafts of other dashboards.
const POLL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct DraftSaver {
    sender: Option<Sender<Drafts>>,
    thread: Option<JoinHandle<()>>,
}

impl DraftSaver {
    /// Starts the thread; `loaded` are the drafts that this dashboard has begun with.
    pub fn start(
        driver: &Driver,
        loaded: Drafts,
        to_model: &Sender<Message>,
    ) -> io::Result<DraftSaver> {
        let (sender, receiver) = mpsc::channel::<Drafts>();
        let (driver, to_model) = (driver.clone(), to_model.clone());
        let thread = thread::Builder::new().name(String::from("drafts"));
        let thread = thread.spawn(move || {
            let mut keeper = DraftKeeper {
                driver,
                to_model,
                before: loaded,
                version: None,
                reported: None,
            };
            loop {
                match receiver.recv_timeout(POLL) {
                    Ok(drafts) => keeper.save(receiver.try_iter().last().unwrap_or(drafts)),
                    Err(RecvTimeoutError::Timeout) => keeper.reload(),
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        })?;
        Ok(DraftSaver {
            sender: Some(sender),
            thread: Some(thread),
        })
    }

    pub fn save(&self, drafts: Drafts) {
        if let Some(sender) = &self.sender {
            let _ended = sender.send(drafts);
        }
    }
}

/// The work of the thread.
struct DraftKeeper {
    driver: Driver,
    to_model: Sender<Message>,
    /// The drafts of the dashboard at the last save.
    before: Drafts,
    /// The version of the file that was last read or written here.
    version: Option<DraftsVersion>,
    /// The problem that was reported last.
    reported: Option<String>,
}

impl DraftKeeper {
    fn save(&mut self, drafts: Drafts) {
        let problem = match save(&self.driver, &drafts, &self.before) {
            Ok(saved) => {
                let is_other = saved.drafts != drafts;
                self.before = drafts;
                self.version = saved.version;
                if is_other {
                    self.send(saved.drafts);
                }
                saved.problem.map(|it| it.lines.join(" "))
            }
            // Drafts that could not be saved are still in the dashboard, and are part of the next
            // attempt.
            Err(error) => Some(format!("your draft is not saved: {error}")),
        };
        self.report(problem);
    }

    /// Reads what another dashboard has saved.
    fn reload(&mut self) {
        let version = self.driver.requests.drafts_version();
        // If the file is gone, the drafts of this dashboard stay as they are.
        if version.is_none() || version == self.version {
            return;
        }
        self.version = version;
        let Ok((file, saved, problem)) = open(&self.driver) else {
            return;
        };
        self.version = file.version();
        match problem {
            None => self.send(saved),
            Some(alert) => self.report(Some(alert.lines.join(" "))),
        }
    }

    fn send(&self, saved: Drafts) {
        let before = self.before.clone();
        let message = Message::Drafts(Box::new(SavedDrafts { saved, before }));
        let _ended = self.to_model.send(message);
    }

    /// Reports a problem only once, although each typed letter is saved and may meet the same
    /// problem.
    fn report(&mut self, problem: Option<String>) {
        if problem != self.reported {
            if let Some(problem) = problem.clone() {
                let _ended = self.to_model.send(Message::DraftsProblem(problem));
            }
            self.reported = problem;
        }
    }
}

impl Drop for DraftSaver {
    /// Waits until the last drafts are saved.
    fn drop(&mut self) {
        drop(self.sender.take());
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// The drafts that any dashboard saved last, and an alert if they could not be read.
pub fn load(driver: &Driver) -> (Drafts, Option<Alert>) {
    if !driver.requests.has_drafts() {
        return (Drafts::default(), None);
    }
    match open(driver) {
        Ok((_, drafts, problem)) => (drafts, problem),
        Err(error) => {
            let alert = Alert {
                title: String::from("Drafts not read"),
                lines: vec![error.to_string()],
                hints: error.report().hints,
                offer: None,
            };
            (Drafts::default(), Some(alert))
        }
    }
}

/// Opens the file and reads it. A file that cannot be used is set aside.
fn open(driver: &Driver) -> Result<(DraftsFile, Drafts, Option<Alert>), DriverError> {
    let file = driver.requests.open_drafts()?;
    let parsed = match file.read() {
        Ok(None) => Ok(Drafts::default()),
        Ok(Some(json)) => serde_json::from_str(&json)
            .map_err(|error| format!("the drafts of the dashboard are damaged: {error}")),
        Err(error) => Err(error.to_string()),
    };
    match parsed {
        Ok(drafts) => Ok((file, drafts, None)),
        Err(reason) => {
            let path = file.set_aside()?.display().to_string();
            let alert = Alert {
                title: String::from("Drafts not read"),
                lines: vec![reason, format!("The file is kept as `{path}`.")],
                hints: vec![format!("your texts may still be in it: `less {path}`")],
                offer: None,
            };
            Ok((file, Drafts::default(), Some(alert)))
        }
    }
}

/// What is in the file after it was written.
struct SaveResult {
    drafts: Drafts,
    version: Option<DraftsVersion>,
    /// What was wrong with the old file, if it could not be used.
    problem: Option<Alert>,
}

/// Saves what has changed since `before`.
fn save(driver: &Driver, drafts: &Drafts, before: &Drafts) -> Result<SaveResult, DriverError> {
    let (file, saved, problem) = open(driver)?;
    let merged = match problem {
        // The old file was set aside, so every draft goes into the new one.
        Some(_) => drafts.clone(),
        None => drafts.merge_into(saved, before),
    };
    if let Ok(json) = serde_json::to_string(&merged) {
        file.write(&json)?;
    }
    Ok(SaveResult {
        drafts: merged,
        version: file.version(),
        problem,
    })
}

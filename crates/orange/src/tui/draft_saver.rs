//! Saves drafts in a thread of its own.

use std::io;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use orange_driver::{DraftsFile, Driver, DriverError};

use super::model::drafts::Drafts;
use super::model::message::Message;
use super::model::mode::Alert;

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
            let mut before = loaded;
            let mut reported: Option<String> = None;
            for drafts in &receiver {
                let drafts = receiver.try_iter().last().unwrap_or(drafts);
                let problem = match save(&driver, &drafts, &before) {
                    Ok(problem) => {
                        before = drafts;
                        problem.map(|it| it.lines.join(" "))
                    }
                    // Drafts that could not be saved are still in the dashboard, and are part of
                    // the next attempt.
                    Err(error) => Some(format!("your draft is not saved: {error}")),
                };
                // Every letter is saved, but a problem is reported once.
                if problem != reported {
                    if let Some(problem) = problem.clone() {
                        let _ended = to_model.send(Message::DraftsProblem(problem));
                    }
                    reported = problem;
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

impl Drop for DraftSaver {
    /// Waits until the last drafts are saved.
    fn drop(&mut self) {
        drop(self.sender.take());
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// The drafts that were saved last, by any dashboard; and why they could not be read.
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

/// Saves what has changed since `before`; returns what was wrong with the file.
fn save(driver: &Driver, drafts: &Drafts, before: &Drafts) -> Result<Option<Alert>, DriverError> {
    let (file, saved, problem) = open(driver)?;
    let merged = match problem {
        // Nothing is in the file, so everything is new.
        Some(_) => drafts.clone(),
        None => drafts.merge_into(saved, before),
    };
    if let Ok(json) = serde_json::to_string(&merged) {
        file.write(&json)?;
    }
    Ok(problem)
}

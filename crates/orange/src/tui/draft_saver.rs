//! Saves drafts in a thread of its own.

use std::io;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use orange_driver::Driver;

use super::model::drafts::Drafts;

#[derive(Debug)]
pub struct DraftSaver {
    sender: Option<Sender<Drafts>>,
    thread: Option<JoinHandle<()>>,
}

impl DraftSaver {
    /// Starts the thread; `loaded` are the drafts that this dashboard has begun with.
    pub fn start(driver: &Driver, loaded: Drafts) -> io::Result<DraftSaver> {
        let (sender, receiver) = mpsc::channel::<Drafts>();
        let driver = driver.clone();
        let thread = thread::Builder::new().name(String::from("drafts"));
        let thread = thread.spawn(move || {
            let mut before = loaded;
            for drafts in &receiver {
                let drafts = receiver.try_iter().last().unwrap_or(drafts);
                // Drafts that could not be saved are still in the dashboard, and are part of the
                // next attempt.
                if save(&driver, &drafts.merge_into(load(&driver), &before)) {
                    before = drafts;
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

/// The drafts that were saved last, by any dashboard.
pub fn load(driver: &Driver) -> Drafts {
    let json = driver.requests.load_drafts();
    let drafts = json.and_then(|json| serde_json::from_str(&json).ok());
    drafts.unwrap_or_default()
}

/// Returns whether they were saved.
fn save(driver: &Driver, drafts: &Drafts) -> bool {
    let json = serde_json::to_string(drafts);
    json.is_ok_and(|json| driver.requests.save_drafts(&json).is_ok())
}

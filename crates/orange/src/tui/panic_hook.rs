//! Logs a panic and ends the dashboard.
//!
//! A thread that has panicked would leave its part of the screen as it was, and the user could not
//! tell that it is out of date. So after a panic on any thread the dashboard restores the terminal
//! and says where to read more.

use std::panic::{self, PanicHookInfo};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::thread;

use orange_config::LogLevel;
use orange_driver::Driver;
use serde_json::json;

use super::model::message::Message;
use super::screen::Screen;

#[derive(Clone, Debug, Default)]
pub struct PanicRecord(Arc<OnceLock<String>>);

impl PanicRecord {
    /// Records every panic from now on; must be called on the thread that draws.
    pub fn watch(driver: &Driver, sender: &Sender<Message>) -> PanicRecord {
        let record = PanicRecord::default();
        let (shared_record, driver, sender) = (record.clone(), driver.clone(), sender.clone());
        let drawing_thread = thread::current().id();
        panic::set_hook(Box::new(move |info| {
            let message = describe_panic(info);
            let thread = thread::current();
            let is_drawing = thread.id() == drawing_thread;
            let more = json!({ "error": message, "thread": thread.name() });
            let _another_was_first = shared_record.0.set(message);
            if is_drawing {
                Screen::leave();
            }
            driver.context.log_for_all(LogLevel::Error, "panic", more);
            if !is_drawing {
                // Ask the drawing thread to shut down in order; it may have ended already.
                let _ended = sender.send(Message::End);
            }
        }));
        record
    }

    pub fn message(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

fn describe_panic(info: &PanicHookInfo<'_>) -> String {
    let words = info.payload_as_str().unwrap_or("unknown cause");
    match info.location() {
        Some(at) => format!("{words}, at {}:{}", at.file(), at.line()),
        None => words.to_owned(),
    }
}

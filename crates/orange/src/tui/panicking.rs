//! What becomes of a panic: it is logged, and the dashboard ends.
//!
//! A thread that has gone would leave its part of the picture as it was, and nobody could tell. So
//! whatever panics, and wherever, the dashboard gives the terminal back and says where to read on.

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
pub struct Panicked(Arc<OnceLock<String>>);

impl Panicked {
    /// Takes note of every panic from now on; this thread is the one that draws.
    pub fn watch(driver: &Driver, sender: &Sender<Message>) -> Panicked {
        let panicked = Panicked::default();
        let (noted, driver, sender) = (panicked.clone(), driver.clone(), sender.clone());
        let drawing = thread::current().id();
        panic::set_hook(Box::new(move |info| {
            let told = told(info);
            let thread = thread::current();
            let is_drawing = thread.id() == drawing;
            let more = json!({ "error": told, "thread": thread.name() });
            let _another_was_first = noted.0.set(told);
            if is_drawing {
                Screen::leave();
            }
            driver.context.log_for_all(LogLevel::Error, "panic", more);
            if !is_drawing {
                // Whoever draws ends in order; one that has ended needs no asking.
                let _ended = sender.send(Message::End);
            }
        }));
        panicked
    }

    pub fn told(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

fn told(info: &PanicHookInfo<'_>) -> String {
    let words = info.payload_as_str().unwrap_or("nobody knows why");
    match info.location() {
        Some(at) => format!("{words}, at {}:{}", at.file(), at.line()),
        None => words.to_owned(),
    }
}

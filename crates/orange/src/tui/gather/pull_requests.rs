//! Reads what was last seen of pull requests, from the store.

use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_driver::Driver;

use super::{GatherRequest, receive};
use crate::tui::model::message::Message;
use crate::tui::model::pull_requests::PullRequests;

/// How often the store is read. The forge itself is asked by the supervisor, far less often.
const TICK: Duration = Duration::from_secs(3);

/// The delay of the first reading, so that the first frame does not wait for it.
const DELAY: Duration = Duration::from_millis(300);

pub(super) fn follow(
    driver: &Driver,
    receiver: &Receiver<GatherRequest>,
    sender: &Sender<Message>,
) {
    let mut last = PullRequests::default();
    let mut tick = Deadline::after(DELAY);
    loop {
        let Some(received) = receive(receiver, tick.remaining()) else {
            return;
        };
        let is_changed = |request: &GatherRequest| !matches!(request, GatherRequest::Watch(_));
        if !tick.has_passed() && !received.iter().any(is_changed) {
            continue;
        }
        tick = Deadline::after(TICK);
        // What cannot be read now is read at the next tick.
        let (Ok(seen), Ok(projects)) = (
            driver.views.pull_requests(),
            driver.forge.projects_on_forge(),
        ) else {
            continue;
        };
        let found = PullRequests { seen, projects };
        if found != last {
            last = found.clone();
            if sender.send(Message::PullRequests(found)).is_err() {
                return;
            }
        }
    }
}

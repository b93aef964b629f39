//! Looks at every living agent, and at what it told.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use orange_driver::Driver;

use super::{Alive, Wish, wished};
use crate::tui::model::message::Message;

/// How often is looked for what nobody tells: an end is seen by who supervises, and recorded.
const TICK: Duration = Duration::from_secs(4);

/// How soon is looked again after something has changed.
const SOON: Duration = Duration::from_millis(200);

pub(super) fn look(
    driver: &Driver,
    wishes: &Receiver<Wish>,
    sender: &Sender<Message>,
    alive: &Alive,
) {
    let mut last_rows = Vec::new();
    let mut last_seen = BTreeMap::new();
    let mut last_doing = BTreeMap::new();
    let mut rest = SOON;
    loop {
        let Some(wished) = wished(wishes, rest) else {
            return;
        };
        let has_changed = wished
            .iter()
            .any(|it| matches!(it, Wish::Again(_) | Wish::Refresh));
        if has_changed && rest == TICK {
            rest = SOON;
            continue;
        }
        rest = TICK;
        let rows = alive.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let doing = driver.views.doing_of(&rows);
        // Who is shown other agents has forgotten what was seen of the ones before, though the same
        // may be seen again.
        let is_other = rows != last_rows;
        if is_other || doing != last_doing {
            last_doing.clone_from(&doing);
            if sender.send(Message::Doing(doing)).is_err() {
                return;
            }
        }
        // A look that fails shows nothing; the next one may.
        let Ok(seen) = driver.views.agents(&rows) else {
            continue;
        };
        if is_other || seen != last_seen {
            last_seen.clone_from(&seen);
            if sender.send(Message::Agents(seen)).is_err() {
                return;
            }
        }
        last_rows = rows;
    }
}

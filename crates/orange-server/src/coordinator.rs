//! What each server does regularly; the database lets one at a time.

use std::time::Duration;

use orange_fleet::time::Timestamp;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::database::{Database, DatabaseError};
use crate::http::{App, wait_for_stop};
use crate::waiting::Waiting;

/// How often servers mark that they could be reached, and release the tasks of lost runners.
const MARK_INTERVAL: Duration = Duration::from_secs(5);

/// How often the database is asked for what calls wait for.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// Marks and reaps until the server stops. What fails is tried again at the next turn.
pub async fn coordinate(app: &App, database: &Database, mut stopped: watch::Receiver<bool>) {
    let mut failing = false;
    let mut up_since = None;
    loop {
        let done = turn(database).await;
        if let Ok(now) = &done
            && up_since.replace(*now).is_some_and(|before| before != *now)
        {
            app.count_amnesty();
        }
        if let Err(error) = &done
            && !failing
        {
            app.report(&format!("{error} (tried again every few seconds)"));
        }
        failing = done.is_err();
        tokio::select! {
            () = sleep(MARK_INTERVAL) => {}
            () = wait_for_stop(&mut stopped) => return,
        }
    }
}

/// Since when runners could be heard. Reaping marks too.
async fn turn(database: &Database) -> Result<Timestamp, DatabaseError> {
    database.reap().await?;
    database.up_since().await
}

/// Asks for all waiting calls together, and wakes those that should look again.
pub async fn watch(waiting: &Waiting, database: &Database, mut stopped: watch::Receiver<bool>) {
    loop {
        let topics = tokio::select! {
            topics = waiting.topics() => topics,
            () = wait_for_stop(&mut stopped) => return,
        };
        // A waiting call notices an outage by itself.
        for topic in database.due(&topics).await.unwrap_or_default() {
            waiting.wake(&topic);
        }
        tokio::select! {
            () = sleep(WATCH_INTERVAL) => {}
            () = wait_for_stop(&mut stopped) => return,
        }
    }
}

//! The real `orange serve`: nothing dies unseen, nothing alive is called dead.

mod burdens;
pub mod chaos;
mod exits;
mod handover;
mod hearing;
mod lessons;
mod orphans;
mod parking;
mod probes;
mod releases;

use std::process::{Child, Stdio};
use std::time::Duration;

use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;

use crate::stage::{Stage, wait_for};

/// A supervisor that runs beside a test.
pub struct Serving {
    child: Child,
}

impl Serving {
    /// Starts one and waits until it supervises.
    pub fn on(stage: &Stage) -> Serving {
        let mut serve = stage.orange(&["serve"]);
        serve.stdout(Stdio::null()).stderr(Stdio::null());
        let child = serve.spawn().unwrap();
        wait_for("supervision", || stage.driver().context.is_supervised());
        Serving { child }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it as nothing can be caught.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // One that was killed is gone.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// How many deaths of a task were judged.
pub fn deaths(stage: &Stage, id: &TaskId) -> usize {
    let events = stage.store().events(id, 0).unwrap();
    let deaths = events.iter();
    let deaths = deaths.filter(|it| matches!(it.event.fact, Fact::RunEnded { .. }));
    deaths.count()
}

/// How long after an instant the last death was judged.
pub fn judged_after(stage: &Stage, id: &TaskId, then: Timestamp) -> Duration {
    let events = stage.store().events(id, 0).unwrap();
    let mut deaths = events.iter().rev();
    let death = deaths.find(|it| matches!(it.event.fact, Fact::RunEnded { .. }));
    let millis = death.unwrap().event.at.millis() - then.millis();
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

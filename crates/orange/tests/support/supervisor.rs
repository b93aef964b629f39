//! A supervisor that runs next to a test.

use std::process::{Child, Stdio};

use crate::support::{Stage, wait_for};

pub struct RunningSupervisor {
    child: Child,
}

impl RunningSupervisor {
    /// Starts one and waits until it supervises.
    pub fn start(stage: &Stage) -> RunningSupervisor {
        let mut serve = stage.orange(&["serve"]);
        serve.stdout(Stdio::null()).stderr(Stdio::null());
        let child = serve.spawn().unwrap();
        wait_for("supervision", || stage.driver().context.is_supervised());
        RunningSupervisor { child }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it with a signal that cannot be caught.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for RunningSupervisor {
    fn drop(&mut self) {
        // It may have been killed already.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

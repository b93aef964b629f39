//! Ends a program when the process that started it ends.

use std::io;
use std::path::Path;

#[cfg(target_os = "linux")]
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::Invocation;

impl Invocation {
    /// The same program; it gets SIGTERM when this process ends, for whatever reason.
    ///
    /// The system must be asked for the signal between fork and exec, which needs `unsafe`. So
    /// `orange` runs itself in between: `orange tether` asks for the signal and then becomes the
    /// program.
    #[must_use]
    pub fn tethered(self, orange: &Path) -> Invocation {
        let mut tether = Invocation::new(orange, self.environment)
            .arguments(["tether", &std::process::id().to_string(), "--"])
            .arguments([&self.program])
            .arguments(&self.arguments);
        tether.directory = self.directory;
        tether
    }
}

/// Asks the system to send SIGTERM to this process when its caller ends; fails if the caller has
/// already ended.
#[cfg(target_os = "linux")]
pub fn end_with_caller(caller: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let parent = getppid().map(|it| it.as_raw_nonzero().get().cast_unsigned());
    if parent != Some(caller) {
        return Err(io::Error::other("the caller has ended"));
    }
    Ok(())
}

/// Other systems cannot do this; an abandoned program is ended by the next supervisor.
#[cfg(not(target_os = "linux"))]
pub fn end_with_caller(_caller: u32) -> io::Result<()> {
    Ok(())
}

//! Makes a program end with the process that started it.

use std::io;
use std::path::Path;

#[cfg(target_os = "linux")]
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::Invocation;

impl Invocation {
    /// The same program, which gets SIGTERM when this process ends, however it ends.
    ///
    /// The system has to be asked for that between the start and the exec, which needs `unsafe`, so
    /// `orange` runs itself in between: `orange tether` asks, and becomes the program.
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

/// Lets this process end with its caller; fails if the caller has ended already.
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

//! The output of a pane.

use orange_engine::names::RunId;

use super::guard::Meant;
use super::listing::PaneState;
use super::{Tmux, TmuxError};

/// The output of a run's pane so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Its lines, without colours; the last one ends with a newline.
    pub text: String,
    pub is_running: bool,
}

impl Tmux {
    /// The output of a run's pane, including the scrollback; `None` when there is no such pane.
    pub fn captured(&self, run: &RunId) -> Result<Option<Captured>, TmuxError> {
        let listing = match self.list() {
            Ok(listing) => listing,
            Err(TmuxError::NoServer(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(listed) = listing.of_run(run) else {
            return Ok(None);
        };
        let text = self.capture(Meant {
            server: &listing.server,
            pane: listed.pane,
            run,
        })?;
        let is_running = listed.state == PaneState::Running;
        Ok(Some(Captured { text, is_running }))
    }

    pub(super) fn capture(&self, meant: Meant<'_>) -> Result<String, TmuxError> {
        let capture = format!("capture-pane -p -J -S - -E - -t {}", meant.pane);
        let text = self.guarded(meant, &capture)?;
        let text = text.trim_end_matches('\n');
        Ok(format!("{text}\n"))
    }
}

//! The output of a pane.

use orange_engine::names::RunId;

use super::guard::ExpectedPane;
use super::listing::PaneState;
use super::{Tmux, TmuxError};

/// The output of a run's pane so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneOutput {
    /// Its lines, without colours; the last one ends with a newline.
    pub text: String,
    pub is_running: bool,
}

impl Tmux {
    /// The output of a run's pane, including the scrollback; `None` when there is no such pane.
    pub fn pane_output(&self, run: &RunId) -> Result<Option<PaneOutput>, TmuxError> {
        let listing = match self.list() {
            Ok(listing) => listing,
            Err(TmuxError::NoServer(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(listed) = listing.of_run(run) else {
            return Ok(None);
        };
        let text = self.capture(ExpectedPane {
            server: &listing.server,
            pane: listed.pane,
            run,
        })?;
        let is_running = listed.state == PaneState::Running;
        Ok(Some(PaneOutput { text, is_running }))
    }

    pub(super) fn capture(&self, pane: ExpectedPane<'_>) -> Result<String, TmuxError> {
        let capture = format!("capture-pane -p -J -S - -E - -t {}", pane.pane);
        let text = self.run_guarded(pane, &capture)?;
        let text = text.trim_end_matches('\n');
        Ok(format!("{text}\n"))
    }
}

//! Acts on a pane only if it is still the expected one.

use orange_engine::names::RunId;

use super::call::Call;
use super::listing::RUN;
use super::name::require_plain;
use super::{PaneId, ServerIdentity, Tmux, TmuxError};

/// What the server prints when it refuses.
const REFUSED: &str = "refused";

/// The expected pane.
#[derive(Clone, Copy)]
pub(super) struct ExpectedPane<'a> {
    pub server: &'a ServerIdentity,
    pub pane: PaneId,
    pub run: &'a RunId,
}

impl Tmux {
    /// Makes the server run a command if it is the expected server and the pane has the run's mark.
    ///
    /// The server checks and acts in one step, so nothing can happen in between. tmux parses
    /// `command`, so it must consist of our own words and ids only.
    pub(super) fn run_guarded(
        &self,
        pane: ExpectedPane<'_>,
        command: &str,
    ) -> Result<String, TmuxError> {
        self.guarded_after(None, pane, "1", command)
    }

    /// Like [`Tmux::run_guarded`], and only if the pane accepts input; `before` runs first in any
    /// case.
    pub(super) fn run_guarded_input(
        &self,
        before: Option<Call>,
        pane: ExpectedPane<'_>,
        command: &str,
    ) -> Result<(), TmuxError> {
        let takes_input = "#{&&:#{==:#{pane_in_mode},0},#{==:#{pane_dead},0}}";
        self.guarded_after(before, pane, takes_input, command)?;
        Ok(())
    }

    fn guarded_after(
        &self,
        before: Option<Call>,
        expected: ExpectedPane<'_>,
        extra_condition: &str,
        command: &str,
    ) -> Result<String, TmuxError> {
        let run = require_plain("run", expected.run.as_str())?;
        let (server, pane) = (expected.server, expected.pane);
        let is_ours = format!(
            "#{{&&:#{{==:#{{pid}},{}}},#{{&&:#{{==:#{{start_time}},{}}},#{{==:#{{{RUN}}},{run}}}}}}}",
            server.process.pid, server.started
        );
        let condition = format!("#{{&&:{is_ours},{extra_condition}}}");
        let refuse = format!("display-message -p '{REFUSED}:{is_ours}'");
        let target = pane.to_string();
        let act = [
            "if-shell", "-F", "-t", &target, &condition, command, &refuse,
        ];
        let calls: Vec<Call> = before.into_iter().chain([Call::new(act)]).collect();
        let output = self.call(&calls)?;
        match output.trim().strip_prefix(REFUSED) {
            None => Ok(output),
            Some(":1") => Err(TmuxError::NoInput(pane)),
            Some(_) => Err(TmuxError::NotOurs {
                pane,
                run: expected.run.clone(),
            }),
        }
    }
}

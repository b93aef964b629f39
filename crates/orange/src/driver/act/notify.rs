//! Tells an agent or a person something.

use std::time::Duration;

use orange_engine::Task;
use orange_engine::effect::{EffectId, EffectOutcome, NotifyRole};
use orange_engine::language::hooks::Channel;
use orange_engine::role::Role;
use serde_json::json;

use super::Failure;
use crate::clock::{self, Deadline};
use crate::config::LogLevel;
use crate::driver::Driver;
use crate::effects::tmux::{Observation, Pane};
use crate::store::{NewMessage, Store};

/// What is typed into an agent's pane; the message itself is in its inbox.
///
/// Plain words: in a shell, a command in backticks would be run and its answer thrown away.
const NUDGE: &str = "Message from orange: run orange inbox and do what it says.";

/// How long an agent may take to show what was typed; some lose an Enter that comes earlier.
const IS_SHOWN: Duration = Duration::from_millis(500);

/// How long a line may stay in an agent's input before Enter counts as swallowed.
const TAKES_IN: Duration = Duration::from_secs(1);

impl Driver {
    /// Writes the message once, and tells the agent that it waits, or starts one that finds it.
    ///
    /// Whether it was read shows by the agent's next call; a nudge that cannot be placed is tried
    /// again, and the message stays in the inbox whatever comes of it.
    pub(super) fn notify_role(
        &self,
        store: &mut Store,
        task: &Task,
        effect: EffectId,
        notify: &NotifyRole,
    ) -> Result<EffectOutcome, Failure> {
        let message = NewMessage {
            to: notify.role.clone(),
            from: Role::Engine,
            text: &notify.message,
            effect: Some(effect),
            at: clock::now(),
        };
        let written = store.write_message(&task.id, &message);
        let entry = written.map_err(Failure::passing)?;
        let live = task.runs.get(&notify.role);
        let live = live.filter(|run| run.state.is_live());
        let seen = match live {
            None => None,
            Some(run) => {
                let looked = self.look_at(store, task, &run.id);
                Some(looked.map_err(Failure::passing)?)
            }
        };
        match (seen, live) {
            (Some((Observation::Alive, Some(pane))), _) => {
                let is_read = || is_read(store, task, entry);
                if !is_read()? {
                    self.nudge(&pane, &notify.role, is_read)?;
                }
                Ok(EffectOutcome::Done)
            }
            (Some((Observation::Alive, None)), _) => Err(Failure::passing("its pane is not known")),
            (Some((Observation::Unknown(why), _)), _) => Err(Failure::passing(why)),
            (Some((Observation::Dead(_), _)), Some(run)) => {
                // What the dead one left running must not meet its successor.
                self.end_run(store, task, &run.id)?;
                self.start_instead(store, task, notify)
            }
            (_, _) => self.start_instead(store, task, notify),
        }
    }

    fn start_instead(
        &self,
        store: &mut Store,
        task: &Task,
        notify: &NotifyRole,
    ) -> Result<EffectOutcome, Failure> {
        let Some(spawn) = &notify.otherwise else {
            let role = &notify.role;
            return Err(Failure::for_good(format!("no {role} is there to read it")));
        };
        let parked = store.parked(clock::now()).map_err(Failure::passing)?;
        if let Some(parking) = parked.iter().find(|it| it.harness == spawn.harness) {
            return Err(Failure::parked(parking));
        }
        self.spawn(store, task, spawn)?;
        Ok(EffectOutcome::SpawnedInstead)
    }

    /// Types the line, unless it is there already, and sends it.
    ///
    /// Enter is pressed once more only while the line is provably still in the input box: anywhere
    /// else it could answer a question that nobody read. An agent that shows no box that we know
    /// gets one Enter, and what it does not read stays undelivered.
    fn nudge(
        &self,
        pane: &Pane,
        role: &Role,
        is_read: impl Fn() -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let is_unsent = || self.tmux.is_unsent(pane, NUDGE).map_err(Failure::passing);
        if !is_unsent()? {
            self.tmux.paste(pane, NUDGE).map_err(Failure::passing)?;
        }
        // Where no box of the agent's is recognised, only its next call tells.
        if !within(IS_SHOWN, is_unsent)? {
            return self.tmux.press_enter(pane).map_err(Failure::passing);
        }
        for _ in 0..2 {
            self.tmux.press_enter(pane).map_err(Failure::passing)?;
            if within(TAKES_IN, || Ok(is_read()? || !is_unsent()?))? {
                return Ok(());
            }
        }
        Err(Failure::passing(format!(
            "the {role} does not take in the line that tells of its message: press Enter in its \
             terminal"
        )))
    }

    /// Writes a line into the log of orange, which is all there is for now: no desktop
    /// notification and no bell, since a performer has no terminal, and no webhook.
    pub(super) fn notify_person(
        &self,
        task: &Task,
        message: &str,
        via: &[Channel],
    ) -> Result<EffectOutcome, Failure> {
        let more = json!({ "message": message });
        let written = self.try_log(LogLevel::Warn, &task.id, "notified", more);
        written.map_err(Failure::passing)?;
        if via.contains(&Channel::Webhook) {
            return Err(super::not_available("calling a webhook"));
        }
        Ok(EffectOutcome::Done)
    }
}

/// Whether a message was read.
fn is_read(store: &Store, task: &Task, entry: u64) -> Result<bool, Failure> {
    let inbox = store.inbox(&task.id).map_err(Failure::passing)?;
    Ok(inbox
        .iter()
        .any(|it| it.id == entry && it.read_at.is_some()))
}

/// Whether something comes to hold in time; a look that fails ends the waiting.
fn within(bound: Duration, holds: impl Fn() -> Result<bool, Failure>) -> Result<bool, Failure> {
    let mut seen = Ok(false);
    Deadline::after(bound).wait_for(|| {
        seen = holds();
        !matches!(seen, Ok(false))
    });
    seen
}

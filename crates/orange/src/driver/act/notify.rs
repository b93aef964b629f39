//! Tells an agent or a person something.

use orange_engine::Task;
use orange_engine::effect::{EffectId, EffectOutcome, NotifyRole};
use orange_engine::language::hooks::Channel;
use orange_engine::role::Role;

use super::Failure;
use crate::clock;
use crate::driver::Driver;
use crate::effects::tmux::{Observation, Pane};
use crate::store::{NewMessage, Store};

/// What is typed into an agent's pane; the message itself is in its inbox.
const NUDGE: &str = "Message from orange: run `orange inbox` and do what it says.";

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
                let inbox = store.inbox(&task.id).map_err(Failure::passing)?;
                let is_read =
                    |it: &&crate::store::InboxEntry| it.id == entry && it.read_at.is_some();
                if inbox.iter().find(is_read).is_none() {
                    self.nudge(&pane)?;
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
        self.spawn(store, task, spawn)?;
        Ok(EffectOutcome::SpawnedInstead)
    }

    /// Types the line, unless it is there already, and sends it.
    fn nudge(&self, pane: &Pane) -> Result<(), Failure> {
        let waits = self.tmux.is_unsent(pane, NUDGE).map_err(Failure::passing)?;
        if !waits {
            self.tmux.paste(pane, NUDGE).map_err(Failure::passing)?;
        }
        self.tmux.press_enter(pane).map_err(Failure::passing)
    }

    /// Writes a line into the log of orange, which is all there is for now: no desktop
    /// notification and no bell, since a performer has no terminal, and no webhook.
    pub(super) fn notify_person(
        &self,
        task: &Task,
        message: &str,
        via: &[Channel],
    ) -> Result<EffectOutcome, Failure> {
        let written = self.log(&task.id, message);
        written.map_err(Failure::passing)?;
        if via.contains(&Channel::Webhook) {
            return Err(super::not_available("calling a webhook"));
        }
        Ok(EffectOutcome::Done)
    }
}

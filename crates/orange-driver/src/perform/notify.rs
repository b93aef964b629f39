//! Notifies an agent or the user.

use orange_config::clock;
use orange_config::{Harness, LogLevel};
use orange_effects::tmux::Observation;
use orange_engine::Task;
use orange_engine::effect::{EffectId, EffectOutcome, NotifyRole};
use orange_engine::language::hooks::Channel;
use orange_store::{Delivery, NewMessage, Store};
use serde_json::json;

use super::deliver::{MessageDelivery, note_obstacle};
use crate::context::notify::Notification;
use crate::failure::Failure;
use crate::perform::Performer;

impl Performer {
    /// Writes the message once, and notifies the agent, or starts an agent that finds the message.
    ///
    /// When the agent reads its inbox, the message is marked as read. A line that cannot be typed
    /// is retried, and the message stays in the inbox in every case.
    pub(crate) fn notify_role(
        &self,
        store: &mut Store,
        task: &Task,
        effect: EffectId,
        notify: &NotifyRole,
    ) -> Result<EffectOutcome, Failure> {
        let message = NewMessage {
            to: notify.role.clone(),
            from: notify.from.clone(),
            text: &notify.message,
            effect: Some(effect),
            at: clock::now(),
        };
        let written = store.write_message(&task.id, &message);
        let entry = written.map_err(Failure::temporary)?;
        let result = self.notify_or_start(store, task, notify, entry);
        if let Err(failure) = &result {
            note_obstacle(store, task, entry, &failure.error);
        }
        result
    }

    fn notify_or_start(
        &self,
        store: &mut Store,
        task: &Task,
        notify: &NotifyRole,
        entry: u64,
    ) -> Result<EffectOutcome, Failure> {
        let live = task.runs.get(&notify.role);
        let live = live.filter(|run| run.state.is_live());
        let check = match live {
            None => None,
            Some(run) => {
                let result = self.agents.check_run(store, task, &run.id);
                Some(result.map_err(Failure::temporary)?)
            }
        };
        match (check, live) {
            (Some((Observation::Alive, Some(pane))), Some(run)) => {
                let records = store.runs(&task.id).map_err(Failure::temporary)?;
                let record = records.iter().find(|record| record.id == run.id);
                let record =
                    record.ok_or_else(|| Failure::temporary("the agent's run is unknown"))?;
                let harnesses = self.context.harnesses().ok();
                let harness = harnesses
                    .as_ref()
                    .and_then(|it| it.require(&record.harness).ok());
                if record.headless && harness.is_some_and(Harness::can_be_headless) {
                    return Err(Failure::obstacle(
                        "the agent runs headless and reads no messages; its next prompt mentions this one",
                    ));
                }
                let message = MessageDelivery {
                    events: harness.map(|it| it.events.clone()).unwrap_or_default(),
                    task,
                    role: &notify.role,
                    run: record,
                    pane: &pane,
                    entry,
                };
                self.deliver(store, &message)?;
                Ok(EffectOutcome::Done)
            }
            (Some((Observation::Alive, _)), _) => {
                Err(Failure::temporary("the agent's pane is unknown"))
            }
            (Some((Observation::Unknown(why), _)), _) => Err(Failure::temporary(why)),
            (Some((Observation::Dead(_), _)), Some(run)) => {
                // Processes that the dead agent left must not run beside its successor.
                self.agents.end_run(store, task, &run.id)?;
                self.start_instead(store, task, notify, entry)
            }
            (_, _) => self.start_instead(store, task, notify, entry),
        }
    }

    fn start_instead(
        &self,
        store: &mut Store,
        task: &Task,
        notify: &NotifyRole,
        entry: u64,
    ) -> Result<EffectOutcome, Failure> {
        let Some(spawn) = &notify.spawn_if_absent else {
            let role = &notify.role;
            return Err(Failure::permanent(format!(
                "no {role} is running to read the message"
            )));
        };
        let parked = store.parkings(clock::now()).map_err(Failure::temporary)?;
        if let Some(parking) = parked.iter().find(|it| it.harness == spawn.harness) {
            return Err(Failure::parked(parking));
        }
        self.spawn(store, task, spawn)?;
        // The new agent's prompt mentions the message.
        let delivery = Delivery {
            sent_at: Some(clock::now()),
            ..Delivery::default()
        };
        let noted = store.set_delivery(entry, &delivery);
        noted.map_err(Failure::temporary)?;
        Ok(EffectOutcome::SpawnedInstead)
    }

    /// Writes a line into orange's log, and notifies through the channels that the workflow names
    /// and the user has enabled.
    ///
    /// With a webhook the effect runs at most once; otherwise a second notification does no harm.
    pub(crate) fn notify_user(
        &self,
        task: &Task,
        message: &str,
        via: &[Channel],
    ) -> Result<EffectOutcome, Failure> {
        let more = json!({ "message": message });
        let written = self
            .context
            .try_log(LogLevel::Warn, &task.id, "notified", more);
        written.map_err(Failure::temporary)?;
        let settings = self
            .context
            .settings(None)
            .map_err(Failure::permanent)?
            .notify;
        if via.contains(&Channel::Webhook) && settings.webhook.is_none() {
            return Err(Failure::permanent(
                "no webhook is set; set `notify.webhook` in config.toml",
            ));
        }
        let notification = Notification::about(&task.id, message, &settings);
        let problems = self.context.notify_user(&settings, via, &notification);
        if problems.is_empty() {
            return Ok(EffectOutcome::Done);
        }
        Err(Failure::permanent(problems.join("; ")))
    }
}

//! Notifies the user by desktop, bell or webhook.

use orange_config::NotifySettings;
use orange_effects::forge::webhook;
use orange_effects::notice::show_on_desktop;
use orange_engine::language::hooks::Channel;
use orange_engine::names::TaskId;
use serde_json::{Value, json};

use crate::context::Context;

impl Context {
    /// Notifies through every requested channel that the user has enabled; returns what failed.
    pub(crate) fn notify_user(
        &self,
        settings: &NotifySettings,
        via: &[Channel],
        text: &str,
        json: &Value,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        for channel in via {
            let result = match channel {
                Channel::Desktop if settings.desktop => {
                    let shown = show_on_desktop(&self.environment, "orange", text);
                    shown.map_err(|error| format!("desktop: {error}"))
                }
                Channel::Bell if settings.bell => {
                    let rung = self.tmux.ring().map(|_| ());
                    rung.map_err(|error| format!("bell: {error}"))
                }
                Channel::Webhook => match &settings.webhook {
                    Some(address) => {
                        let json = self.redactor(None, &[]).json(json);
                        let posted = webhook::post(&self.environment, address, &json);
                        posted.map_err(|error| format!("webhook: {error}"))
                    }
                    None => Ok(()),
                },
                Channel::Desktop | Channel::Bell => Ok(()),
            };
            problems.extend(result.err());
        }
        problems
    }
}

/// The JSON that is posted to the webhook for a workflow's message.
pub(crate) fn notification_json(task: &TaskId, message: &str) -> Value {
    json!({ "schema": "orange.notification/1", "task": task, "message": message })
}

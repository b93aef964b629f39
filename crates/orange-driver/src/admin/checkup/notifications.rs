//! Reports whether the last notifications arrived.

use orange_config::NotifySettings;

use super::{Checkup, Health};
use crate::admin::Admin;

impl Admin {
    /// Reports each channel that is enabled and was used.
    pub(super) fn check_notifications(&self, settings: &NotifySettings, found: &mut Vec<Checkup>) {
        for (channel, last) in self.context.last_notifications() {
            let (is_enabled, fix) = match channel.as_str() {
                "desktop" => (settings.desktop, "set `notify.desktop` to false"),
                "bell" => (settings.bell, "set `notify.bell` to false"),
                "webhook" => (settings.webhook.is_some(), "correct `notify.webhook`"),
                _ => continue,
            };
            if !is_enabled {
                continue;
            }
            let subject = format!("notification by {channel}");
            found.push(match last.problem {
                None => {
                    let message = format!("the last one was delivered at {}", last.at);
                    Checkup::new(subject, Health::Ok, message)
                }
                Some(problem) => {
                    let message =
                        format!("the last one was not delivered at {}: {problem}", last.at);
                    let fix = format!("{fix}, or run `orange attention` to see what needs you");
                    Checkup::new(subject, Health::Warning, message).with_fix(fix)
                }
            });
        }
    }
}

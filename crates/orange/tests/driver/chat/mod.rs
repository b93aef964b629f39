//! Commands from chats.

pub mod github;
pub mod matrix;
mod synapse;
pub mod telegram;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use orange_engine::chat::channel::Channel;
use orange_engine::effect::Effect;
use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_store::TaskFilter;

use crate::support::Stage;

/// Writes a token to a file that only the user can read.
fn write_token(stage: &Stage, token: &str) -> PathBuf {
    let file = stage.path("token");
    fs::write(&file, format!("{token}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    file
}

pub fn tasks(stage: &Stage) -> Vec<TaskId> {
    let tasks = stage.store().list(&TaskFilter::default()).unwrap().tasks;
    tasks.into_iter().map(|it| it.task.id).collect()
}

/// The messages from a channel that were sent to the agents of a task.
pub fn messages(stage: &Stage, id: &TaskId, channel: Channel) -> Vec<String> {
    let events = stage.store().events(id, 0).unwrap().into_iter();
    let messages = events.filter_map(|it| match it.event.fact {
        Fact::EffectPlanned(planned) => match planned.effect {
            Effect::NotifyRole(notify) => {
                assert_eq!(notify.from, Role::Engine);
                Some(notify.message)
            }
            _ => None,
        },
        _ => None,
    });
    let origin = format!("by {channel} (message ");
    messages.filter(|it| it.contains(&origin)).collect()
}

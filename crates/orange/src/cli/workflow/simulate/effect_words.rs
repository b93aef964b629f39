//! Describes what an effect would do, in a few words.

use std::collections::BTreeSet;

use orange_engine::effect::{Effect, Kill, KillScope, NotifyRole, Spawn};
use orange_engine::language::hooks::Channel;
use orange_engine::role::Role;

use crate::cli::answer::words::count_noun;

/// How many characters of a message are shown.
const MAX_MESSAGE_CHARS: usize = 50;

/// Describes an effect. `alive` holds the agents that run before the effect, and is updated to
/// those that run after it.
pub fn describe_effect(effect: &Effect, alive: &mut BTreeSet<Role>) -> String {
    match effect {
        Effect::AcquireWorkspace { restore: false } => "binds a workspace".to_owned(),
        Effect::AcquireWorkspace { restore: true } => {
            "binds a workspace and restores the saved work".to_owned()
        }
        Effect::ReleaseWorkspace { .. } => {
            "saves uncommitted work, then releases the workspace".to_owned()
        }
        Effect::Spawn(spawn) => {
            alive.insert(spawn.role.clone());
            describe_start(spawn)
        }
        Effect::Kill(kill) => describe_kill(kill, alive),
        Effect::NotifyRole(notify) => describe_message(notify, alive),
        Effect::SpawnNext => "lets the scheduler start the next queued task".to_owned(),
        Effect::PushBranch { .. } => "pushes the branch".to_owned(),
        Effect::CreatePr(_) => "pushes the branch and opens its pull request".to_owned(),
        Effect::ReadyPr => "marks the pull request as ready".to_owned(),
        Effect::RerunChecks { .. } => "runs the failed checks again".to_owned(),
        Effect::MergePr { .. } => "asks to merge the pull request".to_owned(),
        Effect::DeleteRemoteBranch { .. } => "removes the remote branch".to_owned(),
        Effect::ArchiveSection { section } => format!("archives `{section}` of TASK.md"),
        Effect::Notify { message, via } => {
            let channels: Vec<&str> = via.iter().copied().map(channel_name).collect();
            let channels = channels.join(" and ");
            format!("notifies you by {channels}: {}", beginning(message))
        }
        Effect::RunCommand { command } => format!("runs `{}`", command.join(" ")),
        Effect::Merge(_) => "merges the branch".to_owned(),
        Effect::Route => "chooses a harness".to_owned(),
        Effect::CreateChildren { delegations } => {
            format!("creates {}", count_noun(delegations.len(), "child task"))
        }
        Effect::MergeChildren { children } => {
            let branches = count_noun(children.len(), "child task");
            format!("merges the work of {branches} into the branch")
        }
        Effect::WriteIssue => "does nothing".to_owned(),
    }
}

fn describe_start(spawn: &Spawn) -> String {
    let role = &spawn.role;
    let place = if spawn.headless {
        "without a terminal".to_owned()
    } else {
        format!("in window `{}`", spawn.window)
    };
    match spawn.delay {
        0 => format!("starts the {role} {place}"),
        delay => format!("starts the {role} {place} after {}", counted_seconds(delay)),
    }
}

fn counted_seconds(seconds: u64) -> String {
    count_noun(usize::try_from(seconds).unwrap_or(usize::MAX), "second")
}

fn describe_kill(kill: &Kill, alive: &mut BTreeSet<Role>) -> String {
    let is_killed = |role: &Role| match &kill.scope {
        KillScope::Session => true,
        KillScope::Role(only) => only == role,
        // The named runs have already ended; this kills only what they left running.
        KillScope::Runs => false,
    };
    let (killed, remaining) = std::mem::take(alive).into_iter().partition(is_killed);
    *alive = remaining;
    let killed: BTreeSet<Role> = killed;
    let names: Vec<String> = killed.iter().map(|role| format!("the {role}")).collect();
    match (names.as_slice(), &kill.scope) {
        ([], KillScope::Runs) => "kills what a dead agent left running".to_owned(),
        ([], _) => "kills nothing: no agent is running".to_owned(),
        (names, _) => format!("kills {}", names.join(" and ")),
    }
}

fn describe_message(notify: &NotifyRole, alive: &mut BTreeSet<Role>) -> String {
    let role = &notify.role;
    if alive.contains(role) {
        return format!("tells the {role}: {}", beginning(&notify.message));
    }
    match &notify.spawn_if_absent {
        Some(spawn) => {
            alive.insert(role.clone());
            format!("{}, because none is running", describe_start(spawn))
        }
        None => format!("tells no one: the {role} is not running"),
    }
}

fn channel_name(channel: Channel) -> &'static str {
    match channel {
        Channel::Desktop => "desktop",
        Channel::Bell => "bell",
        Channel::Webhook => "webhook",
    }
}

/// The first sentence of a message, as far as it fits on a line.
fn beginning(message: &str) -> String {
    let line = message.trim().lines().next().unwrap_or_default();
    let line = line.split_inclusive(". ").next().unwrap_or_default().trim();
    if line.chars().count() <= MAX_MESSAGE_CHARS {
        return line.to_owned();
    }
    let short: String = line.chars().take(MAX_MESSAGE_CHARS).collect();
    // Leave out a word that was cut in two.
    let whole = short
        .rsplit_once(' ')
        .map_or(short.as_str(), |(whole, _)| whole);
    format!("{whole} …")
}

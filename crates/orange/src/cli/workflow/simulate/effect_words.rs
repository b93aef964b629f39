//! Describes what an effect would do, in a few words.

use std::collections::BTreeSet;

use orange_engine::effect::{Effect, Kill, KillScope, NotifyRole, Spawn};
use orange_engine::language::hooks::Channel;
use orange_engine::role::Role;

use crate::cli::answer::words::counted;

/// How many characters of a message are shown.
const LONGEST: usize = 50;

/// Describes an effect planned while these agents run, and updates which of them run after it.
pub fn tell(effect: &Effect, alive: &mut BTreeSet<Role>) -> String {
    match effect {
        Effect::AcquireWorkspace { restore: false } => "binds a workspace".to_owned(),
        Effect::AcquireWorkspace { restore: true } => {
            "binds a workspace, with the work rescued earlier".to_owned()
        }
        Effect::ReleaseWorkspace { .. } => {
            "saves what is unsaved, then frees the workspace".to_owned()
        }
        Effect::Spawn(spawn) => {
            alive.insert(spawn.role.clone());
            tell_start(spawn)
        }
        Effect::Kill(kill) => tell_end(kill, alive),
        Effect::NotifyRole(notify) => tell_message(notify, alive),
        Effect::SpawnNext => "lets the scheduler start the next queued task".to_owned(),
        Effect::PushBranch { .. } => "pushes the branch".to_owned(),
        Effect::CreatePr { .. } => "opens a pull request".to_owned(),
        Effect::DeleteRemoteBranch { .. } => "removes the remote branch".to_owned(),
        Effect::ArchiveSection { section } => format!("sets `{section}` in TASK.md aside"),
        Effect::Notify { message, via } => {
            let ways: Vec<&str> = via.iter().copied().map(way).collect();
            let ways = ways.join(" and ");
            format!("tells the person by {ways}: {}", beginning(message))
        }
        Effect::RunCommand { command } => format!("runs `{}`", command.join(" ")),
        Effect::Merge(_) => "merges the branch".to_owned(),
        Effect::Route => "chooses a harness".to_owned(),
        Effect::CreateChildren { delegations } => {
            format!("creates {}", counted(delegations.len(), "child task"))
        }
        Effect::CommentIssue { .. } => "comments on the issue".to_owned(),
        Effect::LabelIssue { label } => format!("labels the issue `{label}`"),
        Effect::CloseIssue => "closes the issue".to_owned(),
    }
}

fn tell_start(spawn: &Spawn) -> String {
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
    counted(usize::try_from(seconds).unwrap_or(usize::MAX), "second")
}

fn tell_end(kill: &Kill, alive: &mut BTreeSet<Role>) -> String {
    let within = |role: &Role| match &kill.scope {
        KillScope::Session => true,
        KillScope::Role(only) => only == role,
        // The named runs have already ended; this kills only what they left running.
        KillScope::Runs => false,
    };
    let (ended, left) = std::mem::take(alive).into_iter().partition(within);
    *alive = left;
    let ended: BTreeSet<Role> = ended;
    let names: Vec<String> = ended.iter().map(|role| format!("the {role}")).collect();
    match (names.as_slice(), &kill.scope) {
        ([], KillScope::Runs) => "ends what a dead agent left running".to_owned(),
        ([], _) => "ends nobody: none is there".to_owned(),
        (names, _) => format!("ends {}", names.join(" and ")),
    }
}

fn tell_message(notify: &NotifyRole, alive: &mut BTreeSet<Role>) -> String {
    let role = &notify.role;
    if alive.contains(role) {
        return format!("tells the {role}: {}", beginning(&notify.message));
    }
    match &notify.otherwise {
        Some(spawn) => {
            alive.insert(role.clone());
            format!("{}, because nobody is there to tell", tell_start(spawn))
        }
        None => format!("tells nobody: the {role} is not there"),
    }
}

fn way(channel: Channel) -> &'static str {
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
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let short: String = line.chars().take(LONGEST).collect();
    // Leave out a word that was cut in two.
    let whole = short
        .rsplit_once(' ')
        .map_or(short.as_str(), |(whole, _)| whole);
    format!("{whole} …")
}

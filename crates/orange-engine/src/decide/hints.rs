//! Hints on what to do after a refusal; every command is complete.

use crate::language::gates::GitCondition;
use crate::language::verbs::Verb;
use crate::names::{BranchName, Status, TaskId, WorkflowName};
use crate::refusal::{Attempt, Blocker, GateFailure, Refusal};
use crate::refusal::{HAS_SUMMARY, describe_section};
use crate::role::Role;
use crate::wording::{actor, join_or};

/// A hint for each thing that is missing, without duplicates.
pub(super) fn hints_for(refusal: &Refusal) -> Vec<String> {
    let mut hints: Vec<String> = Vec::new();
    // A caller that is not allowed to ask gets no hints on how to pass the gates.
    let is_barred = |missing: &&Blocker| matches!(missing, Blocker::NotAllowed { .. });
    let barred = refusal.missing.iter().find(is_barred);
    // The commits are on the branch that another hint makes the task's.
    let is_on_other_branch = refusal.missing.iter().any(|it| {
        matches!(
            it,
            Blocker::GateFailed {
                failure: GateFailure::Uncommitted {
                    other_branch: Some(_),
                    ..
                }
            }
        )
    });
    let is_answered = |missing: &Blocker| {
        let failure = GateFailure::Git {
            condition: GitCondition::CommitsAhead,
        };
        is_on_other_branch && *missing == Blocker::GateFailed { failure }
    };
    let all = refusal.missing.iter().filter(|it| !is_answered(it));
    for missing in all.filter(|missing| barred.is_none_or(|barred| barred == *missing)) {
        let is_confirmed_by_other = matches!(missing, Blocker::ConfirmationNeeded { .. })
            && hints.iter().any(|hint| hint.contains(" --yes`"));
        if let Some(hint) = hint(missing, refusal)
            && !hints.contains(&hint)
            && !is_confirmed_by_other
        {
            hints.push(hint);
        }
    }
    name_command_once(hints)
}

/// If several hints end with the same command, only the last hint keeps it: the command is to be
/// run once, after all the other steps.
fn name_command_once(mut hints: Vec<String>) -> Vec<String> {
    let split = |hint: &str| {
        let at = hint.rfind("then run `")?;
        Some((at, hint[at..].to_owned()))
    };
    for index in 0..hints.len() {
        let Some((at, command)) = split(&hints[index]) else {
            continue;
        };
        let mut later = hints[index + 1..].iter();
        if later.any(|it| it.ends_with(&command)) {
            let before = hints[index][..at].trim_end_matches([' ', ',', ';']).len();
            hints[index].truncate(before);
        }
    }
    hints
}

fn hint(missing: &Blocker, refusal: &Refusal) -> Option<String> {
    let task = &refusal.task;
    let is_confirmation = |it: &Blocker| matches!(it, Blocker::ConfirmationNeeded { .. });
    let needs_yes = refusal.by == Role::Human && refusal.missing.iter().any(is_confirmation);
    let confirmation = if needs_yes { " --yes" } else { "" };
    let same_command = repeat_command(refusal) + confirmation;
    Some(match missing {
        Blocker::Terminal {
            is_cancelled: true, ..
        } => format!("continue it with `orange task reopen {task}`"),
        Blocker::Terminal { branch, .. } => finished_hint(branch.as_ref(), refusal),
        Blocker::NotCancelled {
            has_ended: true, ..
        } => finished_hint(None, refusal),
        Blocker::UnknownStatus { allowed, .. }
            if matches!(refusal.attempt, Attempt::Create { .. }) =>
        {
            let names = join_or(allowed.iter().map(|status| format!("`{status}`")));
            format!("a task can begin in {names}; without `--status` the workflow chooses")
        }
        Blocker::NoTransition { allowed } | Blocker::UnknownStatus { allowed, .. }
            if !allowed.is_empty() =>
        {
            let commands = allowed.iter();
            let commands = commands.map(|status| format!("`{}`", move_command(refusal, status)));
            format!(
                "from here you can run {}; `orange task why {task}` shows what each needs",
                join_or(commands)
            )
        }
        Blocker::NothingToMerge { .. } => format!(
            "commit the work in the task's worktree; if you merged the branch yourself, name its \
             commit: `{same_command} --head COMMIT`"
        ),
        Blocker::NothingToPush { .. } => {
            format!("commit the work in the task's worktree, then run `{same_command}`")
        }
        Blocker::NotInBranch { .. } => {
            format!("see the branch's commits with `orange task diff {task}`")
        }
        Blocker::NotByRequest { triggers } if triggers.iter().any(|name| name == "merged") => {
            format!("merge the branch to get there: `orange task merge {task}`")
        }
        Blocker::NotAllowed { by, .. } => not_allowed_hint(by, refusal),
        Blocker::GuardFailed { when, .. } => guard_hint(when, refusal),
        Blocker::GateFailed { failure } => return gate_hint(failure, &same_command, refusal),
        Blocker::ConfirmationNeeded { .. } if refusal.by == Role::Human => {
            let head = named_head(&refusal.attempt);
            format!("to confirm, run `{}{head} --yes`", repeat_command(refusal))
        }
        Blocker::ConfirmationNeeded { .. } => ask_user_hint(refusal),
        Blocker::UnknownStatus { .. } | Blocker::NoPrevious | Blocker::VerbUnavailable { .. } => {
            format!("see where the task can go with `orange task why {task}`")
        }
        Blocker::NothingToDo if refusal.attempt == Attempt::Tell => {
            format!("write a message: `orange task tell {task} --message TEXT`")
        }
        Blocker::SameStatus { .. }
        | Blocker::CannotPlan { .. }
        | Blocker::NothingToDo
        | Blocker::NoTransition { .. }
        | Blocker::NotByRequest { .. }
        | Blocker::AlreadyStarting { .. }
        | Blocker::Merging
        | Blocker::NotCancelled { .. }
        | Blocker::EffectsRunning => {
            format!("see what the task waits for with `orange task why {task}`")
        }
        Blocker::HeldBack { wait } => return wait.hint(),
        Blocker::NotEnded { .. } => {
            format!("cancel it first with `orange task cancel {task}`; its work is kept")
        }
        Blocker::HoldsWorkspace => {
            String::from("run `orange workspace gc`: it releases what finished tasks still hold")
        }
        Blocker::StatusAbsent {
            statuses, workflow, ..
        } => absent_status_hint(statuses, workflow, task),
        Blocker::KindDiffers { .. } => format!(
            "first move the task to a status that has the same kind in both workflows; `orange \
             task why {task}` shows where it can go"
        ),
        Blocker::NoRespawn { .. } => {
            format!("see which agents should run with `orange task show {task}`")
        }
        Blocker::NoAgentRunning { .. } => no_agent_hint(refusal),
        Blocker::UnknownRole { .. } => {
            format!("leave out `--role`, or see the agents with `orange task show {task}`")
        }
        Blocker::NotStarted => format!("start it first with `orange task spawn {task}`"),
        Blocker::StillRunning { .. } => format!("check it with `orange task attach {task}`"),
        Blocker::NoWorkspace => {
            format!("see what happened to it with `orange task show {task}`")
        }
        Blocker::NoEntry { entries } => {
            let status = entries.first()?;
            format!("run `orange task create --status {status}`")
        }
    })
}

/// What is left to do with a finished task; `branch` if merging it is left to the user.
fn finished_hint(branch: Option<&BranchName>, refusal: &Refusal) -> String {
    let merges = matches!(
        refusal.attempt,
        Attempt::Verb {
            verb: Verb::Merge,
            ..
        }
    );
    match branch.filter(|_| merges) {
        Some(branch) => {
            format!("its workflow leaves that to you: run `git merge {branch}` in your checkout")
        }
        None => String::from("create a new task for further work with `orange task create`"),
    }
}

fn no_agent_hint(refusal: &Refusal) -> String {
    let task = &refusal.task;
    match refusal.attempt {
        Attempt::Stop { .. } => format!("see its agents with `orange task show {task}`"),
        Attempt::Tell => format!(
            "see what you can do now with `orange task why {task}`; where the status has an agent, \
             `orange task respawn {task}` starts it"
        ),
        _ => format!("respawn it first with `orange task respawn {task}`"),
    }
}

fn guard_hint(when: &str, refusal: &Refusal) -> String {
    let task = &refusal.task;
    if matches!(refusal.attempt, Attempt::Create { .. }) {
        String::from("leave `--status` out, and the workflow chooses the first status")
    } else if when == HAS_SUMMARY {
        format!("add a summary with `orange task update {task} --summary TEXT`")
    } else {
        format!("see how the task got here with `orange task show {task}`")
    }
}

/// How to move the task to a status that the new workflow has too.
fn absent_status_hint(statuses: &[Status], workflow: &WorkflowName, task: &TaskId) -> String {
    match statuses {
        [] => format!(
            "the two workflows have no status in common; create a new task: `orange task create \
             --workflow {workflow}`"
        ),
        [status] => {
            format!("first move the task: `orange task update {task} --status {status}`")
        }
        statuses => {
            let names = join_or(statuses.iter().map(|it| format!("`{it}`")));
            format!("first move the task to {names}: `orange task update {task} --status STATUS`")
        }
    }
}

/// The command that repeats the request.
fn repeat_command(refusal: &Refusal) -> String {
    match &refusal.attempt {
        Attempt::Move { to, .. } => move_command(refusal, to),
        Attempt::Verb { verb, .. } if refusal.by != Role::Human => {
            format!("orange task {verb}{}", options(&refusal.attempt))
        }
        _ => user_command(refusal),
    }
}

/// An agent calls from inside its workspace, where the command needs no task name.
fn move_command(refusal: &Refusal, to: &Status) -> String {
    if refusal.by == Role::Human {
        format!("orange task update {} --status {to}", refusal.task)
    } else {
        format!("orange task update --status {to}")
    }
}

/// The options that were given with a verb.
fn options(attempt: &Attempt) -> String {
    let Attempt::Verb {
        strategy, local, ..
    } = attempt
    else {
        return String::new();
    };
    let strategy = strategy.map(|it| format!(" --strategy {}", it.as_str()));
    let local = if *local { " --local" } else { "" };
    strategy.unwrap_or_default() + local
}

/// The option `--head` of the refused merge, if it was given.
fn named_head(attempt: &Attempt) -> String {
    match attempt {
        Attempt::Verb {
            head: Some(head),
            is_head_named: true,
            ..
        } => format!(" --head {}", head.short()),
        _ => String::new(),
    }
}

/// Suggests asking the user only if no other agent may make the request; else suggests waiting.
fn not_allowed_hint(by: &[Role], refusal: &Refusal) -> String {
    let agents = by
        .iter()
        .filter(|role| !matches!(role, Role::Human | Role::Engine));
    let agents = join_or(agents.map(actor));
    if agents.is_empty() && by.contains(&Role::Human) {
        return ask_user_hint(refusal);
    }
    let for_agents = if agents.is_empty() {
        agents
    } else {
        format!(" for {agents}")
    };
    let task = &refusal.task;
    format!("wait{for_agents}; see what the task waits for with `orange task why {task}`")
}

fn ask_user_hint(refusal: &Refusal) -> String {
    format!(
        "ask the user to run `{}` outside the agents' sessions",
        user_command(refusal)
    )
}

/// Replaces the hints for a caller that counts as the worker only because of its directory. The
/// caller may be the user, so the new hint names the command to run in another directory.
pub fn address_caller_in_worktree(refusal: &mut Refusal) {
    let is_for_user = |missing: &Blocker| match missing {
        Blocker::NotAllowed { by, .. } => by.contains(&Role::Human),
        Blocker::ConfirmationNeeded { .. } => true,
        _ => false,
    };
    if refusal.missing.iter().any(is_for_user) {
        let is_confirmation = |it: &Blocker| matches!(it, Blocker::ConfirmationNeeded { .. });
        let mut command = user_command(refusal) + &named_head(&refusal.attempt);
        if refusal.missing.iter().any(is_confirmation) {
            command += " --yes";
        }
        refusal.hints = vec![format!(
            "you are in the worktree of `{}`, where commands count as the worker's; run \
             `{command}` from another directory",
            refusal.task
        )];
    }
}

/// The command with which the user makes the same request.
fn user_command(refusal: &Refusal) -> String {
    let task = &refusal.task;
    match &refusal.attempt {
        Attempt::Move { to, .. } => format!("orange task update {task} --status {to}"),
        Attempt::Verb {
            verb: Verb::RequestChanges,
            ..
        } => format!("orange task request-changes {task} --message TEXT"),
        Attempt::Verb { verb, .. } => {
            format!("orange task {verb} {task}{}", options(&refusal.attempt))
        }
        Attempt::Respawn { .. } => format!("orange task respawn {task}"),
        Attempt::Stop { .. } => format!("orange task stop {task}"),
        Attempt::Restart { .. } => format!("orange task restart {task}"),
        Attempt::Reopen => format!("orange task reopen {task}"),
        Attempt::OpenPullRequest => format!("orange task pr {task}"),
        Attempt::Amend => format!("orange task update {task}"),
        Attempt::Tell => format!("orange task tell {task} --message TEXT"),
        Attempt::RetryEffects => format!("orange task retry {task}"),
        Attempt::ClearAttention => format!("orange attention --clear {task}"),
        Attempt::ChangeWorkflow { workflow } => {
            format!("orange task update {task} --workflow {workflow}")
        }
        Attempt::Delete => format!("orange task delete {task}"),
        Attempt::Restore => format!("orange task delete {task} --undo"),
        Attempt::Create { .. } => String::from("orange task create"),
    }
}

fn gate_hint(failure: &GateFailure, same_command: &str, refusal: &Refusal) -> Option<String> {
    let Refusal { task, by, .. } = refusal;
    Some(match failure {
        GateFailure::SectionMissing {
            section,
            fields,
            verdict,
        }
        | GateFailure::SectionEmpty {
            section,
            fields,
            verdict,
        } => {
            let what = describe_section(section, fields, *verdict);
            format!("add to TASK.md: {what}; then run `{same_command}`")
        }
        GateFailure::FieldsMissing {
            section, fields, ..
        } => {
            let what = describe_section(section, fields, None);
            format!("write in TASK.md: {what}; then run `{same_command}`")
        }
        GateFailure::VerdictWrong {
            section, wanted, ..
        } => format!(
            "only if the verdict is {wanted}: write `Verdict: {wanted}` as the first line of \
             `{section}` in TASK.md, then run `{same_command}`"
        ),
        GateFailure::VerdictUnreadable { section, .. }
        | GateFailure::VerdictBoth { section, .. } => {
            format!(
                "make `Verdict: PASS` or `Verdict: FAIL` the first line of `{section}` in TASK.md, \
                 then run `{same_command}`"
            )
        }
        GateFailure::NotFromRole { roles, .. } => {
            let names: Vec<String> = roles.iter().map(actor).collect();
            format!("{} must run `{same_command}`", names.join(" or "))
        }
        GateFailure::NotFresh { section, .. } => {
            format!("update `{section}` in TASK.md, then run `{same_command}`")
        }
        GateFailure::BranchMoved {
            from, to, commits, ..
        } => {
            let (from, to) = (from.short(), to.short());
            // A branch that was rewritten has no range of new commits.
            let look = match commits {
                Some(_) => format!("git log -p {from}..{to}"),
                None => format!("orange task diff {task}"),
            };
            format!("check what is new with `{look}`, then run `{same_command} --head {to}`")
        }
        GateFailure::Uncommitted { .. } => uncommitted_hint(failure, same_command, task),
        GateFailure::Git { condition } => git_hint(*condition, same_command, by),
        GateFailure::PullRequestMissing | GateFailure::PullRequestHead { .. } => {
            format!("push the branch with `orange task pr {task}`, then run `{same_command}`")
        }
        GateFailure::PullRequestDraft { wanted: false } => {
            format!("mark it as ready with `orange task pr {task} --ready`")
        }
        GateFailure::PullRequestUnknown { .. } => {
            format!("ask again with `orange forge look`, then run `{same_command}`")
        }
        GateFailure::PullRequestState { .. }
        | GateFailure::PullRequestDraft { .. }
        | GateFailure::PullRequestChecks { .. }
        | GateFailure::PullRequestReview { .. }
        | GateFailure::PullRequestMergeable { .. }
        | GateFailure::PullRequestThreads { .. } => {
            format!("see it with `orange task pr {task} --open`, then run `{same_command}`")
        }
        GateFailure::Command { command, .. } => {
            format!(
                "make `{}` succeed, then run `{same_command}`",
                command.join(" ")
            )
        }
        GateFailure::ReportMissing | GateFailure::ReportDiffers { .. } => return None,
    })
}

/// What to do about a worktree that is not clean, or not on the task's branch.
fn uncommitted_hint(failure: &GateFailure, same_command: &str, task: &TaskId) -> String {
    match failure {
        GateFailure::Uncommitted {
            files,
            other_branch: Some(branch),
            ..
        } => {
            let commit = if files.is_empty() {
                ""
            } else {
                "commit the files; "
            };
            format!(
                "{commit}run `orange task update {task} --branch`, which makes `{branch}` the \
                 task's branch; then run `{same_command}`"
            )
        }
        GateFailure::Uncommitted {
            files, unfiltered, ..
        } if files.is_empty() && !unfiltered.is_empty() => {
            let filter = &unfiltered[0].filter;
            format!(
                "if `git status` lists no change, the user has to put the filter into their own \
                 configuration: `git config --global filter.{filter}.clean COMMAND`, and its \
                 `smudge` likewise; then run `{same_command}`"
            )
        }
        GateFailure::Uncommitted { files, .. } if files.is_empty() => {
            format!("fix that (see `git status`), then run `{same_command}`")
        }
        _ => format!(
            "commit them with `git add` and `git commit`, undo unwanted changes with `git restore \
             FILE`, and delete unwanted new files or list them in .gitignore; then run `{same_command}`"
        ),
    }
}

fn git_hint(condition: GitCondition, same_command: &str, by: &Role) -> String {
    match condition {
        GitCondition::Clean | GitCondition::CommitsAhead if *by == Role::Human => {
            format!("commit the work in the task's worktree, then run `{same_command}`")
        }
        GitCondition::Clean | GitCondition::CommitsAhead => {
            format!("commit your work with `git add` and `git commit`, then run `{same_command}`")
        }
        GitCondition::BranchNotDefault => {
            format!("switch to a branch with `git switch -c <name>`, then run `{same_command}`")
        }
        GitCondition::TaskFileUntracked => format!(
            "remove it from the branch's commits with `git rm --cached TASK.md` and \
             `git commit --amend`, or with `git rebase -i`, then run `{same_command}`"
        ),
    }
}

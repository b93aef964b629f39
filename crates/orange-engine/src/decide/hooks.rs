//! Turns hooks into effects with every parameter filled in.

use std::fmt::Write as _;

use super::plan_builder::PlanBuilder;
use super::respawn;
use super::transition::change_fields;
use crate::context_file::relative_path;
use crate::delegation::ChildMerge;
use crate::effect::{CreatePr, Effect, Kill, KillScope, NotifyRole, Spawn};
use crate::language::hooks::{Action, HarnessChoice, Hook, SpawnHook};
use crate::language::prompt::Prompt;
use crate::language::workflow::{Change, NewValue};
use crate::names::{CommitId, FieldName, HarnessName, PromptName, RunId, TaskId};
use crate::role::Role;
use crate::routing::Split;
use crate::task::{PendingState, Task, TransitionMessage, Workspace};

/// How many conflicting files a prompt names for each child.
const MAX_FILES_SHOWN: usize = 30;

/// What hooks need to know in addition to the task.
pub(super) struct Context<'a> {
    /// The plan their effects belong to.
    pub(super) plan: u64,
    /// The message of the transition itself.
    pub(super) message: &'a str,
    /// The role that requested the transition.
    pub(super) by: &'a Role,
    /// The runs that were known before the transition.
    pub(super) known: &'a [KnownRun],
}

impl Context<'_> {
    /// The messages for an agent that is started or notified: that of the transition, and earlier
    /// ones that no agent has received and that no pending effect carries.
    pub(super) fn messages(&self, steps: &PlanBuilder<'_>) -> Vec<TransitionMessage> {
        let is_carried = steps.task.pending.iter().any(|pending| {
            let effect = &pending.planned.effect;
            matches!(effect, Effect::Spawn(_) | Effect::NotifyRole(_))
                && pending.planned.plan < self.plan
                && pending.state == PendingState::Waiting
        });
        let messages = steps.task.messages.iter();
        let messages = messages.filter(|it| it.received_by.is_none());
        let messages = messages.filter(|it| !is_carried || it.plan == self.plan);
        messages.cloned().collect()
    }
}

/// A run that a kill may have to end.
pub(super) struct KnownRun {
    /// The role it ran as; `None` if the run is known only from a kill that names no role.
    role: Option<Role>,
    run: RunId,
}

/// Every run that may still have a process. This includes dead agents, which can leave child
/// processes, and the targets of failed kills, which are still there.
pub(super) fn known_runs(steps: &PlanBuilder<'_>) -> Vec<KnownRun> {
    let mut known: Vec<KnownRun> = Vec::new();
    let mut add = |role: Option<&Role>, run: &RunId| {
        if known.iter().all(|other| other.run != *run) {
            known.push(KnownRun {
                role: role.cloned(),
                run: run.clone(),
            });
        }
    };
    for (role, run) in &steps.task.runs {
        add(Some(role), &run.id);
    }
    for pending in &steps.task.pending {
        match &pending.planned.effect {
            Effect::NotifyRole(notify) => {
                if let Some(start) = &notify.spawn_if_absent {
                    add(Some(&start.role), &start.run);
                }
            }
            Effect::Kill(kill) => {
                let role = match &kill.scope {
                    KillScope::Role(role) => Some(role),
                    KillScope::Session | KillScope::Runs => None,
                };
                kill.runs.iter().for_each(|run| add(role, run));
            }
            _ => {}
        }
    }
    known
}

pub(super) fn plan(steps: &mut PlanBuilder<'_>, hooks: &[&Hook], context: &Context<'_>) {
    // A run that only plans has no worktree.
    let plans_only = hooks
        .iter()
        .any(|hook| plan_prompt(&steps.task, hook).is_some());
    for hook in hooks {
        if plans_only && matches!(hook.action, Action::AcquireWorkspace { .. }) {
            continue;
        }
        if let Some(effect) = effect(steps, hook, context) {
            steps.plan_timed_effect(context.plan, effect, hook.on_error, hook.timeout);
        }
    }
}

/// The prompt for planning a split, if this hook starts a run that does only that.
fn plan_prompt<'a>(task: &Task, hook: &'a Hook) -> Option<&'a PromptName> {
    let spawn = hook.action.spawn()?;
    spawn
        .plan
        .as_ref()
        .filter(|_| task.routing.split == Split::Wanted)
}

/// The effect of a hook. A hook that only changes a field, or asks for what is already there, has
/// none.
fn effect(steps: &mut PlanBuilder<'_>, hook: &Hook, context: &Context<'_>) -> Option<Effect> {
    let branch = steps.task.branch.clone();
    Some(match &hook.action {
        // A task that holds a workspace needs no other; a transition may ask for one to be sure.
        Action::AcquireWorkspace { .. } if steps.task.workspace.is_held() => return None,
        Action::AcquireWorkspace { restore } => Effect::AcquireWorkspace { restore: *restore },
        Action::ReleaseWorkspace => Effect::ReleaseWorkspace {
            workspace: match &steps.task.workspace {
                Workspace::Bound(name) => Some(name.clone()),
                Workspace::Releasing(name) => name.clone(),
                Workspace::None | Workspace::Acquiring => None,
            },
        },
        Action::SpawnAgent(spawn) => {
            steps.end_leftovers(context.plan, &spawn.role);
            let plan = plan_prompt(&steps.task, hook);
            Effect::Spawn(start(steps, spawn, plan, context))
        }
        Action::KillSession => Effect::Kill(kill(KillScope::Session, context)),
        Action::KillRole { role } => Effect::Kill(kill(KillScope::Role(role.clone()), context)),
        Action::NotifyWorker { message } => {
            let messages = context.messages(steps);
            let text = joined(&messages);
            let message = with_messages(message, fill(message, steps, &text), &messages);
            let spawn_if_absent = respawn::spawn(steps, &Role::Worker, 0, &text);
            steps.end_leftovers(context.plan, &Role::Worker);
            Effect::NotifyRole(NotifyRole {
                role: Role::Worker,
                from: Role::Engine,
                message,
                spawn_if_absent,
            })
        }
        Action::SpawnNext => Effect::SpawnNext,
        Action::PushBranch => Effect::PushBranch { branch },
        Action::CreatePr { draft, labels } => Effect::CreatePr(CreatePr {
            branch,
            head: submitted_commit(steps),
            title: steps.task.summary.clone(),
            draft: *draft,
            labels: labels.clone(),
        }),
        Action::ReadyPr => Effect::ReadyPr,
        Action::MergePr { strategy } => Effect::MergePr {
            head: submitted_commit(steps)?,
            strategy: *strategy,
        },
        Action::DeleteRemoteBranch => Effect::DeleteRemoteBranch { branch },
        Action::SetField(change) => {
            change_fields(steps, std::slice::from_ref(change));
            return None;
        }
        Action::ArchiveSection { section } => Effect::ArchiveSection {
            section: section.clone(),
        },
        Action::Notify { message, via } => Effect::Notify {
            message: fill(message, steps, context.message),
            via: via.clone(),
        },
        Action::RunCommand { command } => Effect::RunCommand {
            command: command.clone(),
        },
        // What is chosen stays until the user starts the task again.
        Action::Route if steps.task.routing.route.is_some() => return None,
        Action::Route => Effect::Route,
        Action::CreateChildren => Effect::CreateChildren {
            delegations: steps
                .task
                .report
                .as_ref()
                .map(|report| report.delegations.clone())
                .unwrap_or_default(),
        },
        Action::MergeChildren => Effect::MergeChildren {
            children: unmerged_children(&steps.task)?,
        },
    })
}

/// The children that have ended and whose branches were not looked at; `None` if there are none.
fn unmerged_children(task: &Task) -> Option<Vec<TaskId>> {
    let ended = task.children.iter().filter(|(_, end)| end.is_some());
    let ended = ended.map(|(child, _)| child);
    let unmerged = ended.filter(|child| !task.child_merges.contains_key(*child));
    let unmerged: Vec<TaskId> = unmerged.cloned().collect();
    (!unmerged.is_empty()).then_some(unmerged)
}

/// Whether an effect of these hooks is about a commit.
pub(super) fn need_commit(hooks: &[&Hook]) -> bool {
    let mut actions = hooks.iter().map(|hook| &hook.action);
    actions.any(|action| matches!(action, Action::CreatePr { .. } | Action::MergePr { .. }))
}

/// The submitted commit, else the head of the branch.
fn submitted_commit(steps: &PlanBuilder<'_>) -> Option<CommitId> {
    let submitted = steps.task.submission.as_ref().map(|it| &it.commit);
    let git = steps.facts().and_then(|facts| facts.git.as_ref());
    submitted.or(git.map(|git| &git.head)).cloned()
}

/// Builds the start of an agent. The hook's counter is incremented first, so that the window's name
/// and the prompt contain the new count.
fn start(
    steps: &mut PlanBuilder<'_>,
    hook: &SpawnHook,
    plan: Option<&PromptName>,
    context: &Context<'_>,
) -> Spawn {
    if let Some(field) = &hook.increment {
        let change = Change {
            field: field.clone(),
            to: NewValue::Increment,
        };
        change_fields(steps, &[change]);
    }
    let Agent {
        harness,
        model,
        effort,
    } = agent(steps, hook.harness);
    let run = steps.fresh_run();
    Spawn {
        role: hook.role.clone(),
        harness,
        model,
        effort,
        permissions: hook.permissions,
        window: fill(&hook.window, steps, context.message),
        prompt: steps
            .workflow
            .prompts
            .get(plan.unwrap_or(&hook.prompt))
            .map(|prompt| {
                let messages = context.messages(steps);
                let text = instructions(prompt, steps, &joined(&messages), &run);
                with_messages(prompt, text, &messages)
            })
            .unwrap_or_default(),
        run,
        headless: hook.headless,
        without_worktree: hook.without_worktree || plan.is_some(),
        plans: plan.is_some(),
        delay: 0,
    }
}

fn kill(scope: KillScope, context: &Context<'_>) -> Kill {
    let reaches = |known: &&KnownRun| match &scope {
        KillScope::Role(role) => known.role.as_ref() == Some(role),
        KillScope::Session | KillScope::Runs => true,
    };
    let runs = context.known.iter().filter(reaches);
    let runs = runs.map(|known| known.run.clone()).collect();
    Kill { scope, runs }
}

/// A harness with its model and effort.
pub(super) struct Agent {
    pub(super) harness: HarnessName,
    pub(super) model: Option<String>,
    pub(super) effort: Option<String>,
}

/// The chosen harness, with the model and effort for it. Names of models and efforts belong to one
/// harness, so a reviewer on another harness does not get those of the worker.
pub(super) fn agent(steps: &PlanBuilder<'_>, choice: HarnessChoice) -> Agent {
    let task = &steps.task;
    let agent_settings = task.agent_settings.clone();
    match choice {
        HarnessChoice::Task => Agent {
            harness: task.harness.clone(),
            model: agent_settings.model,
            effort: agent_settings.effort,
        },
        HarnessChoice::Review => {
            let is_same = task.review_harness == task.harness;
            Agent {
                harness: task.review_harness.clone(),
                model: agent_settings.model.filter(|_| is_same),
                effort: agent_settings
                    .review_effort
                    .or(agent_settings.effort.filter(|_| is_same)),
            }
        }
    }
}

/// The text of the prompt variable `message`.
pub(super) fn joined(messages: &[TransitionMessage]) -> String {
    let texts: Vec<&str> = messages.iter().map(|it| it.text.as_str()).collect();
    texts.join("\n\n")
}

/// Appends the messages, unless the prompt contains them.
pub(super) fn with_messages(
    prompt: &Prompt,
    mut text: String,
    messages: &[TransitionMessage],
) -> String {
    if prompt.variables().any(|variable| variable == "message") {
        return text;
    }
    for message in attributed(messages) {
        begin_paragraph(&mut text);
        let _ = writeln!(text, "{message}");
    }
    text
}

/// The messages with their authors. What an agent wrote is quoted, because it must not look like
/// instructions of the workflow or of the user.
pub(super) fn attributed(messages: &[TransitionMessage]) -> Vec<String> {
    let attributed = messages.iter().map(|message| {
        let TransitionMessage { by, text, .. } = message;
        if *by == Role::Human {
            return format!("The user says: {text}");
        }
        let quoted = text.lines().map(|line| format!("> {line}"));
        let quoted = quoted.collect::<Vec<_>>().join("\n");
        format!("The {by} says:\n{quoted}")
    });
    attributed.collect()
}

/// The text an agent is started with: its prompt, plus the related tasks unless the prompt names
/// them itself.
pub(super) fn instructions(
    prompt: &Prompt,
    steps: &PlanBuilder<'_>,
    message: &str,
    run: &RunId,
) -> String {
    let mut text = fill_for(prompt, steps, message, Some(run));
    let task = &steps.task;
    let is_named = |name: &str| prompt.variables().any(|variable| variable == name);
    if let Some(parent) = task.queueing.parent.as_ref()
        && !is_named("parent")
    {
        begin_paragraph(&mut text);
        let summary = task.queueing.parent_summary.as_deref();
        let summary = summary.map(str::trim).filter(|summary| !summary.is_empty());
        let about = summary.map_or(String::new(), |summary| format!(" ({summary})"));
        let _ = writeln!(
            text,
            "This task is part of task {parent}{about}. To see what that is about, run: orange \
             task show {parent}"
        );
    }
    if !task.children.is_empty() && !is_named("children") {
        begin_paragraph(&mut text);
        let _ = writeln!(
            text,
            "Child tasks of this task: {}. To see what each did, run: orange task show ID",
            children(task)
        );
    }
    for sentence in unmerged_branches(task) {
        begin_paragraph(&mut text);
        let _ = writeln!(text, "{sentence}");
    }
    text
}

/// A sentence for each child whose branch could not be merged.
fn unmerged_branches(task: &Task) -> Vec<String> {
    let merges = task.child_merges.iter();
    let sentences = merges.filter_map(|(child, merge)| {
        let (branch, why) = match merge {
            ChildMerge::Merged => return None,
            ChildMerge::Conflicts { branch, files } => (
                branch,
                format!("both branches changed {}", list_files(files)),
            ),
            ChildMerge::Prevented { branch, reason } => (branch, reason.clone()),
        };
        Some(format!(
            "The branch {branch} of child task {child} is not merged into {own}: {why}. Its work \
             is complete on {branch}. Merge it with: git merge {branch}. If that was done in an \
             earlier attempt, there is nothing to do.",
            own = task.branch
        ))
    });
    sentences.collect()
}

/// The names of the first files, and the number of the others.
fn list_files(files: &[String]) -> String {
    let shown = files.iter().take(MAX_FILES_SHOWN).map(String::as_str);
    let mut text = shown.collect::<Vec<_>>().join(", ");
    let others = files.len().saturating_sub(MAX_FILES_SHOWN);
    if others > 0 {
        let _ = write!(text, " and {others} more");
    }
    text
}

/// Leaves one empty line before the next paragraph, however the text ends.
fn begin_paragraph(text: &mut String) {
    text.truncate(text.trim_end().len());
    text.push_str("\n\n");
}

/// The child tasks and how each ended, such as `k3f9 (done), x1x1 (not finished)`.
fn children(task: &Task) -> String {
    let children = task.children.iter().map(|(child, end)| match end {
        Some(status) => match task.child_merges.get(child) {
            Some(ChildMerge::Merged) => format!("{child} ({status}, merged)"),
            Some(_) => format!("{child} ({status}, not merged)"),
            None => format!("{child} ({status})"),
        },
        None => format!("{child} (not finished)"),
    });
    children.collect::<Vec<_>>().join(", ")
}

/// Fills in the variables of a text that starts no run.
pub(super) fn fill(prompt: &Prompt, steps: &PlanBuilder<'_>, message: &str) -> String {
    fill_for(prompt, steps, message, None)
}

/// Fills in the variables of a prompt from the task as it is now, and from the run it starts.
fn fill_for(
    prompt: &Prompt,
    steps: &PlanBuilder<'_>,
    message: &str,
    run: Option<&RunId>,
) -> String {
    let task = &steps.task;
    prompt.fill(|name| {
        Some(match name {
            "id" => task.id.to_string(),
            "summary" => task.summary.clone(),
            "project" => task.project.to_string(),
            "branch" => task.branch.to_string(),
            "status" => task.status.to_string(),
            "previous" => {
                let from = task.entered.from.as_ref();
                from.map(ToString::to_string).unwrap_or_default()
            }
            "harness" => task.harness.to_string(),
            "message" if message.is_empty() => String::from("(no message)"),
            "message" => message.to_owned(),
            "report" => {
                let report = task.report.as_ref();
                report
                    .map(|report| report.summary.clone())
                    .unwrap_or_default()
            }
            "last_error" => {
                let last = task.last_error.as_ref();
                last.map(|last| last.error.clone()).unwrap_or_default()
            }
            "parent" => {
                let parent = task.queueing.parent.as_ref();
                parent.map(ToString::to_string).unwrap_or_default()
            }
            "children" => children(task),
            "feedback_file" => {
                let file = task.reactions.feedback_file();
                file.unwrap_or_default().to_owned()
            }
            "context_file" => run.map(relative_path).unwrap_or_default(),
            other => match steps.workflow.limits.get(other) {
                Some(limit) => limit.to_string(),
                None => task.value(&FieldName::new(other)).to_string(),
            },
        })
    })
}

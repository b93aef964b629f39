//! Makes requests to the driver, as the command line does.

use std::collections::BTreeSet;
use std::time::Duration;

use orange_driver::{
    Answer, ChangeReport, CreatedTask, DeleteResult, Driver, DriverError, GatherPolicy,
    NewTaskRequest, Registration, Start, WaitPolicy,
};
use orange_engine::Refusal;
use orange_engine::event::Fact;
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::{BranchName, HarnessName, ProjectName, TaskId};
use orange_engine::permission::PermissionOutcome;
use orange_engine::refusal::Blocker;
use orange_engine::task::{AgentSettings, Queueing};

use super::model::command::Action;
use super::model::form::TaskDraft;
use super::model::message::ActionResult;
use super::model::mode::{Alert, Choice};
use super::model::review;

/// How long to wait for a gate's command.
const GATE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long to wait for the effects of several requests. A merge waits for the merges before it,
/// and its verification may be slow.
const SEVERAL_TIMEOUT: Duration = Duration::from_hours(24);

/// Whether an action is over or its effects are still in progress.
enum Attempt {
    Over(Box<ActionResult>),
    /// The change is recorded, and its effects are still being performed.
    InFlight(Box<ChangeReport>),
}

pub fn perform(driver: &Driver, action: &Action) -> ActionResult {
    if let Action::Several(actions) = action {
        return perform_each(driver, actions);
    }
    match attempt(driver, action, driver.context.default_wait()) {
        Ok(Attempt::Over(result)) => *result,
        Ok(Attempt::InFlight(report)) => change_result(&report, ", effects in progress", action),
        Err(error) => ActionResult::Failed(failure_alert(&error, action)),
    }
}

/// Records every request, and only then waits for effects. So everything that the user has
/// confirmed happens, even if the dashboard is closed meanwhile.
fn perform_each(driver: &Driver, actions: &[Action]) -> ActionResult {
    let attempts = actions.iter();
    let attempts: Vec<_> = attempts
        .map(|action| (action, attempt(driver, action, Duration::ZERO)))
        .collect();
    let results = attempts.into_iter().map(|(action, attempt)| {
        let result = attempt.and_then(|attempt| match attempt {
            Attempt::Over(result) => Ok(*result),
            Attempt::InFlight(report) => {
                let answer = driver.requests.await_effects(*report, SEVERAL_TIMEOUT)?;
                Ok(answer_result(answer, action))
            }
        });
        let failed = |error| ActionResult::Failed(failure_alert(&error, action));
        (action.clone(), result.unwrap_or_else(failed))
    });
    ActionResult::Several(results.collect())
}

pub fn failure_alert(error: &DriverError, action: &Action) -> Alert {
    Alert {
        title: action.failure_title(),
        lines: match action {
            // Show the address, so that the user can open it elsewhere.
            Action::Browse { url, .. } => vec![error.to_string(), url.clone()],
            _ => vec![error.to_string()],
        },
        hints: error.report().hints,
        offer: None,
    }
}

fn attempt(driver: &Driver, action: &Action, wait: Duration) -> Result<Attempt, DriverError> {
    let waiting = WaitPolicy::Detached(wait);
    let result = match action {
        Action::Ask {
            task,
            ask,
            message,
            comments,
            confirmed,
            head,
        } => {
            let request = |by| Request {
                by,
                kind: ask.clone(),
                is_confirmed: *confirmed,
                message: review::message(message.as_deref(), comments),
                head: head.clone(),
                if_version: None,
            };
            let waiting_driver = driver
                .clone()
                .with_gathering(GatherPolicy::Detached(GATE_TIMEOUT));
            let requests = &waiting_driver.requests;
            let is_opening = matches!(ask, RequestKind::OpenPullRequest { .. });
            if is_opening {
                requests.require_forge(task)?;
            }
            let answer = requests.ask_as_caller(task, request, waiting)?;
            if is_opening {
                // Reads the pull request at once, so that orange can show its state. If this fails,
                // the request is done nevertheless.
                let _unseen = requests.look_at_pull_request(task);
            }
            match answer {
                Answer::StillRunning(report) => return Ok(Attempt::InFlight(report)),
                answer => answer_result(answer, action),
            }
        }
        Action::Several(actions) => perform_each(driver, actions),
        Action::Browse { task, url } => {
            driver.forge.show_in_browser(url)?;
            ActionResult::Done {
                task: Some(task.clone()),
                text: format!("{task}: {url} is in your browser"),
            }
        }
        Action::Create(draft) => {
            let created = driver.requests.create_and_start(
                &new_task(driver, draft)?,
                draft.starts_now,
                waiting,
            )?;
            let notice = created.registered.as_ref().map(registration_notice);
            match (creation_result(created, action), notice) {
                (
                    ActionResult::Done {
                        task: Some(task),
                        text,
                    },
                    Some(notice),
                ) => ActionResult::Registered { task, text, notice },
                (result, _) => result,
            }
        }
        Action::SendMergeFailure(task) => {
            let message = driver.requests.merge_feedback(task)?;
            let ask = RequestKind::Verb(Verb::RequestChanges);
            let action = Action::ask(task, ask).with_message(&message);
            return attempt(driver, &action, wait);
        }
        Action::Delete(task) => {
            deletion_result(driver.requests.delete(task, true)?, task, "deleted", action)
        }
        Action::Permit {
            task,
            request,
            is_allowed,
        } => {
            let (outcome, answer) = if *is_allowed {
                (PermissionOutcome::Allowed, "allowed once")
            } else {
                (PermissionOutcome::Denied { reason: None }, "denied")
            };
            driver
                .requests
                .answer_permission(request.as_str(), &outcome)?;
            ActionResult::Done {
                task: Some(task.clone()),
                text: format!("{task}: {answer}"),
            }
        }
        Action::Undelete(task) => {
            deletion_result(driver.requests.undelete(task)?, task, "restored", action)
        }
    };
    Ok(Attempt::Over(Box::new(result)))
}

fn new_task(driver: &Driver, draft: &TaskDraft) -> Result<NewTaskRequest, DriverError> {
    let caller = driver.callers.identify()?;
    let after = draft
        .after
        .iter()
        .map(|it| driver.callers.resolve_task(Some(it)));
    let after: Result<BTreeSet<TaskId>, _> = after.collect();
    Ok(NewTaskRequest {
        project: draft.project.as_deref().map(ProjectName::new),
        by: caller.role.clone(),
        summary: draft.summary.clone(),
        context: draft.context.clone(),
        branch: draft.branch.as_deref().map(BranchName::new),
        workflow: draft.workflow.clone(),
        harness: draft.harness.as_deref().map(HarnessName::new),
        review_harness: None,
        status: None,
        agent_settings: AgentSettings::default(),
        labels: Vec::new(),
        queueing: Queueing {
            after: after?,
            parent: driver.callers.resolve_parent(None, &caller)?,
            ..Queueing::default()
        },
        issue: None,
        job: None,
        pull_request: None,
    })
}

fn answer_result(answer: Answer, action: &Action) -> ActionResult {
    match answer {
        Answer::Refused(refusal) => refusal_result(&refusal, action),
        Answer::AlreadyDone(task) if action.has_text() => ActionResult::Failed(Alert {
            title: format!("Not sent: {}", task.id),
            lines: vec![format!(
                "{} is already in `{}`; your text is kept",
                task.id, task.status
            )],
            hints: Vec::new(),
            offer: None,
        }),
        Answer::AlreadyDone(task) => ActionResult::Done {
            text: format!("{}: already in `{}`", task.id, task.status),
            task: Some(task.id),
        },
        Answer::Done(report) => change_result(&report, "", action),
        Answer::StillRunning(report) => change_result(&report, ", effects in progress", action),
    }
}

fn change_result(report: &ChangeReport, more: &str, action: &Action) -> ActionResult {
    let task = &report.task;
    if !report.failed_effects.is_empty() {
        let lines = report.failed_effects.iter();
        return ActionResult::Failed(Alert {
            title: match action {
                // The task exists; only its start failed.
                Action::Create(_) => format!("Start failed: {}", task.id),
                action => action.failure_title(),
            },
            lines: lines
                .map(|it| format!("{} failed: {}", it.effect, it.error))
                .collect(),
            hints: vec![format!(
                "`orange task show {}` shows where it is now",
                task.id
            )],
            offer: report
                .failed_effects
                .iter()
                .any(|it| it.feedback.is_some())
                .then(|| Choice {
                    key: 'a',
                    label: "send to the agent",
                    action: Action::SendMergeFailure(task.id.clone()),
                }),
        });
    }
    let moved = report
        .events
        .iter()
        .rev()
        .find_map(|event| match &event.fact {
            Fact::StatusChanged(moved) => Some(format!("{} → {}", moved.from, moved.to)),
            _ => None,
        });
    let text = moved.unwrap_or_else(|| match action {
        Action::Ask {
            ask: RequestKind::Tell { .. },
            ..
        } => String::from("the message is in the agent's inbox"),
        Action::Ask {
            ask: RequestKind::OpenPullRequest { .. },
            ..
        } => match &task.pull_request {
            Some(link) => format!("{link} is open"),
            None => String::from("the pull request is being opened"),
        },
        _ => format!("in `{}`", task.status),
    });
    ActionResult::Done {
        text: format!("{}: {text}{more}", task.id),
        task: Some(task.id.clone()),
    }
}

fn refusal_result(refusal: &Refusal, action: &Action) -> ActionResult {
    if let [Blocker::ConfirmationNeeded { question }] = refusal.missing.as_slice() {
        return ActionResult::NeedsConfirmation {
            question: question.clone(),
            then: action.clone(),
        };
    }
    ActionResult::Refused(Alert {
        title: format!("Refused: {}", action.description()),
        lines: vec![refusal.to_string()],
        hints: refusal.hints.clone(),
        offer: None,
    })
}

/// The result of creating a task. The task exists even if its start failed.
fn creation_result(created_task: CreatedTask, action: &Action) -> ActionResult {
    let created = match created_task.created {
        Answer::Done(report) | Answer::StillRunning(report) => report,
        other => return answer_result(other, action),
    };
    let id = created.task.id.clone();
    let done = |text: String| ActionResult::Done {
        text,
        task: Some(id.clone()),
    };
    match created_task.start {
        Start::NotRequested | Start::UserOnly => done(format!("{id}: created")),
        Start::Waits(waits) => {
            let waits: Vec<String> = waits.iter().map(ToString::to_string).collect();
            done(format!("{id}: created; waits: {}", waits.join("; ")))
        }
        Start::Requested(Ok(Answer::Refused(refusal))) => refusal_result(&refusal, action),
        Start::Requested(Ok(answer)) => answer_result(answer, action),
        Start::Requested(Err(error)) => ActionResult::Failed(Alert {
            title: format!("{id} was created, but not started"),
            ..failure_alert(&error, action)
        }),
    }
}

/// What the user should know about a new project, once.
fn registration_notice(registration: &Registration) -> Alert {
    let project = &registration.project;
    let harness = &registration.harness;
    let mut lines = vec![format!(
        "`{}` is now the project `{}`, with the default branch `{}` and the harness `{harness}`.",
        project.path.display(),
        project.name,
        project.default_branch
    )];
    lines.extend(registration.permissions.as_ref().map(ToString::to_string));
    Alert {
        title: format!("Registered {}", project.name),
        lines,
        hints: vec![format!(
            "`orange project update {} --help` says how to change these settings",
            project.name
        )],
        offer: None,
    }
}

fn deletion_result(
    result: DeleteResult,
    task: &TaskId,
    word: &str,
    action: &Action,
) -> ActionResult {
    match result {
        DeleteResult::Refused(refusal) => refusal_result(&refusal, action),
        DeleteResult::Done { .. } => ActionResult::Done {
            text: format!("{task}: {word}"),
            task: Some(task.clone()),
        },
    }
}

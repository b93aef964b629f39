//! Makes requests to the driver, as the command line does.

use std::collections::BTreeSet;
use std::time::Duration;

use orange_driver::{
    Answer, Begun, Changed, Driver, DriverError, Gathering, NewWork, PutAway, Start, Waiting,
};
use orange_engine::Refusal;
use orange_engine::event::Fact;
use orange_engine::input::{Ask, Request};
use orange_engine::names::{BranchName, HarnessName, ProjectName, TaskId};
use orange_engine::refusal::Missing;
use orange_engine::task::{Queueing, Tuning};

use super::model::command::Action;
use super::model::form::Draft;
use super::model::message::Came;
use super::model::mode::Told;

/// How long to wait for a gate's command.
const GATES: Duration = Duration::from_secs(30);

pub fn perform(driver: &Driver, action: &Action) -> Came {
    match attempt(driver, action) {
        Ok(came) => came,
        Err(error) => Came::Failed(told(&error, action)),
    }
}

pub fn told(error: &DriverError, action: &Action) -> Told {
    Told {
        title: format!("Not done: {}", action.told()),
        lines: vec![error.to_string()],
        hints: error.report().hints,
    }
}

fn attempt(driver: &Driver, action: &Action) -> Result<Came, DriverError> {
    Ok(match action {
        Action::Ask {
            task,
            ask,
            message,
            confirmed,
            head,
        } => {
            let request = |by| Request {
                by,
                ask: ask.clone(),
                confirmed: *confirmed,
                message: message.clone(),
                head: head.clone(),
            };
            let asking = driver.clone().gathering(Gathering::Detached(GATES));
            let answer = asking
                .requests
                .ask_as_caller(task, request, Waiting::USUAL)?;
            answered(answer, action)
        }
        Action::Create(draft) => {
            let begun =
                driver
                    .requests
                    .begin(&work(driver, draft)?, draft.starts, Waiting::USUAL)?;
            begun_as(begun, action)
        }
        Action::Delete(task) => put_away(driver.requests.delete(task)?, task, "deleted", action),
        Action::Undelete(task) => put_away(driver.requests.undelete(task)?, task, "back", action),
    })
}

fn work(driver: &Driver, draft: &Draft) -> Result<NewWork, DriverError> {
    let asker = driver.callers.identify()?;
    let after = draft.after.iter().map(|it| driver.callers.meant(Some(it)));
    let after: Result<BTreeSet<TaskId>, _> = after.collect();
    Ok(NewWork {
        project: draft.project.as_deref().map(ProjectName::new),
        by: asker.role.clone(),
        summary: draft.summary.clone(),
        context: draft.context.clone(),
        branch: draft.branch.as_deref().map(BranchName::new),
        workflow: draft.workflow.clone(),
        harness: draft.harness.as_deref().map(HarnessName::new),
        review_harness: None,
        status: None,
        tuning: Tuning::default(),
        queueing: Queueing {
            after: after?,
            parent: driver.callers.parent_meant(None, &asker)?,
            ..Queueing::default()
        },
    })
}

fn answered(answer: Answer, action: &Action) -> Came {
    match answer {
        Answer::Refused(refusal) => refused(&refusal, action),
        Answer::Already(task) => Came::Done {
            told: format!("{}: in `{}` already", task.id, task.status),
            task: Some(task.id),
        },
        Answer::Done(changed) => changed_to(&changed, "", action),
        Answer::StillRunning(changed) => changed_to(&changed, ", effects are on their way", action),
    }
}

fn changed_to(changed: &Changed, more: &str, action: &Action) -> Came {
    let task = &changed.task;
    if !changed.given_up.is_empty() {
        let lines = changed.given_up.iter();
        return Came::Failed(Told {
            title: format!("Not all of it: {}", action.told()),
            lines: lines
                .map(|it| format!("{} was given up: {}", it.effect, it.error))
                .collect(),
            hints: vec![format!(
                "`orange task show {}` tells where it is now",
                task.id
            )],
        });
    }
    let moved = changed
        .events
        .iter()
        .rev()
        .find_map(|event| match &event.fact {
            Fact::StatusChanged(moved) => Some(format!("{} → {}", moved.from, moved.to)),
            _ => None,
        });
    let told = moved.unwrap_or_else(|| match action {
        Action::Ask {
            ask: Ask::Tell { .. },
            ..
        } => String::from("the message is in the agent's inbox"),
        _ => format!("in `{}`", task.status),
    });
    Came::Done {
        told: format!("{}: {told}{more}", task.id),
        task: Some(task.id.clone()),
    }
}

fn refused(refusal: &Refusal, action: &Action) -> Came {
    if let [Missing::ConfirmationNeeded { question }] = refusal.missing.as_slice() {
        return Came::Asked {
            question: question.clone(),
            then: action.clone(),
        };
    }
    Came::Failed(Told {
        title: format!("Refused: {}", action.told()),
        lines: vec![refusal.to_string()],
        hints: refusal.hints.clone(),
    })
}

/// The task exists, even if its start failed.
fn begun_as(begun: Begun, action: &Action) -> Came {
    let created = match begun.created {
        Answer::Done(changed) | Answer::StillRunning(changed) => changed,
        other => return answered(other, action),
    };
    let id = created.task.id.clone();
    let done = |told: String| Came::Done {
        told,
        task: Some(id.clone()),
    };
    match begun.start {
        Start::NotWanted | Start::ForAPerson => done(format!("{id}: created")),
        Start::Waits(waits) => {
            let waits: Vec<String> = waits.iter().map(ToString::to_string).collect();
            done(format!("{id}: created; waits: {}", waits.join("; ")))
        }
        Start::Asked(Ok(Answer::Refused(refusal))) => refused(&refusal, action),
        Start::Asked(Ok(answer)) => answered(answer, action),
        Start::Asked(Err(error)) => Came::Failed(Told {
            title: format!("{id} is there, but its work was not started"),
            ..told(&error, action)
        }),
    }
}

fn put_away(came: PutAway, task: &TaskId, word: &str, action: &Action) -> Came {
    match came {
        PutAway::Refused(refusal) => refused(&refusal, action),
        PutAway::Done { .. } => Came::Done {
            told: format!("{task}: {word}"),
            task: Some(task.clone()),
        },
    }
}

//! Decides mail: requests of people, and ends of child tasks.

use orange_config::LogLevel;
use orange_engine::input::{Cause, Observation};
use orange_engine::names::Status;
use orange_fleet::ids::Version;
use orange_fleet::json::Json;
use orange_fleet::link::MailStep;
use orange_fleet::message::{Mail, MailAnswer, Sender};
use orange_store::Store;
use orange_store::steps::reach;
use serde_json::{Value, json};

use super::ask::Ask;
use super::{Runner, engine_task};
use crate::request::answer::Answer;
use crate::request::ask::TaskRequest;
use crate::request::wait::WaitPolicy;
use crate::steps::StepResult;
use crate::{DriverError, Kind};

/// What the end of a child says.
#[derive(serde::Deserialize)]
struct ChildEnd {
    status: Status,
}

impl Runner {
    /// Decides mail once. The decision and the mark that it decides this mail are one commit; mail
    /// that leads to no commit is answered.
    pub(super) fn handle_mail(&self, store: &mut Store, mail: &Mail) -> Result<(), DriverError> {
        let id = engine_task(&mail.task);
        // Its effects are still those of another machine.
        if store.load(&id)?.is_none() || store.arrivals()?.iter().any(|it| it.task == id) {
            return Ok(());
        }
        let local = store.commits_of(&id, Version(0))?;
        let known = self.membership()?;
        match known.link.mail_step(&mail.task, &mail.id, &local) {
            MailStep::NotHeld | MailStep::Decided => return Ok(()),
            MailStep::Decide => {}
        }
        let answer = match &mail.from {
            Sender::Child(child) => {
                let ended: ChildEnd = match serde_json::from_str(mail.ask.as_str()) {
                    Ok(ended) => ended,
                    Err(error) => return self.answer(mail, &json!({ "error": error.to_string() })),
                };
                let observation = Observation::ChildEnded {
                    child: engine_task(child),
                    status: ended.status,
                };
                let steps = self.driver.steps.for_mail(&mail.id);
                match steps.step(store, &id, &Cause::Observation(observation))? {
                    StepResult::Recorded { .. } => {
                        return self.driver.context.leave_to_performer(store, &id);
                    }
                    _ => json!({ "already": true }),
                }
            }
            Sender::Person(person) => match self.ask(store, mail)? {
                None => {
                    let context = &self.driver.context;
                    let more = json!({ "mail": mail.id, "person": person });
                    context.log(LogLevel::Info, &id, "fleet.decided", more);
                    return self.driver.context.leave_to_performer(store, &id);
                }
                Some(answer) => answer,
            },
        };
        self.answer(mail, &answer)
    }

    /// Decides mail without a commit.
    fn answer(&self, mail: &Mail, answer: &Value) -> Result<(), DriverError> {
        let known = self.membership()?;
        let Some(link) = known.link.task(&mail.task) else {
            return Ok(());
        };
        reach("before mail is answered");
        self.server.answer_mail(
            &mail.id,
            &MailAnswer {
                task: mail.task.clone(),
                epoch: link.epoch(),
                answer: Json::new(answer.to_string()).unwrap_or_else(Json::null),
            },
        )?;
        Ok(())
    }

    /// Asks the engine; returns the answer if no commit has recorded the decision.
    fn ask(&self, store: &mut Store, mail: &Mail) -> Result<Option<Value>, DriverError> {
        let ask: Ask = match serde_json::from_str(mail.ask.as_str()) {
            Ok(ask) => ask,
            Err(error) => return Ok(Some(json!({ "error": error.to_string() }))),
        };
        let id = engine_task(&mail.task);
        let request = TaskRequest {
            task: id.clone(),
            request: ask.request(),
            waiting: WaitPolicy::Skip,
        };
        let asked = self.driver.requests.for_mail(&mail.id).ask(&request);
        let local = store.commits_of(&id, Version(0))?;
        if local.iter().any(|it| it.request.as_ref() == Some(&mail.id)) {
            return Ok(None);
        }
        match asked {
            Ok(Answer::Refused(refusal)) => Ok(Some(json!({
                "refused": refusal.code(),
                "reason": refusal.to_string(),
            }))),
            Ok(_) => Ok(Some(json!({ "already": true }))),
            // Asking again may help, and the mail stays open.
            Err(error) if error.report().kind == Kind::Busy => Err(error),
            Err(error) => Ok(Some(json!({ "error": error.to_string() }))),
        }
    }
}

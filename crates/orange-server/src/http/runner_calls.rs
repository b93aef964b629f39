//! Calls of a runner. Each names the runner of the token, never one of the caller's choice.

use axum::http::StatusCode;
use orange_fleet::ids::{MailId, TaskId};
use orange_fleet::message::{
    Adopt, Append, Beat, GiveBack, MailAnswer, Register, Wip, WorkAnswer, WorkRequest,
};
use serde_json::json;
use tokio::time::sleep;

use crate::access::Runner;
use crate::http::App;
use crate::http::app::Input;
use crate::http::body::parse;
use crate::http::endpoints::Call;
use crate::http::limits::{APPEND_RATE, MAX_WAIT, MOST_APPENDS, MOST_CLAIMS};
use crate::http::names::{check_name, check_register};
use crate::http::refusal::{Answer, Refusal, json_answer};
use crate::waiting::Topic;

impl App {
    pub(super) async fn answer_runner(
        &self,
        call: Call,
        runner: &Runner,
        input: &Input,
    ) -> Result<Answer, Refusal> {
        match call {
            Call::WhoAmI => json_answer(&json!({
                "org": runner.org,
                "runner": runner.id,
                "scope": runner.scope,
            })),
            Call::Register => self.register(runner, input).await,
            Call::Beat => self.beat(runner, input).await,
            Call::Work => self.work(runner, input).await,
            Call::Append => self.append(runner, input).await,
            Call::GiveBack => self.give_back(runner, input).await,
            Call::Adopt => self.adopt(runner, input).await,
            Call::SaveWip => self.save_wip(runner, input).await,
            Call::AnswerMail => self.answer_mail(runner, input).await,
            _ => Err(Refusal::wrong_caller("a person")),
        }
    }

    async fn register(&self, runner: &Runner, input: &Input) -> Result<Answer, Refusal> {
        let call: Register = parse(&input.body)?;
        if call.runner != runner.id {
            return Err(Refusal::wrong_caller("the runner that its body names"));
        }
        check_register(&call)?;
        let excess = runner.scope.excess(&call.capabilities);
        if !excess.is_empty() {
            let message = format!(
                "the token of this runner does not allow {}",
                excess.join(", ")
            );
            let refusal = Refusal::new(StatusCode::FORBIDDEN, "scope-exceeded", message);
            return Err(refusal.hint("leave it out, or ask an admin for a code that allows it"));
        }
        let answer = self.database.register(&runner.org, &runner.id, &call).await;
        json_answer(&answer.map_err(|it| self.refuse(&it))?)
    }

    async fn beat(&self, runner: &Runner, input: &Input) -> Result<Answer, Refusal> {
        let call: Beat = parse(&input.body)?;
        let answer = self.database.beat(&runner.org, &runner.id, &call).await;
        self.metrics.count_beat(&runner.org);
        json_answer(&answer.map_err(|it| self.refuse(&it))?)
    }

    /// Waits until there is work. A claim whose answer is lost stays with the runner: its next beat
    /// names it.
    async fn work(&self, runner: &Runner, input: &Input) -> Result<Answer, Refusal> {
        let mut call: WorkRequest = parse(&input.body)?;
        call.free = call.free.min(MOST_CLAIMS);
        let wait = self.waiting.begin(Topic::Work {
            org: runner.org.clone(),
            runner: runner.id.clone(),
            has_room: call.free > 0,
        });
        let over = sleep(MAX_WAIT);
        let mut over = std::pin::pin!(over);
        loop {
            let answer = self.database.work(&runner.org, &runner.id, &call).await;
            let answer = answer.map_err(|it| self.refuse(&it))?;
            self.metrics.count_claims(&runner.org, answer.claims.len());
            if !answer.claims.is_empty() || !answer.mail.is_empty() {
                return json_answer(&answer);
            }
            let goes_on = match &wait {
                Some(wait) => tokio::select! {
                    woken = wait.woken() => woken,
                    () = &mut over => false,
                },
                None => false,
            };
            if !goes_on {
                return json_answer(&WorkAnswer {
                    incarnation: call.incarnation,
                    ..WorkAnswer::default()
                });
            }
        }
    }

    async fn append(&self, runner: &Runner, input: &Input) -> Result<Answer, Refusal> {
        let call: Append = parse(&input.body)?;
        let count = call.tasks.len();
        if count > MOST_APPENDS {
            let message = format!("{count} tasks in one append, and the limit is {MOST_APPENDS}");
            return Err(Refusal::too_large(message).hint("send the rest in another call"));
        }
        let cost = u32::try_from(count).unwrap_or(u32::MAX);
        let caller = (runner.org.clone(), runner.id.clone());
        if !self.appends.admit(caller, cost) {
            let message = format!("more than {} appends per second", APPEND_RATE.0);
            let hint = "put several commits of a task into one append";
            return Err(Refusal::too_many(message).hint(hint));
        }
        let answer = self.database.append(&runner.org, &runner.id, &call).await;
        let answer = answer.map_err(|it| self.refuse(&it))?;
        self.metrics.count_appends(&runner.org, &answer.tasks);
        json_answer(&answer)
    }

    async fn give_back(&self, runner: &Runner, input: &Input) -> Result<Answer, Refusal> {
        let call: GiveBack = parse(&input.body)?;
        same_task(&call.task, input)?;
        let answer = self
            .database
            .give_back(&runner.org, &runner.id, &call)
            .await;
        json_answer(&answer.map_err(|it| self.refuse(&it))?)
    }

    async fn adopt(&self, runner: &Runner, input: &Input) -> Result<Answer, Refusal> {
        let call: Adopt = parse(&input.body)?;
        same_task(&call.task, input)?;
        let answer = self.database.adopt(&runner.org, &runner.id, &call).await;
        json_answer(&answer.map_err(|it| self.refuse(&it))?)
    }

    async fn save_wip(&self, runner: &Runner, input: &Input) -> Result<Answer, Refusal> {
        let call: Wip = parse(&input.body)?;
        check_name("the task", input.path("task"))?;
        let task = TaskId::new(input.path("task"));
        let answer = self
            .database
            .save_wip(&runner.org, &runner.id, &task, &call)
            .await;
        json_answer(&answer.map_err(|it| self.refuse(&it))?)
    }

    async fn answer_mail(&self, runner: &Runner, input: &Input) -> Result<Answer, Refusal> {
        let call: MailAnswer = parse(&input.body)?;
        check_name("the task", call.task.as_str())?;
        check_name("the mail", input.path("mail"))?;
        let mail = MailId::new(input.path("mail"));
        let answer = self
            .database
            .answer_mail(&runner.org, &runner.id, &mail, &call)
            .await;
        json_answer(&answer.map_err(|it| self.refuse(&it))?)
    }
}

/// The task in the path is the one in the body.
fn same_task(task: &TaskId, input: &Input) -> Result<(), Refusal> {
    check_name("the task", task.as_str())?;
    if task.as_str() == input.path("task") {
        return Ok(());
    }
    Err(Refusal::invalid(
        "the path and the body name different tasks",
    ))
}

//! Calls of a person, each checked against the role in the project.
//!
//! A task that does not exist, one of another organisation and one of a project without a role for
//! the caller get the same answer.

use std::time::Duration;

use orange_fleet::chain::Sha;
use orange_fleet::ids::{MailId, OrgId, PersonId, ProjectId, RunnerId, TaskId};
use orange_fleet::message::{CreateTask, PostRequest, RequestStatus, Want};
use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;

use crate::access::{Person, Place, Role, role_for};
use crate::database::RunnerView;
use crate::http::App;
use crate::http::app::Input;
use crate::http::body::parse;
use crate::http::endpoints::Call;
use crate::http::limits::{MAX_WAIT, MOST_CHANGES};
use crate::http::names::{check_create, check_name, check_post};
use crate::http::refusal::{Answer, Refusal, json_answer};
use crate::waiting::Topic;

/// What a person wants of a runner.
#[derive(Deserialize)]
struct WantRequest {
    want: Want,
}

impl App {
    pub(super) async fn answer_person(
        &self,
        call: Call,
        person: &Person,
        input: &Input,
    ) -> Result<Answer, Refusal> {
        match call {
            Call::WhoAmI => json_answer(&json!({
                "org": person.org,
                "person": person.id,
                "roles": person.roles,
            })),
            Call::CreateTask => self.create_task(person, input).await,
            Call::ViewTask => self.view_task(person, input).await,
            Call::PostRequest => self.post_request(person, input).await,
            Call::ViewRequest => self.view_request(person, input).await,
            Call::Changes => self.changes(person, input).await,
            Call::Text => self.text(person, input).await,
            Call::Runners => self.runners(person).await,
            Call::WantRunner => self.want_runner(person, input).await,
            Call::Metrics => self.metrics(person).await,
            Call::CreateCode => self.create_code(person, input).await,
            Call::Tokens => self.tokens(person).await,
            Call::RevokeToken => self.revoke_token(person, input).await,
            _ => Err(Refusal::wrong_caller("a runner")),
        }
    }

    async fn create_task(&self, person: &Person, input: &Input) -> Result<Answer, Refusal> {
        let call: CreateTask = parse(&input.body)?;
        check_create(&call)?;
        if person.roles.of(&call.needs.project) < Some(Role::Operate) {
            return Err(Refusal::role_missing(Role::Operate.as_str()));
        }
        for task in &call.after {
            self.require(person, task, Role::View).await?;
        }
        // The end of this task becomes mail for its parent.
        if let Some(task) = &call.parent {
            self.require(person, task, Role::Operate).await?;
        }
        let answer = self.database.create(&person.org, &call).await;
        json_answer(&answer.map_err(|it| self.refuse(&it))?)
    }

    async fn view_task(&self, person: &Person, input: &Input) -> Result<Answer, Refusal> {
        let task = task_in_path(input)?;
        let found = self.database.view(&person.org, &task).await;
        let found = found.map_err(|it| self.refuse(&it))?;
        let visible = found.filter(|it| person.roles.of(&it.project).is_some());
        json_answer(&visible.ok_or_else(|| Refusal::not_found("task"))?)
    }

    async fn post_request(&self, person: &Person, input: &Input) -> Result<Answer, Refusal> {
        let task = task_in_path(input)?;
        let call: PostRequest = parse(&input.body)?;
        self.require(person, &task, Role::View).await?;
        check_post(&call)?;
        let needed = role_for(&call.ask).ok_or_else(|| {
            Refusal::invalid(
                "`ask` must be an object of one kind, such as `{\"kind\":\"tell\",\"message\":\"…\"}`",
            )
        })?;
        self.require(person, &task, needed).await?;
        let posted = self
            .database
            .post(&person.org, &person.id, &task, &call)
            .await;
        let posted = posted.map_err(|it| self.refuse(&it))?;
        json_answer(&posted.ok_or_else(|| Refusal::not_found("task"))?)
    }

    /// With `?wait=SECONDS`, waits until the request is decided.
    async fn view_request(&self, person: &Person, input: &Input) -> Result<Answer, Refusal> {
        check_name("the request", input.path("mail"))?;
        let mail = MailId::new(input.path("mail"));
        let topic = Topic::Request(person.org.clone(), mail.clone());
        let limit = wait_of(input)?;
        let _place = self.place_for(person, limit)?;
        let over = sleep(limit);
        let mut over = std::pin::pin!(over);
        let mut wait = None;
        loop {
            let found = self.database.request(&person.org, &mail).await;
            let found = found.map_err(|it| self.refuse(&it))?;
            let visible = found.filter(|it| person.roles.of(&it.project).is_some());
            let visible = visible.ok_or_else(|| Refusal::not_found("request"))?;
            if visible.state.status != RequestStatus::Open || over.is_elapsed() {
                return json_answer(&visible.state);
            }
            // Check before waiting, so that a caller waits only for what they may see, and again once
            // the wait has begun, so that no decision is missed.
            let Some(begun) = &wait else {
                wait = self.waiting.begin(topic.clone());
                if wait.is_none() {
                    return json_answer(&visible.state);
                }
                continue;
            };
            tokio::select! {
                goes_on = begun.woken() => if !goes_on {
                    return json_answer(&visible.state);
                },
                () = &mut over => {}
            }
        }
    }

    /// With `?wait=SECONDS`, waits until there are rows after `since`.
    async fn changes(&self, person: &Person, input: &Input) -> Result<Answer, Refusal> {
        let since = number(input, "since")?.unwrap_or(0);
        let most = u32::try_from(MOST_CHANGES).unwrap_or(u32::MAX);
        let visible = person.roles.visible();
        let topic = Topic::Changes(person.org.clone(), since);
        let limit = wait_of(input)?;
        let _place = self.place_for(person, limit)?;
        let over = sleep(limit);
        let mut over = std::pin::pin!(over);
        let wait = self.waiting.begin(topic);
        loop {
            let found = self
                .database
                .changes(&person.org, visible.as_deref(), since, most)
                .await;
            let found = found.map_err(|it| self.refuse(&it))?;
            let is_over = over.is_elapsed() || wait.is_none();
            if !found.rows.is_empty() || found.next > since || is_over {
                return json_answer(&found);
            }
            if let Some(wait) = &wait {
                tokio::select! {
                    goes_on = wait.woken() => if !goes_on {
                        return json_answer(&found);
                    },
                    () = &mut over => {}
                }
            }
        }
    }

    async fn text(&self, person: &Person, input: &Input) -> Result<Answer, Refusal> {
        let missing = || Refusal::not_found("text");
        let sha = Sha::parse(input.path("sha")).ok_or_else(missing)?;
        let visible = person.roles.visible();
        let found = self
            .database
            .text(&person.org, visible.as_deref(), &sha)
            .await;
        let content = found.map_err(|it| self.refuse(&it))?.ok_or_else(missing)?;
        json_answer(&orange_fleet::message::Text { sha, content })
    }

    /// The runners that serve a project which the person may see, without their other projects.
    async fn runners(&self, person: &Person) -> Result<Answer, Refusal> {
        let found = self.database.runners(&person.org).await;
        let mut found = found.map_err(|it| self.refuse(&it))?;
        for runner in &mut found {
            runner.projects.retain(|it| person.roles.of(it).is_some());
        }
        if !person.roles.admin {
            found.retain(|it| !it.projects.is_empty());
        }
        json_answer(&json!({ "runners": found }))
    }

    async fn want_runner(&self, person: &Person, input: &Input) -> Result<Answer, Refusal> {
        check_name("the runner", input.path("runner"))?;
        let id = RunnerId::new(input.path("runner"));
        let call: WantRequest = parse(&input.body)?;
        let found = self.database.runners(&person.org).await;
        let found = found.map_err(|it| self.refuse(&it))?;
        let runner = found.into_iter().find(|it| it.runner == id);
        let runner = runner.filter(|it| is_visible(person, it));
        let runner = runner.ok_or_else(|| Refusal::not_found("runner"))?;
        let maintained = |it: &ProjectId| person.roles.of(it) >= Some(Role::Maintain);
        if !person.roles.admin && !runner.projects.iter().all(maintained) {
            return Err(Refusal::role_missing(Role::Maintain.as_str()));
        }
        let done = self.database.want(&person.org, &id, call.want).await;
        done.map_err(|it| self.refuse(&it))?;
        json_answer(&json!({ "runner": id, "want": call.want }))
    }

    /// Only a call that waits needs a place.
    fn place_for(
        &self,
        person: &Person,
        limit: Duration,
    ) -> Result<Option<Place<(OrgId, PersonId)>>, Refusal> {
        if limit.is_zero() {
            return Ok(None);
        }
        self.place(person).map(Some)
    }

    /// The person has at least this role in the project of the task.
    async fn require(&self, person: &Person, task: &TaskId, needed: Role) -> Result<(), Refusal> {
        let project = self.database.project(&person.org, task).await;
        let project = project.map_err(|it| self.refuse(&it))?;
        match project.and_then(|it| person.roles.of(&it)) {
            None => Err(Refusal::not_found("task")),
            Some(role) if role < needed => Err(Refusal::role_missing(needed.as_str())),
            Some(_) => Ok(()),
        }
    }
}

fn is_visible(person: &Person, runner: &RunnerView) -> bool {
    let mut projects = runner.projects.iter();
    person.roles.admin || projects.any(|it| person.roles.of(it).is_some())
}

fn task_in_path(input: &Input) -> Result<TaskId, Refusal> {
    check_name("the task", input.path("task"))?;
    Ok(TaskId::new(input.path("task")))
}

fn number(input: &Input, name: &str) -> Result<Option<u64>, Refusal> {
    let Some(text) = input.query.get(name) else {
        return Ok(None);
    };
    // Numbers of the database end at the half of this.
    let number = text.parse().ok().filter(|it| i64::try_from(*it).is_ok());
    let invalid = || Refusal::invalid(format!("`{name}` must be a number"));
    number.map(Some).ok_or_else(invalid)
}

fn wait_of(input: &Input) -> Result<Duration, Refusal> {
    let seconds = number(input, "wait")?.unwrap_or(0);
    Ok(Duration::from_secs(seconds).min(MAX_WAIT))
}

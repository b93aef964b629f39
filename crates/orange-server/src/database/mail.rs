//! Mail: requests on their way to the holder, each decided once.

use orange_fleet::ids::{MailId, OrgId, PersonId, ProjectId, RunnerId, TaskId, Version};
use orange_fleet::message::{
    MailAnswer, MailResult, PostRequest, RequestState, RequestStatus, Sender,
};

use super::values::{Reader, signed, unsigned};
use super::{Database, DatabaseError, limits};

/// A request of a person or the end of a child, with what decides who may read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRequest {
    pub task: TaskId,
    pub project: ProjectId,
    pub from: Sender,
    pub state: RequestState,
}

impl Database {
    /// `None` without the task.
    pub async fn post(
        &self,
        org: &OrgId,
        person: &PersonId,
        task: &TaskId,
        call: &PostRequest,
    ) -> Result<Option<RequestState>, DatabaseError> {
        limits::org(org)?;
        limits::name("the person", person.as_str())?;
        limits::task(task)?;
        limits::name("the key", call.key.as_str())?;
        limits::json("the request", &call.ask)?;
        let sql = "select id, state, version, answer from orange.post_1($1, $2, $3, $4, $5)";
        let row = self
            .row(
                "post",
                sql,
                &[
                    &org.as_str(),
                    &person.as_str(),
                    &task.as_str(),
                    &call.key.as_str(),
                    &call.ask.as_str(),
                ],
            )
            .await?;
        let state = row.map(|row| {
            state(&Reader {
                call: "post",
                row: &row,
            })
        });
        state.transpose()
    }

    pub async fn request(
        &self,
        org: &OrgId,
        mail: &MailId,
    ) -> Result<Option<StoredRequest>, DatabaseError> {
        limits::org(org)?;
        limits::mail(mail.as_str())?;
        let sql = "select m.id, m.task, m.kind, m.sender, m.state, m.version, m.answer, t.project
                   from orange.mail m join orange.task t on t.org = $1 and t.id = m.task
                   where m.org = $1 and m.id = $2";
        let row = self
            .row("request", sql, &[&org.as_str(), &mail.as_str()])
            .await?;
        let Some(row) = &row else {
            return Ok(None);
        };
        let stored = Reader {
            call: "request",
            row,
        };
        let sender: &str = stored.get("sender")?;
        Ok(Some(StoredRequest {
            task: TaskId::new(stored.get::<&str>("task")?),
            project: ProjectId::new(stored.get::<&str>("project")?),
            from: match stored.get("kind")? {
                "child" => Sender::Child(TaskId::new(sender)),
                _ => Sender::Person(PersonId::new(sender)),
            },
            state: state(&stored)?,
        }))
    }

    pub async fn answer_mail(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        mail: &MailId,
        call: &MailAnswer,
    ) -> Result<MailResult, DatabaseError> {
        limits::caller(org, runner)?;
        limits::mail(mail.as_str())?;
        limits::task(&call.task)?;
        limits::json("the answer", &call.answer)?;
        let sql = "select orange.answer_mail_1($1, $2, $3, $4, $5, $6) as result";
        let row = self
            .only(
                "answer mail",
                sql,
                &[
                    &org.as_str(),
                    &runner.as_str(),
                    &mail.as_str(),
                    &call.task.as_str(),
                    &signed(call.epoch.0),
                    &call.answer.as_str(),
                ],
            )
            .await?;
        let row = &row;
        let answer = Reader {
            call: "answer mail",
            row,
        };
        match answer.get("result")? {
            "ok" => Ok(MailResult::Ok),
            "decided" => Ok(MailResult::Decided),
            "fenced" => Ok(MailResult::Fenced),
            other => Err(answer.unreadable(other)),
        }
    }
}

fn state(stored: &Reader<'_>) -> Result<RequestState, DatabaseError> {
    let version: Option<i64> = stored.get("version")?;
    let is_answered = stored.get::<Option<&str>>("answer")?.is_some();
    Ok(RequestState {
        id: MailId::new(stored.get::<&str>("id")?),
        status: match stored.get::<i16>("state")? {
            0 => RequestStatus::Open,
            1 => RequestStatus::Recorded,
            _ => RequestStatus::Answered,
        },
        version: version.map(|it| Version(unsigned(it))),
        answer: if is_answered {
            Some(stored.json("answer")?)
        } else {
            None
        },
    })
}

//! Creating tasks, and appending commits to their logs.

use deadpool_postgres::Client;
use futures_util::future::join_all;
use orange_fleet::capability::Needs;
use orange_fleet::chain::{Commit, Head, Sha};
use orange_fleet::ids::{HarnessName, Label, OrgId, RunnerId, TaskId, Version};
use orange_fleet::ledger;
use orange_fleet::message::{
    Append, AppendAnswer, AppendResult, CreateAnswer, CreateTask, TaskAppend, TaskResult,
};
use tokio_postgres::Statement;

use super::values::{CommitColumns, Reader, chained, signed};
use super::{Database, DatabaseError, connection, limits};

const APPEND: &str = "select * from orange.append_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, \
                      $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)";

const CREATE: &str = "select orange.create_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
                      $13, $14, $15, $16, $17, $18, $19, $20, $21, $22) as result";

impl Database {
    /// Each task is judged and written alone, and the appends are sent together. When one of them
    /// fails, the others are written all the same.
    pub async fn append(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        call: &Append,
    ) -> Result<AppendAnswer, DatabaseError> {
        limits::caller(org, runner)?;
        let sizes = call
            .tasks
            .iter()
            .map(|it| limits::bytes(&it.commits, &it.texts));
        limits::size("the call", sizes.sum(), limits::CALL_BYTES)?;
        for append in &call.tasks {
            limits::task(&append.task)?;
            limits::commits(&append.commits, &append.texts)?;
            limits::summary(&append.summary)?;
        }
        let client = connection::client(&self.pool).await?;
        let results = tokio::time::timeout(connection::CALL_TIMEOUT, async {
            let statement = connection::prepare(&client, "append", APPEND).await?;
            let appends = call.tasks.iter();
            let appends = appends.map(|it| append_task(&client, &statement, org, runner, it));
            Ok(join_all(appends).await)
        });
        let Ok(results) = results.await else {
            drop(deadpool_postgres::Object::take(client));
            return Err(connection::timeout());
        };
        let tasks: Result<_, _> = results?.into_iter().collect();
        Ok(AppendAnswer { tasks: tasks? })
    }

    pub async fn create(
        &self,
        org: &OrgId,
        call: &CreateTask,
    ) -> Result<CreateAnswer, DatabaseError> {
        limits::org(org)?;
        limits::task(&call.task)?;
        limits::name("the project", call.needs.project.as_str())?;
        limits::names(
            "a harness",
            call.needs.harnesses.iter().map(HarnessName::as_str),
        )?;
        limits::names("a label", call.needs.labels.iter().map(Label::as_str))?;
        limits::names("a task to wait for", call.after.iter().map(TaskId::as_str))?;
        if let Some(parent) = &call.parent {
            limits::task(parent)?;
        }
        limits::commits(&call.commits, &call.texts)?;
        limits::size(
            "the call",
            limits::bytes(&call.commits, &call.texts),
            limits::CALL_BYTES,
        )?;
        limits::summary(&call.summary)?;
        let columns = CommitColumns::new(&call.commits, &call.texts);
        let harnesses: Vec<_> = call
            .needs
            .harnesses
            .iter()
            .map(HarnessName::as_str)
            .collect();
        let labels: Vec<_> = call.needs.labels.iter().map(Label::as_str).collect();
        let after: Vec<_> = call.after.iter().map(TaskId::as_str).collect();
        let opens = call
            .commits
            .first()
            .is_some_and(|it| it.follows(Head::default()));
        let chained = if opens { chained(&call.commits) } else { 0 };
        let row = self
            .only(
                "create",
                CREATE,
                &[
                    &org.as_str(),
                    &call.task.as_str(),
                    &call.needs.project.as_str(),
                    &needs_sha(&call.needs)?.as_bytes().as_slice(),
                    &harnesses,
                    &labels,
                    &signed(call.needs.format.0),
                    &call.priority,
                    &after,
                    &call.parent.as_ref().map(TaskId::as_str),
                    &chained,
                    &columns.firsts,
                    &columns.lasts,
                    &columns.shas,
                    &columns.events,
                    &columns.texts,
                    &columns.requests,
                    &columns.body_shas,
                    &columns.bodies,
                    &call.summary.status,
                    &call.summary.ended,
                    &call.summary.shown.as_str(),
                ],
            )
            .await?;
        let row = &row;
        let answer = Reader {
            call: "create",
            row,
        };
        match answer.get("result")? {
            "ok" => Ok(CreateAnswer::Ok),
            "taken" => Ok(CreateAnswer::Taken),
            "invalid" => Ok(CreateAnswer::Invalid),
            other => Err(answer.unreadable(other)),
        }
    }
}

/// Equal needs have one pool of tasks.
fn needs_sha(needs: &Needs) -> Result<Sha, DatabaseError> {
    let text = serde_json::to_string(needs);
    let text = text.map_err(|error| DatabaseError::Unreadable {
        call: "create",
        reason: error.to_string(),
    })?;
    Ok(Sha::of(text.as_bytes()))
}

async fn append_task(
    client: &Client,
    statement: &Statement,
    org: &OrgId,
    runner: &RunnerId,
    append: &TaskAppend,
) -> Result<TaskResult, DatabaseError> {
    let columns = CommitColumns::new(&append.commits, &append.texts);
    let content = append
        .commits
        .first()
        .map(Commit::content)
        .unwrap_or_default();
    let rows = connection::query(
        client,
        "append",
        statement,
        &[
            &org.as_str(),
            &runner.as_str(),
            &append.task.as_str(),
            &signed(append.epoch.0),
            &signed(append.base.0),
            &chained(&append.commits),
            &content,
            &columns.firsts,
            &columns.lasts,
            &columns.shas,
            &columns.events,
            &columns.texts,
            &columns.requests,
            &columns.body_shas,
            &columns.bodies,
            &append.summary.status,
            &append.summary.ended,
            &append.summary.shown.as_str(),
            &ledger::child_end(&append.summary.status).as_str(),
            &signed_limit(limits::TASK_EVENTS),
            &signed_limit(limits::TASK_BYTES),
        ],
    )
    .await?;
    let row = rows.first().ok_or_else(|| DatabaseError::Unreadable {
        call: "append",
        reason: "it has no row".to_owned(),
    })?;
    let answer = Reader {
        call: "append",
        row,
    };
    let result = match answer.get("result")? {
        "ok" => AppendResult::Ok {
            version: Version(answer.unsigned("version")?),
        },
        "fenced" => AppendResult::Fenced,
        "behind" => AppendResult::Behind {
            head: answer.head("version", "sha")?,
        },
        "conflict" => AppendResult::Conflict,
        "full" => {
            return Err(DatabaseError::TooLarge {
                what: "the log of the task",
                size: answer.unsigned("version")?,
                most: u64::try_from(limits::TASK_EVENTS).unwrap_or(u64::MAX),
            });
        }
        other => return Err(answer.unreadable(other)),
    };
    Ok(TaskResult {
        task: append.task.clone(),
        epoch: append.epoch,
        result,
    })
}

fn signed_limit(limit: usize) -> i64 {
    signed(u64::try_from(limit).unwrap_or(u64::MAX))
}

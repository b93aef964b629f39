//! What people and replicas read.

use orange_fleet::chain::{Commit, Sha};
use orange_fleet::ids::{Epoch, MailId, OrgId, ProjectId, RunnerId, TaskId, Version};
use orange_fleet::message::{Change, Changes, Summary, TaskState, TaskView};
use orange_fleet::time::Timestamp;

use super::values::{Reader, signed};
use super::{Database, DatabaseError, limits};

const VIEW: &str = "
    select t.project, t.holder, t.incarnation, t.epoch, t.ended, t.rest, t.until, t.version,
        t.head_sha, t.status, t.shown, orange.now_ms() as now,
        array(
            select d.after from orange.dependency d
            join orange.task other on other.org = d.org and other.id = d.after
            where d.org = t.org and d.task = t.id and not other.ended
            order by d.after
        ) as after
    from orange.task t where t.org = $1 and t.id = $2";

/// Above the horizon a transaction that is not over yet may still add a commit. There is one row
/// without a commit when nothing has changed.
const CHANGES: &str = "
    select feed.horizon, l.*
    from (select orange.horizon() as horizon) feed
    left join lateral (
        select l.task, l.epoch, l.first, l.last, l.sha, l.events, l.texts, l.request, l.place
        from orange.log l
        where l.org = $1 and l.place > $2 and l.place < feed.horizon
            and ($3::text[] is null or exists (
                select from orange.task t
                where t.org = $1 and t.id = l.task and t.project = any($3)
            ))
        order by l.place limit $4
    ) l on true
    order by l.place";

impl Database {
    pub async fn view(
        &self,
        org: &OrgId,
        task: &TaskId,
    ) -> Result<Option<TaskView>, DatabaseError> {
        limits::org(org)?;
        limits::task(task)?;
        let row = self
            .row("view", VIEW, &[&org.as_str(), &task.as_str()])
            .await?;
        let Some(row) = &row else {
            return Ok(None);
        };
        let stored = Reader { call: "view", row };
        Ok(Some(TaskView {
            task: task.clone(),
            project: ProjectId::new(stored.get::<&str>("project")?),
            state: state(&stored)?,
            head: stored.head("version", "head_sha")?,
            summary: Summary {
                status: stored.get("status")?,
                ended: stored.get("ended")?,
                shown: stored.json("shown")?,
            },
        }))
    }

    /// The project of a task, to check the caller before a request.
    pub async fn project(
        &self,
        org: &OrgId,
        task: &TaskId,
    ) -> Result<Option<ProjectId>, DatabaseError> {
        limits::org(org)?;
        limits::task(task)?;
        let sql = "select project from orange.task where org = $1 and id = $2";
        let row = self
            .row("project", sql, &[&org.as_str(), &task.as_str()])
            .await?;
        let Some(row) = &row else {
            return Ok(None);
        };
        let project: &str = Reader {
            call: "project",
            row,
        }
        .get("project")?;
        Ok(Some(ProjectId::new(project)))
    }

    /// At most `most` commits after a point of the feed, of some projects or of all.
    pub async fn changes(
        &self,
        org: &OrgId,
        projects: Option<&[ProjectId]>,
        since: u64,
        most: u32,
    ) -> Result<Changes, DatabaseError> {
        limits::org(org)?;
        let projects = names(projects)?;
        let parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)] =
            &[&org.as_str(), &signed(since), &projects, &i64::from(most)];
        let rows = self.rows("changes", CHANGES, parameters).await?;
        let mut changes = Changes {
            rows: Vec::with_capacity(rows.len()),
            next: since,
        };
        for row in &rows {
            let stored = Reader {
                call: "changes",
                row,
            };
            if stored.get::<Option<i64>>("place")?.is_none() {
                break;
            }
            changes.next = stored.unsigned("place")?;
            changes.rows.push(Change {
                task: TaskId::new(stored.get::<&str>("task")?),
                epoch: Epoch(stored.unsigned("epoch")?),
                commit: Commit {
                    first: Version(stored.unsigned("first")?),
                    last: Version(stored.unsigned("last")?),
                    sha: stored.sha("sha")?,
                    events: stored.events("events")?,
                    texts: stored.shas("texts")?,
                    request: stored.get::<Option<&str>>("request")?.map(MailId::new),
                },
            });
        }
        // Commits of other projects need not be passed over again.
        let is_all = changes.rows.len() < usize::try_from(most).unwrap_or(usize::MAX);
        if let Some(row) = rows.first().filter(|_| is_all && projects.is_some()) {
            let (call, column) = ("changes", "horizon");
            let horizon = (Reader { call, row }).unsigned(column)?;
            changes.next = changes.next.max(horizon.saturating_sub(1));
        }
        Ok(changes)
    }

    /// A text that commits of some projects, or of any, were stored with.
    pub async fn text(
        &self,
        org: &OrgId,
        projects: Option<&[ProjectId]>,
        sha: &Sha,
    ) -> Result<Option<String>, DatabaseError> {
        limits::org(org)?;
        let projects = names(projects)?;
        let sql = "select content from orange.body
                   where org = $1 and sha = $2 and ($3::text[] is null or project = any($3))
                   limit 1";
        let parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)] =
            &[&org.as_str(), &sha.as_bytes().as_slice(), &projects];
        let row = self.row("text", sql, parameters).await?;
        let Some(row) = &row else {
            return Ok(None);
        };
        Reader { call: "text", row }.string("content").map(Some)
    }
}

fn names(projects: Option<&[ProjectId]>) -> Result<Option<Vec<&str>>, DatabaseError> {
    let Some(projects) = projects else {
        return Ok(None);
    };
    let names = projects.iter().map(ProjectId::as_str);
    limits::names("a project", names.clone())?;
    Ok(Some(names.collect()))
}

fn state(stored: &Reader<'_>) -> Result<TaskState, DatabaseError> {
    let is_held = stored.get::<Option<i64>>("incarnation")?.is_some();
    if let Some(holder) = stored.get::<Option<&str>>("holder")?.filter(|_| is_held) {
        return Ok(TaskState::Held {
            runner: RunnerId::new(holder),
            epoch: Epoch(stored.unsigned("epoch")?),
        });
    }
    if stored.get("ended")? {
        return Ok(TaskState::Ended);
    }
    let rest: i16 = stored.get("rest")?;
    let until = Timestamp(stored.unsigned("until")?);
    if rest == 1 {
        return Ok(TaskState::Idle);
    }
    if rest == 2 && Timestamp(stored.unsigned("now")?) < until {
        return Ok(TaskState::Paused { until });
    }
    let after: Vec<&str> = stored.get("after")?;
    Ok(if after.is_empty() {
        TaskState::Offered
    } else {
        TaskState::Blocked {
            after: after.into_iter().map(TaskId::new).collect(),
        }
    })
}

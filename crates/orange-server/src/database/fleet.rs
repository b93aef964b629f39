//! What the server itself asks: due calls, runners, and numbers.

use std::collections::BTreeMap;

use orange_fleet::ids::{Incarnation, MailId, OrgId, ProjectId, RunnerId};
use orange_fleet::message::Want;
use orange_fleet::time::Timestamp;
use serde::Serialize;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::{Database, DatabaseError};
use crate::metrics::Gauges;
use crate::waiting::Topic;

/// How many runners of an organisation are told at once that there may be work. More would only
/// compete for it.
const MOST_WOKEN: i64 = 16;

/// The waiting runners that may get a task or mail. It may name too many: they look themselves.
const DUE_WORK: &str = "
    with waiting as (
        select * from unnest($1::text[], $2::text[], $3::boolean[]) as it (org, runner, has_room)
    ), ready as (
        select p.id, p.org, it.has_mail from orange.pool p
        cross join lateral (
            select exists (
                select from orange.task t
                where t.org = p.org and t.pool = p.id and t.incarnation is null and t.open_mail > 0
            ) as has_mail, exists (
                select from orange.task t
                where t.org = p.org and t.pool = p.id and t.wakes is not null
                    and t.wakes <= orange.now_ms()
            ) as has_task
        ) it
        where p.org in (select distinct org from waiting) and (it.has_mail or it.has_task)
    ), fitting as (
        select w.org, w.runner, w.has_room from waiting w
        join orange.runner r on r.org = w.org and r.id = w.runner and r.online
        where exists (
            select from ready it join orange.pool p on p.id = it.id
            where it.org = w.org and (w.has_room or it.has_mail) and orange.meets(r, p)
        )
    ), chosen as (
        select *, row_number() over (partition by org order by random()) as place from fitting
    )
    select org, runner, has_room from chosen where place <= $4
    union
    select w.org, w.runner, w.has_room from waiting w
    join orange.task t on t.org = w.org and t.holder = w.runner
        and t.incarnation is not null and t.open_mail > 0";

const DUE_REQUESTS: &str = "
    select m.org, m.id from unnest($1::text[], $2::text[]) as it (org, id)
    join orange.mail m on m.org = it.org and m.id = it.id and m.state <> 0";

const DUE_CHANGES: &str = "
    select it.org, it.since from unnest($1::text[], $2::bigint[]) as it (org, since)
    where exists (
        select from orange.log l
        where l.org = it.org and l.place > it.since and l.place < orange.horizon()
    )";

const RUNNERS: &str = "
    select id, incarnation, online, want, expires_at, projects from orange.runner
    where org = $1 order by id";

const WANT: &str = "update orange.runner set want = $3 where org = $1 and id = $2 returning id";

const GAUGES: &str = "
    select
        (select count(*) from orange.mail where org = $1 and state = 0),
        offered.count, offered.oldest,
        (select count(*) from orange.task where org = $1 and incarnation is not null),
        (select count(*) from orange.runner where org = $1 and online and want = 'hold'),
        (select count(*) from orange.runner where org = $1 and online and want <> 'hold'),
        (select count(*) from orange.runner where org = $1 and not online)
    from (
        select count(*), orange.now_ms() - min(greatest(since, until)) as oldest from orange.task
        where org = $1 and wakes is not null and wakes <= orange.now_ms()
            and not ended and rest <> 1 and blocked = 0
    ) offered";

const UP_SINCE: &str = "select up_since from orange.coordinator";

/// A runner, as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunnerView {
    pub runner: RunnerId,
    pub incarnation: Incarnation,
    /// Whether its current incarnation is not lost.
    pub online: bool,
    pub want: Want,
    /// Until when it may run agents without another beat.
    pub expires_at: Timestamp,
    pub projects: Vec<ProjectId>,
}

impl Database {
    /// The waiting calls that should look again.
    pub async fn due(&self, topics: &[Topic]) -> Result<Vec<Topic>, DatabaseError> {
        let mut found = Vec::new();
        found.extend(self.due_work(topics).await?);
        found.extend(self.due_requests(topics).await?);
        found.extend(self.due_changes(topics).await?);
        Ok(found)
    }

    async fn due_work(&self, topics: &[Topic]) -> Result<Vec<Topic>, DatabaseError> {
        let (mut orgs, mut runners, mut rooms) = (Vec::new(), Vec::new(), Vec::new());
        for topic in topics {
            if let Topic::Work {
                org,
                runner,
                has_room,
            } = topic
            {
                orgs.push(org.as_str());
                runners.push(runner.as_str());
                rooms.push(*has_room);
            }
        }
        if orgs.is_empty() {
            return Ok(Vec::new());
        }
        let parameters: [&(dyn ToSql + Sync); 4] = [&orgs, &runners, &rooms, &MOST_WOKEN];
        let rows = self.rows("due_work", DUE_WORK, &parameters).await?;
        let found = rows.iter().map(|row| {
            Ok(Topic::Work {
                org: OrgId::new(text(row, 0)?),
                runner: RunnerId::new(text(row, 1)?),
                has_room: row.try_get(2)?,
            })
        });
        readable("due_work", found.collect())
    }

    async fn due_requests(&self, topics: &[Topic]) -> Result<Vec<Topic>, DatabaseError> {
        let (mut orgs, mut requests) = (Vec::new(), Vec::new());
        for topic in topics {
            if let Topic::Request(org, request) = topic {
                orgs.push(org.as_str());
                requests.push(request.as_str());
            }
        }
        if orgs.is_empty() {
            return Ok(Vec::new());
        }
        let parameters: [&(dyn ToSql + Sync); 2] = [&orgs, &requests];
        let rows = self.rows("due_requests", DUE_REQUESTS, &parameters).await?;
        let found = rows.iter().map(|row| {
            let org = OrgId::new(text(row, 0)?);
            Ok(Topic::Request(org, MailId::new(text(row, 1)?)))
        });
        readable("due_requests", found.collect())
    }

    async fn due_changes(&self, topics: &[Topic]) -> Result<Vec<Topic>, DatabaseError> {
        let mut known = BTreeMap::new();
        for topic in topics {
            if let Topic::Changes(org, since) = topic {
                // A point that the database has no number for is after everything.
                let since = i64::try_from(*since).unwrap_or(i64::MAX);
                known.insert((org.as_str(), since), topic);
            }
        }
        if known.is_empty() {
            return Ok(Vec::new());
        }
        let (orgs, points): (Vec<&str>, Vec<i64>) = known.keys().copied().unzip();
        let parameters: [&(dyn ToSql + Sync); 2] = [&orgs, &points];
        let rows = self.rows("due_changes", DUE_CHANGES, &parameters).await?;
        let found = rows.iter().map(|row| {
            let (org, since): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
            Ok(known.get(&(org.as_str(), since)).map(|it| Topic::clone(it)))
        });
        let found: Vec<Option<Topic>> = readable("due_changes", found.collect())?;
        Ok(found.into_iter().flatten().collect())
    }

    /// All runners of an organisation.
    pub async fn runners(&self, org: &OrgId) -> Result<Vec<RunnerView>, DatabaseError> {
        let rows = self.rows("runners", RUNNERS, &[&org.as_str()]).await?;
        let found = rows.iter().map(|row| {
            let projects: Vec<String> = row.try_get(5)?;
            Ok(RunnerView {
                runner: RunnerId::new(text(row, 0)?),
                incarnation: Incarnation(number(row, 1)?),
                online: row.try_get(2)?,
                want: want_of(text(row, 3)?),
                expires_at: Timestamp(number(row, 4)?),
                projects: projects.into_iter().map(ProjectId::new).collect(),
            })
        });
        readable("runners", found.collect())
    }

    /// Tell a runner at its next beat what is wanted of it.
    pub async fn want(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        want: Want,
    ) -> Result<(), DatabaseError> {
        let want = match want {
            Want::Hold => HOLD,
            Want::Drain => DRAIN,
        };
        let parameters: [&(dyn ToSql + Sync); 3] = [&org.as_str(), &runner.as_str(), &want];
        self.rows("want", WANT, &parameters).await?;
        Ok(())
    }

    /// The numbers of an organisation, for `/metrics`.
    pub async fn gauges(&self, org: &OrgId) -> Result<Gauges, DatabaseError> {
        let rows = self.rows("gauges", GAUGES, &[&org.as_str()]).await?;
        let status = self.pool.status();
        let found = rows.first().map(|row| {
            let oldest: Option<i64> = row.try_get(2)?;
            let oldest = u64::try_from(oldest.unwrap_or(0)).unwrap_or(0);
            Ok(Gauges {
                open_mail: row.try_get(0)?,
                offered: row.try_get(1)?,
                offered_oldest_seconds: std::time::Duration::from_millis(oldest).as_secs_f64(),
                held: row.try_get(3)?,
                runners_online: row.try_get(4)?,
                runners_draining: row.try_get(5)?,
                runners_lost: row.try_get(6)?,
                pool_waiting: status.waiting,
            })
        });
        readable("gauges", found.unwrap_or_else(|| Ok(Gauges::default())))
    }

    /// Since when runners could be heard.
    pub async fn up_since(&self) -> Result<Timestamp, DatabaseError> {
        let rows = self.rows("up_since", UP_SINCE, &[]).await?;
        let found = rows.first().map(|row| Ok(Timestamp(number(row, 0)?)));
        readable(
            "up_since",
            found.unwrap_or_else(|| Ok(Timestamp::default())),
        )
    }
}

const HOLD: &str = "hold";
const DRAIN: &str = "drain";

fn want_of(text: &str) -> Want {
    if text == DRAIN {
        Want::Drain
    } else {
        Want::Hold
    }
}

fn text(row: &Row, column: usize) -> Result<&str, tokio_postgres::Error> {
    row.try_get(column)
}

/// Numbers in the database are never negative.
fn number(row: &Row, column: usize) -> Result<u64, tokio_postgres::Error> {
    let number: i64 = row.try_get(column)?;
    Ok(u64::try_from(number).unwrap_or(0))
}

fn readable<T>(
    call: &'static str,
    answer: Result<T, tokio_postgres::Error>,
) -> Result<T, DatabaseError> {
    answer.map_err(|error| DatabaseError::Unreadable {
        call,
        reason: error.to_string(),
    })
}

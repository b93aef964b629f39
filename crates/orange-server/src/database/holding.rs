//! Claims, adoptions and releases: which runner holds a task.

use orange_fleet::chain::Commit;
use orange_fleet::ids::{Epoch, HarnessName, MailId, OrgId, PersonId, RunnerId, TaskId, Version};
use orange_fleet::ledger::{MOST_CLAIMS, MOST_MAIL};
use orange_fleet::message::{
    Adopt, AdoptAnswer, Claim, EndedTask, GiveBack, HoldingAnswer, Mail, Rest, Sender, Text, Wip,
    WorkAnswer, WorkRequest,
};

use super::values::{Reader, signed};
use super::{Database, DatabaseError, limits};

impl Database {
    /// Without waiting.
    pub async fn work(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        call: &WorkRequest,
    ) -> Result<WorkAnswer, DatabaseError> {
        limits::caller(org, runner)?;
        limits::names(
            "a parked harness",
            call.parked.iter().map(HarnessName::as_str),
        )?;
        let parked: Vec<_> = call.parked.iter().map(HarnessName::as_str).collect();
        let most_bytes = u64::try_from(limits::CLAIM_BYTES).unwrap_or(u64::MAX);
        let most_mail = u64::try_from(MOST_MAIL).unwrap_or(u64::MAX);
        let sql = "select * from orange.work_1($1, $2, $3, $4, $5, $6, $7, $8)";
        let rows = self
            .rows(
                "work",
                sql,
                &[
                    &org.as_str(),
                    &runner.as_str(),
                    &signed(call.incarnation.0),
                    &i64::from(call.free),
                    &parked,
                    &i64::from(MOST_CLAIMS),
                    &signed(most_bytes),
                    &signed(most_mail),
                ],
            )
            .await?;
        let lines = rows.iter().map(|row| Reader { call: "work", row });
        let mut answer = WorkAnswer {
            incarnation: call.incarnation,
            ..WorkAnswer::default()
        };
        for line in lines {
            if line.get::<&str>("kind")? == "mail" {
                answer.mail.push(mail(&line)?);
            } else {
                add(&mut answer.claims, &line)?;
            }
        }
        Ok(answer)
    }

    pub async fn adopt(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        call: &Adopt,
    ) -> Result<AdoptAnswer, DatabaseError> {
        limits::caller(org, runner)?;
        limits::task(&call.task)?;
        let sql = "select * from orange.adopt_1($1, $2, $3, $4, $5, $6)";
        let rows = self
            .rows(
                "adopt",
                sql,
                &[
                    &org.as_str(),
                    &runner.as_str(),
                    &signed(call.incarnation.0),
                    &call.task.as_str(),
                    &signed(call.seen.0),
                    &call.held.map(|it| signed(it.0)),
                ],
            )
            .await?;
        let mut claims = Vec::new();
        for row in &rows {
            add(&mut claims, &Reader { call: "adopt", row })?;
        }
        Ok(AdoptAnswer {
            task: call.task.clone(),
            incarnation: call.incarnation,
            seen: call.seen,
            claim: claims.pop(),
        })
    }

    pub async fn give_back(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        call: &GiveBack,
    ) -> Result<HoldingAnswer, DatabaseError> {
        limits::caller(org, runner)?;
        limits::task(&call.task)?;
        let (rest, until) = match call.rest {
            Rest::Offered => (0_i16, 0),
            Rest::Idle => (1, 0),
            Rest::Paused { until } => (2, signed(until.0)),
        };
        let sql = "select orange.give_back_1($1, $2, $3, $4, $5, $6) as held";
        let row = self
            .only(
                "give-back",
                sql,
                &[
                    &org.as_str(),
                    &runner.as_str(),
                    &call.task.as_str(),
                    &signed(call.epoch.0),
                    &rest,
                    &until,
                ],
            )
            .await?;
        let row = &row;
        holding(&Reader {
            call: "give-back",
            row,
        })
    }

    pub async fn save_wip(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        task: &TaskId,
        wip: &Wip,
    ) -> Result<HoldingAnswer, DatabaseError> {
        limits::caller(org, runner)?;
        limits::task(task)?;
        limits::wip(wip)?;
        let sql = "select orange.save_wip_1($1, $2, $3, $4, $5, $6, $7, $8, $9) as held";
        let row = self
            .only(
                "save work",
                sql,
                &[
                    &org.as_str(),
                    &runner.as_str(),
                    &task.as_str(),
                    &signed(wip.epoch.0),
                    &signed(wip.number),
                    &wip.base,
                    &wip.bundle,
                    &wip.document.as_bytes(),
                    &wip.imported.as_ref().map(|it| it.as_bytes().as_slice()),
                ],
            )
            .await?;
        let row = &row;
        holding(&Reader {
            call: "save work",
            row,
        })
    }
}

fn holding(answer: &Reader<'_>) -> Result<HoldingAnswer, DatabaseError> {
    let is_held: bool = answer.get("held")?;
    Ok(if is_held {
        HoldingAnswer::Ok
    } else {
        HoldingAnswer::Fenced
    })
}

fn mail(line: &Reader<'_>) -> Result<Mail, DatabaseError> {
    let sender: &str = line.get("extra")?;
    Ok(Mail {
        id: MailId::new(line.get::<&str>("name")?),
        task: TaskId::new(line.get::<&str>("task")?),
        from: if line.unsigned("first")? > 0 {
            Sender::Child(TaskId::new(sender))
        } else {
            Sender::Person(PersonId::new(sender))
        },
        ask: line.json("body")?,
    })
}

/// Adds a line to the claims: a new claim, or a part of the last one.
fn add(claims: &mut Vec<Claim>, line: &Reader<'_>) -> Result<(), DatabaseError> {
    let kind: &str = line.get("kind")?;
    if kind == "claim" {
        claims.push(Claim {
            task: TaskId::new(line.get::<&str>("task")?),
            epoch: Epoch(line.unsigned("epoch")?),
            head: line.head("last", "sha")?,
            commits: Vec::new(),
            texts: Vec::new(),
            wip: None,
            elsewhere: Vec::new(),
        });
        return Ok(());
    }
    let Some(claim) = claims.last_mut() else {
        return Err(line.unreadable("a line has no claim"));
    };
    match kind {
        "commit" => claim.commits.push(Commit {
            first: Version(line.unsigned("first")?),
            last: Version(line.unsigned("last")?),
            sha: line.sha("sha")?,
            events: line.events("body")?,
            texts: line.shas("bytes")?,
            request: line.get::<Option<&str>>("extra")?.map(MailId::new),
        }),
        "text" => claim.texts.push(Text {
            sha: line.sha("sha")?,
            content: line.string("bytes")?,
        }),
        "wip" => {
            claim.wip = Some(Wip {
                epoch: Epoch(line.unsigned("epoch")?),
                number: line.unsigned("first")?,
                base: line.get("name")?,
                bundle: line.get("body")?,
                document: line.string("bytes")?,
                imported: line.optional_sha("sha")?,
            });
        }
        "elsewhere" => claim.elsewhere.push(EndedTask {
            task: TaskId::new(line.get::<&str>("name")?),
            status: line.get("body")?,
        }),
        other => return Err(line.unreadable(other)),
    }
    Ok(())
}

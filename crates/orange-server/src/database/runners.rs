//! Registration and beats.

use orange_fleet::ids::{
    Epoch, HarnessName, Incarnation, Label, OrgId, ProjectId, RunnerId, TaskId,
};
use orange_fleet::message::{Beat, BeatAnswer, OwnedTask, Register, RegisterAnswer, Want};
use orange_fleet::time::{Period, Timestamp};

use super::values::{Reader, signed};
use super::{Database, DatabaseError, limits};

impl Database {
    pub async fn register(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        call: &Register,
    ) -> Result<RegisterAnswer, DatabaseError> {
        limits::caller(org, runner)?;
        if call.runner != *runner {
            let (what, reason) = ("the runner", "it is not the caller");
            return Err(DatabaseError::Invalid { what, reason });
        }
        limits::name("the home", call.home.as_str())?;
        let able = &call.capabilities;
        limits::capabilities(able)?;
        let projects: Vec<_> = able.projects.iter().map(ProjectId::as_str).collect();
        let harnesses: Vec<_> = able.harnesses.iter().map(HarnessName::as_str).collect();
        let labels: Vec<_> = able.labels.iter().map(Label::as_str).collect();
        let sql = "select * from orange.register_1($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let row = self
            .only(
                "register",
                sql,
                &[
                    &org.as_str(),
                    &runner.as_str(),
                    &call.home.as_str(),
                    &signed(call.seen.0),
                    &signed(call.lost_after.0),
                    &signed(able.format.0),
                    &projects,
                    &harnesses,
                    &labels,
                ],
            )
            .await?;
        let row = &row;
        let answer = Reader {
            call: "register",
            row,
        };
        let incarnation = Incarnation(answer.unsigned("incarnation")?);
        let is_registered: bool = answer.get("registered")?;
        Ok(if is_registered {
            RegisterAnswer::Registered {
                incarnation,
                lost_after: Period(answer.unsigned("lost_after")?),
            }
        } else {
            RegisterAnswer::Taken {
                incarnation,
                replaced: answer.get("replaced")?,
            }
        })
    }

    pub async fn beat(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        call: &Beat,
    ) -> Result<BeatAnswer, DatabaseError> {
        limits::caller(org, runner)?;
        limits::name("the home", call.home.as_str())?;
        limits::size(
            "the list of held tasks",
            call.held.len(),
            limits::HELD_TASKS,
        )?;
        for held in &call.held {
            limits::task(&held.task)?;
        }
        let tasks: Vec<_> = call.held.iter().map(|it| it.task.as_str()).collect();
        let epochs: Vec<_> = call.held.iter().map(|it| signed(it.epoch.0)).collect();
        let sql = "select * from orange.beat_1($1, $2, $3, $4, $5, $6)";
        let rows = self
            .rows(
                "beat",
                sql,
                &[
                    &org.as_str(),
                    &runner.as_str(),
                    &call.home.as_str(),
                    &signed(call.incarnation.0),
                    &tasks,
                    &epochs,
                ],
            )
            .await?;
        let mut lines = rows.iter().map(|row| Reader { call: "beat", row });
        let Some(first) = lines.next() else {
            let (call, reason) = ("beat", "it has no row".to_owned());
            return Err(DatabaseError::Unreadable { call, reason });
        };
        if first.get::<&str>("kind")? == "stale" {
            return Ok(BeatAnswer::Stale {
                incarnation: Incarnation(first.unsigned("first")?),
                replaced: first.unsigned("last")? > 0,
            });
        }
        let want = match first.get::<&str>("name")? {
            "drain" => Want::Drain,
            _ => Want::Hold,
        };
        let (mut lost, mut yours) = (Vec::new(), Vec::new());
        for line in lines {
            let task = OwnedTask {
                task: TaskId::new(line.get::<&str>("task")?),
                epoch: Epoch(line.unsigned("epoch")?),
            };
            match line.get::<&str>("kind")? {
                "lost" => lost.push(task),
                _ => yours.push(task),
            }
        }
        Ok(BeatAnswer::Alive {
            lost_after: Period(first.unsigned("first")?),
            now: Timestamp(first.unsigned("last")?),
            lost,
            yours,
            want,
        })
    }
}

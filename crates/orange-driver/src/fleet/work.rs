//! Waits for tasks and mail.

use std::time::Duration;

use orange_config::LogLevel;
use orange_engine::names::ProjectName;
use orange_fleet::ids::Incarnation;
use orange_fleet::link::Takeover;
use orange_fleet::message::{Claim, GiveBack, Rest, WorkRequest};
use orange_store::steps::reach;
use orange_store::{Claimed, Membership, Store, StoreError};
use serde_json::json;

use super::{PAUSE, RETRY, Runner, engine_task};
use crate::DriverError;

impl Runner {
    /// Waits once, and handles what came.
    pub(super) fn wait_for_work(&self) -> Result<Duration, DriverError> {
        let known = self.membership()?;
        let Some(incarnation) = known.link.registration().current() else {
            return Ok(RETRY);
        };
        let answer = self.server.work(&WorkRequest {
            incarnation,
            free: self.free(&known),
            parked: self.parked()?,
        })?;
        let mut store = self.store()?;
        reach("after work has arrived");
        let _moving = self.lock_moves();
        for claim in &answer.claims {
            self.claimed(&mut store, answer.incarnation, claim)?;
        }
        if !answer.claims.is_empty() {
            self.continue_arrivals(&mut store)?;
        }
        for mail in &answer.mail {
            self.handle_mail(&mut store, mail)?;
        }
        // Mail stays open at the server until the commit that decides it is in the log.
        Ok(PAUSE)
    }

    fn claimed(
        &self,
        store: &mut Store,
        incarnation: Incarnation,
        claim: &Claim,
    ) -> Result<(), DriverError> {
        self.take_over(store, claim, |known, local| {
            known.link.claimed(incarnation, claim, local)
        })
    }

    /// Takes a task over; first removes another copy of it. A task that cannot work here is given
    /// back.
    pub(super) fn take_over(
        &self,
        store: &mut Store,
        claim: &Claim,
        mut claimed: impl FnMut(&mut Membership, &[orange_fleet::chain::Commit]) -> Takeover,
    ) -> Result<(), DriverError> {
        let id = engine_task(&claim.task);
        let taken = match store.take_over(claim, &mut claimed) {
            Err(StoreError::OtherCopy { .. }) => {
                self.remove_copy(store, &id)?;
                store.take_over(claim, &mut claimed)
            }
            taken => taken,
        };
        match taken {
            Ok(Claimed::Stale | Claimed::Continued) => Ok(()),
            Ok(Claimed::TakenOver(task)) => {
                reach("after a task was taken over");
                let more = json!({ "version": task.version, "epoch": claim.epoch.0 });
                let context = &self.driver.context;
                context.log(LogLevel::Info, &id, "fleet.taken_over", more);
                match self.require_fit(store, &task.project, &id) {
                    Ok(()) => Ok(()),
                    Err(reason) => self.refuse(claim, &reason),
                }
            }
            Err(
                error @ (StoreError::BadLog { .. }
                | StoreError::NewerEvents { .. }
                | StoreError::Unreadable { .. }
                | StoreError::BadName { .. }
                | StoreError::BranchTaken { .. }),
            ) => self.refuse(claim, &error.to_string()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether this machine has the task's project and can read its workflow.
    fn require_fit(
        &self,
        store: &Store,
        project: &ProjectName,
        id: &orange_engine::names::TaskId,
    ) -> Result<(), String> {
        let projects = self.driver.context.projects();
        let projects = projects.map_err(|error| error.to_string())?;
        projects
            .require(project)
            .map_err(|error| error.to_string())?;
        let stored = store.require(id).map_err(|error| error.to_string())?;
        let workflow = crate::steps::pinned_workflow(&stored);
        workflow.map(drop).map_err(|error| error.to_string())
    }

    /// Gives a task back that this machine cannot work on. It waits for a person, because the next
    /// runner may fail in the same way.
    fn refuse(&self, claim: &Claim, reason: &str) -> Result<(), DriverError> {
        let id = engine_task(&claim.task);
        let context = &self.driver.context;
        let more = json!({ "reason": reason });
        context.log(LogLevel::Error, &id, "fleet.unfit", more);
        self.server.give_back(&GiveBack {
            task: claim.task.clone(),
            epoch: claim.epoch,
            rest: Rest::Idle,
        })?;
        let mut store = self.store()?;
        store.update_membership(|known| {
            let held = known
                .link
                .task(&claim.task)
                .map(orange_fleet::link::TaskLink::epoch);
            if held == Some(claim.epoch) {
                known.link.ended(&claim.task, claim.epoch);
                known.dropped.insert(claim.task.clone(), claim.epoch);
            }
        })?;
        Ok(())
    }

    /// Asks for the tasks that belong to this runner and that it does not hold.
    pub(super) fn adopt(&self, store: &mut Store) -> Result<(), DriverError> {
        for call in self.membership()?.link.adoptions() {
            let answer = self.server.adopt(&call)?;
            match &answer.claim {
                Some(claim) => self.take_over(store, claim, |known, local| {
                    known.link.adopt_answered(&answer, local)
                })?,
                None => {
                    store.update_membership(|known| known.link.adopt_answered(&answer, &[]))?;
                }
            }
        }
        Ok(())
    }
}

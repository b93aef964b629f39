//! Which tasks use up each limit.

use super::wait::Wait;
use super::{Limits, Place, Queued, Standing};
use crate::names::{HarnessName, Status, TaskId};

/// All tasks that use up a limit, including those that are about to start.
pub(super) struct Tally<'a> {
    limits: &'a Limits,
    holders: Vec<Holder<'a>>,
}

struct Holder<'a> {
    standing: &'a Standing,
    /// Where it is, or will be.
    status: Option<&'a Status>,
    /// Whether it is only about to start.
    starts: bool,
}

impl<'a> Tally<'a> {
    pub(super) fn of(all: impl Iterator<Item = &'a Standing>, limits: &'a Limits) -> Tally<'a> {
        let holders = all.filter_map(|standing| {
            // Starts empty a queue, so a limit on the queue must not hold them back.
            let status = match standing.place {
                Place::Active => Some(&standing.status),
                Place::Queued(_) | Place::Ended { .. } => None,
            };
            let holds = status.is_some() || !standing.agents.is_empty() || standing.has_workspace;
            holds.then_some(Holder {
                standing,
                status,
                starts: false,
            })
        });
        Tally {
            holders: holders.collect(),
            limits,
        }
    }

    /// Counts a task as started.
    pub(super) fn start(&mut self, standing: &'a Standing, queued: &'a Queued) {
        self.holders
            .retain(|holder| holder.standing.task != standing.task);
        self.holders.push(Holder {
            standing,
            status: queued.to.as_ref(),
            starts: true,
        });
    }

    /// The limits that leave no room for this task.
    pub(super) fn reached(&self, task: &Standing) -> Vec<Wait> {
        let Limits {
            agents: all,
            per_project,
            harness,
            status,
            pools,
            parked,
        } = self.limits;
        let parked = parked.iter().filter(|it| it.harness == task.harness);
        let parked = parked.map(|parking| Wait::Parked(parking.clone()));
        let mut waits: Vec<Wait> = parked.collect();
        if let Some(limit) = *all
            && let Some(held_by) = self.full(limit, agents)
        {
            waits.push(Wait::Agents { limit, held_by });
        }
        let is_near = |holder: &Holder<'_>| holder.standing.project == task.project;
        if let Some(limit) = *per_project
            && let Some(held_by) = self.full(limit, |it| if is_near(it) { agents(it) } else { 0 })
        {
            let project = task.project.clone();
            waits.push(Wait::Project {
                project,
                limit,
                held_by,
            });
        }
        if let Some(limit) = harness.get(&task.harness).copied()
            && let Some(held_by) = self.full(limit, |it| agents_of(&task.harness, it))
        {
            let harness = task.harness.clone();
            waits.push(Wait::Harness {
                harness,
                limit,
                held_by,
            });
        }
        for (status, limit) in status {
            let is_there = |it: &Holder<'_>| u32::from(it.status == Some(status));
            if let Some(held_by) = self.full(*limit, is_there) {
                waits.push(Wait::Status {
                    status: status.clone(),
                    limit: *limit,
                    held_by,
                });
            }
        }
        // A task that already has a workspace needs no other.
        let pool = pools.get(&task.project).filter(|_| !task.has_workspace);
        let takes_slot =
            |it: &Holder<'_>| u32::from(is_near(it) && (it.starts || it.standing.has_workspace));
        if let Some(limit) = pool.copied()
            && let Some(held_by) = self.full(limit, takes_slot)
        {
            let project = task.project.clone();
            waits.push(Wait::Pool {
                project,
                limit,
                held_by,
            });
        }
        waits
    }

    /// The tasks that use up the whole limit, if nothing is left of it.
    fn full(&self, limit: u32, share: impl Fn(&Holder<'_>) -> u32) -> Option<Vec<TaskId>> {
        let shares = self.holders.iter().map(|it| (it, share(it)));
        let taken: Vec<(&Holder<'_>, u32)> = shares.filter(|(_, share)| *share > 0).collect();
        let sum = taken
            .iter()
            .fold(0u32, |sum, (_, share)| sum.saturating_add(*share));
        let holders = taken.iter().map(|(it, _)| it.standing.task.clone());
        (sum >= limit).then(|| holders.collect())
    }
}

fn agents(holder: &Holder<'_>) -> u32 {
    let there = holder.standing.agents.values();
    let there = there.fold(0u32, |sum, count| sum.saturating_add(*count));
    there.saturating_add(u32::from(holder.starts))
}

fn agents_of(harness: &HarnessName, holder: &Holder<'_>) -> u32 {
    let there = holder.standing.agents.get(harness).copied().unwrap_or(0);
    let comes = holder.starts && holder.standing.harness == *harness;
    there.saturating_add(u32::from(comes))
}

//! Which tasks use up each limit.

use super::wait::Wait;
use super::{FullDisk, Limits, QueueEntry, SchedulePlace, ScheduledTask};
use crate::names::{HarnessName, Status, TaskId};

/// All tasks that use up a limit, including those that are about to start.
pub(super) struct Tally<'a> {
    limits: &'a Limits,
    holders: Vec<Holder<'a>>,
}

struct Holder<'a> {
    scheduled: &'a ScheduledTask,
    /// The status it is in, or will be in after its start.
    status: Option<&'a Status>,
    /// The harness it is about to start on.
    starts_on: Option<&'a HarnessName>,
}

impl<'a> Tally<'a> {
    pub(super) fn of(
        all: impl Iterator<Item = &'a ScheduledTask>,
        limits: &'a Limits,
    ) -> Tally<'a> {
        let holders = all.filter_map(|scheduled| {
            // Starting tasks empties a queue, so a limit on a queued status must not hold back
            // starts.
            let status = match scheduled.place {
                SchedulePlace::Active => Some(&scheduled.status),
                SchedulePlace::Queued(_) | SchedulePlace::Ended { .. } => None,
            };
            let holds = status.is_some() || !scheduled.agents.is_empty() || scheduled.has_workspace;
            holds.then_some(Holder {
                scheduled,
                status,
                starts_on: None,
            })
        });
        Tally {
            holders: holders.collect(),
            limits,
        }
    }

    /// Counts a task as started.
    pub(super) fn start(&mut self, scheduled: &'a ScheduledTask, queued: &'a QueueEntry) {
        self.holders
            .retain(|holder| holder.scheduled.task != scheduled.task);
        self.holders.push(Holder {
            scheduled,
            status: queued.to.as_ref(),
            starts_on: Some(self.limits.used_harness(scheduled)),
        });
    }

    /// The limits that leave no room for this task.
    pub(super) fn reached_limits(&self, task: &ScheduledTask) -> Vec<Wait> {
        let Limits {
            agents: all,
            per_project,
            harness,
            status,
            pools,
            parked,
            failover: _,
            full_disk,
            budget,
        } = self.limits;
        let used = self.limits.used_harness(task);
        let parking = parked.iter().find(|it| it.harness == *used);
        let mut waits: Vec<Wait> = parking.cloned().map(Wait::Parked).into_iter().collect();
        waits.extend(full_disk.map(|FullDisk { free, needed }| Wait::Disk { free, needed }));
        waits.extend(Wait::from_budget(budget, &task.start()));
        if let Some(limit) = *all
            && let Some(held_by) = self.limit_holders(limit, agents)
        {
            waits.push(Wait::Agents { limit, held_by });
        }
        let is_same_project = |holder: &Holder<'_>| holder.scheduled.project == task.project;
        if let Some(limit) = *per_project
            && let Some(held_by) =
                self.limit_holders(limit, |it| if is_same_project(it) { agents(it) } else { 0 })
        {
            let project = task.project.clone();
            waits.push(Wait::Project {
                project,
                limit,
                held_by,
            });
        }
        if let Some(limit) = harness.get(used).copied()
            && let Some(held_by) = self.limit_holders(limit, |it| agents_of(used, it))
        {
            let harness = used.clone();
            waits.push(Wait::Harness {
                harness,
                limit,
                held_by,
            });
        }
        for (status, limit) in status {
            let is_there = |it: &Holder<'_>| u32::from(it.status == Some(status));
            if let Some(held_by) = self.limit_holders(*limit, is_there) {
                waits.push(Wait::Status {
                    status: status.clone(),
                    limit: *limit,
                    held_by,
                });
            }
        }
        // A task that already has a workspace needs no other.
        let pool = pools.get(&task.project);
        let pool = pool.filter(|_| !task.has_workspace && !task.needs_no_workspace);
        let takes_slot = |it: &Holder<'_>| {
            let starts = it.starts_on.is_some() && !it.scheduled.needs_no_workspace;
            u32::from(is_same_project(it) && (starts || it.scheduled.has_workspace))
        };
        if let Some(limit) = pool.copied()
            && let Some(held_by) = self.limit_holders(limit, takes_slot)
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
    fn limit_holders(&self, limit: u32, share: impl Fn(&Holder<'_>) -> u32) -> Option<Vec<TaskId>> {
        let shares = self.holders.iter().map(|it| (it, share(it)));
        let taken: Vec<(&Holder<'_>, u32)> = shares.filter(|(_, share)| *share > 0).collect();
        let sum = taken
            .iter()
            .fold(0u32, |sum, (_, share)| sum.saturating_add(*share));
        let holders = taken.iter().map(|(it, _)| it.scheduled.task.clone());
        (sum >= limit).then(|| holders.collect())
    }
}

fn agents(holder: &Holder<'_>) -> u32 {
    let running = holder.scheduled.agents.values();
    let running = running.fold(0u32, |sum, count| sum.saturating_add(*count));
    running.saturating_add(u32::from(holder.starts_on.is_some()))
}

fn agents_of(harness: &HarnessName, holder: &Holder<'_>) -> u32 {
    let running = holder.scheduled.agents.get(harness).copied().unwrap_or(0);
    let starts_one = holder.starts_on == Some(harness);
    running.saturating_add(u32::from(starts_one))
}

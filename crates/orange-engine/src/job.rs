//! Jobs: what the instants of a schedule lead to.
//!
//! One decision is one step: it says what happens up to one instant. The caller records it and asks
//! again, so a process that is killed in between repeats nothing and leaves nothing out.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::{JobName, TaskId};
use crate::time::Timestamp;

/// How late an instant still counts as reached in time, in seconds.
const ON_TIME_SECONDS: u64 = 60;

/// The instant of a job that a task was created for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct JobLink {
    /// The name of the job.
    pub name: JobName,
    /// The instant of its schedule.
    pub instant: Timestamp,
}

impl fmt::Display for JobLink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "job `{}` of {}", self.name, self.instant)
    }
}

/// What happens to instants that passed while no supervisor ran.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Missed {
    /// They are left out.
    Skip,
    /// The latest one is made up for.
    #[default]
    One,
    /// Each of them is made up for.
    All,
}

/// What happens at an instant while the task of an earlier one still works.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    /// The instant is left out.
    #[default]
    Skip,
    /// The new task waits for the earlier one.
    Queue,
    /// The earlier task is cancelled; its work is kept.
    Replace,
}

/// The rules of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRules {
    pub missed: Missed,
    /// How long ago a missed instant may be, in seconds.
    pub window: u64,
    pub overlap: Overlap,
    /// The number of failures in a row that pauses the job; zero for never.
    pub pause_after: u32,
}

/// What is known about the runs of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobState {
    /// Everything up to this instant is decided.
    pub reached: Timestamp,
    /// The earlier tasks that still work, the oldest first. One that waits for the user is not
    /// among them: it must not hold the job up.
    pub active: Vec<TaskId>,
    /// Whether a command of an earlier instant still runs.
    pub is_command_running: bool,
    /// How many of the latest runs failed in a row.
    pub failures: u32,
}

/// Why an instant is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SkipReason {
    /// It passed while no supervisor ran.
    Missed,
    /// The run of an earlier instant has not ended.
    Overlap,
}

/// The next step of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobStep {
    /// No instant is due.
    Nothing,
    /// A missed instant is due, and waits until the run of an earlier one has ended.
    Wait,
    /// It failed too often in a row.
    Paused { failures: u32 },
    /// Nothing happens for any instant up to this one.
    Skip {
        through: Timestamp,
        reason: SkipReason,
    },
    /// The work of an instant starts.
    Start {
        instant: Timestamp,
        /// The task that it waits for.
        after: Option<TaskId>,
        /// The tasks that are cancelled first.
        replaced: Vec<TaskId>,
    },
}

/// Decides the next step; `instants` are those of the schedule, in order.
pub fn next_step(
    rules: &JobRules,
    state: &JobState,
    instants: &[Timestamp],
    now: Timestamp,
) -> JobStep {
    let is_due = |it: &Timestamp| *it > state.reached && *it <= now;
    let due: Vec<Timestamp> = instants.iter().copied().filter(is_due).collect();
    let Some(&last) = due.last() else {
        return JobStep::Nothing;
    };
    if rules.pause_after > 0 && state.failures >= rules.pause_after {
        return JobStep::Paused {
            failures: state.failures,
        };
    }
    let is_within = |instant: Timestamp, seconds| now.seconds_since(instant) <= seconds;
    let wanted = match rules.missed {
        Missed::Skip => Some(last).filter(|it| is_within(*it, ON_TIME_SECONDS)),
        // The instant that is reached in time always counts, however short the window.
        Missed::One => Some(last).filter(|it| is_within(*it, rules.window.max(ON_TIME_SECONDS))),
        Missed::All => {
            let window = rules.window.max(ON_TIME_SECONDS);
            due.into_iter().find(|it| is_within(*it, window))
        }
    };
    let Some(instant) = wanted else {
        return JobStep::Skip {
            through: last,
            reason: SkipReason::Missed,
        };
    };
    let start = |after: Option<&TaskId>, replaced: &[TaskId]| JobStep::Start {
        instant,
        after: after.cloned(),
        replaced: replaced.to_vec(),
    };
    let is_busy = state.is_command_running || !state.active.is_empty();
    match rules.overlap {
        _ if !is_busy => start(None, &[]),
        Overlap::Queue if !state.is_command_running => start(state.active.last(), &[]),
        Overlap::Replace if !state.is_command_running => start(None, &state.active),
        // Missed instants are made up for one after the other.
        _ if rules.missed == Missed::All && !is_within(instant, ON_TIME_SECONDS) => JobStep::Wait,
        // A command is never ended for another one.
        Overlap::Skip | Overlap::Queue | Overlap::Replace => JobStep::Skip {
            through: instant,
            reason: SkipReason::Overlap,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3600;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000 + seconds * 1000)
    }

    /// Every hour, for three days before `at(0)` and three after it.
    fn hours() -> Vec<Timestamp> {
        (-72..=72).map(|hour| at(hour * 3600)).collect()
    }

    fn rules(missed: Missed) -> JobRules {
        JobRules {
            missed,
            window: 24 * HOUR,
            overlap: Overlap::Skip,
            pause_after: 3,
        }
    }

    fn idle(reached: Timestamp) -> JobState {
        JobState {
            reached,
            active: Vec::new(),
            is_command_running: false,
            failures: 0,
        }
    }

    /// The instants that start when each start ends at once, until nothing is due.
    fn starts(rules: &JobRules, since: Timestamp, now: Timestamp) -> Vec<Timestamp> {
        let mut state = idle(since);
        let mut all = Vec::new();
        loop {
            match next_step(rules, &state, &hours(), now) {
                JobStep::Start { instant, .. } => {
                    assert!(instant > state.reached, "no instant twice");
                    all.push(instant);
                    state.reached = instant;
                }
                JobStep::Skip { through, .. } => {
                    assert!(through > state.reached);
                    state.reached = through;
                }
                JobStep::Nothing => return all,
                JobStep::Paused { .. } | JobStep::Wait => unreachable!("nothing failed or runs"),
            }
        }
    }

    #[test]
    fn three_days_off_lead_to_none_one_or_each_within_the_window() {
        let (since, now) = (at(-72 * 3600), at(600));
        assert_eq!(starts(&rules(Missed::Skip), since, now), []);
        assert_eq!(starts(&rules(Missed::One), since, now), [at(0)]);
        let all = starts(&rules(Missed::All), since, now);
        assert_eq!(all.len(), 24);
        assert_eq!(all.first(), Some(&at(-23 * 3600)));
        assert_eq!(all.last(), Some(&at(0)));
        let mut short = rules(Missed::One);
        short.window = 300;
        assert_eq!(starts(&short, since, now), []);
    }

    #[test]
    fn an_instant_reached_in_time_starts_under_every_rule() {
        for missed in [Missed::Skip, Missed::One, Missed::All] {
            let mut rules = rules(missed);
            rules.window = 0;
            assert_eq!(starts(&rules, at(-1), at(5)), [at(0)], "{missed:?}");
            assert_eq!(starts(&rules, at(0), at(5)), [], "{missed:?}");
        }
    }

    #[test]
    fn a_clock_that_goes_back_repeats_nothing() {
        assert_eq!(
            next_step(&rules(Missed::All), &idle(at(3600)), &hours(), at(10)),
            JobStep::Nothing
        );
    }

    #[test]
    fn an_earlier_task_that_works_is_skipped_waited_for_or_replaced() {
        let mut state = idle(at(-1));
        state.active = vec![TaskId::new("a"), TaskId::new("b")];
        let step = |overlap| {
            let rules = JobRules {
                overlap,
                ..rules(Missed::One)
            };
            next_step(&rules, &state, &hours(), at(5))
        };
        let skip = JobStep::Skip {
            through: at(0),
            reason: SkipReason::Overlap,
        };
        let start = |after: Option<&str>, replaced: &[&str]| JobStep::Start {
            instant: at(0),
            after: after.map(TaskId::new),
            replaced: replaced.iter().map(TaskId::new).collect(),
        };
        assert_eq!(step(Overlap::Skip), skip);
        assert_eq!(step(Overlap::Queue), start(Some("b"), &[]));
        assert_eq!(step(Overlap::Replace), start(None, &["a", "b"]));
        state.is_command_running = true;
        for overlap in [Overlap::Skip, Overlap::Queue, Overlap::Replace] {
            let rules = JobRules {
                overlap,
                ..rules(Missed::One)
            };
            assert_eq!(next_step(&rules, &state, &hours(), at(5)), skip);
        }
    }

    #[test]
    fn missed_instants_are_made_up_for_one_after_the_other() {
        let mut state = idle(at(-3 * 3600));
        state.active = vec![TaskId::new("a")];
        let rules = rules(Missed::All);
        assert_eq!(next_step(&rules, &state, &hours(), at(5)), JobStep::Wait);
        // One that is reached in time is left out, as ever.
        state.reached = at(-1);
        assert!(matches!(
            next_step(&rules, &state, &hours(), at(5)),
            JobStep::Skip { .. }
        ));
    }

    #[test]
    fn failures_in_a_row_pause_a_job_unless_it_never_pauses() {
        let mut state = idle(at(-1));
        state.failures = 3;
        let mut rules = rules(Missed::One);
        assert_eq!(
            next_step(&rules, &state, &hours(), at(5)),
            JobStep::Paused { failures: 3 }
        );
        rules.pause_after = 0;
        assert!(matches!(
            next_step(&rules, &state, &hours(), at(5)),
            JobStep::Start { .. }
        ));
    }
}

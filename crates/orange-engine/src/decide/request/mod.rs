//! Decides requests.

mod adopt;
pub(super) mod obstacles;
mod put_away;
mod tell;

use crate::decide::edges::{self, Asker, Choice, Closed};
use crate::decide::hints;
use crate::decide::merge::{self, Blocked};
use crate::decide::respawn;
use crate::decide::steps::Steps;
use crate::decide::submission;
use crate::decide::transition::{self, Taken};
use crate::decision::{Decision, Plan};
use crate::effect::{Effect, MergeStrategy, PlannedEffect};
use crate::event::Fact;
use crate::input::{Ask, FactNeeded, Input, Request};
use crate::language::Workflow;
use crate::language::gates::GitCondition;
use crate::language::verbs::Verb;
use crate::language::workflow::{Edge, Target, Trigger};
use crate::names::{BranchName, Status};
use crate::refusal::{Attempt, GateFailure, Missing, Refusal};
use crate::role::Role;
use crate::task::{PendingEffect, PendingState, Task};

pub(super) fn decide(
    workflow: &Workflow,
    task: &Task,
    input: &Input,
    request: &Request,
) -> Decision {
    let mut steps = Steps::new(workflow, task, &input.known, Some(&input.cause));
    steps.confirm_start(&request.by);
    let asking = Asking { steps, request };
    match &request.ask {
        Ask::Move { to } => asking.move_to(to),
        Ask::Verb(Verb::Merge) => asking.merge(MergeStrategy::default(), false),
        Ask::Verb(Verb::Retry) => asking.try_again(),
        Ask::Verb(verb) => asking.verb(*verb),
        Ask::Merge {
            strategy, local, ..
        } => asking.merge(*strategy, *local),
        Ask::Respawn { role } => asking.respawn(role.as_ref()),
        Ask::HandEdit { to, version } => asking.hand_edit(to, *version),
        Ask::Amend {
            summary,
            branch,
            priority,
            to,
        } => {
            let amended = asking.amend(summary.as_deref(), branch.as_ref(), *priority);
            amended.map_or_else(|decision| *decision, |asking| asking.then_move(to.as_ref()))
        }
        Ask::Adopt { workflow, .. } => asking.adopt(workflow),
        Ask::Delete => asking.delete(),
        Ask::BringBack => asking.bring_back(),
        Ask::Tell { role } => asking.tell(role.as_ref()),
        Ask::RetryEffects => asking.retry(|_, _| true),
        Ask::ClearAttention => asking.clear_attention(),
        Ask::RetryReleases => asking.retry(is_for_release),
    }
}

/// A request that is being decided.
pub(super) struct Asking<'a> {
    pub(super) steps: Steps<'a>,
    pub(super) request: &'a Request,
}

impl<'a> Asking<'a> {
    fn move_to(mut self, to: &Status) -> Decision {
        let attempt = Attempt::Move {
            from: self.steps.task.status.clone(),
            to: to.clone(),
        };
        if self.is_already_in(to) {
            return already();
        }
        if let Some(missing) = self.unreachable(to).or_else(|| self.merging()) {
            return self.refuse(attempt, closed_by(missing));
        }
        self.steps.import_asked(&self.request.by);
        let edges = edges::leading(&self.steps, to, Trigger::Request);
        match edges::choose(&edges, self.asker(), &self.steps) {
            Choice::Open { edge, because } => self.take(edge, to.clone(), because),
            Choice::Closed(closed) => self.refuse(attempt, closed),
            Choice::Needs(facts) => self.steps.need(facts),
        }
    }

    /// The first target that role and guard let through decides; else the first one.
    ///
    /// Being there already counts as success only if the verb leads no further.
    fn verb(mut self, verb: Verb) -> Decision {
        let attempt = self.attempt_of(verb);
        let targets = self.targets(verb);
        let is_already = targets.iter().any(|to| {
            self.is_already_in(to) && self.may_have_led_here(verb) || self.is_started(verb, to)
        });
        let in_the_way = self
            .terminal()
            .or_else(|| self.out_of_place(verb))
            .or_else(|| self.still_running(verb))
            .or_else(|| self.not_settled(verb))
            .or_else(|| self.merging());
        if let Some(missing) = in_the_way {
            if is_already {
                return already();
            }
            return self.refuse(attempt, closed_by(missing));
        }
        self.steps.import_asked(&self.request.by);
        let mut first = None;
        for to in targets {
            let edges = edges::leading(&self.steps, &to, Trigger::Request);
            match edges::choose(&edges, self.asker(), &self.steps) {
                Choice::Open { edge, because } => return self.take(edge, to, because),
                Choice::Needs(facts) => return self.steps.need(facts),
                Choice::Closed(closed) if closed.reachable => return self.refuse(attempt, closed),
                Choice::Closed(closed) if closed.missing.is_empty() => {}
                Choice::Closed(closed) => {
                    first.get_or_insert(closed);
                }
            }
        }
        if is_already {
            return already();
        }
        let closed = first.unwrap_or_else(|| closed_by(Missing::VerbUnavailable { verb }));
        self.refuse(attempt, closed)
    }

    /// Retries failed effects first: once they succeed, the task moves on by itself. If nothing
    /// failed, or the caller has a message, this takes the verb's edge.
    fn try_again(self) -> Decision {
        let mut pending = self.steps.task.pending.iter();
        let has_failed = pending.any(|it| it.state != PendingState::Waiting);
        if has_failed && self.request.message.is_none() {
            return self.retry(|_, _| true);
        }
        self.verb(Verb::Retry)
    }

    fn merge(mut self, strategy: MergeStrategy, local: bool) -> Decision {
        let attempt = self.attempt_of(Verb::Merge);
        // The engine takes the last step of a merge, no matter which role asked for it.
        let targets = self.targets(Verb::Merge);
        let is_merged = targets.contains(&self.steps.task.status)
            && self.steps.task.entered.trigger == Some(Trigger::Merged);
        if is_merged || self.steps.task.merging().is_some() {
            return already();
        }
        if let Some(missing) = self.terminal() {
            return self.refuse(attempt, closed_by(missing));
        }
        self.steps.import_asked(&self.request.by);
        let asker = self.asker();
        match merge::start(&mut self.steps, strategy, local, asker) {
            Ok(()) => self.steps.finish(),
            Err(Blocked::Refused(closed)) => self.refuse(attempt, closed),
            Err(Blocked::Needs(facts)) => self.steps.need(facts),
        }
    }

    fn respawn(mut self, role: Option<&Role>) -> Decision {
        let from = self.steps.task.status.clone();
        let attempt = Attempt::Respawn { from };
        if let Some(missing) = self.terminal().or_else(|| self.only_human()) {
            return self.refuse(attempt, closed_by(missing));
        }
        if respawn::is_on_its_way(&self.steps, role) {
            return already();
        }
        match respawn::bring_back(&mut self.steps, &self.request.by, role, 0) {
            Ok(()) => self.steps.finish(),
            Err(missing) => self.refuse(
                attempt,
                Closed {
                    missing,
                    unchecked: Vec::new(),
                    reachable: false,
                },
            ),
        }
    }

    /// A version from before the current status was entered means that the file was rewritten from
    /// memory, so it is not a request. A refused request is recorded, because the line is reset and
    /// its author should learn why. Outside a worktree the author is unknown, so the edit is never
    /// followed: the user gets the equivalent command instead.
    fn hand_edit(self, to: &Status, version: u64) -> Decision {
        let task = &self.steps.task;
        let of_the_day = (task.entered.version..=task.version).contains(&version);
        if !of_the_day || *to == task.status {
            return Decision::Plan(Plan::nothing());
        }
        let mut rejected = self.steps.clone();
        let by = self.request.by.clone();
        let reason = if by == Role::Human {
            format!(
                "TASK.md asks for `{to}`, and nobody can tell who wrote that; if you want it, run \
                 `orange task update {} --status {to}`",
                task.id
            )
        } else {
            match self.move_to(to) {
                Decision::Refusal(refusal) => refusal.to_string(),
                other => return other,
            }
        };
        if by == Role::Human {
            rejected.raise_attention(reason.clone());
        }
        let to = to.clone();
        rejected.record(Fact::EditRejected { by, to, reason });
        rejected.finish()
    }

    /// An agent may rename what it works on while it works on it, but never to the default branch.
    /// Only the user sets priorities.
    fn amend(
        mut self,
        summary: Option<&str>,
        branch: Option<&BranchName>,
        priority: Option<i64>,
    ) -> Result<Self, Box<Decision>> {
        let task = &self.steps.task;
        let summary = summary.filter(|summary| *summary != task.summary);
        let branch = branch.filter(|branch| **branch != task.branch);
        let priority = priority.filter(|priority| *priority != task.queueing.priority);
        let not_allowed = || self.only_human().filter(|_| priority.is_some());
        let in_the_way = self.terminal().or_else(|| self.not_expected());
        if let Some(missing) = in_the_way.or_else(not_allowed) {
            return Err(Box::new(self.refuse(Attempt::Amend, closed_by(missing))));
        }
        if summary.is_none() && branch.is_none() && priority.is_none() {
            return Ok(self);
        }
        if branch.is_some() {
            let condition = GitCondition::BranchNotDefault;
            match self.steps.facts().and_then(|facts| facts.git.as_ref()) {
                None => return Err(Box::new(self.steps.need(vec![FactNeeded::Git]))),
                Some(git) if git.holds.contains(&condition) => {}
                Some(_) => {
                    let failure = GateFailure::Git { condition };
                    let missing = Missing::GateFailed { failure };
                    return Err(Box::new(self.refuse(Attempt::Amend, closed_by(missing))));
                }
            }
        }
        self.steps.record(Fact::TaskAmended {
            by: self.request.by.clone(),
            summary: summary.map(str::to_owned),
            branch: branch.cloned(),
            priority,
        });
        Ok(self)
    }

    /// Moves the task that was just amended, if requested; a refusal reverts both.
    fn then_move(self, to: Option<&Status>) -> Decision {
        let is_amended = self.steps.is_amended();
        match to.filter(|to| !self.is_already_in(to)) {
            None if is_amended => self.steps.finish(),
            None => already(),
            Some(to) => match self.move_to(to) {
                Decision::Refusal(mut refusal) if is_amended => {
                    refusal.hints.push(String::from(
                        "nothing was changed: repeat the whole command once that is there, or \
                         leave `--status` out to change the rest",
                    ));
                    Decision::Refusal(refusal)
                }
                decision => decision,
            },
        }
    }

    /// Also works for a task that has ended: it must not keep its workspace.
    fn retry(mut self, is_meant: fn(&Task, &PlannedEffect) -> bool) -> Decision {
        if let Some(missing) = self.only_human() {
            return self.refuse(Attempt::RetryEffects, closed_by(missing));
        }
        let task = &self.steps.task;
        let failed = task
            .pending
            .iter()
            .filter(|it| it.state != PendingState::Waiting);
        let failed: Vec<_> = failed
            .filter(|pending| is_meant(task, &pending.planned))
            .map(|pending| pending.planned.id)
            .collect();
        if failed.is_empty() {
            // Effects may still wait after their performer was killed; a retry then only performs
            // them.
            let mut pending = task.pending.iter();
            if pending.any(|it| is_meant(task, &it.planned)) {
                return already();
            }
            return self.refuse(Attempt::RetryEffects, closed_by(Missing::NothingToDo));
        }
        for effect in failed {
            self.steps.record(Fact::EffectRetried { effect });
        }
        self.steps.finish()
    }

    fn take(mut self, edge: &Edge, to: Status, because: Vec<String>) -> Decision {
        let taken = Taken {
            edge,
            to,
            trigger: Trigger::Request,
            by: self.request.by.clone(),
            because,
            message: self.request.message.clone(),
        };
        match transition::take(&mut self.steps, taken) {
            Ok(()) => self.steps.finish(),
            Err(facts) => self.steps.need(facts),
        }
    }

    fn asker(&self) -> Asker<'a> {
        Asker {
            role: &self.request.by,
            confirmed: self.request.confirmed,
        }
    }

    /// Repeating a merge names the commit that it would have taken, so a confirmation covers only
    /// that commit.
    fn attempt_of(&self, verb: Verb) -> Attempt {
        let (strategy, local) = match self.request.ask {
            Ask::Merge {
                strategy, local, ..
            } => (Some(strategy), local),
            _ => (None, false),
        };
        Attempt::Verb {
            verb,
            from: self.steps.task.status.clone(),
            strategy: strategy.filter(|it| *it != MergeStrategy::default()),
            local,
            head: submission::wanted_by(&self.steps, self.request, verb),
        }
    }

    fn targets(&self, verb: Verb) -> Vec<Status> {
        let targets = self.steps.workflow.verbs.get(&verb).into_iter().flatten();
        let previous = &self.steps.task.entered.from;
        targets
            .filter_map(|target| match target {
                Target::Status(status) => Some(status.clone()),
                Target::Previous => previous.clone(),
            })
            .collect()
    }

    pub(super) fn refuse(&self, attempt: Attempt, closed: Closed) -> Decision {
        let mut refusal = Refusal {
            task: self.steps.task.id.clone(),
            by: self.request.by.clone(),
            attempt,
            missing: closed.missing,
            unchecked: closed.unchecked,
            hints: Vec::new(),
        };
        refusal.hints = hints::for_refusal(&refusal);
        Decision::Refusal(refusal)
    }
}

/// A release that failed, or a kill that must come before one: a live agent would lose its
/// workspace.
fn is_for_release(task: &Task, planned: &PlannedEffect) -> bool {
    let is_release =
        |planned: &PlannedEffect| matches!(planned.effect, Effect::ReleaseWorkspace { .. });
    let follows = |later: &PendingEffect| {
        let later = &later.planned;
        is_release(later) && later.plan == planned.plan && later.id > planned.id
    };
    is_release(planned)
        || matches!(planned.effect, Effect::Kill(_)) && task.pending.iter().any(follows)
}

pub(super) fn already() -> Decision {
    Decision::Plan(Plan {
        events: Vec::new(),
        already: true,
    })
}

pub(super) fn closed_by(missing: Missing) -> Closed {
    Closed {
        missing: vec![missing],
        unchecked: Vec::new(),
        reachable: false,
    }
}

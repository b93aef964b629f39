//! Decides requests.

mod adopt;
pub(super) mod checks;
mod delete;
mod open_pull_request;
mod reopen;
mod split;
mod stop;
mod tell;

use crate::decide::edges::{self, Caller, Choice, ClosedEdge};
use crate::decide::hints;
use crate::decide::merge::{self, MergeBlocker};
use crate::decide::plan_builder::PlanBuilder;
use crate::decide::respawn;
use crate::decide::submission;
use crate::decide::transition::{self, TransitionPlan};
use crate::decision::{Decision, Plan};
use crate::effect::{Effect, MergeStrategy, PlannedEffect};
use crate::event::Fact;
use crate::input::{FactNeeded, Input, Request, RequestKind};
use crate::language::Workflow;
use crate::language::gates::GitCondition;
use crate::language::verbs::Verb;
use crate::language::workflow::{Edge, Target, Trigger};
use crate::names::{BranchName, Status};
use crate::refusal::{Attempt, Blocker, GateFailure, Refusal};
use crate::role::Role;
use crate::task::{PendingEffect, PendingState, Task};

pub(super) fn decide(
    workflow: &Workflow,
    task: &Task,
    input: &Input,
    request: &Request,
) -> Decision {
    let mut steps = PlanBuilder::new(workflow, task, &input.context, Some(&input.cause));
    steps.confirm_start(&request.by);
    let decision = RequestDecision { steps, request };
    match &request.kind {
        RequestKind::Move { to } => decision.move_to(to),
        RequestKind::Verb(Verb::Merge) => decision.merge(MergeStrategy::default(), false),
        RequestKind::Verb(Verb::Retry) => decision.try_again(),
        RequestKind::Verb(verb) => decision.verb(*verb),
        RequestKind::Merge {
            strategy, local, ..
        } => decision.merge(strategy.unwrap_or_default(), *local),
        RequestKind::Respawn { role } => decision.respawn(role.as_ref()),
        RequestKind::Stop { role } => decision.stop(role.as_ref()),
        RequestKind::Restart { role } => decision.restart(role.as_ref()),
        RequestKind::Reopen => decision.reopen(),
        RequestKind::OpenPullRequest { draft } => decision.open_pull_request(*draft),
        RequestKind::HandEdit { to, version } => decision.hand_edit(to, *version),
        RequestKind::Amend {
            summary,
            branch,
            priority,
            to,
        } => {
            let amended = decision.amend(summary.as_deref(), branch.as_ref(), *priority);
            amended.map_or_else(|answer| *answer, |decision| decision.then_move(to.as_ref()))
        }
        RequestKind::ChangeWorkflow { workflow, .. } => decision.adopt(workflow),
        RequestKind::Split => decision.request_split(),
        RequestKind::Delete => decision.delete(),
        RequestKind::Restore => decision.restore(),
        RequestKind::Tell { role } => decision.tell(role.as_ref()),
        RequestKind::RetryEffects => decision.retry(|_, _| true),
        RequestKind::ClearAttention => decision.clear_attention(),
        RequestKind::RetryReleases => decision.retry(is_for_release),
    }
}

/// A request that is being decided.
pub(super) struct RequestDecision<'a> {
    pub(super) steps: PlanBuilder<'a>,
    pub(super) request: &'a Request,
}

impl<'a> RequestDecision<'a> {
    fn move_to(mut self, to: &Status) -> Decision {
        let attempt = Attempt::Move {
            from: self.steps.task.status.clone(),
            to: to.clone(),
        };
        if self.is_already_in(to) {
            return already_done();
        }
        if let Some(missing) = self
            .check_reachable(to)
            .or_else(|| self.check_not_merging())
        {
            return self.refuse(attempt, blocked_by(missing));
        }
        self.steps.import_for_request(&self.request.by);
        let edges = edges::edges_to(&self.steps, to, Trigger::Request);
        match edges::choose(&edges, self.caller(), &self.steps) {
            Choice::Open { edge, because } => self.take(edge, to.clone(), because),
            Choice::Closed(closed) => self.refuse(attempt, closed),
            Choice::Needs(facts) => self.steps.need(facts),
        }
    }

    /// Decides by the first target whose edge is open to the caller's role and whose guard holds:
    /// takes that edge, or refuses and lists what its gates still require. If there is no such
    /// target, the refusal is about the first one.
    ///
    /// If the task is already at a target, that counts as success only if the verb cannot lead
    /// further.
    fn verb(mut self, verb: Verb) -> Decision {
        let attempt = self.attempt_of(verb);
        let targets = self.targets(verb);
        let is_at_target = targets.iter().any(|to| {
            self.is_already_in(to) && self.can_have_led_here(verb) || self.is_started(verb, to)
        });
        let blocker = self
            .check_not_ended()
            .or_else(|| self.check_verb_available(verb))
            .or_else(|| self.check_not_running(verb))
            .or_else(|| self.check_settled(verb))
            .or_else(|| self.check_split(verb))
            .or_else(|| self.check_not_merging());
        if let Some(missing) = blocker {
            if is_at_target {
                return already_done();
            }
            return self.refuse(attempt, blocked_by(missing));
        }
        self.steps.import_for_request(&self.request.by);
        let mut first_closed = None;
        for to in targets {
            let edges = edges::edges_to(&self.steps, &to, Trigger::Request);
            match edges::choose(&edges, self.caller(), &self.steps) {
                Choice::Open { edge, because } => return self.take(edge, to, because),
                Choice::Needs(facts) => return self.steps.need(facts),
                Choice::Closed(closed) if closed.reachable => return self.refuse(attempt, closed),
                Choice::Closed(closed) if closed.missing.is_empty() => {}
                Choice::Closed(closed) => {
                    first_closed.get_or_insert(closed);
                }
            }
        }
        if is_at_target {
            return already_done();
        }
        let closed = first_closed.unwrap_or_else(|| blocked_by(Blocker::VerbUnavailable { verb }));
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
        // The engine changes the status at the end of a merge, no matter which role asked for the
        // merge. So the trigger, not the role, shows that the task is already merged.
        let targets = self.targets(Verb::Merge);
        let is_merged = targets.contains(&self.steps.task.status)
            && self.steps.task.entered.trigger == Some(Trigger::Merged);
        if is_merged || self.steps.task.pending_merge().is_some() {
            return already_done();
        }
        if let Some(missing) = self.check_not_ended() {
            return self.refuse(attempt, blocked_by(missing));
        }
        self.steps.import_for_request(&self.request.by);
        let caller = self.caller();
        match merge::start(&mut self.steps, strategy, local, caller) {
            Ok(()) => self.steps.finish(),
            Err(MergeBlocker::Refused(closed)) => self.refuse(attempt, closed),
            Err(MergeBlocker::Needs(facts)) => self.steps.need(facts),
        }
    }

    fn respawn(mut self, role: Option<&Role>) -> Decision {
        let from = self.steps.task.status.clone();
        let attempt = Attempt::Respawn { from };
        let blocker = self
            .check_not_ended()
            .or_else(|| self.check_human())
            .or_else(|| self.check_role(role));
        if let Some(missing) = blocker {
            return self.refuse(attempt, blocked_by(missing));
        }
        if respawn::is_starting(&self.steps, role) {
            return already_done();
        }
        match respawn::respawn(&mut self.steps, &self.request.by, role, 0, Vec::new()) {
            Ok(()) => self.steps.finish(),
            Err(missing) => self.refuse(
                attempt,
                ClosedEdge {
                    missing,
                    unchecked: Vec::new(),
                    reachable: false,
                },
            ),
        }
    }

    /// Decides about a status that was edited in TASK.md.
    ///
    /// If the file has a version from before the current status was entered, it was written from an
    /// old copy, and the edit is not a request. A refused edit is recorded, because the line is
    /// reset and its author should learn why. Outside a worktree the author is unknown, so the edit
    /// is never followed: the user gets the equivalent command instead.
    fn hand_edit(self, to: &Status, version: u64) -> Decision {
        let task = &self.steps.task;
        let is_current = (task.entered.version..=task.version).contains(&version);
        if !is_current || *to == task.status {
            return Decision::Plan(Plan::empty());
        }
        let mut rejection = self.steps.clone();
        let by = self.request.by.clone();
        let is_confirmation = |it: &Blocker| matches!(it, Blocker::ConfirmationNeeded { .. });
        let task = task.id.clone();
        let reason = match self.move_to(to) {
            // Only the user's own command can confirm.
            Decision::Refusal(refusal)
                if by != Role::Human || !refusal.missing.iter().all(is_confirmation) =>
            {
                refusal.to_string()
            }
            other if by != Role::Human => return other,
            _ => format!(
                "TASK.md requests `{to}`, but orange cannot tell who wrote that; if you want it, \
                 run `orange task update {task} --status {to}`"
            ),
        };
        if by == Role::Human {
            rejection.raise_attention(reason.clone());
        }
        let to = to.clone();
        rejection.record(Fact::EditRejected { by, to, reason });
        rejection.finish()
    }

    /// An agent that the status expects may change the summary and the branch, but the branch never
    /// to the default branch. Only the user sets priorities.
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
        let not_allowed = || self.check_human().filter(|_| priority.is_some());
        let blocker = self.check_not_ended().or_else(|| self.check_expected());
        if let Some(missing) = blocker.or_else(not_allowed) {
            return Err(Box::new(self.refuse(Attempt::Amend, blocked_by(missing))));
        }
        if summary.is_none() && branch.is_none() && priority.is_none() {
            return Ok(self);
        }
        if branch.is_some() {
            let condition = GitCondition::BranchNotDefault;
            match self.steps.facts().and_then(|facts| facts.git.as_ref()) {
                None => return Err(Box::new(self.steps.need(vec![FactNeeded::Git]))),
                Some(git) if git.met_conditions.contains(&condition) => {}
                Some(_) => {
                    let failure = GateFailure::Git { condition };
                    let missing = Blocker::GateFailed { failure };
                    return Err(Box::new(self.refuse(Attempt::Amend, blocked_by(missing))));
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

    /// Moves the task that was just amended, if requested. If the move is refused, the amendment is
    /// dropped too.
    fn then_move(self, to: Option<&Status>) -> Decision {
        let is_amended = self.steps.is_amended();
        match to.filter(|to| !self.is_already_in(to)) {
            None if is_amended => self.steps.finish(),
            None => already_done(),
            Some(to) => match self.move_to(to) {
                Decision::Refusal(mut refusal) if is_amended => {
                    refusal.hints.push(String::from(
                        "nothing was changed: repeat the whole command once that is fixed, or \
                         leave out `--status` to change the rest",
                    ));
                    Decision::Refusal(refusal)
                }
                decision => decision,
            },
        }
    }

    /// Retries the failed effects that `is_selected` selects, also of a task that has ended: an
    /// ended task must not keep its workspace.
    fn retry(mut self, is_selected: fn(&Task, &PlannedEffect) -> bool) -> Decision {
        if let Some(missing) = self.check_human() {
            return self.refuse(Attempt::RetryEffects, blocked_by(missing));
        }
        let task = &self.steps.task;
        let failed = task
            .pending
            .iter()
            .filter(|it| it.state != PendingState::Waiting);
        let failed: Vec<_> = failed
            .filter(|pending| is_selected(task, &pending.planned))
            .map(|pending| pending.planned.id)
            .collect();
        if failed.is_empty() {
            // Effects may be left waiting because the process that performed them was killed. They
            // are performed without a new event.
            let mut pending = task.pending.iter();
            if pending.any(|it| is_selected(task, &it.planned)) {
                return already_done();
            }
            return self.refuse(Attempt::RetryEffects, blocked_by(Blocker::NothingToDo));
        }
        for effect in failed {
            self.steps.record(Fact::EffectRetried { effect });
        }
        self.steps.finish()
    }

    fn take(mut self, edge: &Edge, to: Status, because: Vec<String>) -> Decision {
        let taken = TransitionPlan {
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

    fn caller(&self) -> Caller<'a> {
        Caller {
            role: &self.request.by,
            confirmed: self.request.is_confirmed,
        }
    }

    /// The attempt of a merge names the commit that the merge would have taken. Repeating the
    /// request with a confirmation then covers only that commit.
    fn attempt_of(&self, verb: Verb) -> Attempt {
        let (strategy, local) = match self.request.kind {
            RequestKind::Merge {
                strategy, local, ..
            } => (strategy, local),
            _ => (None, false),
        };
        Attempt::Verb {
            verb,
            from: self.steps.task.status.clone(),
            strategy: strategy.filter(|it| *it != MergeStrategy::default()),
            local,
            head: submission::merge_candidate(&self.steps, self.request, verb),
            is_head_named: self.request.head.is_some(),
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

    pub(super) fn refuse(&self, attempt: Attempt, closed: ClosedEdge) -> Decision {
        let mut refusal = Refusal {
            task: self.steps.task.id.clone(),
            by: self.request.by.clone(),
            attempt,
            missing: closed.missing,
            unchecked: closed.unchecked,
            hints: Vec::new(),
        };
        refusal.hints = hints::hints_for(&refusal);
        refusal.hints.extend(self.resubmit_hint(&refusal));
        Decision::Refusal(refusal)
    }

    /// How the user can have the agent submit the new commits, where the workflow allows it.
    fn resubmit_hint(&self, refusal: &Refusal) -> Option<String> {
        let is_moved = |missing: &Blocker| {
            matches!(
                missing,
                Blocker::GateFailed {
                    failure: GateFailure::BranchMoved { .. }
                }
            )
        };
        let workflow = self.steps.workflow;
        let (task, status) = (&self.steps.task.id, &self.steps.task.status);
        let is_open = |to: &Status| {
            let mut edges = workflow.edges_from(status);
            edges.any(|edge| {
                edge.trigger == Trigger::Request
                    && edge.to == Target::Status(to.clone())
                    && edge.is_open_to(&Role::Human)
            })
        };
        let can_send_back = workflow.is_verb_available(Verb::RequestChanges, status)
            && self.targets(Verb::RequestChanges).iter().any(is_open);
        (refusal.by == Role::Human && refusal.missing.iter().any(is_moved) && can_send_back).then(
            || {
                format!(
                    "or have the agent submit the new commits: `orange task request-changes {task} \
                     --message TEXT`"
                )
            },
        )
    }
}

/// Whether an effect is a release, or a kill that must come before a release: otherwise a live
/// agent would lose its workspace.
fn is_for_release(task: &Task, planned: &PlannedEffect) -> bool {
    let is_release =
        |planned: &PlannedEffect| matches!(planned.effect, Effect::ReleaseWorkspace { .. });
    let is_later_release = |later: &PendingEffect| {
        let later = &later.planned;
        is_release(later) && later.plan == planned.plan && later.id > planned.id
    };
    is_release(planned)
        || matches!(planned.effect, Effect::Kill(_)) && task.pending.iter().any(is_later_release)
}

pub(super) fn already_done() -> Decision {
    Decision::Plan(Plan {
        events: Vec::new(),
        is_already_done: true,
    })
}

pub(super) fn blocked_by(missing: Blocker) -> ClosedEdge {
    ClosedEdge {
        missing: vec![missing],
        unchecked: Vec::new(),
        reachable: false,
    }
}

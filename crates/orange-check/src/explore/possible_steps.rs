//! The steps that are possible in a situation.

use orange_engine::evidence::Evidence;
use orange_engine::language::Workflow;
use orange_engine::language::exit_rules::{ExitOutcome, ExitRule};
use orange_engine::language::gates::{Gate, GateKind, GitCondition, GitGate};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::{Edge, Kind, Target, Trigger};
use orange_engine::names::Status;
use orange_engine::report::{Outcome, Report};
use orange_engine::role::Role;

use super::artifact;
use super::relevance::Relevance;
use super::situation::Situation;
use super::step::{ANOTHER_ERROR, Occurrence, PullRequestEvent, Step, StepEvidence};

/// The ways a task can begin.
pub fn creation_steps(workflow: &Workflow, relevance: &Relevance) -> Vec<Step> {
    let entries = workflow.entries.iter();
    entries
        .flat_map(|entry| {
            relevance.summaries().iter().map(|summary| {
                let occurrence = Occurrence::Create {
                    entry: entry.status.clone(),
                    summary: *summary,
                };
                Step::new(occurrence, StepEvidence::default())
            })
        })
        .collect()
}

/// Everything that may happen next, whether or not it has an effect.
///
/// Stopping, restarting, reopening and moving add no situation, so they are not steps. A stopped
/// agent is as absent as one that was lost with its tmux server, a restart is a respawn, and a
/// reopened or moved task is where it was, with the agents that the status expects; any other agent
/// of a moved task is as absent as one that was lost.
pub fn possible_steps(
    workflow: &Workflow,
    relevance: &Relevance,
    situation: &Situation,
) -> Vec<Step> {
    if workflow.is_terminal(&situation.status) {
        return Vec::new();
    }
    let mut steps = Steps {
        workflow,
        situation,
        found: Vec::new(),
    };
    steps.requests();
    steps.merges();
    steps.respawns();
    steps.deaths(relevance);
    steps.timeout();
    steps.reports();
    steps.forge(relevance);
    steps.children(relevance);
    steps.summaries(relevance);
    steps.found
}

/// Collects the steps that may be possible in a situation.
struct Steps<'a> {
    workflow: &'a Workflow,
    situation: &'a Situation,
    found: Vec<Step>,
}

impl<'a> Steps<'a> {
    fn add(&mut self, occurrence: Occurrence, evidence: StepEvidence) {
        let step = Step::new(occurrence, evidence);
        if !self.found.contains(&step) {
            self.found.push(step);
        }
    }

    /// Adds the occurrence once per edge with this trigger, with what that edge requires.
    fn add_by_edge(&mut self, occurrence: &Occurrence, trigger: Trigger) {
        for edge in self.edges(trigger) {
            let evidence = self.evidence_for(edge.gates.iter(), None);
            self.add(occurrence.clone(), evidence);
        }
    }

    fn edges(&self, trigger: Trigger) -> Vec<&'a Edge> {
        let edges = self.workflow.edges.iter();
        edges
            .filter(|edge| edge.from == self.situation.status && edge.trigger == trigger)
            .collect()
    }

    fn target(&self, edge: &Edge) -> Option<Status> {
        match &edge.to {
            Target::Status(status) => Some(status.clone()),
            Target::Previous => self.situation.previous.clone(),
        }
    }

    /// The roles that may request an edge and are there to do so. The engine requests an edge on
    /// its own only in a queued state.
    fn requesters(&self, edge: &Edge) -> Vec<Role> {
        let state = self.workflow.state(&self.situation.status);
        let queued = state.is_some_and(|state| state.kind == Kind::Queued);
        let engine = queued.then_some(Role::Engine);
        let agents = self.situation.alive.iter().map(|(role, _)| role.clone());
        // What happens without the user makes the stronger story, so it is tried first.
        let everyone = agents.chain(engine).chain([Role::Human]);
        everyone.filter(|role| edge.is_open_to(role)).collect()
    }

    fn requests(&mut self) {
        for edge in self.edges(Trigger::Request) {
            let Some(to) = self.target(edge) else {
                continue;
            };
            for by in self.requesters(edge) {
                let evidence = self.evidence_for(edge.gates.iter(), Some(&by));
                let to = to.clone();
                self.add(Occurrence::Request { by, to }, evidence);
            }
        }
    }

    fn merges(&mut self) {
        let targets = self.workflow.verbs.get(&Verb::Merge);
        for target in targets.into_iter().flatten() {
            for edge in self.workflow.edges_from(&self.situation.status) {
                let is_requested = matches!(edge.trigger, Trigger::Merged | Trigger::Request);
                if edge.to == *target && is_requested {
                    for by in self.requesters(edge) {
                        let evidence = self.evidence_for(edge.gates.iter(), Some(&by));
                        self.add(Occurrence::Merge { by }, evidence);
                    }
                }
            }
        }
    }

    fn respawns(&mut self) {
        let state = self.workflow.state(&self.situation.status);
        for role in state.into_iter().flat_map(|state| state.respawn.keys()) {
            if !self.situation.has(role) {
                let role = role.clone();
                self.add(Occurrence::Respawn { role }, StepEvidence::default());
            }
        }
    }

    /// Adds deaths that leave nothing behind, and deaths that leave what each rule looks for.
    fn deaths(&mut self, relevance: &Relevance) {
        for (role, _) in &self.situation.alive {
            let death = |evidence: Evidence| Occurrence::Die {
                role: role.clone(),
                evidence,
            };
            let occurrence = death(Evidence::Exit { code: 1 });
            self.add(occurrence.clone(), StepEvidence::default());
            // Where a guard counts equal errors in a row, a death with a different error is a
            // separate step.
            if relevance.max_errors(&self.situation.status) > 0 {
                self.add(death(Evidence::Exit { code: 2 }), StepEvidence::default());
            }
            for rule in rules(self.workflow, &self.situation.status, role) {
                if rule.has_artifact.is_empty() {
                    continue;
                }
                for to in rule_targets(rule) {
                    let edge_gates = self.workflow.edges_from(&self.situation.status);
                    let edge_gates = edge_gates
                        .filter(|edge| self.target(edge).as_ref() == Some(to))
                        .filter(|edge| edge.is_open_to(&Role::Engine))
                        .flat_map(|edge| &edge.gates)
                        .filter(|gate| agrees(gate, &rule.has_artifact));
                    let all = rule.has_artifact.iter().chain(edge_gates);
                    let evidence = self.evidence_for(all, None);
                    self.add(occurrence.clone(), evidence);
                }
                let evidence = self.evidence_for(rule.has_artifact.iter(), None);
                self.add(occurrence.clone(), evidence);
            }
            self.add(death(Evidence::Environment), StepEvidence::default());
        }
    }

    /// What satisfies these gates. If a section must come from certain roles and the requester has
    /// none of them, a live agent of such a role or the user submitted the section.
    fn evidence_for<'g>(
        &self,
        gates: impl Iterator<Item = &'g Gate>,
        requester: Option<&Role>,
    ) -> StepEvidence {
        let mut evidence = StepEvidence::by_gates(gates);
        let from = evidence.gates.iter().find_map(|gate| match &gate.kind {
            GateKind::Section(gate) if !gate.from_role.is_empty() => Some(&gate.from_role),
            _ => None,
        });
        if let Some(from) = from
            && requester.is_none_or(|requester| !from.contains(requester))
        {
            let agent = from.iter().find(|role| self.situation.has(role));
            let user = from.iter().find(|role| **role == Role::Human);
            evidence.submitted_by = agent.or(user).cloned();
        }
        evidence
    }

    fn timeout(&mut self) {
        let state = self.workflow.state(&self.situation.status);
        if state.is_some_and(|state| state.timeout.is_some()) {
            self.add_by_edge(&Occurrence::TimeOut, Trigger::Timeout);
        }
    }

    fn reports(&mut self) {
        let edges = self.edges(Trigger::Report);
        if edges.is_empty() {
            return;
        }
        let mut reports: Vec<Report> = Vec::new();
        for edge in &edges {
            let gates = edge.gates.iter().filter_map(|gate| match &gate.kind {
                GateKind::Report(gate) => Some(gate),
                _ => None,
            });
            reports.push(artifact::report(gates));
        }
        for outcome in Outcome::ALL {
            let report = artifact::of_outcome(outcome);
            let other = Report {
                reason: ANOTHER_ERROR.to_owned(),
                ..report.clone()
            };
            reports.push(report);
            reports.push(other);
        }
        let mut evidence_sets: Vec<StepEvidence> = Vec::new();
        for edge in &edges {
            let others = edge.gates.iter();
            let others = others.filter(|gate| !matches!(gate.kind, GateKind::Report(_)));
            let evidence = self.evidence_for(others, None);
            if !evidence_sets.contains(&evidence) {
                evidence_sets.push(evidence);
            }
        }
        for (role, headless) in &self.situation.alive {
            for report in reports.iter().filter(|_| *headless) {
                let occurrence = Occurrence::Report {
                    role: role.clone(),
                    report: Box::new(report.clone()),
                };
                for evidence in &evidence_sets {
                    self.add(occurrence.clone(), evidence.clone());
                }
            }
        }
    }

    /// Adds what happens at the forge. The user can open a pull request wherever there is work.
    fn forge(&mut self, relevance: &Relevance) {
        if !self.edges(Trigger::Merged).is_empty() {
            self.add(Occurrence::MergedOutside, StepEvidence::default());
        }
        if !relevance.reads_pull_request(&self.situation.status) {
            return;
        }
        if !self.situation.has_pull_request {
            if self.situation.has_workspace {
                let evidence = StepEvidence::by_gates(&[pushable()]);
                self.add(Occurrence::OpenPullRequest, evidence);
            }
            return;
        }
        for (event, triggers) in PullRequestEvent::ALL {
            let occurrence = Occurrence::PullRequest(event);
            let trigger = triggers
                .iter()
                .find(|trigger| !self.edges(**trigger).is_empty());
            match (event, trigger) {
                (_, None) => {}
                // No gate is checked for what has already happened.
                (PullRequestEvent::Merged | PullRequestEvent::Closed, Some(_)) => {
                    self.add(occurrence, StepEvidence::default());
                }
                (_, Some(trigger)) => self.add_by_edge(&occurrence, *trigger),
            }
        }
    }

    fn children(&mut self, relevance: &Relevance) {
        let status = &self.situation.status;
        let has_room = self.situation.children() < relevance.max_children(status);
        if has_room && relevance.wants_children(status) {
            self.add(Occurrence::AddChild, StepEvidence::default());
        }
        if self.situation.children() > 0 {
            self.add(Occurrence::EndChild, StepEvidence::default());
            self.add_by_edge(&Occurrence::EndChild, Trigger::ChildrenDone);
        }
    }

    fn summaries(&mut self, relevance: &Relevance) {
        if relevance.reads_summary(&self.situation.status) {
            for length in relevance.summaries() {
                if *length != self.situation.summary() {
                    let length = *length;
                    self.add(Occurrence::Summarize { length }, StepEvidence::default());
                }
            }
        }
    }
}

/// What a branch must be for the user to open a pull request.
fn pushable() -> Gate {
    Gate {
        name: None,
        kind: GateKind::Git(GitGate {
            conditions: vec![
                GitCondition::CommitsAhead,
                GitCondition::BranchNotDefault,
                GitCondition::TaskFileUntracked,
            ],
        }),
    }
}

/// The rules about a role in a status, in order.
pub(crate) fn rules<'a>(
    workflow: &'a Workflow,
    status: &'a Status,
    role: &'a Role,
) -> impl Iterator<Item = &'a ExitRule> + 'a {
    let state = workflow.state(status);
    let expected = state.is_some_and(|state| state.expects.contains(role));
    workflow.exit_rules.iter().filter(move |rule| {
        rule.status == *status && rule.role.as_ref().map_or(expected, |about| about == role)
    })
}

/// Where a rule may lead.
pub(crate) fn rule_targets(rule: &ExitRule) -> Vec<&Status> {
    match &rule.outcome {
        ExitOutcome::Advance(cases) => cases.iter().map(|case| &case.then).collect(),
        ExitOutcome::Crash(crash) => crash.then.iter().collect(),
        ExitOutcome::MarkDead => Vec::new(),
    }
}

/// Whether a gate can hold together with the others: none of them requires a different verdict in
/// the same section.
fn agrees(gate: &Gate, others: &[Gate]) -> bool {
    let GateKind::Section(gate) = &gate.kind else {
        return true;
    };
    others.iter().all(|other| match &other.kind {
        GateKind::Section(other) if other.section == gate.section => {
            other.verdict.is_none() || gate.verdict.is_none() || other.verdict == gate.verdict
        }
        _ => true,
    })
}

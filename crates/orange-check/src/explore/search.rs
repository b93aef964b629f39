//! Searches all situations a workflow can reach, nearest first.

use std::collections::{BTreeMap, BTreeSet};

use orange_engine::effect::{Effect, PlannedEffect};
use orange_engine::event::{Event, Fact};
use orange_engine::input::Input;
use orange_engine::language::Workflow;
use orange_engine::language::hooks::{Action, OnError};
use orange_engine::language::prompt::Prompt;
use orange_engine::language::workflow::{Edge, Target, Trigger};
use orange_engine::names::Status;
use orange_engine::role::Role;
use orange_engine::task::Task;

use super::possible_steps::{creation_steps, possible_steps};
use super::relevance::Relevance;
use super::replay::{self, StepOutcome};
use super::situation::Situation;
use super::step::{Occurrence, PullRequestEvent, Step};

/// The most situations that are searched in any workflow.
pub const MAX_SITUATIONS: usize = 50_000;

/// The most situations that are searched in this workflow.
///
/// Each situation takes longer the more transitions there are to try, so a large workflow gets
/// fewer situations: the answer should come within seconds.
pub fn situation_limit(workflow: &Workflow) -> usize {
    MAX_SITUATIONS / (1 + workflow.edges.len() / 500)
}

/// The result of a search.
#[derive(Debug)]
pub struct Exploration {
    /// The situations in the order in which they were found, the nearest first.
    pub nodes: Vec<Node>,
    /// The steps that arcs refer to.
    pub steps: Vec<Step>,
    /// Whether nothing was left out.
    pub is_complete: bool,
    pub relevance: Relevance,
    /// The entries by which a task could begin.
    pub entries: BTreeSet<Status>,
    index: BTreeMap<Situation, usize>,
}

/// A situation in the search.
#[derive(Debug)]
pub struct Node {
    pub situation: Situation,
    /// The previous situation on the shortest path, and the step from there; without a previous
    /// situation, the step creates the task.
    pub reached_by: (Option<usize>, usize),
    /// What can happen next.
    pub arcs: Vec<Arc>,
    /// Whether `arcs` is complete.
    pub is_complete: bool,
}

/// A step from one situation to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    /// The index of the step.
    pub step: usize,
    pub to: usize,
    /// Whether the status changed or an agent was started.
    pub is_progress: bool,
}

/// One step that was tried, as passed to the callback of the search.
#[derive(Debug)]
pub struct Visit<'a> {
    /// The index of the situation before the step; `None` if the step creates the task.
    pub node: Option<usize>,
    /// The index of the step.
    pub step_number: usize,
    pub step: &'a Step,
    pub before: Option<&'a Task>,
    pub outcome: &'a StepOutcome,
}

impl Exploration {
    /// The index of a situation.
    pub fn find(&self, situation: &Situation) -> Option<usize> {
        self.index.get(situation).copied()
    }

    /// The steps that lead to a situation, from the beginning of a task.
    pub fn path_to(&self, node: usize) -> Vec<usize> {
        let mut steps = Vec::new();
        let mut at = Some(node);
        while let Some(node) = at.and_then(|at| self.nodes.get(at)) {
            let (from, step) = node.reached_by;
            steps.push(step);
            at = from;
        }
        steps.reverse();
        steps
    }
}

/// A possible step of a status, ready to be played in any of its situations.
struct Candidate {
    step: usize,
    inputs: Vec<Input>,
    /// Whether it leads to an end wherever it is open, so that counters make no difference.
    ends: bool,
}

/// What the candidates depend on: the status, the previous status, the live agents and whether each
/// is headless, the number of open children, the length of the summary, whether a workspace is held
/// (if that matters), and whether there is a pull request.
type Key = (
    Status,
    Option<Status>,
    Vec<(Role, bool)>,
    i64,
    usize,
    bool,
    bool,
);

struct Search<'w, 'v> {
    workflow: &'w Workflow,
    explored: Exploration,
    candidates: BTreeMap<Key, Vec<Candidate>>,
    /// The results of steps that end a task, by step and whether a workspace was held.
    endings: BTreeMap<(usize, bool), Vec<Arc>>,
    /// The steps in which an effect fails, by the step without the failure and the effect's index.
    failing: BTreeMap<(usize, usize), usize>,
    watch: &'v mut dyn FnMut(&Visit<'_>),
    max_situations: usize,
}

/// Explores a workflow and passes everything that is tried to `watch`.
pub fn explore(
    workflow: &Workflow,
    max_situations: usize,
    watch: &mut dyn FnMut(&Visit<'_>),
) -> Exploration {
    let relevance = Relevance::of(workflow);
    let silent = without_texts(workflow);
    let mut search = Search {
        workflow: &silent,
        explored: Exploration {
            nodes: Vec::new(),
            steps: Vec::new(),
            is_complete: true,
            relevance,
            entries: BTreeSet::new(),
            index: BTreeMap::new(),
        },
        candidates: BTreeMap::new(),
        endings: BTreeMap::new(),
        failing: BTreeMap::new(),
        watch,
        max_situations,
    };
    search.begin();
    let mut at = 0;
    while at < search.explored.nodes.len() {
        search.expand(at);
        at += 1;
    }
    search.explored
}

impl Search<'_, '_> {
    fn begin(&mut self) {
        for step in creation_steps(self.workflow, &self.explored.relevance) {
            let Some((new, context)) = replay::new_task_of(&step) else {
                continue;
            };
            let number = self.number(step.clone());
            let Ok(played) = replay::begin(self.workflow, &new, &context, None) else {
                continue;
            };
            self.explored.entries.extend(new.status.clone());
            self.record_arrival(None, number, None, &played);
            for (index, label) in failures(&played.events) {
                let number = self.number(step.with_failure(index, label));
                if let Ok(played) = replay::begin(self.workflow, &new, &context, Some(index)) {
                    self.record_arrival(None, number, None, &played);
                }
            }
        }
    }

    fn number(&mut self, step: Step) -> usize {
        self.explored.steps.push(step);
        self.explored.steps.len() - 1
    }

    fn expand(&mut self, at: usize) {
        let situation = self.explored.nodes[at].situation.clone();
        if self.workflow.is_terminal(&situation.status) {
            return;
        }
        let task = situation.task(self.workflow, &self.explored.relevance);
        let key = (
            situation.status.clone(),
            situation.previous.clone(),
            situation.alive.clone(),
            situation.children(),
            situation.summary(),
            situation.has_workspace
                && self
                    .explored
                    .relevance
                    .reads_pull_request(&situation.status),
            situation.has_pull_request,
        );
        let candidates = match self.candidates.remove(&key) {
            Some(candidates) => candidates,
            None => self.candidates(&situation, &task),
        };
        let mut arcs = Vec::new();
        for candidate in &candidates {
            let ending = (candidate.step, situation.has_workspace);
            if candidate.ends
                && let Some(known) = self.endings.get(&ending)
            {
                arcs.extend(known.iter().copied());
                continue;
            }
            let first = arcs.len();
            self.try_out(at, &task, candidate, &mut arcs);
            if candidate.ends && self.all_end(&arcs[first..]) {
                self.endings.insert(ending, arcs[first..].to_vec());
            }
        }
        self.candidates.insert(key, candidates);
        self.explored.nodes[at].arcs = arcs;
    }

    fn all_end(&self, arcs: &[Arc]) -> bool {
        let mut ends = arcs
            .iter()
            .map(|arc| &self.explored.nodes[arc.to].situation);
        ends.all(|situation| self.workflow.is_terminal(&situation.status))
    }

    fn candidates(&mut self, situation: &Situation, task: &Task) -> Vec<Candidate> {
        let steps = possible_steps(self.workflow, &self.explored.relevance, situation);
        steps
            .into_iter()
            .map(|step| Candidate {
                inputs: replay::inputs(self.workflow, task, &step, 0),
                ends: self.always_ends(situation, &step),
                step: self.number(step),
            })
            .collect()
    }

    /// Whether a step leads to an end whatever the counters are.
    fn always_ends(&self, situation: &Situation, step: &Step) -> bool {
        let triggers: &[Trigger] = match &step.occurrence {
            Occurrence::Request { .. } => &[Trigger::Request],
            Occurrence::Merge { .. } => &[Trigger::Request, Trigger::Merged],
            Occurrence::MergedOutside => &[Trigger::Merged],
            Occurrence::PullRequest(PullRequestEvent::Merged) => {
                &[Trigger::PrMerged, Trigger::Merged]
            }
            Occurrence::PullRequest(PullRequestEvent::Closed) => &[Trigger::PrClosed],
            _ => return false,
        };
        let ends = |edge: &Edge| match &edge.to {
            Target::Status(to) => edge.when.is_none() && self.workflow.is_terminal(to),
            Target::Previous => false,
        };
        let is_requested = |edge: &&Edge| match &step.occurrence {
            Occurrence::Request { to, .. } => edge.to == Target::Status(to.clone()),
            Occurrence::Merge { .. } => edge.trigger == Trigger::Merged || ends(edge),
            _ => true,
        };
        let edges = self.workflow.edges_from(&situation.status);
        let mut edges = edges
            .filter(|edge| triggers.contains(&edge.trigger))
            .filter(is_requested);
        edges.all(ends)
    }

    fn try_out(&mut self, at: usize, task: &Task, candidate: &Candidate, arcs: &mut Vec<Arc>) {
        let Ok(played) = replay::play(self.workflow, task, &candidate.inputs, None) else {
            return;
        };
        arcs.extend(self.record_arrival(Some(at), candidate.step, Some(task), &played));
        for (index, label) in failures(&played.events) {
            let Ok(played) = replay::play(self.workflow, task, &candidate.inputs, Some(index))
            else {
                continue;
            };
            let number = self.failing_step(candidate.step, index, label);
            arcs.extend(self.record_arrival(Some(at), number, Some(task), &played));
        }
    }

    /// The index of the same step with one effect failing.
    fn failing_step(&mut self, step: usize, index: usize, label: &'static str) -> usize {
        if let Some(known) = self.failing.get(&(step, index)) {
            return *known;
        }
        let number = self.number(self.explored.steps[step].with_failure(index, label));
        self.failing.insert((step, index), number);
        number
    }

    fn record_arrival(
        &mut self,
        from: Option<usize>,
        step: usize,
        before: Option<&Task>,
        played: &StepOutcome,
    ) -> Option<Arc> {
        (self.watch)(&Visit {
            node: from,
            step_number: step,
            step: &self.explored.steps[step],
            before,
            outcome: played,
        });
        let situation = Situation::of(&played.task, &self.explored.relevance);
        let to = match self.explored.index.get(&situation) {
            Some(known) => *known,
            None if self.explored.nodes.len() >= self.max_situations => {
                self.explored.is_complete = false;
                if let Some(from) = from {
                    self.explored.nodes[from].is_complete = false;
                }
                return None;
            }
            None => {
                let number = self.explored.nodes.len();
                self.explored.index.insert(situation.clone(), number);
                self.explored.nodes.push(Node {
                    situation,
                    reached_by: (from, step),
                    arcs: Vec::new(),
                    is_complete: true,
                });
                number
            }
        };
        Some(Arc {
            step,
            to,
            is_progress: played.events.iter().any(is_progress),
        })
    }
}

fn is_progress(event: &Event) -> bool {
    match &event.fact {
        Fact::StatusChanged(_) => true,
        Fact::EffectPlanned(planned) => matches!(planned.effect, Effect::Spawn(_)),
        _ => false,
    }
}

/// The effects whose failure matters: starts, and effects whose failure stops a later start,
/// message, kill or release of the same plan. A failed merge does not matter, because it leaves
/// everything unchanged.
///
/// Each effect comes with its index in the order in which `settle` performs them.
fn failures(events: &[Event]) -> Vec<(usize, &'static str)> {
    let planned: Vec<&PlannedEffect> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::EffectPlanned(planned) => Some(planned),
            _ => None,
        })
        .collect();
    let blocks_later = |number: usize| {
        let (this, later) = (planned[number], &planned[number + 1..]);
        let mut later = later.iter().filter(|other| other.plan == this.plan);
        this.on_error == OnError::Stop && later.any(|other| starts_or_ends(&other.effect))
    };
    let matters = |(number, planned): &(usize, &&PlannedEffect)| match planned.effect {
        Effect::Spawn(_) | Effect::AcquireWorkspace { .. } => true,
        Effect::Kill(_) | Effect::ReleaseWorkspace { .. } | Effect::Merge(_) => false,
        _ => blocks_later(*number),
    };
    let all = planned.iter().enumerate().filter(matters);
    all.map(|(index, planned)| (index, planned.effect.label()))
        .collect()
}

fn starts_or_ends(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Spawn(_)
            | Effect::AcquireWorkspace { .. }
            | Effect::Kill(_)
            | Effect::ReleaseWorkspace { .. }
            | Effect::NotifyRole(_)
    )
}

/// The same workflow with empty texts: no decision depends on them, and filling them in takes
/// longer than deciding.
fn without_texts(workflow: &Workflow) -> Workflow {
    let mut silent = workflow.clone();
    for prompt in silent.prompts.values_mut() {
        *prompt = Prompt::empty();
    }
    let edges = silent.edges.iter_mut().flat_map(|edge| &mut edge.hooks);
    let entries = silent.entries.iter_mut().flat_map(|entry| &mut entry.hooks);
    let states = silent
        .states
        .iter_mut()
        .flat_map(|state| &mut state.on_enter);
    for hook in edges.chain(entries).chain(states) {
        match &mut hook.action {
            Action::NotifyWorker { message } | Action::Notify { message, .. } => {
                *message = Prompt::empty();
            }
            Action::SpawnAgent(spawn) => spawn.window = Prompt::empty(),
            _ => {}
        }
    }
    silent
}

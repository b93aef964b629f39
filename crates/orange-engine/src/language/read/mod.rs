//! Reads a workflow file and collects every problem in it.

mod edges;
mod exit_rules;
mod gates;
mod hooks;
mod mapping;
mod names;
mod states;

use std::collections::BTreeMap;

use super::declarations::Names;
use super::defaults;
use super::gates::Gate;
use super::problem::{Problem, ProblemCode, Problems};
use super::prompt::Prompt;
use super::rules;
use super::when::Limits;
use super::workflow::{Kind, SandboxLevel, Workflow};
use super::yaml::{self, Node};
use crate::language::draft::Draft;
use crate::names::{FieldName, GateName, PromptName, Status, WorkflowName};
use crate::role::Role;

/// The result of loading a file.
#[derive(Clone, Debug)]
pub struct LoadResult {
    /// The workflow, if the file has the shape of one; use it only when there are no problems.
    pub workflow: Option<Workflow>,
    /// Everything that is wrong, in file order.
    pub problems: Vec<Problem>,
}

impl LoadResult {
    /// The workflow, if nothing is wrong with it.
    pub fn into_result(self) -> Result<Workflow, Vec<Problem>> {
        match self.workflow {
            Some(workflow) if self.problems.is_empty() => Ok(workflow),
            _ => Err(self.problems),
        }
    }
}

/// Reads and checks a workflow.
pub fn load(source: &str) -> LoadResult {
    read(source, false)
}

/// Reads the text that a task is pinned to, without the hooks that were removed since.
pub fn load_pinned(source: &str) -> LoadResult {
    read(source, true)
}

fn read(source: &str, is_pinned: bool) -> LoadResult {
    let mut reader = Reader {
        is_pinned,
        problems: Problems::new(source),
        limits: Limits::new(),
        fields: defaults::fields(),
        roles: Vec::new(),
        gates: BTreeMap::new(),
        states: BTreeMap::new(),
        prompts: BTreeMap::new(),
        names: Names::default(),
    };
    let workflow = yaml::parse(source, &mut reader.problems)
        .and_then(|root| reader.workflow(&root))
        .inspect(|workflow| rules::check(workflow, &mut reader.problems));
    LoadResult {
        workflow,
        problems: reader.problems.into_sorted(),
    }
}

const SANDBOX_LEVELS: [(&str, SandboxLevel); 1] = [("full", SandboxLevel::Full)];

/// What is known while the rest of the file is read.
struct Reader<'source> {
    /// Whether the text may be of an earlier version.
    is_pinned: bool,
    problems: Problems<'source>,
    limits: Limits,
    fields: BTreeMap<FieldName, i64>,
    roles: Vec<Role>,
    /// Declared gates; `None` for one that could not be read.
    gates: BTreeMap<GateName, Option<Gate>>,
    /// Every declared state and whether it is terminal.
    states: BTreeMap<Status, bool>,
    /// Declared prompts; `None` for one that could not be read.
    prompts: BTreeMap<PromptName, Option<Prompt>>,
    names: Names,
}

impl Reader<'_> {
    fn workflow(&mut self, root: &Node) -> Option<Workflow> {
        let what = "a workflow";
        let mut top = self.mapping(root, what)?;
        let name = self.require(&mut top, "name", what);
        let version = self.require(&mut top, "version", what);
        let description = top.take("description");
        let sandbox = top.take("sandbox");
        let roles = top.take("roles");
        let limits = top.take("limits");
        let fields = top.take("fields");
        let gates = top.take("gates");
        let states = self.require(&mut top, "states", what);
        let entry = top.take("entry");
        let transitions = self.require(&mut top, "transitions", what);
        let verbs = top.take("verbs");
        let exit_monitoring = top.take("exit_monitoring");
        let prompts = top.take("prompts");
        self.finish(&top, what);

        // Names come first, so references to them can be checked where they occur.
        let name = name.and_then(|node| self.name(node, "`name`"));
        self.version(version);
        let description = description
            .and_then(|node| self.text(node, "`description`"))
            .map(str::to_owned);
        let sandbox = sandbox.and_then(|node| self.one_of(node, "`sandbox`", &SANDBOX_LEVELS));
        if let Some(node) = roles {
            self.roles(node);
        }
        if let Some(node) = limits {
            self.limits(node);
        }
        if let Some(node) = fields {
            self.fields(node);
        }
        if let Some(node) = prompts {
            self.prompts(node);
        }
        if let Some(node) = states {
            self.state_names(node);
        }
        if let Some(node) = gates {
            self.named_gates(node);
        }

        let mut states = states.map(|node| self.states(node)).unwrap_or_default();
        let edges = transitions.map(|node| self.edges(node)).unwrap_or_default();
        let entries = entry.map(|node| self.entries_of(node));
        let entries = entries.unwrap_or_else(|| defaults::entries(&states));
        let exit_rules = exit_monitoring
            .map(|node| self.exit_monitoring(node))
            .unwrap_or_default();
        let verbs = verbs.map(|node| self.verbs(node));
        let (verbs, verb_sources) = verbs.unwrap_or_default();
        let verbs = defaults::verbs(verbs, &states, &entries);
        defaults::fill_states(&mut states, &edges, &entries);
        let workflow = Workflow {
            name: WorkflowName::new(name?),
            version: 1,
            description,
            sandbox,
            roles: self.roles.clone(),
            limits: self.limits.clone(),
            fields: self.fields.clone(),
            gates: readable(&self.gates),
            states: states.into_iter().map(Draft::into_state).collect(),
            entries,
            edges,
            verbs,
            verb_sources,
            exit_rules,
            prompts: readable(&self.prompts),
            declared: self.names.take(),
            gated_sections: Vec::new(),
            asks_for_freshness: false,
        }
        .with_gated_sections();
        let at = top.key_at("states");
        if workflow.states.is_empty() {
            // A missing key was already reported.
            if at != root.at {
                let message = "a workflow needs at least one state";
                self.problems.add(ProblemCode::MissingKey, at, message);
            }
            return None;
        }
        if workflow
            .states
            .iter()
            .all(|state| state.kind != Kind::Terminal)
        {
            let message = "a workflow needs at least one terminal state, or no task ever ends";
            self.problems.add(ProblemCode::MissingKey, at, message);
        }
        Some(workflow)
    }
}

fn readable<K: Clone + Ord, V: Clone>(declared: &BTreeMap<K, Option<V>>) -> BTreeMap<K, V> {
    let declared = declared.iter();
    declared
        .filter_map(|(name, value)| Some((name.clone(), value.clone()?)))
        .collect()
}

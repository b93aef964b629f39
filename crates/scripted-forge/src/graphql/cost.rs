//! Points and nodes of a query, by the published formula.

use apollo_compiler::ExecutableDocument;
use apollo_compiler::ast::Value;
use apollo_compiler::executable::{Field, Selection, SelectionSet};
use apollo_compiler::response::JsonMap;

/// The most nodes one query may ask for.
pub const MOST_NODES: u64 = 500_000;
/// The most ids one query may name, and the longest page.
pub const MOST_IDS: u64 = 100;

/// What a query costs, and why GitHub refuses it: the type and message of the error.
#[derive(Debug, Default)]
pub struct Cost {
    requests: u64,
    pub nodes: u64,
    pub refusal: Option<(&'static str, String)>,
}

impl Cost {
    /// The points of a query: one request for each connection of each parent, divided by 100, and
    /// at least one.
    pub fn points(&self) -> u64 {
        ((self.requests + 50) / 100).max(1)
    }

    pub fn of(document: &ExecutableDocument, body: &SelectionSet, variables: &JsonMap) -> Self {
        let mut cost = Self::default();
        cost.walk(document, body, variables, 1);
        if cost.nodes > MOST_NODES {
            let message = format!(
                "This query requests up to {} possible nodes which exceeds the maximum limit of 500,000.",
                cost.nodes
            );
            cost.refusal
                .get_or_insert(("MAX_NODE_LIMIT_EXCEEDED", message));
        }
        cost
    }

    fn walk(
        &mut self,
        document: &ExecutableDocument,
        selections: &SelectionSet,
        variables: &JsonMap,
        times: u64,
    ) {
        for selection in &selections.selections {
            match selection {
                Selection::Field(field) => {
                    let times = self.enter(document, field, variables, times);
                    self.walk(document, &field.selection_set, variables, times);
                }
                Selection::InlineFragment(inner) => {
                    self.walk(document, &inner.selection_set, variables, times);
                }
                Selection::FragmentSpread(spread) => {
                    if let Some(fragment) = spread.fragment_def(document) {
                        self.walk(document, &fragment.selection_set, variables, times);
                    }
                }
            }
        }
    }

    /// Adds the cost of a field; returns how many objects its selection applies to.
    fn enter(
        &mut self,
        document: &ExecutableDocument,
        field: &Field,
        variables: &JsonMap,
        times: u64,
    ) -> u64 {
        if field.name == "nodes" && field.specified_argument_by_name("ids").is_some() {
            let count = length(field, "ids", variables);
            if count > MOST_IDS {
                let message =
                    format!("You may not provide more than 100 node ids; you provided {count}.");
                self.refusal.get_or_insert(("ARGUMENT_LIMIT", message));
            }
            self.nodes += count;
            return times * count.max(1);
        }
        if !field
            .definition
            .ty
            .inner_named_type()
            .ends_with("Connection")
        {
            return times;
        }
        self.requests += times;
        let size = ["first", "last"]
            .iter()
            .find_map(|it| argument(field, it, variables));
        let mut inner = field.selection_set.root_fields(document);
        let shows_items = inner.any(|it| it.name == "nodes" || it.name == "edges");
        let name = &field.name;
        match size {
            None if shows_items => {
                let message = format!(
                    "You must provide a `first` or `last` value to properly paginate the `{name}` connection."
                );
                self.refusal
                    .get_or_insert(("MISSING_PAGINATION_BOUNDARIES", message));
                times
            }
            None => times,
            Some(size) if size > MOST_IDS => {
                let message = format!(
                    "Requesting {size} records on the `{name}` connection exceeds the `first` limit of 100 records."
                );
                self.refusal
                    .get_or_insert(("EXCESSIVE_PAGINATION", message));
                times
            }
            Some(size) => {
                self.nodes += times * size;
                times * size
            }
        }
    }
}

fn argument(field: &Field, name: &str, variables: &JsonMap) -> Option<u64> {
    match field.specified_argument_by_name(name)?.as_ref() {
        Value::Int(number) => number.try_to_i32().ok()?.try_into().ok(),
        Value::Variable(name) => variables.get(name.as_str())?.as_u64(),
        _ => None,
    }
}

fn length(field: &Field, name: &str, variables: &JsonMap) -> u64 {
    let count = match field.specified_argument_by_name(name).map(AsRef::as_ref) {
        Some(Value::List(list)) => list.len(),
        Some(Value::Variable(name)) => {
            let value = variables.get(name.as_str());
            value.and_then(|it| it.as_array()).map_or(1, Vec::len)
        }
        _ => 1,
    };
    count as u64
}

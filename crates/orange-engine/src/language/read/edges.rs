//! Reads transitions and expands `"*active"`.

use super::Reader;
use super::mapping::{Mapping, items};
use crate::language::problem::ProblemCode;
use crate::language::workflow::{Edge, Target, Trigger};
use crate::language::yaml::{Node, Value};
use crate::names::Status;
use crate::role::Role;

/// How a file writes "every state that is not terminal".
const ANY_ACTIVE: &str = "*active";

impl Reader<'_> {
    /// Every edge, in file order.
    ///
    /// A wildcard yields to an explicit edge with the same source, target and trigger anywhere in
    /// the file, so it is expanded only after all transitions are read.
    pub(super) fn edges(&mut self, node: &Node) -> Vec<Edge> {
        let mut written = Vec::new();
        for item in self.list(node, "`transitions`") {
            if let Some(transition) = self.transition(item) {
                written.push(transition);
            }
        }
        let explicit: Vec<(Status, Target, Trigger)> = written
            .iter()
            .flat_map(|(sources, edge)| {
                let of = |from: &Status| (from.clone(), edge.to.clone(), edge.trigger);
                sources.named.iter().map(of)
            })
            .collect();
        let active: Vec<Status> = self
            .states
            .iter()
            .filter(|(_, terminal)| !**terminal)
            .map(|(status, _)| status.clone())
            .collect();
        let mut edges = Vec::new();
        for (sources, edge) in written {
            for from in &sources.named {
                edges.push(Edge {
                    from: from.clone(),
                    ..edge.clone()
                });
            }
            if !sources.any_active {
                continue;
            }
            for from in &active {
                let shadowed = explicit.iter().any(|(source, to, trigger)| {
                    source == from && *to == edge.to && *trigger == edge.trigger
                });
                let leads_to_itself = matches!(&edge.to, Target::Status(to) if to == from);
                if !shadowed && !leads_to_itself {
                    edges.push(Edge {
                        from: from.clone(),
                        is_from_active: true,
                        ..edge.clone()
                    });
                }
            }
        }
        edges
    }

    fn transition(&mut self, node: &Node) -> Option<(Sources, Edge)> {
        let what = "a transition";
        let mut mapping = self.mapping(node, what)?;
        let from = self.require(&mut mapping, "from", what);
        let to = self.require(&mut mapping, "to", what);
        let trigger = mapping.take("trigger");
        let by = mapping.take("by");
        let when = mapping.take("when");
        let confirm = mapping.take("confirm");
        let set = mapping.take("set");
        let hooks = mapping.take("hooks");
        mapping.take("gate");
        mapping.take("gates");
        self.finish(&mapping, what);

        let label = format!(
            "transition `{}` -> `{}`",
            format_node(from),
            format_node(to)
        );
        let sources = from.map(|node| self.sources(node, &label));
        let target = to.and_then(|node| self.edge_target(node, &label));
        let trigger = trigger.map(|node| self.one_of(node, "`trigger`", &Trigger::ALL));
        let by = by.map(|node| self.by(node, &label)).unwrap_or_default();
        let guard = when.map(|node| self.when(node));
        let gates = self.gates_of(&mut mapping);
        let confirm = confirm
            .and_then(|node| self.text(node, "`confirm`"))
            .map(str::to_owned);
        let set = set.map(|node| self.set(node)).unwrap_or_default();
        let hooks = hooks.map(|node| self.hooks(node)).unwrap_or_default();
        // A `when` or `trigger` that cannot be read drops the transition: with the default instead,
        // the transition would clash with others.
        let when = match guard {
            None => None,
            Some(guard) => Some(guard?),
        };
        let trigger = match trigger {
            None => Trigger::Request,
            Some(trigger) => trigger?,
        };
        let edge = Edge {
            from: Status::new(""),
            to: target?,
            trigger,
            by,
            when,
            gates,
            confirm,
            set,
            hooks,
            is_from_active: false,
            at: node.at,
        };
        Some((sources?, edge))
    }

    /// `gate: one`, `gates: [several]`, or both.
    fn gates_of(&mut self, mapping: &mut Mapping<'_>) -> Vec<crate::language::gates::Gate> {
        let mut gates = Vec::new();
        for key in ["gate", "gates"] {
            if let Some(node) = mapping.take(key) {
                gates.extend(self.gate_list(node));
            }
        }
        gates
    }

    fn sources(&mut self, node: &Node, label: &str) -> Sources {
        let mut sources = Sources {
            named: Vec::new(),
            any_active: false,
        };
        for item in items(node) {
            if matches!(&item.value, Value::Scalar { text, .. } if text == ANY_ACTIVE) {
                sources.any_active = true;
                continue;
            }
            let code = ProblemCode::TransitionSourceUnknown;
            let Some(status) = self.status(item, label, code) else {
                continue;
            };
            if self.states.get(&status) == Some(&true) {
                let message =
                    format!("{label}: `{status}` is terminal, so no transition may leave it");
                let code = ProblemCode::TransitionFromTerminal;
                self.problems.add(code, item.at, message);
            } else if sources.named.contains(&status) {
                let message = format!("{label}: `{status}` appears twice in `from`");
                self.problems
                    .add(ProblemCode::InvalidValue, item.at, message);
            } else {
                sources.named.push(status);
            }
        }
        sources
    }

    fn edge_target(&mut self, node: &Node, label: &str) -> Option<Target> {
        if matches!(&node.value, Value::Scalar { text, .. } if text == Target::PREVIOUS) {
            return Some(Target::Previous);
        }
        self.status(node, label, ProblemCode::TransitionTargetUnknown)
            .map(Target::Status)
    }

    fn by(&mut self, node: &Node, label: &str) -> Vec<Role> {
        let items = items(node);
        if let [only] = items
            && matches!(&only.value, Value::Scalar { text, .. } if text == "anyone")
        {
            return Vec::new();
        }
        let roles: Vec<Role> = items
            .iter()
            .filter_map(|item| self.role(item, label))
            .collect();
        if roles.is_empty() && items.is_empty() {
            let message = format!("{label}: `by` is empty; leave it out to allow anyone");
            self.problems
                .add(ProblemCode::InvalidValue, node.at, message);
        }
        roles
    }
}

/// The value of `from`.
struct Sources {
    named: Vec<Status>,
    any_active: bool,
}

fn format_node(node: Option<&Node>) -> String {
    match node.map(|node| &node.value) {
        Some(Value::Scalar { text, .. }) => text.chars().take(64).collect(),
        Some(Value::Sequence(items)) => {
            let names: Vec<String> = items.iter().map(|item| format_node(Some(item))).collect();
            names.join(", ")
        }
        _ => String::from("?"),
    }
}

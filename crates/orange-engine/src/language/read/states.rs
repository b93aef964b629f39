//! Reads states and the entries into a workflow.

use std::collections::BTreeMap;

use super::Reader;
use super::mapping::items;
use crate::language::defaults;
use crate::language::draft::Draft;
use crate::language::problem::{Position, ProblemCode};
use crate::language::workflow::{Entry, Kind, Permissions, Respawn, Timeout};
use crate::language::yaml::{Node, Value};
use crate::names::Status;
use crate::role::Role;

const KINDS: [(&str, Kind); 5] = [
    ("queued", Kind::Queued),
    ("agent", Kind::Agent),
    ("human", Kind::Human),
    ("waiting", Kind::Waiting),
    ("terminal", Kind::Terminal),
];

const PERMISSIONS: [(&str, Permissions); 2] = [
    ("full", Permissions::Full),
    ("reduced", Permissions::Reduced),
];

impl Reader<'_> {
    /// Collects the names first; transitions need to know whether a state is terminal.
    pub(super) fn state_names(&mut self, node: &Node) {
        for (key, value) in self.entries(node, "`states`") {
            let what = format!("state `{}`", key.text);
            self.check_name(&key.text, key.at, &what);
            let says = |expected: &str, yes: &str| match &value.value {
                Value::Mapping(entries) => entries.iter().any(|(key, value)| {
                    key.text == expected
                        && matches!(&value.value, Value::Scalar { text, .. } if text == yes)
                }),
                _ => false,
            };
            let terminal = says("terminal", "true") || says("kind", "terminal");
            self.states.insert(Status::new(&key.text), terminal);
        }
    }

    pub(super) fn states(&mut self, node: &Node) -> Vec<Draft> {
        self.entries(node, "`states`")
            .iter()
            .map(|(key, value)| self.state(&Status::new(&key.text), key.at, value))
            .collect()
    }

    fn state(&mut self, name: &Status, at: Position, node: &Node) -> Draft {
        let what = format!("state `{name}`");
        let mut draft = Draft {
            name: name.clone(),
            kind: None,
            expects: None,
            respawn: BTreeMap::new(),
            respawn_prompt: None,
            on_enter: Vec::new(),
            timeout: None,
            at,
        };
        // `done:` with nothing below it is a state with only defaults.
        if node.value.is_empty() {
            return draft;
        }
        let Some(mut state) = self.mapping(node, &what) else {
            return draft;
        };
        let terminal = state.take("terminal");
        let kind = state.take("kind");
        let expects = state.take("expects");
        let respawn = state.take("respawn");
        let respawn_prompt = state.take("respawn_prompt");
        let on_enter = state.take("on_enter");
        let timeout = state.take("timeout");
        self.finish(&state, &what);

        let terminal = terminal.and_then(|node| self.boolean(node, "`terminal`"));
        let written = kind.and_then(|node| self.one_of(node, "`kind`", &KINDS));
        draft.kind = match (terminal, written) {
            (Some(true), Some(kind)) if kind != Kind::Terminal => {
                let message = format!("{what} is `terminal: true` but has another `kind`");
                let at = state.key_at("kind");
                self.problems.add(ProblemCode::InvalidValue, at, message);
                Some(kind)
            }
            (Some(false), Some(Kind::Terminal)) => {
                let message = format!("{what} is `terminal: false` but has `kind: terminal`");
                let at = state.key_at("kind");
                self.problems.add(ProblemCode::InvalidValue, at, message);
                Some(Kind::Terminal)
            }
            (Some(true), None) => Some(Kind::Terminal),
            (_, kind) => kind,
        };
        draft.expects = expects.map(|node| {
            let items = items(node).iter();
            items
                .filter_map(|item| self.agent_role(item, "`expects`"))
                .collect()
        });
        if let Some(node) = respawn {
            for (key, value) in self.entries(node, "`respawn`") {
                let role = Role::from_name(&key.text);
                if self.agent_key(&role, key.at)
                    && let Some(respawn) = self.respawn(value, &what)
                {
                    draft.respawn.insert(role, respawn);
                }
            }
        }
        let code = ProblemCode::RespawnPromptUnknown;
        draft.respawn_prompt = respawn_prompt.and_then(|node| self.prompt_name(node, &what, code));
        draft.on_enter = on_enter.map(|node| self.hooks(node)).unwrap_or_default();
        draft.timeout = timeout.and_then(|node| self.timeout(node));
        draft
    }

    fn agent_key(&mut self, role: &Role, at: Position) -> bool {
        let known =
            role.is_agent() && (!matches!(role, Role::Other(_)) || self.roles.contains(role));
        if !known {
            let message = format!("`respawn`: there is no agent role `{role}`");
            self.problems.add(ProblemCode::RoleUnknown, at, message);
        }
        known
    }

    fn respawn(&mut self, node: &Node, what: &str) -> Option<Respawn> {
        let mut respawn = self.mapping(node, "`respawn`")?;
        let prompt = self.require(&mut respawn, "prompt", "`respawn`");
        let permissions = respawn.take("permissions");
        self.finish(&respawn, "`respawn`");
        let code = ProblemCode::RespawnPromptUnknown;
        let prompt = prompt.and_then(|node| self.prompt_name(node, what, code));
        let permissions = permissions.and_then(|node| self.permissions(node));
        Some(Respawn {
            prompt: prompt?,
            permissions: permissions.unwrap_or(defaults::RESPAWN_PERMISSIONS),
        })
    }

    pub(super) fn permissions(&mut self, node: &Node) -> Option<Permissions> {
        self.one_of(node, "`permissions`", &PERMISSIONS)
    }

    fn timeout(&mut self, node: &Node) -> Option<Timeout> {
        let mut timeout = self.mapping(node, "`timeout`")?;
        let after = self.require(&mut timeout, "after", "`timeout`");
        let then = self.require(&mut timeout, "then", "`timeout`");
        self.finish(&timeout, "`timeout`");
        let after = after.and_then(|node| self.duration(node, "`after`"));
        let code = ProblemCode::StateUnknown;
        let then = then.and_then(|node| self.status(node, "`timeout`", code));
        Some(Timeout {
            after: after?,
            then: then?,
        })
    }

    /// Reads `entry:`, written as a name, a list of names, or a mapping.
    pub(super) fn entries_of(&mut self, node: &Node) -> Vec<Entry> {
        let mut entries = Vec::new();
        if let Value::Mapping(pairs) = &node.value {
            for (key, value) in pairs {
                let named = Node {
                    at: key.at,
                    value: Value::Scalar {
                        text: key.text.clone(),
                        quoted: false,
                    },
                };
                if let Some(status) = self.entry_status(&named) {
                    entries.push(self.entry(status, key.at, value));
                }
            }
        } else {
            for item in items(node) {
                if let Some(status) = self.entry_status(item) {
                    entries.push(defaults::plain_entry(status, item.at));
                }
            }
        }
        if entries.is_empty() {
            let message = "`entry` names no state, so no task could be created";
            self.problems
                .add(ProblemCode::InvalidValue, node.at, message);
        }
        entries
    }

    fn entry_status(&mut self, node: &Node) -> Option<Status> {
        let status = self.status(node, "`entry`", ProblemCode::StateUnknown)?;
        if self.states.get(&status) == Some(&true) {
            let message = format!("`entry`: `{status}` is terminal, so a task there is finished");
            self.problems
                .add(ProblemCode::InvalidValue, node.at, message);
        }
        Some(status)
    }

    fn entry(&mut self, status: Status, at: Position, node: &Node) -> Entry {
        let mut entry = defaults::plain_entry(status, at);
        if node.value.is_empty() {
            return entry;
        }
        let what = format!("entry `{}`", entry.status);
        if let Some(mut mapping) = self.mapping(node, &what) {
            let when = mapping.take("when");
            let set = mapping.take("set");
            let hooks = mapping.take("hooks");
            self.finish(&mapping, &what);
            entry.when = when.and_then(|node| self.when(node));
            entry.set = set.map(|node| self.set(node)).unwrap_or_default();
            entry.hooks = hooks.map(|node| self.hooks(node)).unwrap_or_default();
        }
        entry
    }
}

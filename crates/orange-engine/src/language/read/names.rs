//! Reads named things: version, roles, limits, fields, prompts, verbs.

use super::Reader;
use super::mapping::{items, join_or, suggest, suggest_declared};
use crate::language::declarations::NameKind;
use crate::language::defaults;
use crate::language::problem::{Position, ProblemCode};
use crate::language::prompt::Prompt;
use crate::language::verbs::{Verb, VerbSources, Verbs};
use crate::language::when::{When, is_name};
use crate::language::workflow::{Change, NewValue, Target};
use crate::language::yaml::{Node, Value};
use crate::names::{FieldName, LimitName, PromptName, Status};
use crate::role::Role;

impl Reader<'_> {
    pub(super) fn version(&mut self, node: Option<&Node>) {
        let Some(node) = node else { return };
        let Some(text) = self.text(node, "`version`") else {
            return;
        };
        if text != "1" {
            let message = format!(
                "version `{text}` is not supported; this version of orange reads version 1"
            );
            let code = ProblemCode::UnknownVersion;
            self.problems.add(code, node.at, message);
        }
    }

    /// The name of a state, gate, prompt or workflow.
    pub(super) fn name<'node>(&mut self, node: &'node Node, what: &str) -> Option<&'node str> {
        let text = self.text(node, what)?;
        self.check_name(text, node.at, what).then_some(text)
    }

    pub(super) fn check_name(&mut self, text: &str, at: Position, what: &str) -> bool {
        let fits = !text.is_empty()
            && text.len() <= 64
            && text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.chars().all(|character| {
                character.is_ascii_lowercase()
                    || character.is_ascii_digit()
                    || matches!(character, '-' | '_')
            });
        if !fits {
            let message = format!(
                "{what} must be a name of lower-case letters, digits, `-` and `_`, at most 64 \
                 characters, beginning with a letter"
            );
            self.problems.add(ProblemCode::InvalidValue, at, message);
        }
        fits
    }

    pub(super) fn roles(&mut self, node: &Node) {
        for item in items(node) {
            let Some(name) = self.text(item, "a role") else {
                continue;
            };
            // An invalid name is reported here, so its uses are not reported as well.
            self.check_name(name, item.at, "a role");
            let role = Role::from_name(name);
            if role == Role::assistant() {
                let message = format!("role `{name}` is the agent of `orange chat`");
                self.problems
                    .add(ProblemCode::InvalidValue, item.at, message);
            } else if !matches!(role, Role::Other(_)) || self.roles.contains(&role) {
                let message = format!("role `{name}` already exists");
                self.problems
                    .add(ProblemCode::InvalidValue, item.at, message);
            } else {
                self.names.declare(NameKind::Role, name, item.at);
                self.roles.push(role);
            }
        }
    }

    /// A role that is built in or declared.
    pub(super) fn role(&mut self, node: &Node, what: &str) -> Option<Role> {
        self.role_among(node, what, &["worker", "reviewer", "human", "engine"])
    }

    /// A role that an agent can have.
    pub(super) fn agent_role(&mut self, node: &Node, what: &str) -> Option<Role> {
        self.role_among(node, what, &["worker", "reviewer"])
    }

    fn role_among(&mut self, node: &Node, what: &str, built_in: &[&str]) -> Option<Role> {
        let text = self.text(node, what)?;
        let role = Role::from_name(text);
        if self.roles.contains(&role) || built_in.contains(&text) {
            self.names.mark_used(NameKind::Role, text);
            return Some(role);
        }
        let message = if matches!(role, Role::Other(_)) {
            format!("{what}: role `{role}` does not exist")
        } else {
            format!("{what}: `{role}` is not an agent")
        };
        let mut known = built_in.to_vec();
        known.extend(self.roles.iter().map(Role::as_str));
        let hint = format!("use {}, or declare it under `roles`", join_or(&known));
        self.problems
            .add_with_hint(ProblemCode::RoleUnknown, node.at, message, hint);
        None
    }

    pub(super) fn limits(&mut self, node: &Node) {
        for (key, value) in self.entries(node, "`limits`") {
            let what = format!("limit `{}`", key.text);
            // An unreadable value is reported here, so uses of the limit are not reported as well.
            let number = self.number(value, &what).unwrap_or(1);
            if self.check_number_name(&key.text, key.at, &what) {
                self.names.declare(NameKind::Limit, &key.text, key.at);
                self.limits.insert(LimitName::new(&key.text), number);
            }
        }
    }

    pub(super) fn fields(&mut self, node: &Node) {
        for (key, value) in self.entries(node, "`fields`") {
            let what = format!("field `{}`", key.text);
            if defaults::is_derived(&key.text) {
                let message = format!("{what} is computed by orange and cannot be declared");
                self.problems
                    .add(ProblemCode::InvalidValue, key.at, message);
                continue;
            }
            if self.limits.contains_key(key.text.as_str()) {
                let message = format!("{what} has the same name as a limit");
                self.problems
                    .add(ProblemCode::InvalidValue, key.at, message);
                continue;
            }
            let number = self.number(value, &what).unwrap_or(0);
            if self.check_number_name(&key.text, key.at, &what) {
                self.names.declare(NameKind::Field, &key.text, key.at);
                self.fields.insert(FieldName::new(&key.text), number);
            }
        }
    }

    fn check_number_name(&mut self, text: &str, at: Position, what: &str) -> bool {
        let fits = is_name(text) && text != "and" && !defaults::is_text_variable(text);
        if !fits {
            let message = format!(
                "{what} needs a name of lower-case letters, digits and `_` that is not taken"
            );
            self.problems.add(ProblemCode::InvalidValue, at, message);
        }
        fits
    }

    pub(super) fn prompts(&mut self, node: &Node) {
        for (key, value) in self.entries(node, "`prompts`") {
            let what = format!("prompt `{}`", key.text);
            self.check_name(&key.text, key.at, &what);
            self.names.declare(NameKind::Prompt, &key.text, key.at);
            let prompt = self.prompt(value, &what);
            self.prompts.insert(PromptName::new(&key.text), prompt);
        }
    }

    /// A text whose variables all exist.
    pub(super) fn prompt(&mut self, node: &Node, what: &str) -> Option<Prompt> {
        let text = self.text(node, what)?;
        let plain = matches!(node.value, Value::Scalar { quoted: false, .. });
        if plain && self.problems.rest_of_line(node.at).contains(" #") {
            let message = format!("{what} is cut off at ` #`, which begins a comment");
            let hint = "write the text as a block below `|`, or in quotes";
            self.problems
                .add_with_hint(ProblemCode::InvalidValue, node.at, message, hint);
        }
        let prompt = match Prompt::parse(text) {
            Ok(prompt) => prompt,
            Err(error) => {
                let at = position_inside(node, error.offset);
                let message = format!("{what}: {error}");
                self.problems.add(ProblemCode::InvalidValue, at, message);
                return None;
            }
        };
        for variable in prompt.variables() {
            self.names.mark_used(NameKind::Field, variable);
            self.names.mark_used(NameKind::Limit, variable);
            if !defaults::is_text_variable(variable)
                && !self.fields.contains_key(variable)
                && !self.limits.contains_key(variable)
                && !defaults::is_derived(variable)
            {
                let mut known: Vec<&str> = defaults::TEXT_VARIABLES.to_vec();
                known.extend(self.fields.keys().map(FieldName::as_str));
                known.extend(self.limits.keys().map(LimitName::as_str));
                let hint = suggest(variable, &known, |all| format!("the variables are {all}"));
                let message = format!("{what} uses `{{{variable}}}`, which does not exist");
                let offset = text.find(&format!("{{{variable}}}")).unwrap_or(0);
                let at = position_inside(node, text[..offset].chars().count());
                let code = ProblemCode::VariableUnknown;
                self.problems.add_with_hint(code, at, message, hint);
            }
        }
        Some(prompt)
    }

    /// The name of a declared prompt; reports one that does not exist.
    pub(super) fn prompt_name(
        &mut self,
        node: &Node,
        what: &str,
        code: ProblemCode,
    ) -> Option<PromptName> {
        let text = self.text(node, what)?;
        if !self.prompts.contains_key(text) {
            let names: Vec<&str> = self.prompts.keys().map(PromptName::as_str).collect();
            let hint = suggest_declared("prompts", text, &names);
            let message = format!("{what} uses prompt `{text}`, which does not exist");
            self.problems.add_with_hint(code, node.at, message, hint);
            return None;
        }
        self.names.mark_used(NameKind::Prompt, text);
        Some(PromptName::new(text))
    }

    pub(super) fn when(&mut self, node: &Node) -> Option<When> {
        let text = self.text(node, "`when`")?;
        match When::parse(text, &self.limits) {
            Ok(when) => {
                let mut known = true;
                let is_part = |part: char| part.is_ascii_alphanumeric() || part == '_';
                for word in text.split(|part: char| !is_part(part)) {
                    self.names.mark_used(NameKind::Limit, word);
                }
                for comparison in when.comparisons() {
                    let field = comparison.field.as_str();
                    self.names.mark_used(NameKind::Field, field);
                    known &=
                        self.check_field(&comparison.field, node.at, &defaults::DERIVED_FIELDS);
                }
                known.then_some(when)
            }
            Err(error) => {
                let at = position_inside(node, error.offset);
                let code = ProblemCode::WhenInvalid;
                match error.hint {
                    Some(hint) => self
                        .problems
                        .add_with_hint(code, at, error.to_string(), hint),
                    None => self.problems.add(code, at, error.to_string()),
                }
                None
            }
        }
    }

    fn check_field(&mut self, field: &FieldName, at: Position, derived: &[&str]) -> bool {
        let known = self.fields.contains_key(field) || derived.contains(&field.as_str());
        if !known {
            let mut names: Vec<&str> = self.fields.keys().map(FieldName::as_str).collect();
            names.extend(derived);
            let hint = suggest(field.as_str(), &names, |all| {
                format!("the fields are {all}; declare more under `fields`")
            });
            let message = format!("field `{field}` does not exist");
            self.problems
                .add_with_hint(ProblemCode::FieldUnknown, at, message, hint);
        }
        known
    }

    /// A field that a workflow may change.
    pub(super) fn settable_field(&mut self, text: &str, at: Position) -> Option<FieldName> {
        if defaults::is_derived(text) {
            let message = format!("field `{text}` is computed by orange and cannot be set");
            self.problems.add(ProblemCode::InvalidValue, at, message);
            return None;
        }
        let field = FieldName::new(text);
        self.check_field(&field, at, &[]).then_some(field)
    }

    /// A number, or the word `increment`.
    pub(super) fn new_value(&mut self, node: &Node, what: &str) -> Option<NewValue> {
        if self.text(node, what)? == "increment" {
            return Some(NewValue::Increment);
        }
        self.number(node, what).map(NewValue::Exactly)
    }

    pub(super) fn set(&mut self, node: &Node) -> Vec<Change> {
        let mut changes = Vec::new();
        for (key, value) in self.entries(node, "`set`") {
            let what = format!("`set` of `{}`", key.text);
            let to = self.new_value(value, &what);
            if let (Some(field), Some(to)) = (self.settable_field(&key.text, key.at), to) {
                changes.push(Change { field, to });
            }
        }
        changes
    }

    pub(super) fn verbs(&mut self, node: &Node) -> (Verbs, VerbSources) {
        let (mut verbs, mut sources) = (Verbs::new(), VerbSources::new());
        for (key, value) in self.entries(node, "`verbs`") {
            let Some((_, verb)) = Verb::ALL.iter().find(|(name, _)| *name == key.text) else {
                let names: Vec<&str> = Verb::ALL.iter().map(|(name, _)| *name).collect();
                let message = format!("verb `{}` does not exist", key.text);
                let hint = suggest(&key.text, &names, |all| format!("the verbs are {all}"));
                self.problems
                    .add_with_hint(ProblemCode::UnknownKey, key.at, message, hint);
                continue;
            };
            self.names.declare(NameKind::Verb, &key.text, key.at);
            let what = format!("verb `{verb}`");
            let mut to = Some(value);
            if matches!(value.value, Value::Mapping(_))
                && let Some(mut rule) = self.mapping(value, &what)
            {
                to = self.require(&mut rule, "to", &what);
                if let Some(from) = self.require(&mut rule, "from", &what) {
                    let from = items(from).iter();
                    let from = from
                        .filter_map(|item| self.status(item, &what, ProblemCode::StateUnknown))
                        .collect();
                    sources.insert(*verb, from);
                }
                self.finish(&rule, &what);
            }
            let targets = to.map(items).into_iter().flatten();
            let targets = targets
                .filter_map(|item| self.target(item, &what))
                .collect();
            verbs.insert(*verb, targets);
        }
        (verbs, sources)
    }

    /// A state or `@previous`.
    pub(super) fn target(&mut self, node: &Node, what: &str) -> Option<Target> {
        if matches!(&node.value, Value::Scalar { text, .. } if text == Target::PREVIOUS) {
            return Some(Target::Previous);
        }
        self.status(node, what, ProblemCode::StateUnknown)
            .map(Target::Status)
    }

    /// A declared state.
    pub(super) fn status(&mut self, node: &Node, what: &str, code: ProblemCode) -> Option<Status> {
        let text = self.text(node, what)?;
        if !self.states.contains_key(text) {
            let names: Vec<&str> = self.states.keys().map(Status::as_str).collect();
            let hint = suggest_declared("states", text, &names);
            let message = format!("{what}: state `{text}` does not exist");
            self.problems.add_with_hint(code, node.at, message, hint);
            return None;
        }
        Some(Status::new(text))
    }
}

/// The position of a character inside a value; a block of text begins at its first line.
fn position_inside(node: &Node, offset: usize) -> Position {
    let Value::Scalar { text, quoted } = &node.value else {
        return node.at;
    };
    let before: String = text.chars().take(offset).collect();
    let in_line = before.rsplit('\n').next().unwrap_or_default();
    let mark = usize::from(*quoted && !text.contains('\n'));
    Position {
        line: node.at.line + before.matches('\n').count(),
        column: node.at.column + in_line.chars().count() + mark,
    }
}

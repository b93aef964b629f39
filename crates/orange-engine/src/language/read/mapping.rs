//! Reads a mapping and reports every unknown key.

use super::Reader;
use crate::language::nearest;
use crate::language::problem::{Position, ProblemCode};
use crate::language::yaml::{Key, Node, Value};
use crate::wording;

/// A mapping whose keys are taken one by one; any key left over is unknown.
pub(super) struct Mapping<'node> {
    pub(super) at: Position,
    entries: &'node [(Key, Node)],
    taken: Vec<&'static str>,
}

impl<'node> Mapping<'node> {
    /// The value of a key, which counts as known from now on.
    pub(super) fn take(&mut self, key: &'static str) -> Option<&'node Node> {
        self.taken.push(key);
        self.entries
            .iter()
            .find(|(entry, _)| entry.text == key)
            .map(|(_, node)| node)
    }

    /// Whether a key is present, without counting it as known.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(entry, _)| entry.text == key)
    }

    /// The position of a key.
    pub(super) fn key_at(&self, key: &str) -> Position {
        self.entries
            .iter()
            .find(|(entry, _)| entry.text == key)
            .map_or(self.at, |(entry, _)| entry.at)
    }
}

impl Reader<'_> {
    /// Reads a node as a mapping; `what` names it in messages.
    pub(super) fn mapping<'node>(
        &mut self,
        node: &'node Node,
        what: &str,
    ) -> Option<Mapping<'node>> {
        let Value::Mapping(entries) = &node.value else {
            self.wrong_type(node, what, "a mapping");
            return None;
        };
        Some(Mapping {
            at: node.at,
            entries,
            taken: Vec::new(),
        })
    }

    /// Reports the keys that were not taken.
    pub(super) fn finish(&mut self, mapping: &Mapping<'_>, what: &str) {
        for (key, _) in mapping.entries {
            if !mapping.taken.contains(&key.text.as_str()) {
                let message = format!("{what} has no key `{}`", key.text);
                let hint = suggest(&key.text, &mapping.taken, |all| format!("{what} takes {all}"));
                self.problems
                    .add_with_hint(ProblemCode::UnknownKey, key.at, message, hint);
            }
        }
    }

    /// The value of a required key.
    pub(super) fn require<'node>(
        &mut self,
        mapping: &mut Mapping<'node>,
        key: &'static str,
        what: &str,
    ) -> Option<&'node Node> {
        let node = mapping.take(key);
        if node.is_none() {
            let message = format!("{what} needs the key `{key}`");
            self.problems
                .add(ProblemCode::MissingKey, mapping.at, message);
        }
        node
    }

    /// The entries of a mapping whose keys the author chooses.
    pub(super) fn entries<'node>(&mut self, node: &'node Node, what: &str) -> &'node [(Key, Node)] {
        match &node.value {
            Value::Mapping(entries) => entries,
            // `states:` with nothing below it reads as an empty text.
            value if value.is_empty() => &[],
            _ => {
                self.wrong_type(node, what, "a mapping");
                &[]
            }
        }
    }

    /// The items of a node that must be a list.
    pub(super) fn list<'node>(&mut self, node: &'node Node, what: &str) -> &'node [Node] {
        match &node.value {
            Value::Sequence(items) => items,
            value if value.is_empty() => &[],
            _ => {
                self.wrong_type(node, what, "a list");
                &[]
            }
        }
    }

    /// The items of a list that must not be empty; a single value counts as a list of one.
    pub(super) fn require_items<'node>(&mut self, node: &'node Node, what: &str) -> &'node [Node] {
        let items = items(node);
        if items.is_empty() {
            let message = format!("{what} must not be empty");
            self.problems
                .add(ProblemCode::InvalidValue, node.at, message);
        }
        items
    }

    /// A single value as text; a missing value is not a text.
    pub(super) fn text<'node>(&mut self, node: &'node Node, what: &str) -> Option<&'node str> {
        if node.value.is_empty() {
            self.report_empty(node, what);
            return None;
        }
        let Value::Scalar { text, .. } = &node.value else {
            self.wrong_type(node, what, "a single value");
            return None;
        };
        Some(text)
    }

    /// A whole number that is not negative.
    pub(super) fn number(&mut self, node: &Node, what: &str) -> Option<i64> {
        let text = self.text(node, what)?;
        match text.parse::<i64>() {
            Ok(number) if (0..=i64::from(u32::MAX)).contains(&number) => Some(number),
            _ => {
                let message = format!("{what} must be a whole number of at least 0, not `{text}`");
                self.problems.add(ProblemCode::WrongType, node.at, message);
                None
            }
        }
    }

    /// `true` or `false`.
    pub(super) fn boolean(&mut self, node: &Node, what: &str) -> Option<bool> {
        match self.text(node, what)? {
            "true" => Some(true),
            "false" => Some(false),
            other => {
                let message = format!("{what} must be `true` or `false`, not `{other}`");
                self.problems.add(ProblemCode::WrongType, node.at, message);
                None
            }
        }
    }

    /// One of a fixed set of words.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        node: &Node,
        what: &str,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let text = self.text(node, what)?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("{what} must be {}, not `{text}`", join_or(&known));
            let code = ProblemCode::InvalidValue;
            match nearest(text, known) {
                Some(meant) => {
                    let hint = format!("did you mean `{meant}`?");
                    self.problems.add_with_hint(code, node.at, message, hint);
                }
                None => self.problems.add(code, node.at, message),
            }
        }
        found.map(|(_, value)| *value)
    }

    /// Seconds, written as `90`, `90s`, `30m`, `2h` or `1d`.
    pub(super) fn duration(&mut self, node: &Node, what: &str) -> Option<u64> {
        let text = self.text(node, what)?;
        let (digits, unit) = match text.char_indices().last() {
            Some((last, 's')) => (&text[..last], 1),
            Some((last, 'm')) => (&text[..last], 60),
            Some((last, 'h')) => (&text[..last], 3600),
            Some((last, 'd')) => (&text[..last], 86_400),
            _ => (text, 1),
        };
        if let Ok(count) = digits.parse::<u32>() {
            return Some(u64::from(count) * unit);
        }
        let message =
            format!("{what} must be a time like `90s`, `30m`, `2h` or `1d`, not `{text}`");
        self.problems.add(ProblemCode::WrongType, node.at, message);
        None
    }

    /// A program and its arguments, each a separate text.
    pub(super) fn command(&mut self, node: &Node, what: &str) -> Option<Vec<String>> {
        let items = match &node.value {
            Value::Sequence(items) => items.as_slice(),
            _ => &[],
        };
        if items.is_empty() {
            let message = format!("{what} must be a list of a program and its arguments");
            let hint = "write it like `[cargo, test]`; it does not run in a shell";
            self.problems
                .add_with_hint(ProblemCode::InvalidValue, node.at, message, hint);
            return None;
        }
        items
            .iter()
            .map(|item| self.text(item, what).map(str::to_owned))
            .collect()
    }

    fn report_empty(&mut self, node: &Node, what: &str) {
        let message = format!("{what} is empty");
        let rest = self.problems.rest_of_line(node.at);
        if rest.contains('#') {
            let hint =
                "`#` begins a comment; put a text that contains it in quotes, like \"## Handoff\"";
            self.problems
                .add_with_hint(ProblemCode::WrongType, node.at, message, hint);
        } else {
            self.problems.add(ProblemCode::WrongType, node.at, message);
        }
    }

    pub(super) fn wrong_type(&mut self, node: &Node, what: &str, expected: &str) {
        let message = format!("{what} must be {expected}, not {}", node.value.shape());
        self.problems.add(ProblemCode::WrongType, node.at, message);
    }
}

/// The items of a list; a single value counts as a list of one.
pub(super) fn items(node: &Node) -> &[Node] {
    match &node.value {
        Value::Sequence(items) => items,
        value if value.is_empty() => &[],
        _ => std::slice::from_ref(node),
    }
}

/// A hint that lists the declared names of a kind, and the name that was probably meant.
pub(super) fn suggest_declared(kind: &str, word: &str, names: &[&str]) -> String {
    if names.is_empty() {
        return format!("the file declares no {kind}; add it under `{kind}`");
    }
    suggest(word, names, |all| format!("the {kind} are {all}"))
}

/// A hint that lists all names, after the name that was probably meant, if there is one.
pub(super) fn suggest(word: &str, names: &[&str], all: impl Fn(&str) -> String) -> String {
    let all = all(&join_and(names));
    match nearest(word, names.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`? {all}"),
        None => all,
    }
}

/// `a`, `b` and `c`.
pub(super) fn join_and(words: &[&str]) -> String {
    wording::join_and(quoted(words))
}

/// `a`, `b` or `c`.
pub(super) fn join_or(words: &[&str]) -> String {
    wording::join_or(quoted(words))
}

fn quoted(words: &[&str]) -> impl Iterator<Item = String> {
    words.iter().map(|word| format!("`{word}`"))
}

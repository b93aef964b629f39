//! Reads `config.toml`, with the line and column of every mistake.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use orange_engine::language::nearest;
use orange_engine::routing::RouteRule;
use serde::Serialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{KEYS, Key, is_table, key};
use super::policy_keys::policy_keys;
use super::value::{Kind, Value};
use crate::{PinnedPolicyError, reason};

/// The largest file that is read.
const MAX_BYTES: u64 = 256 * 1024;

/// Why the settings cannot be determined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The file exists but cannot be read.
    #[error("cannot read `{}`: {reason}", .path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// The file has mistakes.
    #[error("cannot read `{}`: {}", .path.display(), problem_list(.problems))]
    Invalid {
        path: PathBuf,
        /// Every mistake, in line order.
        problems: Vec<SettingsProblem>,
    },
    /// The policy that the user allowed cannot be used.
    #[error(transparent)]
    Policy(#[from] PinnedPolicyError),
    /// A variable has an invalid value.
    #[error("cannot use `{value}` as `{variable}`: it must be {expected}")]
    Variable {
        variable: &'static str,
        value: String,
        /// What it may be.
        expected: String,
    },
}

/// A mistake in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SettingsProblem {
    /// The line, counted from 1.
    pub line: usize,
    /// The column, in characters, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// The key that was probably meant.
    pub nearest: Option<String>,
}

fn problem_list(problems: &[SettingsProblem]) -> String {
    let bodies = problems.iter().map(|it| {
        let (line, column, message) = (it.line, it.column, &it.message);
        format!("line {line}, column {column}: {message}")
    });
    bodies.collect::<Vec<_>>().join("; ")
}

/// The current name of a key; a file may still use the name from before the first release.
fn current_name(written: String) -> String {
    match written.as_str() {
        "dashboard.ground" => String::from("dashboard.background"),
        _ => written,
    }
}

/// What a file says, by key: the value and its line.
pub(crate) type GivenValues = BTreeMap<String, (Value, usize)>;

/// What a file says.
#[derive(Debug, Default)]
pub(crate) struct GivenSettings {
    pub(crate) values: GivenValues,
    /// The `[[route]]` tables.
    pub(crate) routes: Vec<RouteRule>,
}

/// Whose file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    User,
    /// The file is the policy of a repository.
    Repository,
}

/// Reads the file; a home without one sets nothing.
pub(crate) fn load(path: &Path) -> Result<GivenSettings, SettingsError> {
    let unreadable = |error: &io::Error| SettingsError::Unreadable {
        path: path.to_owned(),
        reason: reason(error),
    };
    let text = match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(GivenSettings::default());
        }
        text => text.map_err(|error| unreadable(&error))?,
    };
    parse(&text, Author::User).map_err(|problems| SettingsError::Invalid {
        path: path.to_owned(),
        problems,
    })
}

fn read(path: &Path) -> io::Result<String> {
    // Only regular files are read: reading a pipe or a device could block forever.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.len() > MAX_BYTES {
        return Err(io::Error::other(format!(
            "it has more than {MAX_BYTES} bytes"
        )));
    }
    fs::read_to_string(path)
}

pub(crate) fn parse(text: &str, author: Author) -> Result<GivenSettings, Vec<SettingsProblem>> {
    let mut reader = SettingsReader {
        text,
        author,
        given: GivenValues::new(),
        routes: Vec::new(),
        problems: Vec::new(),
    };
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let message = error.message().trim().replace('\n', ", ");
        reader.report(&error.span().unwrap_or(0..0), message, None);
    }
    // After a syntax error the table is not read: it would only report the same mistake again.
    if reader.problems.is_empty() {
        reader.read_table("", table.get_ref());
    }
    if reader.problems.is_empty() {
        return Ok(GivenSettings {
            values: reader.given,
            routes: reader.routes,
        });
    }
    reader.problems.sort_by_key(|it| (it.line, it.column));
    Err(reader.problems)
}

pub(super) struct SettingsReader<'text> {
    text: &'text str,
    author: Author,
    given: GivenValues,
    pub(super) routes: Vec<RouteRule>,
    problems: Vec<SettingsProblem>,
}

impl SettingsReader<'_> {
    fn read_table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let full = current_name(format!("{prefix}{}", name.get_ref()));
            if full == "route" && self.author == Author::User {
                self.read_routes(value);
                continue;
            }
            match (self.key(&full), value.get_ref()) {
                (Some(key), _) => self.read_value(key, &full, name.span(), value),
                (None, _) if key(&full).is_some() || full == "route" => {
                    let message = format!("a repository may not set `{full}`: it is the user's");
                    self.report(&name.span(), message, None);
                }
                (None, DeValue::Table(inner)) if is_table(&full) => {
                    self.read_table(&format!("{full}."), inner);
                }
                (None, _) if is_table(&full) => {
                    let message = format!("`{full}` is a table: write `[{full}]`");
                    self.report(&value.span(), message, None);
                }
                (None, _) => {
                    let nearest = self.nearest_key(prefix, name.get_ref());
                    self.report(&name.span(), format!("unknown key `{full}`"), nearest);
                }
            }
        }
    }

    /// The key with this name, if the author may set it.
    fn key(&self, full: &str) -> Option<&'static Key> {
        match self.author {
            Author::User => key(full),
            Author::Repository => policy_keys().find(|key| key.name == full),
        }
    }

    fn read_value(
        &mut self,
        key: &Key,
        full: &str,
        name_span: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) {
        if matches!(key.kind, Kind::Names | Kind::Hosts | Kind::Arguments) {
            if let Some(names) = self.names_of(full, key.kind, value) {
                let (line, _) = self.position(name_span.start);
                let names = match key.kind {
                    Kind::Arguments => Value::Arguments(names),
                    _ => Value::Names(names),
                };
                self.given.insert(full.to_owned(), (names, line));
            }
            return;
        }
        let text = match value.get_ref() {
            DeValue::String(text) if key.kind.is_text() => Some(text.to_string()),
            DeValue::Integer(number) if !key.kind.is_text() && number.radix() == 10 => {
                Some(number.as_str().to_owned())
            }
            DeValue::Boolean(is_on) if !key.kind.is_text() => Some(is_on.to_string()),
            _ => None,
        };
        let read = text.and_then(|text| key.kind.read(&text));
        if let Some(read) = read {
            let (line, _) = self.position(name_span.start);
            self.given.insert(full.to_owned(), (read, line));
        } else {
            let message = format!("`{full}` must be {}", key.kind.expected());
            self.report(&value.span(), message, None);
        }
    }

    /// The names of a list; a mistake in it is reported.
    pub(super) fn names_of(
        &mut self,
        full: &str,
        kind: Kind,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Vec<String>> {
        let mut names = Vec::new();
        let entries = value.get_ref().as_array();
        for entry in entries.into_iter().flatten() {
            let name = entry.get_ref().as_str().and_then(|it| kind.read(it));
            let Some(Value::Names(name)) = name else {
                let message = format!("`{full}` must be {}", kind.expected());
                self.report(&entry.span(), message, None);
                return None;
            };
            names.extend(name);
        }
        if entries.is_none() {
            let message = format!("`{full}` must be {}", kind.expected());
            self.report(&value.span(), message, None);
            return None;
        }
        Some(names)
    }

    pub(super) fn report(&mut self, at: &Range<usize>, message: String, nearest: Option<String>) {
        let (line, column) = self.position(at.start);
        self.problems.push(SettingsProblem {
            line,
            column,
            message,
            nearest,
        });
    }

    /// The key or table that was probably meant: one of the same table, else one from elsewhere.
    fn nearest_key(&self, prefix: &str, name: &str) -> Option<String> {
        let keys: Vec<&'static str> = match self.author {
            Author::User => KEYS.iter().map(|key| key.name).collect(),
            Author::Repository => policy_keys().map(|key| key.name).collect(),
        };
        let siblings = keys.iter().filter_map(|key| {
            let rest = key.strip_prefix(prefix)?;
            rest.split('.').next()
        });
        if let Some(found) = nearest(name, siblings.filter(|it| *it != "*")) {
            return Some(format!("{prefix}{found}"));
        }
        let last = |full: &'static str| full.rsplit('.').next().unwrap_or_default();
        let elsewhere = keys.into_iter().find(|key| last(key) == name);
        elsewhere.map(str::to_owned)
    }

    fn position(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<(usize, usize, String, Option<String>)> {
        let problems = parse(text, Author::User).unwrap_err().into_iter();
        let told = |it: SettingsProblem| (it.line, it.column, it.message, it.nearest);
        problems.map(told).collect()
    }

    #[test]
    fn every_setting_is_optional_and_has_a_line() {
        assert_eq!(parse("", Author::User).unwrap().values, GivenValues::new());
        let text = "harness = \"a\"\n[limits]\nagents = 4\nharness.\"b.c\" = 2\n[limits.status]\n\
                    working = 0\n[notify]\nbell = false\n";
        let given = parse(text, Author::User).unwrap().values;
        let labels = parse("[forge]\nlabels = [\"one\", \"two words\"]\n", Author::User)
            .unwrap()
            .values;
        let names = vec![String::from("one"), String::from("two words")];
        assert_eq!(labels["forge.labels"], (Value::Names(names), 2));
        assert_eq!(given["harness"], (Value::text("a"), 1));
        assert_eq!(given["limits.agents"], (Value::Count(4), 3));
        assert_eq!(given["limits.harness.b.c"], (Value::Count(2), 4));
        assert_eq!(given["limits.status.working"], (Value::Count(0), 6));
        assert_eq!(given["notify.bell"], (Value::Switch(false), 8));
    }

    #[test]
    fn all_mistakes_are_reported_with_their_position() {
        let text = "# ä\nharnes = \"a\"\nsize = 3\nlimits = 3\n[pool]\n  sise = 3\nsize = -1\n\
                    when_full = \"wait\"\n[log]\nkeep = \"3\"\nnonsense = 1\n\
                    [forge]\nlabels = \"x\"\nrepository = \"ada/x\"\n\
                    [budget]\nday = 5\ntask = \"5 EUR\"\n";
        let expected = [
            (2, 1, "unknown key `harnes`", Some("harness")),
            (3, 1, "unknown key `size`", Some("pool.size")),
            (4, 10, "`limits` is a table: write `[limits]`", None),
            (6, 3, "unknown key `pool.sise`", Some("pool.size")),
            (7, 8, "`pool.size` must be a number, 0 or larger", None),
            (
                8,
                13,
                "`pool.when_full` must be \"queue\" or \"refuse\"",
                None,
            ),
            (10, 8, "`log.keep` must be a number, 0 or larger", None),
            (11, 1, "unknown key `log.nonsense`", None),
            (
                13,
                10,
                "`forge.labels` must be a list of names, such as [\"one\", \"two\"]",
                None,
            ),
            (
                14,
                14,
                "`forge.repository` must be a repository, such as \"github.com/ada/engine\"",
                None,
            ),
            (
                16,
                7,
                "`budget.day` must be an amount, such as \"5.00 USD\" or \"2M tokens\"",
                None,
            ),
            (
                17,
                8,
                "`budget.task` must be an amount, such as \"5.00 USD\" or \"2M tokens\"",
                None,
            ),
        ];
        let expected = expected.map(|(line, column, message, nearest)| {
            (line, column, message.to_owned(), nearest.map(str::to_owned))
        });
        assert_eq!(problems(text), expected);
    }

    #[test]
    fn invalid_toml_is_reported_with_its_position() {
        let found = problems("a = 1\nb = = 2\n");
        assert_eq!(found[0].0, 2, "{found:?}");
        let found = problems("[pool]\nsize = 1\nsize = 2\n");
        assert_eq!(found[0].0, 3, "{found:?}");
    }
}

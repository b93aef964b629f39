//! How much an agent may do, as a definition declares it.

use std::collections::BTreeMap;
use std::ops::Range;

use orange_engine::language::workflow::Permissions;
use orange_engine::role::Role;
use serde::Deserialize;
use toml::Spanned;

use super::Problem;
use super::arguments::{Argument, Item};

/// A permission level; a definition has a list of arguments for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The agent may do everything.
    Full,
    /// The agent may do what its program considers safe.
    Reduced,
    /// The agent may do what a reviewer needs; if the definition lacks it, `Reduced` is used.
    Review,
}

/// How an agent is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartMode {
    /// In its terminal, where it waits for more input.
    Interactive,
    /// For one prompt, after which it exits; if the definition lacks it, `Interactive` is used.
    Headless,
}

/// Environment variables as a definition writes them, with their positions.
pub(crate) type VariableTable = BTreeMap<Spanned<String>, Spanned<String>>;

/// `[args]` as a definition writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Levels {
    #[serde(default)]
    every: Vec<Spanned<Item>>,
    full: Option<Vec<Spanned<Item>>>,
    reduced: Option<Vec<Spanned<Item>>>,
    review: Option<Vec<Spanned<Item>>>,
    headless: Option<Spanned<HeadlessLevels>>,
}

/// `[args.headless]`; if it has no `every`, that of `[args]` is used.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadlessLevels {
    every: Option<Vec<Spanned<Item>>>,
    full: Option<Vec<Spanned<Item>>>,
    reduced: Option<Vec<Spanned<Item>>>,
    review: Option<Vec<Spanned<Item>>>,
}

/// The arguments of every level that the definition offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lists {
    table: &'static str,
    full: Option<Vec<Argument>>,
    reduced: Option<Vec<Argument>>,
    review: Option<Vec<Argument>>,
}

impl Level {
    /// The level of an agent with this role and these permissions.
    pub fn of(permissions: Permissions, role: &Role) -> Self {
        match (permissions, role) {
            (Permissions::Full, _) => Level::Full,
            (Permissions::Reduced, Role::Reviewer) => Level::Review,
            (Permissions::Reduced, _) => Level::Reduced,
        }
    }
}

impl Levels {
    /// The lists for interactive and headless starts; the latter only if the definition has them.
    pub fn read(written: Spanned<Self>) -> Result<(Lists, Option<Lists>), Problem> {
        let at = written.span();
        let levels = written.into_inner();
        let every = arguments(levels.every)?;
        let own = [levels.full, levels.reduced, levels.review];
        let interactive = Lists::read("args", at, &every, own)?;
        let Some(headless) = levels.headless else {
            return Ok((interactive, None));
        };
        let at = headless.span();
        let levels = headless.into_inner();
        let every = levels.every.map(arguments).transpose()?.unwrap_or(every);
        let own = [levels.full, levels.reduced, levels.review];
        let headless = Lists::read("args.headless", at, &every, own)?;
        Ok((interactive, Some(headless)))
    }
}

impl Lists {
    fn read(
        table: &'static str,
        at: Range<usize>,
        every: &[Argument],
        own: [Option<Vec<Spanned<Item>>>; 3],
    ) -> Result<Self, Problem> {
        let read = |own: Option<Vec<Spanned<Item>>>| {
            let own = own.map(arguments).transpose()?;
            Ok::<_, Problem>(own.map(|own| [every, &own].concat()))
        };
        let [full, reduced, review] = own;
        if full.is_none() && reduced.is_none() {
            let message = format!("`[{table}]` offers no permission level");
            let hint = "add `full = [...]`, `reduced = [...]`, or both";
            return Err((at, message, hint.to_owned()));
        }
        Ok(Self {
            table,
            full: read(full)?,
            reduced: read(reduced)?,
            review: read(review)?,
        })
    }

    /// The arguments of a level, or the name and the table of the missing level.
    pub fn of(&self, level: Level) -> Result<&[Argument], (&'static str, &'static str)> {
        let (name, found) = match (level, &self.review) {
            (Level::Full, _) => ("full", &self.full),
            (Level::Review, Some(_)) => ("review", &self.review),
            (Level::Reduced | Level::Review, _) => ("reduced", &self.reduced),
        };
        found.as_deref().ok_or((name, self.table))
    }

    /// Whether reduced permissions have other arguments than full ones.
    pub fn has_reduced(&self) -> bool {
        self.reduced.is_some() && self.reduced != self.full
    }

    /// Whether every level that the definition has contains a placeholder with this name.
    pub fn all_take(&self, what: &str) -> bool {
        let levels = [&self.full, &self.reduced, &self.review];
        let takes = |level: &Vec<Argument>| level.iter().any(|argument| argument.takes(what));
        levels.into_iter().flatten().all(takes)
    }
}

fn arguments(items: Vec<Spanned<Item>>) -> Result<Vec<Argument>, Problem> {
    let parse = |item: Spanned<Item>| {
        let at = item.span();
        let parsed = Argument::parse(item.into_inner());
        parsed.map_err(|(message, hint)| (at, message, hint))
    };
    items.into_iter().map(parse).collect()
}

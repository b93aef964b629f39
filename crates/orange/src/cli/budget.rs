//! `orange budget`.

use orange_config::Environment;
use orange_driver::BudgetReport;
use orange_engine::budget::{Amount, Level, Limit, LimitState, Scope, ScopeUse};
use serde::Serialize;

use super::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Alignment, Cell, Output, Style, Table};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.budget/1");

/// Show what agents used and what is left.
///
/// Shows today (UTC), every project, every job, and every task that has not ended, each with its
/// limit from `[budget]` in `config.toml`. The cost is what an agent reports, else its tokens times
/// the price of its model. `≥` means that some runs did not report their numbers. At 80 % of a
/// limit the state is `warn`; when it is `reached`, no agent is started.
#[derive(Debug, clap::Args)]
pub struct Args {}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    /// The current UTC day, such as `2026-11-18`.
    day: &'a str,
    /// Whether running agents are stopped when a limit is reached.
    hard: bool,
    /// `refuse` or `allow`: what happens to a start for which a limit cannot be checked.
    unpriced: &'static str,
    prices: Prices,
    /// The day, then projects, jobs, and tasks that have not ended.
    budgets: Vec<Line<'a>>,
}

/// Where the prices of models come from.
#[derive(Serialize, schemars::JsonSchema)]
struct Prices {
    source: String,
    version: String,
    /// When they were taken from the source.
    date: String,
    /// How many models have a price.
    models: usize,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "BudgetLine")]
struct Line<'a> {
    #[serde(flatten)]
    scope: &'a Scope,
    /// The tokens that were used.
    tokens: u64,
    /// The cost in US dollars, as a decimal number.
    cost_usd: String,
    /// How many runs have not reported their tokens, so that `tokens` is a minimum.
    runs_without_tokens: u64,
    /// How many runs have no known cost, so that `cost_usd` is a minimum.
    runs_without_cost: u64,
    limit: Option<Limit>,
    /// What is left of the limit.
    left: Option<Limit>,
    /// `free`, `warn` or `reached`; absent without a limit.
    state: Option<Level>,
}

pub fn run(environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let report = driver(environment)?.views.budget()?;
    if output.is_json() {
        return SHAPE.print(&body(&report), output);
    }
    let columns = [
        ("BUDGET", Alignment::Left),
        ("STATE", Alignment::Left),
        ("USED", Alignment::Right),
        ("LEFT", Alignment::Right),
    ];
    let mut table = Table::new(columns, "LIMIT");
    for it in &report.uses {
        let limit = it.limit.as_ref();
        let (style, state) = match limit.map(|it| it.level) {
            None => (Style::Plain, ""),
            Some(level @ Level::Free) => (Style::Good, level.as_str()),
            Some(level @ Level::Warn) => (Style::Warn, level.as_str()),
            Some(level @ Level::Reached) => (Style::Bad, level.as_str()),
        };
        let row = [
            Cell::new(Style::Bold, &name(&it.scope)),
            Cell::new(style, state),
            Cell::new(Style::Plain, &used(it)),
            Cell::new(Style::Plain, &text(limit.map(LimitState::left), "")),
        ];
        let limit = text(limit.map(|it| it.limit), "none");
        table.push(row, Cell::new(Style::Plain, &limit));
    }
    output.answer(&table.to_text(output.answer_width()))?;
    Ok(Exit::Ok)
}

fn body(report: &BudgetReport) -> Body<'_> {
    let prices = orange_config::prices();
    let home = &report.budget.home;
    Body {
        day: &report.day,
        hard: home.is_hard,
        unpriced: if home.allows_unpriced {
            "allow"
        } else {
            "refuse"
        },
        prices: Prices {
            source: prices.source.clone(),
            version: prices.version.clone(),
            date: prices.date.clone(),
            models: prices.models.len(),
        },
        budgets: report.uses.iter().map(line).collect(),
    }
}

fn line(it: &ScopeUse) -> Line<'_> {
    let Amount {
        tokens,
        money,
        unknown_tokens,
        unknown_money,
    } = it.amount;
    let limit = it.limit.as_ref();
    Line {
        scope: &it.scope,
        tokens,
        cost_usd: money.to_string(),
        runs_without_tokens: unknown_tokens,
        runs_without_cost: unknown_money,
        limit: limit.map(|it| it.limit),
        left: limit.map(LimitState::left),
        state: limit.map(|it| it.level),
    }
}

fn name(scope: &Scope) -> String {
    match scope.name() {
        None => String::from("today"),
        Some(name) => format!("{} {name}", scope.key()),
    }
}

/// What was used, in the unit of the limit, else in money.
fn used(it: &ScopeUse) -> String {
    let (used, unknown_runs) = match &it.limit {
        Some(limit) => (limit.used, limit.unknown_runs),
        None => (Limit::Money(it.amount.money), it.amount.unknown_money),
    };
    let at_least = if unknown_runs > 0 { "≥ " } else { "" };
    format!("{at_least}{used}")
}

fn text(limit: Option<Limit>, otherwise: &str) -> String {
    limit.map_or_else(|| otherwise.to_owned(), |it| it.to_string())
}

//! Sentences and names that the tables and the page share.

use orange_engine::statistics::{CostLine, Reviews};
use orange_engine::usage::short_count;

/// How often tasks were sent back, and what sent them back.
pub fn back_sentence(reviews: &Reviews) -> String {
    if reviews.tasks == 0 {
        return String::from("No task was reviewed.");
    }
    let tasks = count(reviews.tasks, "task was reviewed", "tasks were reviewed");
    if reviews.back() == 0 {
        return format!("{tasks}, and none was sent back.");
    }
    format!(
        "{tasks}. Sent back {}: {} by a reviewer, {} by you, {} by a pull request.",
        count(reviews.back(), "time", "times"),
        reviews.back_by_reviewer,
        reviews.back_by_user,
        reviews.back_by_pull_request
    )
}

/// What all runs cost.
pub fn cost_sentence(total: &CostLine) -> String {
    if total.runs == 0 {
        return String::from("No run of an agent ended, so no cost is known.");
    }
    let runs = count(total.runs, "run", "runs");
    let unknown = match total.runs_without_cost {
        unknown if unknown > 0 && total.cost_usd.is_some() => {
            format!(", of which {unknown} did not report it")
        }
        _ => String::new(),
    };
    format!("Cost: {} for {runs}{unknown}.", total.cost_text())
}

/// The tokens of these runs; `≥` if some did not report them.
pub fn tokens(cost: &CostLine) -> String {
    match cost.tokens {
        None => String::from("unknown"),
        Some(tokens) if cost.runs_without_tokens > 0 => format!("≥ {}", short_count(tokens)),
        Some(tokens) => short_count(tokens),
    }
}

/// The name of a model; a task that sets none leaves the choice to its agent.
pub fn model_name(model: Option<&str>) -> String {
    model.map_or_else(|| String::from("agent's default"), str::to_owned)
}

/// The heading of the column with the first day of each period.
pub fn period_heading(days: i64) -> &'static str {
    match days {
        1 => "DAY (UTC)",
        7 => "WEEK FROM",
        _ => "30 DAYS FROM",
    }
}

pub fn count(number: u64, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{number} {noun}")
}

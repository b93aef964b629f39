//! How many tokens, how much money and how much time agents used.
//!
//! Agents report tokens and cost themselves, so no status depends on these numbers; only budgets
//! hold back starts because of them. A number that was not reported is unknown, never zero, and a
//! sum with an unknown part is a minimum.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Costs are counted in billionths of a US dollar, because agents report fractions of a cent.
const PER_DOLLAR: f64 = 1e9;

/// What one run reported; each number may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunUsage {
    /// Tokens that were read, including those from a cache.
    pub input_tokens: Option<u64>,
    /// The part of them that came from a cache.
    pub cached_tokens: Option<u64>,
    /// The part of them that was written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Tokens that were written.
    pub output_tokens: Option<u64>,
    pub cost: Option<Cost>,
    /// The tokens of each model, as far as the agent names it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, TokenCount>,
}

/// The tokens of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenCount {
    /// Tokens that were read, including those from a cache and those written to one.
    pub input: u64,
    /// The part of them that came from a cache.
    pub cached: u64,
    /// The part of them that was written to a cache.
    pub cache_write: u64,
    pub output: u64,
}

/// An amount of money, in billionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cost(u64);

/// A sum over several runs, of which parts may be unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    known: Option<u64>,
    has_unknown: bool,
}

/// What the runs of one or more tasks used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(into = "UsageBody")]
#[schemars(with = "UsageBody")]
pub struct Usage {
    pub input_tokens: Sum,
    pub cached_tokens: Sum,
    pub output_tokens: Sum,
    /// In billionths of a US dollar.
    pub cost: Sum,
    /// How long the runs lived, in seconds.
    pub run_seconds: u64,
    /// How many runs there were.
    pub runs: u64,
}

/// The usage of a task's agents, as they reported it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Usage")]
struct UsageBody {
    /// Tokens that were read, including those from a cache; `null` if unknown.
    input_tokens: Option<u64>,
    /// The part of them that came from a cache; `null` if unknown.
    cached_tokens: Option<u64>,
    /// Tokens that were written; `null` if unknown.
    output_tokens: Option<u64>,
    /// The cost in US dollars, as a decimal number; `null` if no agent reported it.
    cost_usd: Option<String>,
    /// Which of these numbers are minimums, because some run did not report them.
    minimums: Vec<&'static str>,
    /// How long the runs lived, in seconds, whether or not the agents were working.
    run_seconds: u64,
    /// How many runs there were.
    runs: u64,
}

impl RunUsage {
    pub fn is_unknown(&self) -> bool {
        *self == RunUsage::default()
    }

    fn zip(
        &self,
        other: &RunUsage,
        combine: impl Fn(Option<u64>, Option<u64>) -> Option<u64>,
    ) -> RunUsage {
        let cost = combine(self.cost.map(|it| it.0), other.cost.map(|it| it.0));
        let names = self.models.keys().chain(other.models.keys());
        let models = names.map(|name| {
            let (one, other) = (self.models.get(name), other.models.get(name));
            let combine = |number: fn(&TokenCount) -> u64| {
                combine(one.map(number), other.map(number)).unwrap_or(0)
            };
            let count = TokenCount {
                input: combine(|it| it.input),
                cached: combine(|it| it.cached),
                cache_write: combine(|it| it.cache_write),
                output: combine(|it| it.output),
            };
            (name.clone(), count)
        });
        RunUsage {
            input_tokens: combine(self.input_tokens, other.input_tokens),
            cached_tokens: combine(self.cached_tokens, other.cached_tokens),
            cache_write_tokens: combine(self.cache_write_tokens, other.cache_write_tokens),
            output_tokens: combine(self.output_tokens, other.output_tokens),
            cost: cost.map(Cost),
            models: models.collect(),
        }
    }

    /// All tokens, as one count; `None` if none is known.
    pub fn tokens(&self) -> Option<TokenCount> {
        self.input_tokens.or(self.output_tokens)?;
        Some(TokenCount {
            input: self.input_tokens.unwrap_or(0),
            cached: self.cached_tokens.unwrap_or(0),
            cache_write: self.cache_write_tokens.unwrap_or(0),
            output: self.output_tokens.unwrap_or(0),
        })
    }

    /// The same numbers, without models.
    #[must_use]
    pub fn without_models(&self) -> RunUsage {
        RunUsage {
            models: BTreeMap::new(),
            ..self.clone()
        }
    }

    /// Assigns the tokens that this has more than `before` to a model.
    pub fn attribute(&mut self, before: &RunUsage, model: &str) {
        let more = self.minus(before).tokens().unwrap_or_default();
        if more.total() == 0 {
            return;
        }
        let count = self.models.entry(model.to_owned()).or_default();
        *count = count.plus(more);
    }

    /// Adds each number; where only one of the two is known, the sum is that one.
    #[must_use]
    pub fn plus(&self, more: &RunUsage) -> RunUsage {
        self.zip(more, |one, other| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        })
    }

    /// Subtracts what is known of `less`; no number falls below zero.
    #[must_use]
    pub fn minus(&self, less: &RunUsage) -> RunUsage {
        self.zip(less, |one, less| {
            one.map(|one| one.saturating_sub(less.unwrap_or(0)))
        })
    }

    /// The larger of the two, number by number.
    #[must_use]
    pub fn max(&self, other: &RunUsage) -> RunUsage {
        self.zip(other, Ord::max)
    }

    /// Takes each number from `self`, or from `other` where it is unknown in `self`.
    #[must_use]
    pub fn or(&self, other: &RunUsage) -> RunUsage {
        let models = if self.models.is_empty() {
            &other.models
        } else {
            &self.models
        };
        RunUsage {
            models: models.clone(),
            ..self.zip(other, Option::or)
        }
    }
}

impl TokenCount {
    /// All tokens that were read or written.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    #[must_use]
    pub fn plus(self, more: TokenCount) -> TokenCount {
        self.zip(more, u64::saturating_add)
    }

    #[must_use]
    pub fn minus(self, less: TokenCount) -> TokenCount {
        self.zip(less, u64::saturating_sub)
    }

    fn zip(self, other: TokenCount, combine: fn(u64, u64) -> u64) -> TokenCount {
        TokenCount {
            input: combine(self.input, other.input),
            cached: combine(self.cached, other.cached),
            cache_write: combine(self.cache_write, other.cache_write),
            output: combine(self.output, other.output),
        }
    }
}

impl Cost {
    /// The amount that an agent reported; `None` if it is not an amount of money.
    pub fn from_dollars(dollars: f64) -> Option<Cost> {
        if !dollars.is_finite() || dollars < 0.0 {
            return None;
        }
        // Formatting rounds without a lossy cast; an absurd amount does not fit and is unknown.
        let billionths = format!("{:.0}", dollars * PER_DOLLAR);
        billionths.parse().ok().map(Cost)
    }

    /// In millionths of a US dollar, rounded up: a cost is never counted as zero.
    pub fn millionths(self) -> u64 {
        self.0.div_ceil(1000)
    }

    #[must_use]
    pub fn plus(self, more: Cost) -> Cost {
        Cost(self.0.saturating_add(more.0))
    }
}

/// US dollars, rounded down to a millionth: what agents print is no more exact.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, rest) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        let text = format!("{dollars}.{:06}", rest / 1000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Sum {
    fn add(&mut self, part: Option<u64>) {
        match part {
            Some(part) => self.known = Some(self.known.unwrap_or(0).saturating_add(part)),
            None => self.has_unknown = true,
        }
    }

    fn add_sum(&mut self, more: Sum) {
        if let Some(known) = more.known {
            self.add(Some(known));
        }
        self.has_unknown |= more.has_unknown;
    }

    pub fn known(&self) -> Option<u64> {
        self.known
    }

    /// Whether the sum is a minimum, because a part of it is unknown.
    pub fn is_minimum(&self) -> bool {
        self.known.is_some() && self.has_unknown
    }

    /// The sum in words; `number` formats the known part.
    fn words(&self, number: impl Fn(u64) -> String) -> String {
        match self.known {
            None if self.has_unknown => String::from("unknown"),
            None => String::from("none"),
            Some(known) if self.has_unknown => format!("at least {}", number(known)),
            Some(known) => number(known),
        }
    }
}

impl Usage {
    /// Adds a run that lived this long. `is_minimum` says that the run used more than it reported.
    pub fn add_run(&mut self, run: &RunUsage, seconds: u64, is_minimum: bool) {
        let parts = [
            (&mut self.input_tokens, run.input_tokens),
            (&mut self.cached_tokens, run.cached_tokens),
            (&mut self.output_tokens, run.output_tokens),
            (&mut self.cost, run.cost.map(|it| it.0)),
        ];
        for (sum, part) in parts {
            sum.add(part);
            sum.has_unknown |= is_minimum;
        }
        self.run_seconds = self.run_seconds.saturating_add(seconds);
        self.runs = self.runs.saturating_add(1);
    }

    /// Adds the usage of another task.
    pub fn add(&mut self, other: &Usage) {
        self.input_tokens.add_sum(other.input_tokens);
        self.cached_tokens.add_sum(other.cached_tokens);
        self.output_tokens.add_sum(other.output_tokens);
        self.cost.add_sum(other.cost);
        self.run_seconds = self.run_seconds.saturating_add(other.run_seconds);
        self.runs = self.runs.saturating_add(other.runs);
    }

    /// Records that some usage is unknown.
    pub fn add_unknown(&mut self) {
        for sum in [
            &mut self.input_tokens,
            &mut self.cached_tokens,
            &mut self.output_tokens,
            &mut self.cost,
        ] {
            sum.has_unknown = true;
        }
    }

    /// All tokens, read and written.
    pub fn tokens(&self) -> Sum {
        let mut sum = self.input_tokens;
        sum.add_sum(self.output_tokens);
        sum
    }

    /// All tokens, for a column; empty if nothing has run.
    pub fn tokens_cell(&self) -> String {
        cell(self.tokens(), short_count)
    }

    /// The cost in US dollars, for a column; empty if nothing has run.
    pub fn cost_cell(&self) -> String {
        cell(self.cost, |it| format!("${}", cents(it)))
    }

    /// Tokens, cost and time for one column; empty if nothing has run.
    pub fn short(&self) -> String {
        if self.runs == 0 {
            return String::new();
        }
        let time = self.time_cell();
        match (self.tokens_cell(), self.cost_cell()) {
            (tokens, cost) if tokens == "?" && cost == "?" => format!("? {time}"),
            (tokens, cost) if cost == "?" => format!("{tokens} $? {time}"),
            (tokens, cost) => format!("{tokens} {cost} {time}"),
        }
    }

    /// The time its runs lived, for a column; empty if nothing has run.
    pub fn time_cell(&self) -> String {
        if self.runs == 0 {
            return String::new();
        }
        duration(self.run_seconds)
    }

    /// All tokens in words, such as `at least 12`.
    pub fn tokens_words(&self) -> String {
        self.tokens().words(|it| it.to_string())
    }

    /// The cost in words, such as `at least 0.5 USD`.
    pub fn cost_words(&self) -> String {
        self.cost.words(|it| format!("{} USD", Cost(it)))
    }

    /// The whole usage in a line.
    pub fn sentence(&self) -> String {
        if self.runs == 0 {
            return String::from("no agent has run");
        }
        let tokens = match (self.input_tokens.known, self.output_tokens.known) {
            (None, None) => String::from("tokens unknown"),
            _ => format!(
                "tokens read {} (from a cache {}), tokens written {}",
                self.input_tokens.words(|it| it.to_string()),
                self.cached_tokens.words(|it| it.to_string()),
                self.output_tokens.words(|it| it.to_string()),
            ),
        };
        let cost = self.cost_words();
        let time = duration(self.run_seconds);
        if tokens == "tokens unknown" && self.cost.known.is_none() {
            return format!("tokens and cost unknown; agents ran for {time}");
        }
        format!("{tokens}; cost {cost}; agents ran for {time}")
    }
}

impl From<Usage> for UsageBody {
    fn from(usage: Usage) -> Self {
        let sums = [
            ("input_tokens", usage.input_tokens),
            ("cached_tokens", usage.cached_tokens),
            ("output_tokens", usage.output_tokens),
            ("cost_usd", usage.cost),
        ];
        let minimums = sums.iter().filter(|(_, sum)| sum.is_minimum());
        UsageBody {
            input_tokens: usage.input_tokens.known,
            cached_tokens: usage.cached_tokens.known,
            output_tokens: usage.output_tokens.known,
            cost_usd: usage.cost.known.map(|it| Cost(it).to_string()),
            minimums: minimums.map(|(name, _)| *name).collect(),
            run_seconds: usage.run_seconds,
            runs: usage.runs,
        }
    }
}

fn cell(sum: Sum, number: impl Fn(u64) -> String) -> String {
    match sum.known {
        None if sum.has_unknown => String::from("?"),
        None => String::new(),
        Some(known) if sum.has_unknown => format!("≥{}", number(known)),
        Some(known) => number(known),
    }
}

/// A count with at most three digits, such as `12.3k`. It is rounded down, so that a minimum is
/// still a minimum.
pub fn short_count(count: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")];
    for (unit, sign) in units {
        if count >= unit {
            let (whole, tenths) = (count / unit, count % unit * 10 / unit);
            return if whole < 100 && tenths > 0 {
                format!("{whole}.{tenths}{sign}")
            } else {
                format!("{whole}{sign}")
            };
        }
    }
    count.to_string()
}

/// Dollars and cents, rounded down; less than a cent is shown in full.
pub(crate) fn cents(billionths: u64) -> String {
    if billionths > 0 && billionths < 10_000_000 {
        return Cost(billionths).to_string();
    }
    let cents = billionths / 10_000_000;
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// A time in hours and minutes, or in seconds if it is short.
pub fn duration(seconds: u64) -> String {
    let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m"),
        (hours, minutes) => format!("{hours}h{minutes:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(input: Option<u64>, cost: Option<f64>) -> RunUsage {
        RunUsage {
            input_tokens: input,
            cached_tokens: input.map(|it| it / 2),
            output_tokens: input.map(|it| it / 10),
            cost: cost.and_then(Cost::from_dollars),
            ..RunUsage::default()
        }
    }

    #[test]
    fn what_is_unknown_is_never_zero() {
        let mut usage = Usage::default();
        assert_eq!(usage.sentence(), "no agent has run");
        assert_eq!(
            [usage.tokens_cell(), usage.cost_cell(), usage.time_cell()],
            ["", "", ""]
        );
        usage.add_run(&RunUsage::default(), 61, false);
        assert_eq!(
            usage.sentence(),
            "tokens and cost unknown; agents ran for 1m"
        );
        assert_eq!(usage.short(), "? 1m");
        usage.add_run(&run(Some(1000), Some(0.25)), 3600, false);
        assert_eq!(
            usage.sentence(),
            "tokens read at least 1000 (from a cache at least 500), tokens written at least 100; \
             cost at least 0.25 USD; agents ran for 1h01m"
        );
        assert_eq!(usage.tokens_cell(), "≥1.1k");
        assert_eq!(usage.cost_cell(), "≥$0.25");
        let body = serde_json::to_value(&usage).unwrap();
        assert_eq!(
            body["minimums"],
            serde_json::json!(["input_tokens", "cached_tokens", "output_tokens", "cost_usd"])
        );
    }

    #[test]
    fn a_run_that_used_more_than_it_reported_makes_a_minimum() {
        let mut usage = Usage::default();
        usage.add_run(&run(Some(10), None), 5, true);
        assert_eq!(usage.tokens_cell(), "≥11");
        assert_eq!(usage.cost_cell(), "?");
        assert_eq!(usage.short(), "≥11 $? 5s");
        let mut total = Usage::default();
        total.add(&usage);
        total.add_unknown();
        assert_eq!(total.tokens_cell(), "≥11");
    }

    #[test]
    fn absurd_numbers_neither_overflow_nor_become_negative() {
        let most = run(Some(u64::MAX), Some(1e9));
        assert_eq!(most.plus(&most).input_tokens, Some(u64::MAX));
        let none = RunUsage::default();
        assert_eq!(run(Some(1), None).minus(&most).input_tokens, Some(0));
        assert_eq!(none.minus(&most), none);
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e30] {
            assert_eq!(Cost::from_dollars(wrong), None, "{wrong}");
        }
        let mut usage = Usage::default();
        usage.add_run(&most, u64::MAX, false);
        usage.add_run(&most, u64::MAX, false);
        assert_eq!(usage.tokens().known(), Some(u64::MAX));
    }

    #[test]
    fn numbers_are_short_and_rounded_down() {
        let counts = [
            0,
            999,
            1000,
            1999,
            12_340,
            999_999,
            1_250_000,
            3_000_000_000,
        ];
        let shown = counts.map(short_count);
        assert_eq!(
            shown,
            ["0", "999", "1k", "1.9k", "12.3k", "999k", "1.2M", "3G"]
        );
        let costs = [0.0, 0.0024, 0.01, 1.999, 12.0];
        let shown = costs.map(|it| cents(Cost::from_dollars(it).unwrap().0));
        assert_eq!(shown, ["0.00", "0.0024", "0.01", "1.99", "12.00"]);
        assert_eq!(Cost::from_dollars(0.0024).unwrap().to_string(), "0.0024");
        assert_eq!(Cost::from_dollars(10.0).unwrap().to_string(), "10");
    }
}

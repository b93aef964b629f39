//! What a run cost, from what it reported or from prices.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Money;
use crate::usage::{RunUsage, TokenCount};

/// How many tokens a price is for.
const PER_PRICE: u128 = 1_000_000;

/// The prices of a model, in millionths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    pub input: u64,
    /// For input that comes from a cache.
    pub cached: u64,
    /// For input that is written to a cache.
    pub cache_write: u64,
    pub output: u64,
}

impl ModelPrice {
    /// The price of tokens, in millionths of a millionth of a US dollar. Cached tokens and those
    /// written to a cache are parts of the input, and each token is paid for once.
    fn of(&self, tokens: TokenCount) -> u128 {
        let cached = tokens.cached.min(tokens.input);
        let cache_write = tokens.cache_write.min(tokens.input - cached);
        let plain = tokens.input - cached - cache_write;
        let parts = [
            (plain, self.input),
            (cached, self.cached),
            (cache_write, self.cache_write),
            (tokens.output, self.output),
        ];
        let products = parts.map(|(tokens, price)| u128::from(tokens) * u128::from(price));
        products.into_iter().fold(0, u128::saturating_add)
    }
}

/// The prices of models, and where they come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    /// The name of the package with the prices.
    pub source: String,
    pub version: String,
    /// When the prices were taken from it.
    pub date: String,
    pub unit: String,
    pub models: BTreeMap<String, ModelPrice>,
}

impl PriceTable {
    /// The price of a model. A name may begin with a provider, as in `openai/gpt-5`, and may end
    /// with a note in brackets, as in `claude-opus-5[1m]`.
    pub fn price(&self, model: &str) -> Option<&ModelPrice> {
        let plain = model.split('[').next().unwrap_or(model);
        let last = plain.rsplit('/').next().unwrap_or(plain);
        [model, plain, last]
            .iter()
            .find_map(|name| self.models.get(*name))
    }
}

/// What a run cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunCost {
    Known(Money),
    /// It used tokens of a model without a price.
    Unpriced {
        /// The model, if it is known.
        model: Option<String>,
    },
    /// It has reported neither a cost nor tokens.
    Unknown,
}

/// The cost of a run: what it reported, else its tokens times the price of its model. `model` is
/// the one that the task sets; the names that the agent reports take precedence.
pub fn cost_of_run(usage: &RunUsage, model: Option<&str>, prices: &PriceTable) -> RunCost {
    if let Some(cost) = usage.cost {
        return RunCost::Known(Money(cost.millionths()));
    }
    let Some(all) = usage.tokens() else {
        return RunCost::Unknown;
    };
    let mut sum: u128 = 0;
    let mut rest = all;
    let mut dearest: Option<&ModelPrice> = None;
    for (name, tokens) in &usage.models {
        let Some(price) = prices.price(name) else {
            let model = Some(name.clone());
            return RunCost::Unpriced { model };
        };
        sum = sum.saturating_add(price.of(*tokens));
        rest = rest.minus(*tokens);
        let is_dearer = dearest.is_none_or(|it| price.output > it.output);
        dearest = if is_dearer { Some(price) } else { dearest };
    }
    if rest.total() > 0 {
        // Tokens without a model count as those of the dearest model, so that none is free.
        let price = dearest.or_else(|| prices.price(model?));
        let Some(price) = price else {
            let model = model.map(str::to_owned);
            return RunCost::Unpriced { model };
        };
        sum = sum.saturating_add(price.of(rest));
    }
    let millionths = sum.div_ceil(PER_PRICE);
    RunCost::Known(Money(u64::try_from(millionths).unwrap_or(u64::MAX)))
}

//! A limit in money or tokens: read from text, shown as text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Amount;

/// The millionths of a US dollar.
const PER_DOLLAR: u64 = 1_000_000;

/// The suffixes that a number of tokens may have.
const FACTORS: [(&str, u64); 3] = [("G", 1_000_000_000), ("M", 1_000_000), ("k", 1000)];

/// An amount of money, in millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(pub u64);

impl Money {
    #[must_use]
    pub fn plus(self, more: Money) -> Money {
        Money(self.0.saturating_add(more.0))
    }
}

/// US dollars with at least two decimals and at most six.
impl fmt::Display for Money {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, rest) = (self.0 / PER_DOLLAR, self.0 % PER_DOLLAR);
        let decimals = format!("{rest:06}");
        let exact = decimals.trim_end_matches('0');
        let shown = if exact.len() < 2 {
            &decimals[..2]
        } else {
            exact
        };
        write!(formatter, "{dollars}.{shown}")
    }
}

/// How much may be used, or was used, in one of the two units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Money(Money),
    Tokens(u64),
}

impl Limit {
    /// The number in its unit.
    pub fn number(self) -> u64 {
        match self {
            Limit::Money(money) => money.0,
            Limit::Tokens(tokens) => tokens,
        }
    }

    /// A number in the same unit.
    #[must_use]
    pub fn of_same_unit(self, number: u64) -> Limit {
        match self {
            Limit::Money(_) => Limit::Money(Money(number)),
            Limit::Tokens(_) => Limit::Tokens(number),
        }
    }

    /// The part of an amount that counts towards this limit.
    #[must_use]
    pub fn used(self, amount: Amount) -> Limit {
        match self {
            Limit::Money(_) => Limit::Money(amount.money),
            Limit::Tokens(_) => Limit::Tokens(amount.tokens),
        }
    }

    /// How many runs are missing in an amount, because their figure is unknown.
    pub fn unknown_runs(self, amount: Amount) -> u64 {
        match self {
            Limit::Money(_) => amount.unknown_money,
            Limit::Tokens(_) => amount.unknown_tokens,
        }
    }
}

/// `5.00 USD` or `2M tokens`.
impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Money(money) => write!(formatter, "{money} USD"),
            Limit::Tokens(tokens) => {
                let fits = |(_, factor): &&(&str, u64)| tokens.is_multiple_of(*factor);
                let (suffix, factor) = match FACTORS.iter().find(fits) {
                    Some(found) if *tokens > 0 => *found,
                    _ => ("", 1),
                };
                write!(formatter, "{}{suffix} tokens", tokens / factor)
            }
        }
    }
}

impl FromStr for Limit {
    /// It is no limit; the caller knows what to say.
    type Err = ();

    fn from_str(text: &str) -> Result<Limit, ()> {
        let (number, unit) = text.split_once(' ').ok_or(())?;
        match unit {
            "USD" => Ok(Limit::Money(Money(scaled(number, PER_DOLLAR).ok_or(())?))),
            "tokens" => {
                let factor = FACTORS
                    .iter()
                    .find_map(|(suffix, factor)| Some((number.strip_suffix(suffix)?, *factor)));
                let (number, factor) = factor.unwrap_or((number, 1));
                Ok(Limit::Tokens(scaled(number, factor).ok_or(())?))
            }
            _ => Err(()),
        }
    }
}

/// A decimal number times a power of ten; `None` unless the product is a whole number above zero.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) {
        return None;
    }
    let mut sum = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    let mut value = factor;
    for digit in decimals.trim_end_matches('0').bytes() {
        if !value.is_multiple_of(10) {
            return None;
        }
        value /= 10;
        sum = sum.checked_add(u64::from(digit - b'0').checked_mul(value)?)?;
    }
    (sum > 0).then_some(sum)
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Limit, D::Error> {
        let text = String::deserialize(deserializer)?;
        let expected = "a limit, such as \"5.00 USD\" or \"2M tokens\"";
        text.parse()
            .map_err(|()| serde::de::Error::custom(format!("`{text}` must be {expected}")))
    }
}

impl schemars::JsonSchema for Limit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "An amount of money or tokens, such as `5.00 USD` or `2M tokens`.",
        })
    }
}

//! The result of a headless run, read from its output.
//!
//! An agent prints JSON values one after the other; its definition says where each datum is. The
//! output is read on demand and never decides a status: only what the agent reports to orange does.

use std::collections::BTreeMap;

use orange_engine::budget::Figures;
use orange_engine::death::{FailureClass, Rule, classify};
use orange_engine::usage::{Cost, RunUsage, TokenCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Deserializer, Value};
use toml::Spanned;

use super::Problem;
use super::json_location::JsonLocation;
use super::usage::{costs, model, sum};

/// `[result]`: where each datum is in an agent's output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResultLocations {
    /// Values that mean success.
    succeeded: Vec<JsonLocation>,
    /// Values that mean failure; the keys lead to the reason.
    failed: Vec<JsonLocation>,
    /// Values that mean that the run continues, whatever came before.
    #[serde(alias = "goes_on")]
    continued: Vec<JsonLocation>,
    /// The texts of the agent, or the objects that it answers to a schema; the last one counts.
    text: Vec<JsonLocation>,
    /// Whether a text comes in pieces, in consecutive values.
    #[serde(alias = "is_in_pieces")]
    is_chunked: bool,
    /// The id of the conversation; the first one counts.
    session_id: Vec<JsonLocation>,
    /// Whether the tokens are those of the whole conversation, including earlier runs.
    pub is_cumulative: bool,
    /// Tokens that were read, added up.
    input_tokens: Vec<JsonLocation>,
    /// Those of them that came from a cache, added up.
    cached_tokens: Vec<JsonLocation>,
    /// Tokens that were written, added up.
    output_tokens: Vec<JsonLocation>,
    /// Those of them that were written to a cache, added up.
    cache_write_tokens: Vec<JsonLocation>,
    /// The cost in US dollars, added up.
    cost_usd: Vec<JsonLocation>,
    /// The model that this value and the following ones are about.
    model: Vec<JsonLocation>,
    /// The tokens of each model, if the agent lists them.
    models: Option<ModelLocations>,
}

/// `[result.models]`: where an agent lists the tokens of each model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelLocations {
    /// Leads to an object whose keys are the names of models; the other places are below each.
    at: JsonLocation,
    #[serde(default)]
    input_tokens: Vec<JsonLocation>,
    #[serde(default)]
    cached_tokens: Vec<JsonLocation>,
    #[serde(default)]
    cache_write_tokens: Vec<JsonLocation>,
    #[serde(default)]
    output_tokens: Vec<JsonLocation>,
}

/// The result of a headless run, as far as it printed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunResult {
    /// How it ended, as it reported.
    pub status: ResultStatus,
    /// The last text of the agent.
    pub text: Option<String>,
    /// The number of input tokens.
    pub input_tokens: Option<u64>,
    /// The number of input tokens that came from a cache.
    pub cached_tokens: Option<u64>,
    /// The number of output tokens.
    pub output_tokens: Option<u64>,
    /// The cost in US dollars, as a decimal number.
    #[serde(serialize_with = "as_dollars")]
    #[schemars(with = "Option<String>")]
    pub cost_usd: Option<Cost>,
    /// The id of its conversation.
    pub session_id: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// The kind of failure.
    pub error_class: Option<FailureClass>,
    /// Everything that it used, also by model.
    #[serde(skip)]
    pub used: RunUsage,
}

/// How a headless run ended, as it reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// It reported success.
    Succeeded,
    /// It reported a failure.
    Failed,
    /// It reported neither: it is still running, or was killed first.
    Unclear,
}

impl RunResult {
    pub fn usage(&self) -> RunUsage {
        self.used.clone()
    }
}

impl ResultStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            ResultStatus::Succeeded => "succeeded",
            ResultStatus::Failed => "failed",
            ResultStatus::Unclear => "unclear",
        }
    }
}

/// Rejects `[result]` without headless runs: an agent in its terminal prints a screen, which is not
/// kept.
pub(crate) fn validate_result(
    written: Spanned<ResultLocations>,
    can_be_headless: bool,
) -> Result<ResultLocations, Problem> {
    if can_be_headless {
        return Ok(written.into_inner());
    }
    let message = "`[result]` is only for headless runs, but `[args.headless]` is missing";
    let hint = "add `[args.headless]` with `full` or `reduced`, or remove `[result]`";
    Err((written.span(), message.to_owned(), hint.to_owned()))
}

impl ResultLocations {
    /// Reads the output. `rules` say what kind of failure an error's text means.
    pub fn read(&self, output: &[u8], rules: &[Rule]) -> RunResult {
        let mut status = ResultStatus::Unclear;
        let mut error = None;
        let mut text: Option<String> = None;
        let mut follows_text = false;
        let mut session_id = None;
        let mut usage = RunUsage::default();
        let mut current_model = None;
        for value in (JsonObjects { rest: output }) {
            for (places, reported_status) in [
                (&self.succeeded, ResultStatus::Succeeded),
                (&self.failed, ResultStatus::Failed),
                (&self.continued, ResultStatus::Unclear),
            ] {
                if places.iter().any(|place| place.matches(&value)) {
                    status = reported_status;
                    error = reasons(&self.failed, &value);
                }
            }
            let texts = first_answer(&self.text, &value);
            let is_piece = self.is_chunked && follows_text;
            follows_text = texts.is_some();
            text = match (text, texts) {
                (Some(before), Some(texts)) if is_piece => Some(before + &texts),
                (before, texts) => texts.or(before),
            };
            session_id = session_id.or_else(|| first_text(&self.session_id, &value));
            current_model = model(&self.model, &value).or(current_model);
            let before = usage.without_models();
            usage = usage.plus(&self.usage_in(&value));
            if let (None, Some(model)) = (&self.models, &current_model) {
                usage.attribute(&before, model);
            }
        }
        let error_class = (status == ResultStatus::Failed)
            .then(|| classify(rules, error.as_deref().unwrap_or_default()));
        RunResult {
            status,
            text,
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cached_tokens,
            output_tokens: usage.output_tokens,
            cost_usd: usage.cost,
            session_id,
            error,
            error_class,
            used: usage,
        }
    }

    fn usage_in(&self, value: &Value) -> RunUsage {
        RunUsage {
            input_tokens: sum(&self.input_tokens, value),
            cached_tokens: sum(&self.cached_tokens, value),
            cache_write_tokens: sum(&self.cache_write_tokens, value),
            output_tokens: sum(&self.output_tokens, value),
            cost: costs(&self.cost_usd, value),
            models: self
                .models
                .as_ref()
                .map(|it| it.read(value))
                .unwrap_or_default(),
        }
    }

    /// What the output says about each run.
    pub fn figures(&self) -> Figures {
        Figures {
            tokens: !self.input_tokens.is_empty() && !self.output_tokens.is_empty(),
            cost: !self.cost_usd.is_empty(),
            model: !self.model.is_empty() || self.models.is_some(),
        }
    }
}

impl ModelLocations {
    fn read(&self, value: &Value) -> BTreeMap<String, TokenCount> {
        let mut models: BTreeMap<String, TokenCount> = BTreeMap::new();
        let objects = self.at.values(value).into_iter();
        for (name, used) in objects.filter_map(Value::as_object).flatten() {
            let number = |places: &[JsonLocation]| sum(places, used).unwrap_or(0);
            let count = TokenCount {
                input: number(&self.input_tokens),
                cached: number(&self.cached_tokens),
                cache_write: number(&self.cache_write_tokens),
                output: number(&self.output_tokens),
            };
            let entry = models.entry(name.clone()).or_default();
            *entry = entry.plus(count);
        }
        models
    }
}

fn first_text(places: &[JsonLocation], value: &Value) -> Option<String> {
    places.iter().find_map(|place| place.text(value))
}

/// The same, or the JSON of an object: the answer to a schema.
fn first_answer(places: &[JsonLocation], value: &Value) -> Option<String> {
    let object = |place: &JsonLocation| {
        let mut values = place.values(value).into_iter();
        let object = values.find(|it| it.is_object())?;
        Some(object.to_string())
    };
    places
        .iter()
        .find_map(|place| place.text(value).or_else(|| object(place)))
}

/// Why it failed, with all the texts that say so.
fn reasons(places: &[JsonLocation], value: &Value) -> Option<String> {
    let reasons = places.iter().filter_map(|place| place.text(value));
    let reasons: Vec<String> = reasons.collect();
    (!reasons.is_empty()).then(|| reasons.join(": "))
}

#[expect(
    clippy::ref_option,
    reason = "serde passes what it serializes by reference"
)]
fn as_dollars<S: Serializer>(cost: &Option<Cost>, serializer: S) -> Result<S::Ok, S::Error> {
    cost.map(|it| it.to_string()).serialize(serializer)
}

/// The JSON objects in the output, one per line or spread over several lines.
///
/// Anything between them, such as a log line, is skipped. Reading ends at an object that never
/// closes.
struct JsonObjects<'a> {
    rest: &'a [u8],
}

impl Iterator for JsonObjects<'_> {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        loop {
            self.rest = self.rest.trim_ascii_start();
            if self.rest.first()? == &b'{' {
                let mut values = Deserializer::from_slice(self.rest).into_iter();
                match values.next() {
                    Some(Ok(value)) => {
                        self.rest = self.rest.get(values.byte_offset()..)?;
                        return Some(value);
                    }
                    // The object extends to the end of the output and is incomplete.
                    Some(Err(error)) if error.is_eof() => return None,
                    _ => {}
                }
            }
            let end = self.rest.iter().position(|byte| *byte == b'\n')?;
            self.rest = self.rest.get(end..)?;
        }
    }
}

#[cfg(test)]
mod tests;

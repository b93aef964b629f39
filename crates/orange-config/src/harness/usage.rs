//! How an agent's transcript says what a run used.

use std::collections::VecDeque;
use std::path::PathBuf;

use orange_engine::budget::Figures;
use orange_engine::time::Timestamp;
use orange_engine::usage::{Cost, RunUsage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::Spanned;

use super::Problem;
use super::json_location::JsonLocation;
use super::readiness::resolve_path;
use super::result::ResultLocations;
use super::skills::is_below_home;
use crate::{Environment, Harness};

/// How many requests are remembered, to recognize a line that repeats one.
const RECENT: usize = 32;

/// The longest request id that is remembered, in bytes; no agent's ids are nearly as long.
const MAX_ID_BYTES: usize = 200;

/// `[usage]`: where each number is in a transcript of JSON lines.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageLocations {
    /// The folder that contains the transcripts; the agent reports the path of each.
    transcripts: Option<String>,
    /// The name of a file that the agent's plugin writes, in the run's own folder.
    run_file: Option<String>,
    /// Where a line says when it was written.
    at: JsonLocation,
    /// Where a line has its request id. If several lines have the same id, the largest numbers
    /// count.
    #[serde(default)]
    request: Vec<JsonLocation>,
    /// Whether each line has the totals of the conversation so far.
    #[serde(default)]
    is_cumulative: bool,
    /// Whether the agent does not write down everything it uses, so that the numbers are minimums.
    #[serde(default)]
    pub is_partial: bool,
    #[serde(default)]
    input_tokens: Vec<JsonLocation>,
    #[serde(default)]
    cached_tokens: Vec<JsonLocation>,
    #[serde(default)]
    cache_write_tokens: Vec<JsonLocation>,
    #[serde(default)]
    output_tokens: Vec<JsonLocation>,
    #[serde(default)]
    cost_usd: Vec<JsonLocation>,
    /// The model that this line and the following ones are about.
    #[serde(default)]
    model: Vec<JsonLocation>,
}

/// Where the lines about a run's usage are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageSource {
    /// In files below this folder.
    Transcripts(PathBuf),
    /// In this file of the run's folder.
    RunFile(String),
}

/// When a run was prepared and when it ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunPeriod {
    pub since: Timestamp,
    /// `None` while it runs.
    pub until: Option<Timestamp>,
}

/// The usage in the lines that were read so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UsageCount {
    /// The totals of the conversation before the run began.
    before: RunUsage,
    sum: RunUsage,
    /// The latest requests and what was counted for each.
    recent: VecDeque<(String, RunUsage)>,
    /// The model that was named last.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

impl UsageCount {
    /// What the run used, as far as the lines say.
    pub fn usage(&self) -> &RunUsage {
        &self.sum
    }
}

impl Harness {
    /// What its runs report, with or without a terminal.
    pub fn figures(&self) -> Figures {
        let printed = self.result.as_ref().map(ResultLocations::figures);
        let written = self.usage.as_ref().map(UsageLocations::figures);
        let (printed, written) = (printed.unwrap_or_default(), written.unwrap_or_default());
        Figures {
            tokens: printed.tokens || written.tokens,
            cost: printed.cost || written.cost,
            model: printed.model || written.model,
        }
    }

    /// Where this agent's runs say what they used; `None` if its definition does not say, or if
    /// there is no home directory.
    pub fn usage_source(&self, environment: &Environment) -> Option<UsageSource> {
        let usage = self.usage.as_ref()?;
        if let Some(name) = &usage.run_file {
            return Some(UsageSource::RunFile(name.clone()));
        }
        let folder = resolve_path(usage.transcripts.as_deref()?, environment)?;
        // A relative path depends on the current directory, so it is ignored.
        folder
            .is_absolute()
            .then_some(UsageSource::Transcripts(folder))
    }
}

impl UsageLocations {
    /// Adds a line to the count. Lines from before or after the run belong to other runs of the
    /// conversation. A line that cannot be read is skipped.
    pub fn count(&self, count: &mut UsageCount, line: &[u8], period: RunPeriod) {
        let Ok(line) = serde_json::from_slice::<Value>(line) else {
            return;
        };
        let usage = self.read(&line);
        count.model = model(&self.model, &line).or(count.model.take());
        let at = self.at.text(&line);
        let Some(at) = at.and_then(|at| Timestamp::parse(&at).ok()) else {
            return;
        };
        if usage.is_unknown() || period.until.is_some_and(|until| at > until) {
            return;
        }
        let before = count.sum.without_models();
        match (self.is_cumulative, at < period.since) {
            (true, true) => count.before = usage,
            (true, false) => count.sum = count.sum.max(&usage.minus(&count.before)),
            (false, true) => {}
            (false, false) => self.add(count, &line, usage),
        }
        if let Some(model) = &count.model {
            count.sum.attribute(&before, model);
        }
    }

    /// What a transcript says about each run.
    pub fn figures(&self) -> Figures {
        Figures {
            tokens: !self.input_tokens.is_empty() && !self.output_tokens.is_empty(),
            cost: !self.cost_usd.is_empty(),
            model: !self.model.is_empty(),
        }
    }

    fn add(&self, count: &mut UsageCount, line: &Value, usage: RunUsage) {
        let request = self.request.iter().find_map(|place| place.text(line));
        let request = request.filter(|it| it.len() <= MAX_ID_BYTES);
        let Some(request) = request else {
            count.sum = count.sum.plus(&usage);
            return;
        };
        let entry = count.recent.iter_mut().find(|(id, _)| *id == request);
        if let Some((_, counted)) = entry {
            let usage = usage.max(counted);
            count.sum = count.sum.plus(&usage.minus(counted));
            *counted = usage;
            return;
        }
        count.sum = count.sum.plus(&usage);
        count.recent.push_back((request, usage));
        if count.recent.len() > RECENT {
            count.recent.pop_front();
        }
    }

    fn read(&self, line: &Value) -> RunUsage {
        RunUsage {
            input_tokens: sum(&self.input_tokens, line),
            cached_tokens: sum(&self.cached_tokens, line),
            cache_write_tokens: sum(&self.cache_write_tokens, line),
            output_tokens: sum(&self.output_tokens, line),
            cost: costs(&self.cost_usd, line),
            ..RunUsage::default()
        }
    }
}

/// The name of a model in one of these places; an absurdly long one is ignored.
pub(super) fn model(places: &[JsonLocation], value: &Value) -> Option<String> {
    let name = places.iter().find_map(|place| place.text(value))?;
    (!name.is_empty() && name.len() <= MAX_ID_BYTES).then_some(name)
}

/// The sum of the numbers in these places; negative numbers and fractions are ignored.
pub(super) fn sum(places: &[JsonLocation], value: &Value) -> Option<u64> {
    let found = places.iter().flat_map(|place| place.values(value));
    found.filter_map(Value::as_u64).reduce(u64::saturating_add)
}

pub(super) fn costs(places: &[JsonLocation], value: &Value) -> Option<Cost> {
    let found = places.iter().flat_map(|place| place.values(value));
    let costs = found.filter_map(|it| Cost::from_dollars(it.as_f64()?));
    costs.reduce(Cost::plus)
}

/// Rejects a source outside the user's home and the run's folder.
pub(super) fn validate_usage(written: Spanned<UsageLocations>) -> Result<UsageLocations, Problem> {
    let usage = written.get_ref();
    let problem = match (&usage.transcripts, &usage.run_file) {
        (Some(folder), None) if is_below_home(folder) => None,
        (Some(folder), None) => Some(format!(
            "`{}` is not a valid folder for transcripts",
            folder.escape_debug()
        )),
        (None, Some(name)) if is_file_name(name) => None,
        (None, Some(name)) => Some(format!("`{}` is not a file name", name.escape_debug())),
        (None, None) | (Some(_), Some(_)) => Some(String::from(
            "`[usage]` needs either `transcripts` or `run_file`",
        )),
    };
    let Some(message) = problem else {
        return Ok(written.into_inner());
    };
    let hint = "write `transcripts = \"~/.agent/sessions\"`, or `run_file = \"usage.jsonl\"` for a \
                file that the agent's plugin writes";
    Err((written.span(), message, hint.to_owned()))
}

fn is_file_name(name: &str) -> bool {
    let is_allowed = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    !name.starts_with('.') && !name.is_empty() && name.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINCE: &str = "2026-11-15T10:00:00Z";

    fn count(definition: &str, lines: &[&str]) -> RunUsage {
        count_until(definition, lines, None)
    }

    fn count_until(definition: &str, lines: &[&str], until: Option<&str>) -> RunUsage {
        let definition = format!(
            "at = {{ keys = [\"at\"] }}\ninput_tokens = [{{ keys = [\"in\"] }}, {{ keys = \
             [\"more\"] }}]\noutput_tokens = [{{ keys = [\"out\"] }}]\ncost_usd = [{{ keys = \
             [\"cost\"] }}]\n{definition}"
        );
        let locations: UsageLocations = toml::from_str(&definition).unwrap();
        let mut count = UsageCount::default();
        for line in lines {
            let period = RunPeriod {
                since: Timestamp::parse(SINCE).unwrap(),
                until: until.map(|it| Timestamp::parse(it).unwrap()),
            };
            locations.count(&mut count, line.as_bytes(), period);
            let json = serde_json::to_vec(&count).unwrap();
            count = serde_json::from_slice(&json).unwrap();
        }
        count.usage().clone()
    }

    #[test]
    fn only_lines_of_this_run_count() {
        let usage = count(
            "",
            &[
                r#"{"at":"2026-11-15T09:59:59Z","in":1000,"out":1}"#,
                r#"{"at":"2026-11-15T10:00:00Z","in":1,"more":2,"out":3,"cost":0.5}"#,
                r#"{"at":"2026-11-15T10:00:01Z","in":4}"#,
                r#"{"in":1000}"#,
                r#"{"at":"yesterday","in":1000}"#,
                r#"{"at":"2026-11-15T10:00:01Z","other":4}"#,
                r#"{"at":"2026-11-15T10:00:01Z","in":"#,
                "no JSON",
            ],
        );
        assert_eq!(usage.input_tokens, Some(7));
        assert_eq!(usage.output_tokens, Some(3));
        assert_eq!(usage.cached_tokens, None);
        assert_eq!(usage.cost.unwrap().to_string(), "0.5");
    }

    #[test]
    fn a_request_counts_once_however_many_lines_it_has() {
        let usage = count(
            "request = [{ keys = [\"id\"] }]",
            &[
                r#"{"at":"2026-11-15T10:00:00Z","id":"a","in":100,"out":1}"#,
                r#"{"at":"2026-11-15T10:00:01Z","id":"b","in":50,"out":5}"#,
                r#"{"at":"2026-11-15T10:00:02Z","id":"a","in":100,"out":20}"#,
                r#"{"at":"2026-11-15T10:00:03Z","id":"a","in":100,"out":20}"#,
                r#"{"at":"2026-11-15T10:00:04Z","in":1,"out":1}"#,
            ],
        );
        assert_eq!(usage.input_tokens, Some(151));
        assert_eq!(usage.output_tokens, Some(26));
    }

    #[test]
    fn totals_of_a_resumed_conversation_are_not_counted_again() {
        let usage = count(
            "is_cumulative = true",
            &[
                r#"{"at":"2026-11-15T09:00:00Z","in":100,"out":10}"#,
                r#"{"at":"2026-11-15T09:30:00Z","in":200,"out":20}"#,
                r#"{"at":"2026-11-15T10:00:00Z","in":300,"out":30}"#,
                r#"{"at":"2026-11-15T10:00:01Z","in":450,"out":31}"#,
                r#"{"at":"2026-11-15T10:00:01Z","in":450,"out":31}"#,
            ],
        );
        assert_eq!(usage.input_tokens, Some(250));
        assert_eq!(usage.output_tokens, Some(11));
    }

    #[test]
    fn what_a_later_run_of_the_conversation_used_is_not_counted() {
        for definition in ["", "is_cumulative = true"] {
            let usage = count_until(
                definition,
                &[
                    r#"{"at":"2026-11-15T10:00:01Z","in":300}"#,
                    r#"{"at":"2026-11-15T10:00:03Z","in":450}"#,
                ],
                Some("2026-11-15T10:00:02Z"),
            );
            assert_eq!(usage.input_tokens, Some(300), "{definition}");
        }
    }

    #[test]
    fn tokens_belong_to_the_model_that_was_named_last() {
        let model = "model = [{ keys = [\"model\"] }]\n";
        let tokens = |usage: &RunUsage, name: &str| {
            let count = usage.models.get(name).copied().unwrap_or_default();
            (count.input, count.output)
        };
        let usage = count(
            model,
            &[
                r#"{"at":"2026-11-15T10:00:00Z","in":1,"out":1}"#,
                r#"{"model":"a"}"#,
                r#"{"at":"2026-11-15T10:00:00Z","in":2,"out":3}"#,
                r#"{"at":"2026-11-15T10:00:01Z","in":4,"out":5,"model":"b"}"#,
                r#"{"at":"2026-11-15T10:00:02Z","in":0,"out":0,"model":"<synthetic>"}"#,
            ],
        );
        assert_eq!((tokens(&usage, "a"), tokens(&usage, "b")), ((2, 3), (4, 5)));
        assert_eq!(usage.models.len(), 2);
        assert_eq!(
            (usage.input_tokens, usage.output_tokens),
            (Some(7), Some(9))
        );
        // Totals of the conversation: each model has what was added while it was named.
        let usage = count(
            &format!("is_cumulative = true\n{model}"),
            &[
                r#"{"at":"2026-11-15T09:00:00Z","in":100,"out":10,"model":"a"}"#,
                r#"{"at":"2026-11-15T10:00:00Z","in":150,"out":11}"#,
                r#"{"at":"2026-11-15T10:00:01Z","in":350,"out":31,"model":"b"}"#,
            ],
        );
        assert_eq!(
            (tokens(&usage, "a"), tokens(&usage, "b")),
            ((50, 1), (200, 20))
        );
    }

    #[test]
    fn hostile_numbers_are_not_believed() {
        let usage = count(
            "",
            &[
                r#"{"at":"2026-11-15T10:00:00Z","in":-5,"out":1.5,"cost":-1}"#,
                r#"{"at":"2026-11-15T10:00:00Z","in":"9","out":null,"cost":"1"}"#,
                r#"{"at":"2026-11-15T10:00:00Z","in":1e300,"cost":1e300}"#,
            ],
        );
        assert_eq!(usage, RunUsage::default());
        let most = format!(
            r#"{{"at":"2026-11-15T10:00:00Z","in":{0},"more":{0},"out":{0}}}"#,
            u64::MAX
        );
        let usage = count("", &[&most, &most]);
        assert_eq!(usage.input_tokens, Some(u64::MAX));
    }

    #[test]
    fn a_source_is_a_folder_below_the_home_or_a_file_of_the_run() {
        let parse = |source: &str| {
            let text = format!(
                "name = \"a\"\nbinary = \"a\"\n[args]\nfull = []\n[usage]\n{source}\nat = {{}}\n"
            );
            Harness::parse("a.toml", &text).map_err(|error| error.to_string())
        };
        let of = |source: &str, pairs: &[(&str, &str)]| {
            let harness = parse(source).unwrap();
            harness.usage_source(&Environment::of(pairs.iter().copied()))
        };
        let folder = "transcripts = \"${AGENT:-~/.agent}/sessions\"";
        let expected = |path: &str| Some(UsageSource::Transcripts(PathBuf::from(path)));
        assert_eq!(
            of(folder, &[("HOME", "/ada")]),
            expected("/ada/.agent/sessions")
        );
        assert_eq!(
            of(folder, &[("HOME", "/ada"), ("AGENT", "/opt")]),
            expected("/opt/sessions")
        );
        assert_eq!(of(folder, &[("AGENT", "here")]), None);
        let file = "run_file = \"usage.jsonl\"";
        assert_eq!(
            of(file, &[]),
            Some(UsageSource::RunFile("usage.jsonl".into()))
        );
        for wrong in [
            "",
            "transcripts = \"/etc\"",
            "transcripts = \"~/../x\"",
            "run_file = \"../usage.jsonl\"",
            "run_file = \"\"",
            "transcripts = \"~/.agent\"\nrun_file = \"usage.jsonl\"",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}

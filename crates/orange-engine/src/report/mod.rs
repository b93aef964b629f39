//! The JSON report of a headless run, and its outcome.

mod delegations;
pub(crate) mod lenient;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::HarnessName;
pub use delegations::{MAX_DELEGATIONS, MAX_DEPTH, creation_order, predecessors};

/// What a headless run reports about its work; every field may be missing, `null` or of another
/// type.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(default)]
pub struct Report {
    /// The status it claims: `done`, `in_progress`, `blocked` or `needs_review`.
    #[serde(deserialize_with = "lenient::optional_text")]
    pub status: Option<String>,
    /// What was done, in a sentence.
    #[serde(deserialize_with = "lenient::text")]
    pub summary: String,
    /// Why it is blocked or needs review.
    #[serde(deserialize_with = "lenient::text")]
    pub reason: String,
    /// What was done, item by item.
    #[serde(deserialize_with = "lenient::texts")]
    pub accomplished: Vec<String>,
    /// What is left.
    #[serde(deserialize_with = "lenient::texts")]
    pub remaining: Vec<String>,
    /// What blocks it.
    #[serde(deserialize_with = "lenient::texts")]
    pub blockers: Vec<String>,
    /// Files that were changed.
    #[serde(deserialize_with = "lenient::texts")]
    pub files_changed: Vec<String>,
    /// Whether the run asks for the user's help.
    #[serde(deserialize_with = "lenient::flag")]
    pub needs_help: bool,
    /// The child tasks it requests.
    #[serde(deserialize_with = "lenient::delegations")]
    pub delegations: Vec<Delegation>,
    /// Why the report could not be read; if set, every other field is empty.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::optional_text"
    )]
    pub unreadable: Option<String>,
    /// Why the requested child tasks are refused; if set, none of them is created.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::optional_text"
    )]
    pub refused_delegations: Option<String>,
}

/// A child task that a report requests.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(default)]
pub struct Delegation {
    /// Its summary.
    #[serde(deserialize_with = "lenient::text")]
    pub title: String,
    /// Its context.
    #[serde(deserialize_with = "lenient::text")]
    pub body: String,
    /// Its labels.
    #[serde(deserialize_with = "lenient::texts")]
    pub labels: Vec<String>,
    /// The harness it should run on.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::harness"
    )]
    pub suggested_agent: Option<HarnessName>,
    /// The indexes of the delegations that must be done first.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lenient::texts"
    )]
    pub after: Vec<String>,
}

/// The outcome of a report, whatever it claims.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is finished.
    Done,
    /// It claims to be done, but changed no file and has work remaining.
    Unfinished,
    /// It reports that it is not finished.
    InProgress,
    /// Something blocks it.
    Blocked,
    /// It asks for the user's help, or the report cannot be understood.
    NeedsReview,
}

impl Outcome {
    pub const ALL: [Outcome; 5] = [
        Outcome::Done,
        Outcome::Unfinished,
        Outcome::InProgress,
        Outcome::Blocked,
        Outcome::NeedsReview,
    ];

    /// The word that a gate compares with.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Unfinished => "unfinished",
            Outcome::InProgress => "in_progress",
            Outcome::Blocked => "blocked",
            Outcome::NeedsReview => "needs_review",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// How many characters of a report's text are shown on one line.
const MAX_SHOWN_CHARS: usize = 400;

impl Report {
    /// A report that could not be read, and why.
    pub fn unreadable(why: impl Into<String>) -> Report {
        Report {
            unreadable: Some(why.into()),
            ..Report::default()
        }
    }

    /// The report of a run that should only have read the repository, which has changed: the user
    /// is asked, and no child task is created.
    pub fn with_changed_repository(report: Option<Report>, changes: &str) -> Report {
        let report = report.unwrap_or_default();
        let mut reason = format!(
            "the repository changed during a run that may only read it: {changes}; check whether \
             the agent did that"
        );
        if !report.reason.is_empty() {
            reason = format!("{reason}; the run's own reason: {}", report.reason);
        }
        Report {
            status: Some(String::from("needs_review")),
            reason,
            delegations: Vec::new(),
            ..report
        }
    }

    /// The report as it is recorded for a task with this many ancestors: it says why requests for
    /// child tasks are refused. What a run itself writes about that does not count.
    pub(crate) fn with_checked_delegations(&self, ancestors: u32) -> Report {
        Report {
            refused_delegations: delegations::find_problem(&self.delegations, ancestors),
            ..self.clone()
        }
    }

    /// The report of a run that only planned how to split its task: it cannot finish the task, so
    /// a claim that it is done means that the plan is.
    pub(crate) fn of_plan(&self) -> Report {
        let mut report = self.clone();
        if matches!(self.outcome(), Outcome::Done | Outcome::Unfinished) {
            report.status = Some(Outcome::InProgress.as_str().to_owned());
        }
        report
    }

    /// Whether a run that should plan how to split its task has done so. A plan without parts says
    /// that the task is better done as a whole.
    pub(crate) fn is_plan(&self) -> bool {
        let has_parts = !self.delegations.is_empty()
            && self.refused_delegations.is_none()
            && self.unreadable.is_none();
        has_parts || self.outcome() == Outcome::InProgress
    }

    /// The JSON object in a run's output, without a byte order mark or a code fence around it; else
    /// why there is none.
    pub fn find_object(output: &[u8]) -> Result<&str, String> {
        let text = std::str::from_utf8(output)
            .map_err(|error| format!("it is not UTF-8: {error}"))?
            .trim_start_matches('\u{feff}')
            .trim();
        let text = strip_fence(text).unwrap_or(text);
        match text.chars().next() {
            Some('{') => Ok(text),
            Some(other) => Err(format!("it is not a JSON object: it begins with `{other}`")),
            None => Err(String::from("it is empty")),
        }
    }

    /// The outcome of the report; a report with an unknown status needs the user.
    pub fn outcome(&self) -> Outcome {
        match self.claim().as_deref() {
            _ if self.needs_help || self.unreadable.is_some() => Outcome::NeedsReview,
            _ if self.refused_delegations.is_some() => Outcome::NeedsReview,
            Some("done") if self.files_changed.is_empty() && !self.remaining.is_empty() => {
                Outcome::Unfinished
            }
            Some("done") => Outcome::Done,
            Some("in_progress") => Outcome::InProgress,
            Some("blocked") => Outcome::Blocked,
            _ => Outcome::NeedsReview,
        }
    }

    /// The claimed status, in lower case.
    fn claim(&self) -> Option<String> {
        let status = self.status.as_deref().map(str::trim);
        let status = status.filter(|status| !status.is_empty());
        status.map(str::to_ascii_lowercase)
    }

    /// What went wrong, or `None`. It is used to tell a repeated error from a new one.
    pub fn error(&self) -> Option<String> {
        let outcome = self.outcome();
        if outcome == Outcome::Done {
            return None;
        }
        let reason = self.unreadable_reason().or_else(|| self.reason_given());
        let reason = reason.map_or_else(String::new, |text| format!(": {text}"));
        Some(format!("{outcome}{reason}"))
    }

    /// Why the run is not done, on one line: its reason, its blockers and what remains.
    pub fn explanation(&self) -> String {
        let claimed = || format!("the run reported `{}`", self.outcome());
        let mut parts = vec![self.unreadable_reason().unwrap_or_else(claimed)];
        let reason = one_line(&self.reason);
        let summary = one_line(&self.summary);
        let blockers = join_items("blockers", &self.blockers);
        let has_reason = !reason.is_empty() || blockers.is_some();
        parts.extend([reason, if has_reason { String::new() } else { summary }]);
        parts.extend(blockers);
        parts.extend(join_items("remaining", &self.remaining));
        parts.retain(|part| !part.is_empty());
        let claim = parts.remove(0);
        if parts.is_empty() {
            return claim;
        }
        format!("{claim}: {}", parts.join("; "))
    }

    /// Why the report cannot be understood.
    fn unreadable_reason(&self) -> Option<String> {
        if let Some(why) = &self.unreadable {
            return Some(format!("the report could not be read: {}", one_line(why)));
        }
        if let Some(why) = &self.refused_delegations {
            return Some(format!("the requested child tasks are refused: {why}"));
        }
        match self.claim().as_deref() {
            None => Some(String::from("the report has no status")),
            Some("done" | "in_progress" | "blocked" | "needs_review") => None,
            Some(other) => Some(format!(
                "the report's status `{}` is not one of done, in_progress, blocked, needs_review",
                one_line(other)
            )),
        }
    }

    fn reason_given(&self) -> Option<String> {
        let blockers = self.blockers.join("; ");
        let texts = [self.reason.as_str(), &blockers, &self.summary];
        let mut texts = texts.into_iter().map(str::trim);
        texts.find(|text| !text.is_empty()).map(str::to_owned)
    }
}

/// The content of a code fence, if the text is one.
fn strip_fence(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("```")?.strip_suffix("```")?;
    let (_language, inside) = inside.split_once('\n')?;
    Some(inside.trim())
}

fn join_items(name: &str, items: &[String]) -> Option<String> {
    let items: Vec<String> = items.iter().map(|item| one_line(item)).collect();
    (!items.is_empty()).then(|| one_line(&format!("{name}: {}", items.join(", "))))
}

/// A text without line breaks, cut where it gets too long to read in a list.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    match line.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Report {
        serde_json::from_str(Report::find_object(json.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn a_field_of_another_type_is_converted() {
        let report = read(
            r#"{"status": " Done ", "summary": null, "reason": ["a", "b"], "accomplished": "one",
                "remaining": null, "blockers": [1, null, {"key": "missing"}], "files_changed": {},
                "needs_help": null, "delegations": null, "unknown": {"deep": [[]]}}"#,
        );
        assert_eq!(report.outcome(), Outcome::Done);
        assert_eq!(report.summary, "");
        assert_eq!(report.reason, "a; b");
        assert_eq!(report.accomplished, ["one"]);
        assert!(report.remaining.is_empty() && report.files_changed.is_empty());
        assert_eq!(report.blockers, ["1", "key: missing"]);
    }

    #[test]
    fn any_value_but_no_asks_for_help() {
        for no in ["null", "false", "0", r#""""#, r#""no""#, r#""False""#, "[]"] {
            let report = read(&format!(r#"{{"status": "done", "needs_help": {no}}}"#));
            assert_eq!(report.outcome(), Outcome::Done, "{no}");
        }
        for yes in [
            "true",
            "1",
            r#""yes""#,
            r#""which key?""#,
            r#"["which key?"]"#,
        ] {
            let report = read(&format!(r#"{{"status": "done", "needs_help": {yes}}}"#));
            assert_eq!(report.outcome(), Outcome::NeedsReview, "{yes}");
        }
    }

    #[test]
    fn children_may_be_named_by_their_title_alone() {
        let one = read(r#"{"delegations": "Part A"}"#).delegations;
        assert_eq!(one.len(), 1);
        assert_eq!(one[0].title, "Part A");
        let mixed = read(
            r#"{"delegations": ["A", null, {"title": "B", "body": null, "labels": "x",
                "suggested_agent": ""}]}"#,
        );
        let mixed = mixed.delegations;
        assert_eq!(mixed.len(), 2);
        assert_eq!(mixed[1].labels, ["x"]);
        assert_eq!(mixed[1].suggested_agent, None);
        let single = read(r#"{"delegations": {"title": "C", "suggested_agent": "codex"}}"#);
        let agent = single.delegations[0].suggested_agent.as_ref();
        assert_eq!(agent.map(HarnessName::as_str), Some("codex"));
    }

    #[test]
    fn the_outcome_follows_from_status_and_remaining_work() {
        for (text, expected) in [
            // Seed 004, line 95.
            (r#"{"summary": "it"}"#, Outcome::NeedsReview),
            (r#"{"status": ""}"#, Outcome::NeedsReview),
            // Seed 004, line 96.
            (
                r#"{"status": "done", "remaining": ["x"]}"#,
                Outcome::Unfinished,
            ),
            (
                r#"{"status": "done", "remaining": ["x"], "files_changed": ["a"]}"#,
                Outcome::Done,
            ),
            (r#"{"status": "done"}"#, Outcome::Done),
        ] {
            assert_eq!(read(text).outcome(), expected, "{text}");
        }
    }

    #[test]
    fn a_byte_order_mark_and_a_fence_are_stripped() {
        for written in [
            "\u{feff}{\"status\":\"done\"}",
            "```json\n{\"status\":\"done\"}\n```\n",
            "\n```\r\n{\"status\":\"done\"}\r\n```",
        ] {
            assert_eq!(read(written).outcome(), Outcome::Done, "{written:?}");
        }
        for (written, why) in [
            (&b""[..], "it is empty"),
            (b"[\"done\"]", "it is not a JSON object: it begins with `[`"),
            (b"I am done", "it is not a JSON object: it begins with `I`"),
        ] {
            assert_eq!(Report::find_object(written).unwrap_err(), why);
        }
        assert!(Report::find_object(b"{\xff").unwrap_err().contains("UTF-8"));
    }

    #[test]
    fn a_duplicate_key_and_deep_nesting_are_errors() {
        let twice = r#"{"status": "blocked", "status": "done"}"#;
        let error = serde_json::from_str::<Report>(twice).unwrap_err();
        assert!(error.to_string().contains("duplicate field `status`"));
        let deep = format!(r#"{{"summary": {}"#, "[".repeat(100_000));
        let error = serde_json::from_str::<Report>(&deep).unwrap_err();
        assert!(error.to_string().contains("recursion limit"), "{error}");
    }

    #[test]
    fn a_report_says_why_it_is_not_done() {
        for (json, text) in [
            (
                r#"{"status":"blocked","reason":"no key","blockers":["the API","a\nperson"]}"#,
                "the run reported `blocked`: no key; blockers: the API, a person",
            ),
            (
                r#"{"status":"in_progress","summary":"half of it","remaining":["tests"]}"#,
                "the run reported `in_progress`: half of it; remaining: tests",
            ),
            (r#"{"summary":"hello"}"#, "the report has no status: hello"),
            (
                r#"{"status":"finished"}"#,
                "the report's status `finished` is not one of done, in_progress, blocked, \
                 needs_review",
            ),
        ] {
            assert_eq!(read(json).explanation(), text);
        }
        let unreadable = Report::unreadable("EOF at line 1");
        assert_eq!(unreadable.outcome(), Outcome::NeedsReview);
        let text = "the report could not be read: EOF at line 1";
        assert_eq!(unreadable.explanation(), text);
        assert_eq!(unreadable.error(), Some(format!("needs_review: {text}")));
        let long = Report {
            reason: "x".repeat(10_000),
            ..Report::default()
        };
        assert!(long.explanation().chars().count() < 500);
    }

    #[test]
    fn a_recorded_report_reads_back() {
        let report = read(r#"{"status":"blocked","delegations":["A"],"needs_help":true}"#);
        let written = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&written).unwrap(), report);
        let unreadable = Report::unreadable("it is empty");
        let written = serde_json::to_string(&unreadable).unwrap();
        assert_eq!(
            serde_json::from_str::<Report>(&written).unwrap(),
            unreadable
        );
    }
}

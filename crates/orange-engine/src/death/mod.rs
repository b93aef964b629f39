//! Classifies how agents died, by rules that each harness defines.
//!
//! The functions are pure: they take how the process ended and its last output, and return
//! evidence. A program that runs out of quota often exits with code 0, so the exit code alone is
//! not enough.

mod reset;

use serde::Serialize;

use crate::evidence::Evidence;
use crate::time::Timestamp;
use reset::find_reset;

pub use reset::ResetFormat;

/// How many non-empty lines at the end of the output are searched.
const LAST_LINES: usize = 20;

/// How many lines after the matching one are searched for the time when quota is back.
const LINES_AFTER: usize = 2;

/// The longest line that is kept, in characters.
const MAX_LINE_CHARS: usize = 200;

/// What one kind of death looks like on a harness, and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Texts of which one must be in the last lines; if the list is empty, the output does not
    /// matter.
    pub patterns: Vec<String>,
    /// The process must have ended with one of these codes or signals; if both lists are empty, how
    /// it ended does not matter.
    pub exit_codes: Vec<i32>,
    pub signals: Vec<i32>,
    pub meaning: Meaning,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The harness has no quota left.
    Quota {
        /// The formats in which the output may say when quota is back; the first that matches
        /// counts.
        resets: Vec<ResetFormat>,
        /// How many seconds to wait when the output does not say when quota is back.
        wait: u64,
    },
    Login,
    /// The service behind the harness was overloaded.
    Overloaded,
    /// The service behind the harness could not be reached.
    Network,
    OutOfMemory,
    /// The harness's program does not exist.
    MissingProgram,
    /// A plain crash; the rules after this one are not tried.
    Crash,
}

/// What kind of failure a death or an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The harness has no quota left.
    Quota,
    /// The harness is not logged in.
    Login,
    /// The service behind the harness was overloaded.
    Overloaded,
    /// The service behind the harness could not be reached.
    Network,
    /// The system ran out of memory.
    OutOfMemory,
    /// The harness's program does not exist.
    MissingProgram,
    /// Any other failure.
    Crash,
}

impl FailureClass {
    /// The word for it in a harness definition.
    pub fn as_str(self) -> &'static str {
        match self {
            FailureClass::Quota => "quota",
            FailureClass::Login => "login",
            FailureClass::Overloaded => "overloaded",
            FailureClass::Network => "network",
            FailureClass::OutOfMemory => "out_of_memory",
            FailureClass::MissingProgram => "missing_program",
            FailureClass::Crash => "crash",
        }
    }
}

impl Meaning {
    fn classify(&self) -> FailureClass {
        match self {
            Meaning::Quota { .. } => FailureClass::Quota,
            Meaning::Login => FailureClass::Login,
            Meaning::Overloaded => FailureClass::Overloaded,
            Meaning::Network => FailureClass::Network,
            Meaning::OutOfMemory => FailureClass::OutOfMemory,
            Meaning::MissingProgram => FailureClass::MissingProgram,
            Meaning::Crash => FailureClass::Crash,
        }
    }
}

/// How a run ended, as far as orange can observe it.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    pub evidence: &'a Evidence,
    pub output: &'a str,
    pub at: Timestamp,
    /// How many minutes the machine's clock is ahead of UTC, if known.
    pub offset: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// How the run ended, after the rules were applied.
    pub evidence: Evidence,
    /// The line of output that says why the run ended, if there is one.
    pub output_line: Option<String>,
}

/// Judges a death by the first rule that matches; if none does, the evidence stays as it is.
///
/// Only exits and signals are judged: a closed window or a machine that went down says nothing
/// about the harness.
pub fn judge(rules: &[Rule], ending: &Ending<'_>) -> Judgement {
    let unchanged = Judgement {
        evidence: ending.evidence.clone(),
        output_line: None,
    };
    if !matches!(
        ending.evidence,
        Evidence::Exit { .. } | Evidence::Signal { .. }
    ) {
        return unchanged;
    }
    let lines: Vec<&str> = last_lines(ending.output);
    for rule in rules
        .iter()
        .filter(|rule| rule.matches_ending(ending.evidence))
    {
        let line_index = match rule.matching_line(&lines) {
            None if rule.patterns.is_empty() => None,
            None => continue,
            Some(at) => Some(at),
        };
        return Judgement {
            evidence: evidence(&rule.meaning, ending, &lines, line_index),
            output_line: line_index
                .map(|at| lines[at].trim().chars().take(MAX_LINE_CHARS).collect()),
        };
    }
    unchanged
}

/// What it means when a live agent says that it cannot continue; `None` when other agents of its
/// harness could still work.
///
/// Rules about how a process ends do not apply to one that is still running.
pub fn judge_live(
    rules: &[Rule],
    text: &str,
    at: Timestamp,
    offset: Option<i32>,
) -> Option<Judgement> {
    let is_about_words = |rule: &&Rule| rule.exit_codes.is_empty() && rule.signals.is_empty();
    let rules: Vec<Rule> = rules.iter().filter(is_about_words).cloned().collect();
    let ending = Ending {
        evidence: &Evidence::Exit { code: 0 },
        output: text,
        at,
        offset,
    };
    Some(judge(&rules, &ending)).filter(|it| it.evidence.ends_live_agents())
}

/// The kind of failure that an error's text means, by the first rule that matches it.
///
/// How the process ended does not matter here: the text is already known to be an error.
pub fn classify(rules: &[Rule], error: &str) -> FailureClass {
    let lines = last_lines(error);
    let found = rules
        .iter()
        .find(|rule| rule.matching_line(&lines).is_some());
    found.map_or(FailureClass::Crash, |rule| rule.meaning.classify())
}

impl Rule {
    fn matches_ending(&self, evidence: &Evidence) -> bool {
        match evidence {
            _ if self.exit_codes.is_empty() && self.signals.is_empty() => true,
            Evidence::Exit { code } => self.exit_codes.contains(code),
            Evidence::Signal { signal } => self.signals.contains(signal),
            _ => false,
        }
    }

    /// The index of the last line that contains one of the rule's patterns.
    fn matching_line(&self, lines: &[&str]) -> Option<usize> {
        let matches = |line: &str| {
            let line = plain(line);
            self.patterns
                .iter()
                .any(|pattern| line.contains(&plain(pattern)))
        };
        lines.iter().rposition(|line| matches(line))
    }
}

fn evidence(
    meaning: &Meaning,
    ending: &Ending<'_>,
    lines: &[&str],
    line_index: Option<usize>,
) -> Evidence {
    match meaning {
        Meaning::Quota { resets, wait } => {
            let text = line_index.map(|at| {
                let end = lines.len().min(at + 1 + LINES_AFTER);
                plain(&lines[at..end].join(" "))
            });
            let until = text.and_then(|text| find_reset(&text, resets, ending.at, ending.offset));
            let millis = i64::try_from(wait.saturating_mul(1000)).unwrap_or(i64::MAX);
            let default_until = Timestamp::from_millis(ending.at.millis().saturating_add(millis));
            let until = Some(until.unwrap_or(default_until));
            Evidence::Quota { until }
        }
        Meaning::Login => Evidence::Login,
        Meaning::Overloaded => Evidence::Overloaded,
        Meaning::Network => Evidence::Network,
        Meaning::OutOfMemory => Evidence::OutOfMemory,
        Meaning::MissingProgram => Evidence::MissingProgram,
        Meaning::Crash => ending.evidence.clone(),
    }
}

fn last_lines(output: &str) -> Vec<&str> {
    let lines = output.lines().rev().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<&str> = lines.take(LAST_LINES).collect();
    lines.reverse();
    lines
}

/// Normalizes what programs write inconsistently: case, kinds of apostrophes, and spaces.
fn plain(text: &str) -> String {
    let words = text.split_whitespace();
    let text = words.collect::<Vec<&str>>().join(" ").to_lowercase();
    text.replace(['\u{2019}', '\u{2018}'], "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-31T09:30:00.000Z";

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn rule(says: &[&str], means: Meaning) -> Rule {
        Rule {
            patterns: says.iter().map(|it| (*it).to_owned()).collect(),
            exit_codes: Vec::new(),
            signals: Vec::new(),
            meaning: means,
        }
    }

    fn rules() -> Vec<Rule> {
        let quota = Meaning::Quota {
            resets: ResetFormat::ALL.to_vec(),
            wait: 900,
        };
        vec![
            rule(&["hit your limit", "usage limit reached"], quota),
            rule(&["please run /login"], Meaning::Login),
            Rule {
                exit_codes: vec![1],
                ..rule(&["overloaded_error"], Meaning::Overloaded)
            },
            Rule {
                exit_codes: vec![134],
                signals: vec![6],
                ..rule(&[], Meaning::OutOfMemory)
            },
        ]
    }

    fn judge(evidence: &Evidence, shown: &str) -> Judgement {
        super::judge(
            &rules(),
            &Ending {
                evidence,
                output: shown,
                at: at(NOW),
                offset: Some(60),
            },
        )
    }

    fn quota(until: &str) -> Evidence {
        let until = Some(at(until));
        Evidence::Quota { until }
    }

    #[test]
    fn lesson_40_a_live_agent_can_report_that_it_has_no_quota() {
        let told = |text: &str| judge_live(&rules(), text, at(NOW), Some(60));
        let found = told("rate_limit: You've hit your limit, resets 3pm").unwrap();
        assert_eq!(found.evidence, quota("2026-01-31T14:00:00Z"));
        assert!(found.output_line.unwrap().starts_with("rate_limit"));
        assert_eq!(told("Please run /login").unwrap().evidence, Evidence::Login);
        // An overloaded agent retries on its own, and a rule about an exit code matches no live
        // agent.
        assert_eq!(told("overloaded_error"), None);
        assert_eq!(told("the tests fail"), None);
    }

    #[test]
    fn errors_are_classified_by_their_text() {
        let class = |error: &str| classify(&rules(), error);
        assert_eq!(class("429: You've HIT your limit"), FailureClass::Quota);
        assert_eq!(class("Please run /login"), FailureClass::Login);
        // The text is known to be an error, so how the process ended does not matter.
        assert_eq!(class("overloaded_error"), FailureClass::Overloaded);
        assert_eq!(class("the tests fail"), FailureClass::Crash);
        assert_eq!(class(""), FailureClass::Crash);
    }

    #[test]
    fn lesson_40_no_quota_is_seen_whatever_the_exit_code() {
        let table = [
            (
                "You've hit your limit · resets in 3h 20m",
                "2026-01-31T12:50:00Z",
            ),
            ("You\u{2019}ve HIT  your limit", "2026-01-31T09:45:00Z"),
            ("Usage limit reached|1769860800", "2026-01-31T12:00:00Z"),
            (
                "│ You've hit your limit │\n│ resets 3pm │",
                "2026-01-31T14:00:00Z",
            ),
        ];
        for (shown, until) in table {
            for evidence in [Evidence::Exit { code: 0 }, Evidence::Exit { code: 1 }] {
                let judged = judge(&evidence, &format!("working\n{shown}\n\nbye\n"));
                assert_eq!(judged.evidence, quota(until), "{shown}");
                let first = shown.lines().next().unwrap();
                assert_eq!(judged.output_line.as_deref(), Some(first));
            }
        }
    }

    #[test]
    fn every_condition_of_a_rule_must_hold() {
        let exit = |code| Evidence::Exit { code };
        let signal = |signal| Evidence::Signal { signal };
        for (evidence, shown, expected) in [
            (exit(1), "Overloaded_Error: try later", Evidence::Overloaded),
            (exit(2), "overloaded_error", exit(2)),
            (exit(134), "", Evidence::OutOfMemory),
            (signal(6), "", Evidence::OutOfMemory),
            (signal(9), "", signal(9)),
            (exit(0), "Please run /login", Evidence::Login),
            (exit(0), "all is well", exit(0)),
            (Evidence::Closed, "please run /login", Evidence::Closed),
            (
                Evidence::Environment,
                "hit your limit",
                Evidence::Environment,
            ),
        ] {
            assert_eq!(judge(&evidence, shown).evidence, expected, "{shown}");
        }
    }

    #[test]
    fn the_first_matching_rule_wins() {
        let mut rules = rules();
        rules.insert(0, rule(&["limits.rs"], Meaning::Crash));
        let evidence = Evidence::Exit { code: 3 };
        let ending = Ending {
            evidence: &evidence,
            output: "hit your limit\nin limits.rs",
            at: at(NOW),
            offset: None,
        };
        assert_eq!(super::judge(&rules, &ending).evidence, evidence);
    }

    #[test]
    fn old_output_is_ignored() {
        let later = "and so on\n".repeat(LAST_LINES);
        let evidence = Evidence::Exit { code: 0 };
        let judged = judge(&evidence, &format!("You've hit your limit\n{later}"));
        assert_eq!(judged.evidence, evidence);
        let long = format!("hit your limit {}", "🦀".repeat(500));
        let text = judge(&evidence, &long).output_line.unwrap();
        assert_eq!(text.chars().count(), MAX_LINE_CHARS);
    }
}

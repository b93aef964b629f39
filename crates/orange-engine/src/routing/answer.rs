//! Reads what the router answers.
//!
//! The router is a model that has read the task, and the task may come from anyone. So only names
//! that were offered to it are accepted, and everything else is cut to a few short lines.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Choice, Route, RoutedBy, Split};
use crate::names::HarnessName;
use crate::report::lenient;

/// How many entries of a list are kept.
const MAX_ENTRIES: usize = 8;

/// How many characters of a text are kept.
const MAX_LENGTH: usize = 200;

/// A harness that the router may choose, with one model or its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub harness: HarnessName,
    pub model: Option<String>,
}

impl fmt::Display for Offer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.model {
            Some(model) => write!(formatter, "executor `{}`, model `{model}`", self.harness),
            None => write!(formatter, "executor `{}`", self.harness),
        }
    }
}

/// What the router may choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    pub harnesses: Vec<Offer>,
    pub skills: Vec<String>,
}

/// What the router says about the agent that a task needs.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Profile {
    /// Its role.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// What it should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// The tools it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What it should mind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
}

impl Profile {
    pub fn is_empty(&self) -> bool {
        *self == Profile::default()
    }
}

/// As a prompt shows it; nothing if it is empty.
impl fmt::Display for Profile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return Ok(());
        }
        formatter.write_str("\n\nSuggestions for this task:\n")?;
        if !self.role.is_empty() {
            writeln!(formatter, "- your role: {}", self.role)?;
        }
        for (what, texts) in [
            ("what you should know", &self.skills),
            ("the tools it needs", &self.tools),
            ("what to mind", &self.constraints),
        ] {
            if !texts.is_empty() {
                writeln!(formatter, "- {what}: {}", texts.join("; "))?;
            }
        }
        Ok(())
    }
}

/// What the router printed, as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RouterAnswer {
    #[serde(deserialize_with = "lenient::text")]
    executor: String,
    #[serde(deserialize_with = "lenient::text")]
    model: String,
    #[serde(deserialize_with = "lenient::text")]
    reason: String,
    #[serde(deserialize_with = "lenient::flag")]
    decompose: bool,
    #[serde(deserialize_with = "lenient::entries")]
    profile: Vec<(String, Vec<String>)>,
    #[serde(deserialize_with = "lenient::texts")]
    selected_skills: Vec<String>,
}

impl RouterAnswer {
    /// The JSON object in what a router printed: models like to add a sentence before or after it.
    pub fn find_object(text: &str) -> Result<&str, String> {
        let object = text.find('{').zip(text.rfind('}'));
        let object = object.filter(|(first, last)| first < last);
        let object = object.and_then(|(first, last)| text.get(first..=last));
        object.ok_or_else(|| String::from("there is no JSON object in its answer"))
    }

    /// The choice, which is one of the offers, or what is wrong with the answer.
    pub fn choose(self, offers: &Offers) -> Result<Choice, String> {
        let offer = self.find_offer(offers)?.clone();
        let mut profile = Profile::default();
        for (key, texts) in self.profile {
            match key.as_str() {
                "role" => profile.role = line(&texts.join(" ")),
                "skills" => profile.skills = lines(&texts),
                "tools" => profile.tools = lines(&texts),
                "constraints" => profile.constraints = lines(&texts),
                _ => {}
            }
        }
        let mut skills = lines(&self.selected_skills);
        skills.retain(|skill| offers.skills.contains(skill));
        Ok(Choice {
            harness: offer.harness,
            model: offer.model,
            effort: None,
            route: Route {
                by: RoutedBy::Router,
                reason: line(&self.reason),
                profile,
                skills,
            },
            split: if self.decompose {
                Split::Suggested
            } else {
                Split::No
            },
        })
    }

    fn find_offer<'a>(&self, offers: &'a Offers) -> Result<&'a Offer, String> {
        let (name, model) = (line(&self.executor), line(&self.model));
        if name.is_empty() {
            return Err(String::from("it names no `executor`"));
        }
        let all = offers.harnesses.iter();
        let of_harness: Vec<&Offer> = all.filter(|it| it.harness.as_str() == name).collect();
        match of_harness.as_slice() {
            [] => Err(format!("its `executor` is `{name}`, which was not offered")),
            // There is nothing to choose, whatever the answer calls the model.
            [only] => Ok(only),
            several => {
                let is_named = |it: &&&Offer| it.model.as_deref().unwrap_or_default() == model;
                let found = several.iter().find(is_named).copied();
                found.ok_or_else(|| format!("its `model` is `{model}`, which was not offered"))
            }
        }
    }
}

/// A text as one line without control characters, cut to the longest length.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let text = text.chars().filter(|it| !it.is_control());
    text.take(MAX_LENGTH).collect()
}

fn lines(texts: &[String]) -> Vec<String> {
    let found = texts.iter().map(|text| line(text));
    let found = found.filter(|it| !it.is_empty());
    found.take(MAX_ENTRIES).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Choice, String> {
        let object = RouterAnswer::find_object(text)?;
        let answer: RouterAnswer = serde_json::from_str(object).map_err(|it| it.to_string())?;
        answer.choose(&offers())
    }

    fn offers() -> Offers {
        let offer = |harness: &str, model: Option<&str>| Offer {
            harness: HarnessName::new(harness),
            model: model.map(str::to_owned),
        };
        Offers {
            harnesses: vec![
                offer("claude", Some("sonnet")),
                offer("claude", Some("opus")),
                offer("codex", None),
            ],
            skills: vec![String::from("solana-best-practices")],
        }
    }

    #[test]
    fn the_seeds_answer_is_read() {
        // Seed 004, lines 103 to 117.
        let text = r#"Here is my choice:
            {"executor": "claude", "model": "sonnet", "decompose": false,
             "reason": "why this agent", "profile": {"role": "DeFi Protocol Engineer",
             "skills": ["Solana", "Anchor"], "tools": ["Bash", "Edit", "Read"],
             "constraints": ["audit with sealevel attacks"]},
             "selected_skills": ["solana-best-practices", "unknown"]}"#;
        let Choice {
            harness,
            model,
            route,
            split,
            ..
        } = read(text).unwrap();
        assert_eq!(split, Split::No);
        assert_eq!(
            (harness.as_str(), model.as_deref()),
            ("claude", Some("sonnet"))
        );
        assert_eq!(
            (route.by, route.reason.as_str()),
            (RoutedBy::Router, "why this agent")
        );
        assert_eq!(route.profile.role, "DeFi Protocol Engineer");
        assert_eq!(route.profile.tools, ["Bash", "Edit", "Read"]);
        assert_eq!(route.skills, ["solana-best-practices"]);
    }

    #[test]
    fn a_split_is_only_a_suggestion() {
        // Seed 004, line 119.
        for (value, expected) in [
            ("true", Split::Suggested),
            ("\"true\"", Split::Suggested),
            ("false", Split::No),
            ("null", Split::No),
            ("[]", Split::No),
        ] {
            let text = format!(r#"{{"executor": "codex", "decompose": {value}}}"#);
            assert_eq!(read(&text).unwrap().split, expected, "{value}");
        }
    }

    #[test]
    fn only_what_was_offered_is_accepted() {
        for (text, expected) in [
            (r#"{"executor": "gemini"}"#, "was not offered"),
            (
                r#"{"executor": "claude", "model": "haiku"}"#,
                "was not offered",
            ),
            (r#"{"executor": "claude"}"#, "which was not offered"),
            (r#"{"model": "opus"}"#, "names no `executor`"),
            (r#"{"executor": null}"#, "names no `executor`"),
            ("I would take claude.", "no JSON object"),
            ("}{", "no JSON object"),
            ("", "no JSON object"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let one = read(r#"{"executor": "codex", "model": "gpt-9"}"#).unwrap();
        assert_eq!((one.harness.as_str(), one.model), ("codex", None));
    }

    #[test]
    fn texts_are_short_and_have_no_control_characters() {
        let long = "x".repeat(5000);
        let text = serde_json::json!({
            "executor": "codex",
            "reason": format!("one\n\n## Two\u{1b}[31m {long}"),
            "profile": { "role": 7, "constraints": vec![long; 50] },
        });
        let Route {
            reason, profile, ..
        } = read(&text.to_string()).unwrap().route;
        assert!(reason.starts_with("one ## Two[31m x"), "{reason}");
        assert_eq!(reason.chars().count(), MAX_LENGTH);
        assert_eq!(profile.role, "7");
        assert_eq!(profile.constraints.len(), MAX_ENTRIES);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn malformed_answers_choose_nothing_that_was_not_offered(text in any_answer()) {
            if let Ok(Choice { harness, model, .. }) = read(&text) {
                let chosen = Offer { harness, model };
                prop_assert!(offers().harnesses.contains(&chosen));
            }
        }
    }

    /// Something like an answer, cut and changed.
    fn any_answer() -> impl Strategy<Value = String> {
        let name = prop_oneof!["claude", "codex", "gemini", "", "[a-z]{1,9}"];
        let value = prop_oneof!["\"[a-z]{0,9}\"", "null", "7", "\\[\"a\",1\\]", "\\{\\}"];
        let answer = (name, value.clone(), value).prop_map(|(name, model, profile)| {
            format!(
                r#"{{"executor": "{name}", "model": {model}, "reason": {model}, "profile": {profile},
                "selected_skills": {profile}}}"#
            )
        });
        let cut = (answer.clone(), 0..200usize)
            .prop_map(|(answer, at)| answer.chars().take(at).collect());
        prop_oneof![answer, cut, ".{0,200}"]
    }
}

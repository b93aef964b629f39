//! The death rules of a harness definition.

use orange_engine::death::{Meaning, ResetFormat, Rule};
use serde::Deserialize;
use toml::Spanned;

use super::Problem;
use crate::settings::value::{Kind, Value};

/// How long to wait for quota by default, in seconds.
const DEFAULT_WAIT: u64 = 15 * 60;

/// The values that `means` may have.
const MEANINGS: [&str; 6] = [
    "quota",
    "login",
    "overloaded",
    "out_of_memory",
    "missing_program",
    "crash",
];

/// A `[[death]]` as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Death {
    means: Spanned<String>,
    #[serde(default)]
    says: Vec<Spanned<String>>,
    #[serde(default)]
    exit: Vec<i32>,
    #[serde(default)]
    signal: Vec<i32>,
    resets: Option<Vec<Spanned<String>>>,
    wait: Option<Spanned<String>>,
}

/// The rule that a `[[death]]` defines.
pub(crate) fn rule(written: Spanned<Death>) -> Result<Rule, Problem> {
    let at = written.span();
    let death = written.into_inner();
    if death.says.is_empty() && death.exit.is_empty() && death.signal.is_empty() {
        let message = "this `[[death]]` would match every exit of the program".to_owned();
        let hint = "add `says = [\"...\"]`, `exit = [...]` or `signal = [...]`";
        return Err((at, message, hint.to_owned()));
    }
    for text in &death.says {
        if text.get_ref().trim().is_empty() {
            let message = "an empty text matches every line".to_owned();
            let hint = "write words that the program prints only in this case";
            return Err((text.span(), message, hint.to_owned()));
        }
    }
    let is_quota = death.means.get_ref() == "quota";
    let misplaced = death.resets.as_ref().and_then(|it| it.first());
    let misplaced = misplaced.map(|it| ("resets", it.span()));
    let misplaced = misplaced.or_else(|| death.wait.as_ref().map(|it| ("wait", it.span())));
    if let Some((key, at)) = misplaced.filter(|_| !is_quota) {
        let message = format!("`{key}` is only for `quota`, but this death means something else");
        let hint = format!("remove `{key}`, or write `means = \"quota\"` in this `[[death]]`");
        return Err((at, message, hint));
    }
    let resets = match &death.resets {
        None => ResetFormat::ALL.to_vec(),
        Some(formats) => formats.iter().map(reset_format).collect::<Result<_, _>>()?,
    };
    let wait = death.wait.as_ref().map(seconds).transpose()?;
    Ok(Rule {
        meaning: meaning(&death.means, resets, wait.unwrap_or(DEFAULT_WAIT))?,
        patterns: death.says.into_iter().map(Spanned::into_inner).collect(),
        exit_codes: death.exit,
        signals: death.signal,
    })
}

fn meaning(
    written: &Spanned<String>,
    resets: Vec<ResetFormat>,
    wait: u64,
) -> Result<Meaning, Problem> {
    Ok(match written.get_ref().as_str() {
        "quota" => Meaning::Quota { resets, wait },
        "login" => Meaning::Login,
        "overloaded" => Meaning::Overloaded,
        "network" => Meaning::Network,
        "out_of_memory" => Meaning::OutOfMemory,
        "missing_program" => Meaning::MissingProgram,
        "crash" => Meaning::Crash,
        other => {
            let message = format!("`{}` is not a valid value of `means`", other.escape_debug());
            let hint = format!("write one of {}", quoted_list(MEANINGS.into_iter()));
            return Err((written.span(), message, hint));
        }
    })
}

fn reset_format(written: &Spanned<String>) -> Result<ResetFormat, Problem> {
    let mut formats = ResetFormat::ALL.iter().copied();
    let found = formats.find(|it| it.as_str() == written.get_ref());
    found.ok_or_else(|| {
        let message = format!("`{}` is not a valid time format", written.get_ref());
        let names = ResetFormat::ALL.iter().map(|it| it.as_str());
        (
            written.span(),
            message,
            format!("write some of {}", quoted_list(names)),
        )
    })
}

fn seconds(written: &Spanned<String>) -> Result<u64, Problem> {
    match Kind::Duration.read(written.get_ref()) {
        Some(Value::Duration(wait)) if wait.as_secs() > 0 => Ok(wait.as_secs()),
        _ => {
            let message = format!("`{}` is not a duration", written.get_ref());
            let hint = "write a number and a unit, such as \"30s\", \"15m\" or \"5h\"";
            Err((written.span(), message, hint.to_owned()))
        }
    }
}

fn quoted_list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Harness, HarnessError};

    const START: &str = "name = \"a\"\nbinary = \"a\"\n[args]\nfull = []\n";

    fn read(death: &str) -> Result<Vec<Rule>, HarnessError> {
        Ok(Harness::parse("a.toml", &format!("{START}{death}"))?.deaths)
    }

    #[test]
    fn a_rule_is_read_with_its_defaults() {
        let rules = read("[[death]]\nsays = [\"hit your limit\"]\nmeans = \"quota\"").unwrap();
        let Meaning::Quota { resets, wait } = &rules[0].meaning else {
            panic!("{rules:?}");
        };
        assert_eq!((resets.as_slice(), *wait), (ResetFormat::ALL, 900));
        let rules = read(
            "[[death]]\nsays = [\"x\"]\nexit = [0]\nmeans = \"quota\"\nresets = [\"clock\"]\n\
             wait = \"5h\"\n[[death]]\nsignal = [6]\nmeans = \"out_of_memory\"",
        );
        let rules = rules.unwrap();
        let expected = Meaning::Quota {
            resets: vec![ResetFormat::Clock],
            wait: 18_000,
        };
        assert_eq!(rules[0].meaning, expected);
        assert_eq!(rules[0].exit_codes, [0]);
        assert_eq!(
            (&rules[1].meaning, rules[1].signals[0]),
            (&Meaning::OutOfMemory, 6)
        );
        assert_eq!(read("").unwrap(), []);
    }

    #[test]
    fn every_documented_meaning_is_read() {
        for means in MEANINGS {
            read(&format!("[[death]]\nexit = [1]\nmeans = \"{means}\"")).unwrap();
        }
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        for (death, line, told) in [
            ("[[death]]\nmeans = \"quota\"", 5, "match every exit"),
            (
                "[[death]]\nsays = [\" \"]\nmeans = \"quota\"",
                6,
                "empty text",
            ),
            ("[[death]]\nexit = [1]\nmeans = \"tired\"", 7, "`tired`"),
            (
                "[[death]]\nexit = [1]\nmeans = \"login\"\nwait = \"1h\"",
                8,
                "`wait` is only for `quota`",
            ),
            (
                "[[death]]\nexit = [1]\nmeans = \"quota\"\nresets = [\"moon\"]",
                8,
                "`moon`",
            ),
            (
                "[[death]]\nexit = [1]\nmeans = \"quota\"\nwait = \"soon\"",
                8,
                "`soon`",
            ),
            ("[[death]]\nexit = [1]\nmeens = \"quota\"", 7, "meens"),
        ] {
            let Err(HarnessError::Invalid {
                line: found,
                message,
                ..
            }) = read(death)
            else {
                panic!("{death} was read");
            };
            assert_eq!(found, line, "{message}");
            assert!(message.contains(told), "{message}");
        }
    }
}

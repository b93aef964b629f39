//! Finds the token for a host, and never shows it.

use std::ffi::OsStr;
use std::fmt;
use std::time::Duration;

use orange_config::Environment;

use super::host::Host;
use crate::command::{CommandError, Invocation};

/// How long a program has to print a token; a keyring may ask the user first.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The most bytes of a token; a header has to hold it.
const LONGEST: usize = 4096;

/// The variables that `gh` needs to find its own settings.
const GH_VARIABLES: [&str; 2] = ["GH_CONFIG_DIR", "GH_PATH"];

/// A token. It is kept in memory only, and neither `Debug` nor `Display` shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    text: String,
    pub origin: TokenOrigin,
}

/// Where a token came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenOrigin {
    /// The command in the setting `forge.token_command`.
    Command,
    Variable(&'static str),
    Gh,
}

/// Why there is no token for a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no token for {host}: {}; run `gh auth login --hostname {host}`, or set {}",
    .reasons.join("; "),
    .variables.join(" or ")
)]
pub struct TokenError {
    pub host: Host,
    /// Why each source gave none.
    pub reasons: Vec<String>,
    pub variables: Vec<&'static str>,
}

/// Where to look for the token of a host.
#[derive(Clone, Debug)]
pub struct TokenSource {
    pub host: Host,
    /// The program and arguments of `forge.token_command`, if it is set.
    pub command: Option<Vec<String>>,
    pub environment: Environment,
}

impl Token {
    /// A token that a header can hold: one word of visible characters.
    fn new(text: &str, origin: TokenOrigin) -> Result<Token, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            return Err("it printed nothing");
        }
        if text.len() > LONGEST || !text.bytes().all(|it| it.is_ascii_graphic()) {
            return Err("it printed something that is not a token");
        }
        Ok(Token {
            text: text.to_owned(),
            origin,
        })
    }

    /// The value of the `Authorization` header.
    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.text)
    }

    /// The token itself, for the redactor alone.
    pub(super) fn secret(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Token({})", self.origin)
    }
}

impl fmt::Display for TokenOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenOrigin::Command => formatter.write_str("`forge.token_command`"),
            TokenOrigin::Variable(name) => write!(formatter, "${name}"),
            TokenOrigin::Gh => formatter.write_str("`gh auth token`"),
        }
    }
}

impl TokenSource {
    /// The token of the first source that has one.
    pub fn read(&self) -> Result<Token, TokenError> {
        let mut reasons = Vec::new();
        if let Some((program, arguments)) = self.command.as_deref().and_then(<[_]>::split_first) {
            let command = Invocation::new(program, self.environment.passed_variables([]));
            let command = command.arguments(arguments);
            match run(&command, TokenOrigin::Command) {
                Ok(token) => return Ok(token),
                Err(reason) => reasons.push(reason),
            }
        }
        for name in self.variables() {
            let value = self.environment.variable(name).and_then(OsStr::to_str);
            let token = value.map(|it| Token::new(it, TokenOrigin::Variable(name)));
            match token {
                Some(Ok(token)) => return Ok(token),
                Some(Err(_)) => reasons.push(format!("${name} is not a token")),
                None => {}
            }
        }
        let gh = Invocation::new("gh", self.environment.passed_variables(GH_VARIABLES));
        let gh = gh.arguments(["auth", "token", "--hostname", self.host.as_str()]);
        match run(&gh, TokenOrigin::Gh) {
            Ok(token) => return Ok(token),
            Err(reason) => reasons.push(reason),
        }
        Err(TokenError {
            host: self.host.clone(),
            reasons,
            variables: self.variables().to_vec(),
        })
    }

    /// The variables that may hold the token, as `gh` reads them.
    fn variables(&self) -> &'static [&'static str] {
        if self.host.is_public() {
            &["GH_TOKEN", "GITHUB_TOKEN"]
        } else {
            &["GH_ENTERPRISE_TOKEN"]
        }
    }
}

/// Runs a program that prints a token, or says why it did not.
fn run(command: &Invocation, origin: TokenOrigin) -> Result<Token, String> {
    let command = command.clone().timeout(TIMEOUT).limit(2 * LONGEST);
    let output = command.require_success();
    let output = output.map_err(|error| match error {
        CommandError::Missing { command } => format!("{command} is not installed"),
        other => other.to_string(),
    })?;
    let text = String::from_utf8_lossy(&output.stdout.bytes);
    Token::new(&text, origin).map_err(|reason| format!("{command}: {reason}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::*;

    /// A `gh` that prints its host and which variables it sees.
    fn fake_gh(folder: &Path, script: &str) -> Environment {
        let path = folder.join("gh");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Environment::of([
            ("PATH", format!("{}:/usr/bin:/bin", folder.display())),
            ("GH_CONFIG_DIR", String::from("/config")),
        ])
    }

    fn with(environment: &Environment, name: &str, value: &str) -> Environment {
        let variables = environment.variables().clone();
        let more = (name.into(), value.into());
        Environment::of(variables.into_iter().chain([more]))
    }

    fn source(host: &str, environment: Environment) -> TokenSource {
        TokenSource {
            host: Host::new(host),
            command: None,
            environment,
        }
    }

    #[test]
    fn the_first_source_that_answers_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo \"gh-$4-${GH_TOKEN:-none}-$GH_CONFIG_DIR\"";
        let environment = fake_gh(folder.path(), script);
        let token = source("github.com", environment.clone()).read().unwrap();
        assert_eq!(token.secret(), "gh-github.com-none-/config");
        assert_eq!(token.origin, TokenOrigin::Gh);

        let both = with(&environment, "GITHUB_TOKEN", "second");
        assert_eq!(
            source("a.ghe.com", both.clone()).read().unwrap().secret(),
            "second"
        );
        let both = with(&both, "GH_TOKEN", "first");
        assert_eq!(
            source("github.com", both.clone()).read().unwrap().secret(),
            "first"
        );
        // A token for github.com is never sent to another host.
        let other = source("ghe.example.org", both.clone()).read().unwrap();
        assert_eq!(other.origin, TokenOrigin::Gh);
        let enterprise = with(&both, "GH_ENTERPRISE_TOKEN", "third");
        let enterprise = source("ghe.example.org", enterprise).read().unwrap();
        assert_eq!(enterprise.secret(), "third");

        let mut by_command = source("github.com", both);
        by_command.command = Some(["sh", "-c", "echo own"].map(String::from).to_vec());
        assert_eq!(by_command.read().unwrap().secret(), "own");
        by_command.command = Some(["sh", "-c", "exit 3"].map(String::from).to_vec());
        assert_eq!(by_command.read().unwrap().secret(), "first");
    }

    #[test]
    fn without_a_token_every_source_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let environment = fake_gh(folder.path(), "echo 'not logged in' >&2; exit 1");
        let mut source = source("github.com", with(&environment, "GH_TOKEN", "two words"));
        source.command = Some(vec![String::from("no-such-program")]);
        let error = source.read().unwrap_err().to_string();
        for part in [
            "`no-such-program` is not installed",
            "$GH_TOKEN is not a token",
            "not logged in",
            "run `gh auth login --hostname github.com`",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn lesson_97_a_token_is_never_shown() {
        let token = Token::new("ghp_secret", TokenOrigin::Variable("GH_TOKEN")).unwrap();
        assert_eq!(format!("{token:?}"), "Token($GH_TOKEN)");
        let environment = Environment::of([("GH_TOKEN", "ghp_secret")]);
        let shown = format!("{:?}", source("github.com", environment));
        assert!(!shown.contains("ghp_secret"), "{shown}");
    }

    #[test]
    fn what_no_header_can_hold_is_no_token() {
        for text in ["", " \n", "a b", "a\nb", "a\u{e4}", "a\x07"] {
            assert!(Token::new(text, TokenOrigin::Gh).is_err(), "{text:?}");
        }
        assert_eq!(
            Token::new(" abc\n", TokenOrigin::Gh).unwrap().secret(),
            "abc"
        );
    }
}

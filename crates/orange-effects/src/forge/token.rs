//! Finds the token for a host, and never shows it.

use std::ffi::OsStr;
use std::fmt;
use std::time::Duration;

use orange_config::Environment;

use super::host::Host;
use crate::command::{CommandError, Invocation};

/// How long a program has to print a token; a keyring may ask the user first.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum length of a token in bytes; it must fit into a header.
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
    "there is no token for {host}: {}; run `gh auth login --hostname {host}`{}",
    .reasons.join("; "),
    alternative(.variables)
)]
pub struct TokenError {
    pub host: Host,
    /// Why each source gave no token.
    pub reasons: Vec<String>,
    /// The variables that would be read for this host.
    pub variables: Vec<&'static str>,
}

/// Where to look for the token of a host.
///
/// The host comes from a remote, which a repository's author chooses. The command and
/// `GH_ENTERPRISE_TOKEN` do not say for which host they are. They are therefore used only for hosts
/// that the user has named.
#[derive(Clone)]
pub struct TokenSource {
    pub host: Host,
    /// The hosts that the user's own settings name, never those that a repository's settings name;
    /// if it is empty, only github.com counts as named.
    pub named_hosts: Vec<Host>,
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

/// Arguments may hold a secret, so they are not shown.
impl fmt::Debug for TokenSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("TokenSource");
        shown.field("host", &self.host);
        shown.field("named_hosts", &self.named_hosts);
        shown.field("has_command", &self.command.is_some());
        shown.finish_non_exhaustive()
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
            if self.is_named() {
                let command = Invocation::new(program, self.environment.passed_variables([]));
                match run_own(&command.arguments(arguments)) {
                    Ok(token) => return Ok(token),
                    Err(reason) => reasons.push(reason),
                }
            } else {
                let host = &self.host;
                reasons.push(format!(
                    "`forge.token_command` is not for {host}, which your settings do not name"
                ));
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
        match run_gh(&gh) {
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
        } else if self.is_named() {
            &["GH_ENTERPRISE_TOKEN"]
        } else {
            &[]
        }
    }

    /// Whether the user's own settings name this host.
    fn is_named(&self) -> bool {
        if self.named_hosts.is_empty() {
            return self.host == Host::github();
        }
        self.named_hosts.contains(&self.host)
    }
}

/// The part of an error message that offers the variables.
fn alternative(variables: &[&str]) -> String {
    if variables.is_empty() {
        return String::new();
    }
    format!(", or set {}", variables.join(" or "))
}

/// Runs the user's command. Neither its arguments nor its output are shown: both may hold a secret.
fn run_own(command: &Invocation) -> Result<Token, String> {
    let output = within_limits(command).require_success();
    let output = output.map_err(|error| match error {
        CommandError::Missing { .. } => {
            String::from("the program of `forge.token_command` is not installed")
        }
        CommandError::NotStarted { source, .. } => {
            format!("`forge.token_command` cannot be run: {source}")
        }
        CommandError::Failed { ending, .. } => format!("`forge.token_command` {ending}"),
    })?;
    let text = String::from_utf8_lossy(&output.stdout.bytes);
    let token = Token::new(&text, TokenOrigin::Command);
    token.map_err(|reason| format!("`forge.token_command`: {reason}"))
}

/// Asks `gh`, or says why it has no token; `gh` itself knows which token is for which host.
fn run_gh(command: &Invocation) -> Result<Token, String> {
    let output = within_limits(command).require_success();
    let output = output.map_err(|error| match error {
        CommandError::Missing { command } => format!("{command} is not installed"),
        other => other.to_string(),
    })?;
    let text = String::from_utf8_lossy(&output.stdout.bytes);
    Token::new(&text, TokenOrigin::Gh).map_err(|reason| format!("{command}: {reason}"))
}

fn within_limits(command: &Invocation) -> Invocation {
    command.clone().timeout(TIMEOUT).limit(2 * LONGEST)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::*;

    /// Installs this script as `gh`, and returns an environment in which it is found.
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
            named_hosts: Vec::new(),
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
        let mut enterprise = source("ghe.example.org", enterprise);
        enterprise.named_hosts = vec![Host::new("GHE.example.org")];
        assert_eq!(enterprise.read().unwrap().secret(), "third");

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
            "the program of `forge.token_command` is not installed",
            "$GH_TOKEN is not a token",
            "not logged in",
            "run `gh auth login --hostname github.com`",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn lesson_97_a_host_that_only_a_repository_names_gets_no_token() {
        let folder = tempfile::tempdir().unwrap();
        // `gh` would print its variables for any host, so it must not see them.
        let script = "echo \"${GH_ENTERPRISE_TOKEN:-${GH_TOKEN:-two words}}\"";
        let environment = fake_gh(folder.path(), script);
        let environment = with(&environment, "GH_ENTERPRISE_TOKEN", "enterprise");
        let environment = with(&environment, "GH_TOKEN", "public");
        let marker = folder.path().join("has-run");
        let script = format!("touch {}; echo own", marker.display());
        let command = ["sh", "-c", &script].map(String::from).to_vec();
        let read = |host: &str, named: &[&str]| {
            let source = TokenSource {
                named_hosts: named.iter().map(|it| Host::new(it)).collect(),
                command: Some(command.clone()),
                ..source(host, environment.clone())
            };
            source.read()
        };
        for named in [&[][..], &["github.com"], &["ghe.example.org"]] {
            for host in [
                "evil.example",
                "evil.example:8443",
                "ghe.example.org.evil.example",
            ] {
                let error = read(host, named).unwrap_err();
                assert!(error.variables.is_empty(), "{host}: {error}");
                assert!(error.to_string().contains("your settings do not name"));
            }
        }
        // The settings name only the company's host, so the command's token does not go to
        // github.com.
        let public = read("github.com", &["ghe.example.org"]).unwrap();
        assert_eq!(public.secret(), "public");
        // A port is part of the host.
        assert!(read("ghe.example.org:8443", &["ghe.example.org"]).is_err());
        assert!(!marker.exists());
        let own = read("ghe.example.org", &["ghe.example.org"]).unwrap();
        assert_eq!(own.secret(), "own");
        assert_eq!(read("github.com", &[]).unwrap().secret(), "own");
        assert!(marker.exists());
    }

    #[test]
    fn lesson_97_no_error_shows_the_command_that_prints_the_token() {
        let folder = tempfile::tempdir().unwrap();
        let environment = fake_gh(folder.path(), "exit 1");
        for command in [
            &["sh", "-c", "echo hush-1 >&2; exit 3", "hush-2"][..],
            &["sh", "-c", "echo hush-3 hush-4"],
            &["hush-5", "hush-6"],
            &["/", "hush-7"],
        ] {
            let mut source = source("github.com", environment.clone());
            source.command = Some(command.iter().map(|it| (*it).to_owned()).collect());
            let error = source.read().unwrap_err();
            let shown = format!("{source:?} {error:?} {error}");
            assert!(!shown.contains("hush"), "{shown}");
            assert!(shown.contains("`forge.token_command`"), "{shown}");
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

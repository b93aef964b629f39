//! Which variables a program that orange starts may see.
//!
//! Every program starts with an empty environment: a variable that no table names is not passed.
//! Otherwise the variables of one agent would reach another agent and change its behaviour.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::{Environment, ORANGE_FORGE_API};

/// What every program sees if it is set, and why. A trailing `*` matches any ending.
pub const PASSED_VARIABLES: &[(&str, &str)] = &[
    ("PATH", "finds programs"),
    ("HOME", "finds your own settings"),
    ("USER", "your user name"),
    ("LOGNAME", "your user name"),
    ("SHELL", "agents run commands with it"),
    ("LANG", "language and encoding"),
    ("LANGUAGE", "language and encoding"),
    ("LC_*", "language and encoding"),
    ("TZ", "your time zone"),
    ("TMPDIR", "where temporary files go"),
    ("TMUX_TMPDIR", "finds your own tmux server"),
    ("XDG_*", "where settings, caches and sockets are"),
    ("SSH_AUTH_SOCK", "git reaches your SSH keys"),
    (
        "DBUS_SESSION_BUS_ADDRESS",
        "agents keep their logins in the keyring",
    ),
    ("HTTP_PROXY", "network proxy"),
    ("HTTPS_PROXY", "network proxy"),
    ("ALL_PROXY", "network proxy"),
    ("NO_PROXY", "network proxy"),
    ("http_proxy", "network proxy"),
    ("https_proxy", "network proxy"),
    ("all_proxy", "network proxy"),
    ("no_proxy", "network proxy"),
    ("SSL_CERT_FILE", "trusted certificates"),
    ("SSL_CERT_DIR", "trusted certificates"),
    ("NODE_EXTRA_CA_CERTS", "trusted certificates"),
];

/// Variables that an agent takes from its pane, because only tmux knows their values.
pub const PANE_VARIABLES: &[(&str, &str)] = &[
    ("TERM", "what the terminal can do"),
    ("COLORTERM", "what the terminal can do"),
];

/// What is never passed, even if a harness lists it: what agents set for their child processes, and
/// tokens that only orange uses.
pub const AGENT_VARIABLES: &[(&str, &str)] = &[
    ("ORANGE_*", "a run's identity belongs to that run alone"),
    (
        "TMUX",
        "a program that calls tmux must not reach the server it runs in",
    ),
    (
        "TMUX_PANE",
        "a program that calls tmux must not reach the server it runs in",
    ),
    ("GH_TOKEN", "the token of GitHub stays with orange"),
    ("GITHUB_TOKEN", "the token of GitHub stays with orange"),
    (
        "GH_ENTERPRISE_TOKEN",
        "the token of GitHub stays with orange",
    ),
    (
        "GITHUB_ENTERPRISE_TOKEN",
        "the token of GitHub stays with orange",
    ),
    ("CLAUDECODE", "claude marks its child processes"),
    ("CLAUDE_CODE_ENTRYPOINT", "how claude was started"),
    ("CLAUDE_CODE_EXECPATH", "how claude was started"),
    ("CLAUDE_CODE_SESSION_*", "claude names its session"),
    ("CLAUDE_CODE_SSE_PORT", "the port of its editor"),
    ("CLAUDE_CODE_CHILD_*", "claude marks its child processes"),
    ("CLAUDE_CODE_MESSAGING_*", "the address of its session"),
    ("CODEX_SANDBOX", "codex marks that it runs in its sandbox"),
    ("CODEX_SANDBOX_*", "codex marks that it runs in its sandbox"),
    ("CODEX_SESSION_ID", "codex names its session"),
    ("CODEX_THREAD_ID", "codex names its session"),
    ("CODEX_TOOL_CALL_ID", "codex names its session"),
    ("CODEX_MANAGED_*", "how codex was installed"),
    ("OPENCODE", "opencode marks its child processes"),
    ("OPENCODE_PID", "opencode marks its child processes"),
    ("PI_CODING_AGENT", "pi marks its child processes"),
    ("GEMINI_CLI", "gemini marks its child processes"),
    ("GEMINI_CLI_*", "how gemini was started"),
    ("GOOSE_TERMINAL", "goose marks its child processes"),
    ("AI_AGENT", "several agents mark their child processes"),
    ("CURSOR_AGENT", "cursor marks its child processes"),
    ("AGENT", "several agents mark their child processes"),
];

/// What orange itself needs to reach GitHub. Only orange's own processes get it, and it is never
/// saved.
const FORGE_VARIABLES: [&str; 5] = [
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GH_CONFIG_DIR",
    ORANGE_FORGE_API,
];

impl Environment {
    /// The variables with which another process of orange reaches GitHub.
    pub fn forge_variables(&self) -> BTreeMap<OsString, OsString> {
        let found = FORGE_VARIABLES.iter().filter_map(|name| {
            let value = self.variable(name)?;
            Some((OsString::from(name), value.to_owned()))
        });
        found.collect()
    }

    /// The variables that a program may see: those in `PASSED_VARIABLES` and those that `more`
    /// names, but none of `AGENT_VARIABLES`.
    pub fn passed_variables<'a>(
        &self,
        more: impl IntoIterator<Item = &'a str>,
    ) -> BTreeMap<OsString, OsString> {
        let more: Vec<&str> = more.into_iter().collect();
        let is_passed = |name: &OsStr| {
            let listed = PASSED_VARIABLES.iter().map(|(pattern, _)| *pattern);
            listed
                .chain(more.iter().copied())
                .any(|it| matches_pattern(it, name))
        };
        let variables = self.variables().iter();
        let passed = variables.filter(|(name, _)| is_passed(name) && !is_agent_variable(name));
        passed
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// The variables that an agent takes from its pane; only a process in that pane has them.
    pub fn pane_variables(&self) -> BTreeMap<OsString, OsString> {
        let found = PANE_VARIABLES.iter().filter_map(|(name, _)| {
            let value = self.variable(name)?;
            Some((OsString::from(name), value.to_owned()))
        });
        found.collect()
    }
}

/// Whether a variable with this name is never passed to a program.
pub fn is_agent_variable(name: &OsStr) -> bool {
    AGENT_VARIABLES
        .iter()
        .any(|(pattern, _)| matches_pattern(pattern, name))
}

fn matches_pattern(pattern: &str, name: &OsStr) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.as_encoded_bytes().starts_with(start.as_bytes()),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(names: &[&str]) -> Environment {
        Environment::of(names.iter().map(|name| (*name, "1")))
    }

    fn names(passed: &BTreeMap<OsString, OsString>) -> Vec<&str> {
        passed.keys().filter_map(|name| name.to_str()).collect()
    }

    #[test]
    fn only_listed_variables_are_passed() {
        let all = environment(&["PATH", "LC_ALL", "LC", "SECRET", "PATH2", "XDG_RUNTIME_DIR"]);
        assert_eq!(
            names(&all.passed_variables([])),
            ["LC_ALL", "PATH", "XDG_RUNTIME_DIR"]
        );
        assert_eq!(names(&all.passed_variables(["SEC*"])).len(), 4);
    }

    #[test]
    fn lesson_29_variables_set_by_agents_are_never_passed() {
        let all = environment(&[
            "ORANGE_RUN_ID",
            "ORANGE_RUN_PROOF",
            "ORANGE_HOME",
            "CLAUDECODE",
            "CLAUDE_CODE_ENTRYPOINT",
            "CLAUDE_CODE_USE_BEDROCK",
            "CODEX_SANDBOX",
            "TMUX",
            "TMUX_PANE",
            "PATH",
        ]);
        let passed = all.passed_variables(["CLAUDE*", "CODEX*", "ORANGE*", "TMUX*"]);
        assert_eq!(names(&passed), ["CLAUDE_CODE_USE_BEDROCK", "PATH"]);
    }

    #[test]
    fn no_value_is_shown() {
        let shown = format!("{:?}", Environment::of([("API_KEY", "secret")]));
        assert_eq!(shown, "{\"API_KEY\"}");
    }
}

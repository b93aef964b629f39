//! Which variables a program that orange starts may see.
//!
//! Every program starts with an empty environment: a variable that no table names is not passed.
//! One agent's variables once reached another and changed its behaviour.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::Environment;

/// What every program sees if it is set, and why. A trailing `*` matches any ending.
pub const PASSED: &[(&str, &str)] = &[
    ("PATH", "finds programs"),
    ("HOME", "finds the person's own settings"),
    ("USER", "names the person"),
    ("LOGNAME", "names the person"),
    ("SHELL", "agents run commands with it"),
    ("LANG", "language and encoding"),
    ("LANGUAGE", "language and encoding"),
    ("LC_*", "language and encoding"),
    ("TZ", "what time it is for the person"),
    ("TMPDIR", "where temporary files go"),
    ("TMUX_TMPDIR", "finds the person's own tmux server"),
    ("XDG_*", "where settings, caches and sockets are"),
    ("SSH_AUTH_SOCK", "git reaches the person's keys"),
    (
        "DBUS_SESSION_BUS_ADDRESS",
        "agents keep their logins in the keyring",
    ),
    ("HTTP_PROXY", "the way to the network"),
    ("HTTPS_PROXY", "the way to the network"),
    ("ALL_PROXY", "the way to the network"),
    ("NO_PROXY", "the way to the network"),
    ("http_proxy", "the way to the network"),
    ("https_proxy", "the way to the network"),
    ("all_proxy", "the way to the network"),
    ("no_proxy", "the way to the network"),
    ("SSL_CERT_FILE", "whom to trust on the network"),
    ("SSL_CERT_DIR", "whom to trust on the network"),
    ("NODE_EXTRA_CA_CERTS", "whom to trust on the network"),
];

/// What an agent takes from its pane, because only tmux knows it.
pub const FROM_PANE: &[(&str, &str)] = &[
    ("TERM", "what the terminal can do"),
    ("COLORTERM", "what the terminal can do"),
];

/// What agents set for their child processes. It is never passed, even if a harness lists it.
pub const NESTED: &[(&str, &str)] = &[
    ("ORANGE_*", "a run's identity belongs to that run alone"),
    (
        "TMUX",
        "a program that asks tmux must not meet the server it runs in",
    ),
    (
        "TMUX_PANE",
        "a program that asks tmux must not meet the server it runs in",
    ),
    ("CLAUDECODE", "claude says that it is the parent"),
    ("CLAUDE_CODE_ENTRYPOINT", "claude says how it was started"),
    ("CLAUDE_CODE_EXECPATH", "claude says how it was started"),
    (
        "CLAUDE_CODE_SESSION_*",
        "claude says in which session it is",
    ),
    (
        "CLAUDE_CODE_SSE_PORT",
        "claude says where its editor listens",
    ),
    ("CLAUDE_CODE_CHILD_*", "claude says that it is the parent"),
    (
        "CLAUDE_CODE_MESSAGING_*",
        "claude says where its own session listens",
    ),
    ("CODEX_SANDBOX", "codex says that its sandbox is around"),
    ("CODEX_SANDBOX_*", "codex says that its sandbox is around"),
    ("CODEX_SESSION_ID", "codex says in which session it is"),
    ("CODEX_THREAD_ID", "codex says in which session it is"),
    ("CODEX_TOOL_CALL_ID", "codex says in which session it is"),
    ("CODEX_MANAGED_*", "codex says how it was installed"),
    ("OPENCODE", "opencode says that it is the parent"),
    ("OPENCODE_PID", "opencode says that it is the parent"),
    ("PI_CODING_AGENT", "pi says that it is the parent"),
    ("GEMINI_CLI", "gemini says that it is the parent"),
    ("GEMINI_CLI_*", "gemini says how it was started"),
    ("GOOSE_TERMINAL", "goose says that it is the parent"),
    ("AI_AGENT", "several agents say that they are the parent"),
    ("CURSOR_AGENT", "cursor says that it is the parent"),
    ("AGENT", "several agents say that they are the parent"),
];

impl Environment {
    /// What a program may see: the table, and what `more` names, without what agents set.
    pub fn passed<'a>(
        &self,
        more: impl IntoIterator<Item = &'a str>,
    ) -> BTreeMap<OsString, OsString> {
        let more: Vec<&str> = more.into_iter().collect();
        let is_passed = |name: &OsStr| {
            let listed = PASSED.iter().map(|(pattern, _)| *pattern);
            listed.chain(more.iter().copied()).any(|it| fits(it, name))
        };
        let variables = self.variables().iter();
        let passed = variables.filter(|(name, _)| is_passed(name) && !is_nested(name));
        passed
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// What an agent takes from its pane; a process in that pane reads it.
    pub fn from_pane(&self) -> BTreeMap<OsString, OsString> {
        let found = FROM_PANE.iter().filter_map(|(name, _)| {
            let value = self.variable(name)?;
            Some((OsString::from(name), value.to_owned()))
        });
        found.collect()
    }
}

/// Whether no program may see a variable with this name.
pub fn is_nested(name: &OsStr) -> bool {
    NESTED.iter().any(|(pattern, _)| fits(pattern, name))
}

fn fits(pattern: &str, name: &OsStr) -> bool {
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
    fn only_what_a_table_names_arrives() {
        let all = environment(&["PATH", "LC_ALL", "LC", "SECRET", "PATH2", "XDG_RUNTIME_DIR"]);
        assert_eq!(
            names(&all.passed([])),
            ["LC_ALL", "PATH", "XDG_RUNTIME_DIR"]
        );
        assert_eq!(names(&all.passed(["SEC*"])).len(), 4);
    }

    #[test]
    fn lesson_29_what_agents_set_never_arrives() {
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
        let passed = all.passed(["CLAUDE*", "CODEX*", "ORANGE*", "TMUX*"]);
        assert_eq!(names(&passed), ["CLAUDE_CODE_USE_BEDROCK", "PATH"]);
    }

    #[test]
    fn no_value_is_shown() {
        let shown = format!("{:?}", Environment::of([("API_KEY", "secret")]));
        assert_eq!(shown, "{\"API_KEY\"}");
    }
}

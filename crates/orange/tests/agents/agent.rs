//! The agents under test: their programs, and their first dialogs answered.
//!
//! A person has gone through each agent's first dialogs by hand. Here the answers are written
//! down beforehand, in the agent's own files, and with them where the model is.

use std::fs;
use std::path::{Path, PathBuf};

/// An agent that is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Pi,
}

const VERSIONS: &str = include_str!("../../../../harnesses/versions.toml");

/// A key that only the scripted model takes.
pub const KEY: &str = "sk-scripted-000000000000000000000000";

impl Agent {
    pub fn name(self) -> &'static str {
        match self {
            Agent::Claude => "claude",
            Agent::Codex => "codex",
            Agent::Gemini => "gemini",
            Agent::Opencode => "opencode",
            Agent::Pi => "pi",
        }
    }

    /// What makes what is not written by hand: a database, because of two agents that make it at the
    /// same moment one waits for ever.
    pub fn first_start(self) -> Option<&'static [&'static str]> {
        (self == Agent::Opencode).then_some(&["opencode", "session", "list"])
    }

    /// Writes what a person's first session with the agent would have left.
    pub fn settle(self, home: &Path, port: u16, repository: &Path) {
        let repository = repository.display();
        let base = format!("http://127.0.0.1:{port}/v1");
        let write = |file: &str, text: &str| {
            let path = home.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        match self {
            Agent::Claude => {
                let approved = &KEY[KEY.len() - 20..];
                write(
                    ".claude.json",
                    &format!(
                        r#"{{"hasCompletedOnboarding":true,"customApiKeyResponses":{{"approved":["{approved}"]}},"projects":{{"{repository}":{{"hasTrustDialogAccepted":true}}}}}}"#
                    ),
                );
                write(
                    ".claude/settings.json",
                    r#"{"skipDangerousModePermissionPrompt":true}"#,
                );
            }
            Agent::Codex => write(
                ".codex/config.toml",
                &format!(
                    "check_for_update_on_startup = false\nmodel = \"gpt-5-codex\"\n\
                     model_provider = \"scripted\"\n[model_providers.scripted]\n\
                     name = \"scripted\"\nbase_url = \"{base}\"\nenv_key = \"OPENAI_API_KEY\"\n\
                     wire_api = \"responses\"\n[projects.\"{repository}\"]\n\
                     trust_level = \"trusted\"\n"
                ),
            ),
            Agent::Gemini => write(
                ".gemini/settings.json",
                r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#,
            ),
            Agent::Opencode => {
                // With a plugin it waits until what plugins are made with is there.
                let plugin = r#""dependencies":{"@opencode-ai/plugin":"*"}"#;
                let lock = format!(r#"{{"packages":{{"":{{{plugin}}}}}}}"#);
                write(".config/opencode/package.json", &format!("{{{plugin}}}"));
                write(".config/opencode/package-lock.json", &lock);
                write(".config/opencode/node_modules/.keep", "");
                write(
                    ".config/opencode/opencode.json",
                    &format!(
                        r#"{{"model":"scripted/scripted","provider":{{"scripted":{{"npm":"@ai-sdk/openai-compatible","name":"scripted","options":{{"baseURL":"{base}","apiKey":"{KEY}"}},"models":{{"scripted":{{"name":"scripted"}}}}}}}}}}"#
                    ),
                );
            }
            Agent::Pi => {
                write(
                    ".pi/agent/models.json",
                    &format!(
                        r#"{{"providers":{{"scripted":{{"baseUrl":"{base}","api":"openai-completions","apiKey":"{KEY}","models":[{{"id":"scripted","name":"scripted","reasoning":false,"input":["text"],"contextWindow":200000,"maxTokens":8000,"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}}}]}}}}}}"#
                    ),
                );
                write(
                    ".pi/agent/settings.json",
                    r#"{"defaultProvider":"scripted","defaultModel":"scripted"}"#,
                );
            }
        }
    }
}

/// What a person sets so that the agents talk to the model and to nobody else.
pub fn variables(port: u16) -> Vec<(&'static str, String)> {
    let base = format!("http://127.0.0.1:{port}");
    vec![
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("ANTHROPIC_BASE_URL", base.clone()),
        ("OPENAI_API_KEY", KEY.to_owned()),
        ("GEMINI_API_KEY", KEY.to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", base),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        // It tries again for minutes; here nothing becomes better by that.
        ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
        ("PI_OFFLINE", "1".to_owned()),
        // Some wait for seconds for an answer from outside; a closed door is quicker.
        ("HTTPS_PROXY", "http://127.0.0.1:9".to_owned()),
        ("NO_PROXY", "127.0.0.1".to_owned()),
        // As root, claude wants to know that it is shut in; here it is.
        ("IS_SANDBOX", "1".to_owned()),
    ]
}

/// Where `.ci/agents` puts them.
pub fn prefix() -> PathBuf {
    let own = std::env::var_os("ORANGE_AGENTS").map(PathBuf::from);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    own.or_else(|| Some(cache.or(home)?.join("orange-agents")))
        .unwrap()
}

/// The folders of these agents' programs for the `PATH`, or which of them is missing.
pub fn installed(prefix: &Path, agents: &[Agent]) -> Result<Vec<PathBuf>, String> {
    let names = agents.iter().map(|agent| agent.name());
    let mut folders = Vec::new();
    for name in ["node"].into_iter().chain(names) {
        let wanted = pinned(name);
        let found = fs::read_to_string(prefix.join(name).join("pinned"));
        if found.unwrap_or_default().trim() != wanted {
            return Err(format!("{wanted} is not in {}", prefix.display()));
        }
        folders.push(prefix.join(name).join("node_modules/.bin"));
    }
    Ok(folders)
}

/// The package and version that is tested.
pub fn pinned(name: &str) -> &'static str {
    let mut lines = VERSIONS.lines();
    let found = lines.find_map(|line| {
        let value = line.strip_prefix(name)?.strip_prefix(" = \"")?;
        value.strip_suffix('"')
    });
    found.unwrap_or_else(|| panic!("harnesses/versions.toml has no line for `{name}`"))
}

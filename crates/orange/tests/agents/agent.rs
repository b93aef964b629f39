//! The agents under test: their programs, with first-run questions answered.
//!
//! A user answers each agent's first-run questions by hand. Here the answers are written in advance
//! into the agent's own files, together with the model's address.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Pi,
}

const VERSIONS: &str = include_str!("../../../../harnesses/versions.toml");

/// A key that only the scripted model accepts.
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

    /// A command that creates what `settle` does not write: a database, because when two agents
    /// create it at the same moment, one of them hangs.
    pub fn first_start(self) -> Option<&'static [&'static str]> {
        (self == Agent::Opencode).then_some(&["opencode", "session", "list"])
    }

    /// Writes the files that a user's first session with the agent would have left.
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
                // With a plugin, it waits until the plugin's dependencies are installed.
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

/// The variables a user sets so that agents talk only to the model.
pub fn variables(port: u16) -> Vec<(&'static str, String)> {
    let base = format!("http://127.0.0.1:{port}");
    vec![
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("ANTHROPIC_BASE_URL", base.clone()),
        ("OPENAI_API_KEY", KEY.to_owned()),
        ("GEMINI_API_KEY", KEY.to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", base),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        // It retries for minutes, which cannot help here.
        ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
        ("PI_OFFLINE", "1".to_owned()),
        // Some wait seconds for an answer from outside; a refused connection is faster.
        ("HTTPS_PROXY", "http://127.0.0.1:9".to_owned()),
        ("NO_PROXY", "127.0.0.1".to_owned()),
        // As root, claude requires a sandbox; here it runs in one.
        ("IS_SANDBOX", "1".to_owned()),
    ]
}

/// Where `.ci/agents` installs them.
pub fn prefix() -> PathBuf {
    let own = std::env::var_os("ORANGE_AGENTS").map(PathBuf::from);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    own.or_else(|| Some(cache.or(home)?.join("orange-agents")))
        .unwrap()
}

/// The program folders of these agents for the `PATH`, or which agent is missing.
pub fn installed(prefix: &Path, agents: &[Agent]) -> Result<Vec<PathBuf>, String> {
    let names = agents.iter().map(|agent| agent.name());
    let mut folders = Vec::new();
    for name in ["node"].into_iter().chain(names) {
        let expected = pinned(name);
        let found = fs::read_to_string(prefix.join(name).join("pinned"));
        if found.unwrap_or_default().trim() != expected {
            return Err(format!("{expected} is not in {}", prefix.display()));
        }
        folders.push(prefix.join(name).join("node_modules/.bin"));
    }
    Ok(folders)
}

/// The package and version under test.
pub fn pinned(name: &str) -> &'static str {
    let mut lines = VERSIONS.lines();
    let found = lines.find_map(|line| {
        let value = line.strip_prefix(name)?.strip_prefix(" = \"")?;
        value.strip_suffix('"')
    });
    found.unwrap_or_else(|| panic!("harnesses/versions.toml has no line for `{name}`"))
}

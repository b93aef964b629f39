//! Where an agent keeps the list of its MCP servers.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::Problem;
use super::readiness::resolve_path;
use super::skills::is_below_home;
use crate::{Environment, Harness};

/// The name of the server in the settings of agents.
pub const MCP_SERVER: &str = "orange";

/// Where and how an agent's settings name an MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpSettings {
    /// The file, which ends in `.json` or `.toml`.
    pub file: String,
    /// The keys that lead to the servers.
    pub keys: Vec<String>,
    /// What stands there for the server of orange.
    pub entry: Value,
}

impl McpSettings {
    /// The keys that lead to the server of orange.
    pub fn path(&self) -> Vec<&str> {
        let keys = self.keys.iter().map(String::as_str);
        keys.chain([MCP_SERVER]).collect()
    }
}

impl Harness {
    /// The file and the entry that registers the MCP server of orange. `None` if the definition
    /// names no file, or if the home directory is unknown.
    pub fn mcp(&self, environment: &Environment) -> Option<(PathBuf, &McpSettings)> {
        let settings = self.mcp.as_ref()?;
        let file = resolve_path(&settings.file, environment)?;
        // A variable may set a relative path, which could mean any file.
        file.is_absolute().then_some((file, settings))
    }
}

/// Accepts only files below `~`, as for skills.
pub(crate) fn validate_mcp(settings: Spanned<McpSettings>) -> Result<McpSettings, Problem> {
    let (span, settings) = (settings.span(), settings.into_inner());
    let is_known = [".json", ".toml"]
        .iter()
        .any(|it| settings.file.ends_with(it));
    if !is_below_home(&settings.file) || !is_known {
        let message = format!(
            "`{}` is not a valid file with MCP servers",
            settings.file.escape_debug()
        );
        let hint = "write a file below `~` that ends in `.json` or `.toml`, such as \
                    `~/.agent/settings.json`";
        return Err((span, message, hint.to_owned()));
    }
    if settings.keys.is_empty() || !settings.entry.is_object() {
        let message = String::from("`mcp` needs `keys` that lead to the servers, and an `entry`");
        let hint = "write for example `keys = [\"mcpServers\"]` and `entry = { command = \
                    \"orange\", args = [\"mcp\"] }`";
        return Err((span, message, hint.to_owned()));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(mcp: &str) -> Result<Harness, String> {
        let text = format!("name = \"a\"\nbinary = \"a\"\n[args]\nfull = []\n[mcp]\n{mcp}");
        Harness::parse("a.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_definition_names_the_file_and_the_entry() {
        let harness = parsed(
            "file = \"${A:-~/.a}/s.json\"\nkeys = [\"mcp\"]\nentry = { command = [\"orange\"], on = true }",
        );
        let harness = harness.unwrap();
        let home = Environment::of([("HOME", "/ada")]);
        let (file, settings) = harness.mcp(&home).unwrap();
        assert_eq!(file, PathBuf::from("/ada/.a/s.json"));
        assert_eq!(settings.path(), ["mcp", "orange"]);
        assert_eq!(settings.entry, json!({ "command": ["orange"], "on": true }));
        let moved = Environment::of([("HOME", "/ada"), ("A", "relative")]);
        assert!(harness.mcp(&moved).is_none());
    }

    #[test]
    fn other_places_and_entries_are_refused() {
        for bad in [
            "file = \"/etc/s.json\"\nkeys = [\"a\"]\nentry = {}",
            "file = \"~/../s.json\"\nkeys = [\"a\"]\nentry = {}",
            "file = \"~/s.yml\"\nkeys = [\"a\"]\nentry = {}",
            "file = \"~/s.json\"\nkeys = []\nentry = {}",
            "file = \"~/s.json\"\nkeys = [\"a\"]\nentry = \"x\"",
        ] {
            let error = parsed(bad).unwrap_err();
            assert!(error.contains("mcp") || error.contains("MCP"), "{error}");
        }
    }
}

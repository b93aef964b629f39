//! Which files of a repository tell coding agents what to do.
//!
//! Agents read these files without being asked, and some of the files start programs. If a pull
//! request changes them, it changes how the reviewing agent behaves.

/// Folders whose files configure agents, wherever they are.
const FOLDERS: [&str; 11] = [
    ".agents",
    ".claude",
    ".codex",
    ".continue",
    ".cursor",
    ".factory",
    ".gemini",
    ".opencode",
    ".pi",
    ".roo",
    ".windsurf",
];

const FILES: [&str; 14] = [
    ".clinerules",
    ".cursorrules",
    ".envrc",
    ".gitmodules",
    ".mcp.json",
    ".roorules",
    ".windsurfrules",
    "agents.md",
    "agents.override.md",
    "claude.local.md",
    "claude.md",
    "gemini.md",
    "opencode.json",
    "opencode.jsonc",
];

/// Whether an agent may read this file as instructions or settings. Letter case does not count:
/// some file systems ignore it.
pub fn configures_agents(path: &str) -> bool {
    let path = path.to_lowercase();
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        // Every part counts, also the last: git lists a link or a submodule of this name as a file.
        if FOLDERS.contains(&part) || (is_last && FILES.contains(&part)) {
            return true;
        }
    }
    path == ".github/copilot-instructions.md"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_and_settings_are_found_in_every_folder() {
        for path in [
            "AGENTS.md",
            "crates/x/CLAUDE.md",
            ".claude/settings.json",
            "web/.Claude/hooks/run.sh",
            ".claude",
            ".mcp.json",
            ".gitmodules",
            ".github/copilot-instructions.md",
        ] {
            assert!(configures_agents(path), "{path}");
        }
        for path in ["docs/agents.md.txt", "src/claude.rs", "pi/x", "README.md"] {
            assert!(!configures_agents(path), "{path}");
        }
    }
}

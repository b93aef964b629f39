//! The token reaches no agent, no file and no argument.

use std::fs;
use std::path::Path;

use crate::support::forge_stage::ForgeStage;
use crate::support::wait_for;

/// The files below a folder that contain a text.
fn files_with(folder: &Path, text: &[u8], found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            files_with(&path, text, found);
        } else if metadata.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            if bytes.windows(text.len()).any(|it| it == text) {
                found.push(path.display().to_string());
            }
        }
    }
}

#[test]
fn an_agent_never_sees_the_token() {
    let it = ForgeStage::new("minimal");
    // The user's own definition asks for it, and does not get it.
    let path = it.stage.path("home/harnesses/script.toml");
    let definition = fs::read_to_string(&path).unwrap();
    let definition = format!("{definition}\n[environment]\npass = [\"GH*\", \"GIT*\"]\n");
    fs::write(&path, definition).unwrap();
    let work = "\
env > \"$SCRIPTS/environment\"
commit one
echo 'DONE: a line' | section Handoff
ask task update --status reviewing
";
    it.stage.script("worker-1", work);
    let id = it.stage.create(&["Add a line"]);
    it.stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the agent's environment", || {
        it.stage.path("scripts/environment").exists()
    });
    it.stage.wait_for_status(&id, "reviewing");
    it.stage.run_ok(&["task", "pr", id.as_str()]);
    it.look(&id);
    let seen = fs::read_to_string(it.stage.path("scripts/environment")).unwrap();
    assert!(seen.contains("ORANGE_RUN_ID="), "{seen}");
    for name in ["GH_TOKEN", "GITHUB_TOKEN", "ORANGE_FORGE_API"] {
        assert!(!seen.contains(&format!("{name}=")), "{name}");
    }
    let token = it.token.as_bytes();
    let mut found = Vec::new();
    files_with(&it.stage.path(""), token, &mut found);
    assert_eq!(found, Vec::<String>::new(), "files with the token");
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let bytes = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let has_token = bytes.windows(token.len()).any(|it| it == token);
        assert!(!has_token, "{:?}", entry.path());
    }
}

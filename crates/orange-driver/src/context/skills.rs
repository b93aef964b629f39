//! The skills that a task's agent can be given.
//!
//! A skill is a directory with a `SKILL.md`, in the home's `skills` or in `.orange/skills` of the
//! repository; the user's own comes first.

use std::fs;
use std::path::{Path, PathBuf};

use orange_effects::private_file;
use orange_engine::Task;

use super::Context;

/// The largest skill in bytes; a larger one is not offered.
const MAX_BYTES: u64 = 32 * 1024;

impl Context {
    /// The names of all skills of a task, sorted.
    pub(crate) fn skill_names(&self, task: &Task) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for folder in self.skill_folders(task) {
            // A folder that does not exist has no skills.
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let found = entries.filter_map(|entry| entry.file_name().into_string().ok());
            names.extend(found.filter(|name| self.skill_text(task, name).is_some()));
        }
        names.sort();
        names.dedup();
        names
    }

    /// The text of a skill, if there is one with this name.
    pub(crate) fn skill_text(&self, task: &Task, name: &str) -> Option<String> {
        self.skill(task, name).map(|(_, text)| text)
    }

    /// The file and the text of a skill, if there is one with this name.
    pub(crate) fn skill(&self, task: &Task, name: &str) -> Option<(PathBuf, String)> {
        let is_plain = |it: char| it.is_alphanumeric() || matches!(it, '-' | '_' | '.');
        if !name.chars().all(is_plain) || name.starts_with('.') {
            return None;
        }
        let mut folders = self.skill_folders(task).into_iter();
        folders.find_map(|folder| {
            let path = folder.join(name).join("SKILL.md");
            let text = read_skill(&path)?;
            Some((path, text))
        })
    }

    fn skill_folders(&self, task: &Task) -> Vec<PathBuf> {
        let mut folders = vec![self.home.skills()];
        let projects = self.projects().ok();
        let project = projects
            .as_ref()
            .and_then(|it| it.require(&task.project).ok());
        folders.extend(project.map(|it| it.path.join(".orange").join("skills")));
        folders
    }
}

fn read_skill(path: &Path) -> Option<String> {
    let bytes = private_file::read_from_agent(path, MAX_BYTES).ok()??;
    String::from_utf8(bytes).ok()
}

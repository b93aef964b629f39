//! Everything of the real repository that no import may change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::repo_fixture::RepoFixture;

/// What an import may change: the task's branch, and the index of its worktree.
const MAY_CHANGE: [&str; 4] = [
    "refs/heads/fix",
    "logs/refs/heads/fix",
    "worktrees/app--1/index",
    "worktrees/app--1/logs/HEAD",
];

/// The files of a repository with their bytes, and where links lead.
pub struct Snapshot(BTreeMap<PathBuf, Vec<u8>>);

impl Snapshot {
    pub fn of(repo: &RepoFixture) -> Snapshot {
        let root = repo.app().join(".git");
        let mut found = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = fs::symlink_metadata(&path).unwrap();
                if kind.is_dir() {
                    folders.push(path);
                    continue;
                }
                let content = if kind.is_symlink() {
                    let target = fs::read_link(&path).unwrap();
                    format!("-> {}", target.display()).into_bytes()
                } else {
                    fs::read(&path).unwrap()
                };
                found.insert(path.strip_prefix(&root).unwrap().to_owned(), content);
            }
        }
        for path in MAY_CHANGE {
            found.remove(Path::new(path));
        }
        Snapshot(found)
    }

    /// Checks that nothing is different now, except for packs that were added.
    pub fn check(&self, repo: &RepoFixture, what: &str) {
        let now = Snapshot::of(repo).0;
        for (path, content) in &self.0 {
            let same = now.get(path) == Some(content);
            assert!(same, "{what}: {} was changed or removed", path.display());
        }
        for path in now.keys().filter(|path| !self.0.contains_key(*path)) {
            let extension = path.extension().unwrap_or_default();
            let is_pack = ["pack", "idx", "rev"].iter().any(|it| extension == *it);
            let is_ours = path.starts_with("objects/pack") && is_pack;
            assert!(is_ours, "{what}: {} is new", path.display());
        }
    }

    /// Checks that nothing at all is different now.
    pub fn check_unchanged(&self, repo: &RepoFixture, what: &str) {
        self.check(repo, what);
        assert_eq!(self.0.len(), Snapshot::of(repo).0.len(), "{what}");
    }
}

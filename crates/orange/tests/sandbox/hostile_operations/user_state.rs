//! What belongs to the user, and how it is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::support::Stage;

/// Folders of the stage that are not the user's: orange's home, and the scripts of the agent.
const NOT_THE_USERS: [&str; 2] = ["home", "scripts"];

/// Of the repository, what orange or a task may change. Refs and objects are compared apart.
const MAY_CHANGE: [&str; 7] = [
    "objects",
    "refs",
    "logs",
    "packed-refs",
    "worktrees",
    "gc.log",
    "orange",
];

pub struct UserState {
    files: BTreeMap<String, Vec<u8>>,
    refs: BTreeMap<String, String>,
    objects: BTreeSet<String>,
}

impl UserState {
    /// Gives the user branches, a tag, and objects that nothing refers to.
    pub fn prepare(stage: &Stage) -> UserState {
        fs::write(stage.path(".bashrc"), "user\n").unwrap();
        fs::write(stage.path(".netrc"), "canary\n").unwrap();
        fs::write(stage.path("repo/shared"), "one\n").unwrap();
        fs::write(stage.path("repo/unsaved"), "not committed\n").unwrap();
        for call in [
            "add shared",
            "commit -qm shared",
            "commit -q --allow-empty -m second",
            "branch kept HEAD~1",
            "tag v1",
            "stash list",
            "hash-object -w unsaved",
            "commit -q --allow-empty -m lost",
            "reset -q --hard HEAD~1",
            "pack-refs --all",
            "fsck --strict",
        ] {
            let done = stage.git(call);
            let errors = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "git {call}: {errors}");
        }
        UserState::of(stage)
    }

    pub fn of(stage: &Stage) -> UserState {
        let mut files = BTreeMap::new();
        read_all(&stage.path(""), "", &mut files);
        let text = |words: &str| {
            let output = stage.git(words);
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let refs = text("for-each-ref --format=%(refname)|%(objectname)");
        let refs = refs.lines().filter_map(|line| line.split_once('|'));
        let refs = refs.filter(|(name, _)| {
            !name.starts_with("refs/orange/") && !name.starts_with("refs/heads/orange-tasks/")
        });
        let objects = text("cat-file --batch-all-objects --batch-check");
        UserState {
            files,
            refs: refs.map(|(a, b)| (a.to_owned(), b.to_owned())).collect(),
            objects: objects.lines().map(str::to_owned).collect(),
        }
    }

    /// Fails if anything of the user has changed.
    pub fn check(&self, stage: &Stage, after: &str) {
        let found = self.differences(stage);
        assert!(found.is_empty(), "{found:#?} after:\n{after}");
    }

    /// What has changed, come or gone.
    pub fn differences(&self, stage: &Stage) -> Vec<String> {
        let now = UserState::of(stage);
        let mut found = Vec::new();
        for name in self.files.keys().chain(now.files.keys()) {
            if self.files.get(name) != now.files.get(name) {
                found.push(format!("file {name}"));
            }
        }
        for name in self.refs.keys().chain(now.refs.keys()) {
            if self.refs.get(name) != now.refs.get(name) {
                found.push(format!("ref {name}"));
            }
        }
        let lost = self.objects.difference(&now.objects);
        found.extend(lost.map(|object| format!("object {object}")));
        found
    }

    /// The same, and git finds nothing wrong before and after it has collected garbage.
    pub fn check_at_the_end(&self, stage: &Stage) {
        self.check(stage, "everything");
        check_repository(stage);
        let done = stage.git("gc -q");
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "git gc: {errors}");
        check_repository(stage);
        self.check(stage, "garbage collection");
    }
}

/// Fails if git finds anything wrong. A rescue keeps every file of a worktree as it was, so files
/// that git warns of may be there, and nowhere else.
fn check_repository(stage: &Stage) {
    let text = |words: &str| {
        let output = stage.git(words);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let found = stage.git("fsck --strict");
    let errors = String::from_utf8_lossy(&found.stderr).into_owned();
    let users = text("rev-list --objects --exclude=refs/orange/* --all --reflog");
    let rescued = text("rev-list --objects --glob=refs/orange/rescue");
    for line in errors.lines() {
        let blob = line.strip_prefix("error in blob ");
        let blob = blob.and_then(|it| it.split_once(':'));
        let is_rescued = blob.is_some_and(|(id, _)| rescued.contains(id) && !users.contains(id));
        assert!(is_rescued, "git fsck: {errors}");
    }
}

/// Reads the files below a folder: their bytes, and where links lead.
fn read_all(root: &Path, below: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(root.join(below)).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = Path::new(below).join(&name).display().to_string();
        let is_excluded = (below.is_empty() && NOT_THE_USERS.contains(&name.as_str()))
            || path == "repo/.git/info/refs"
            || (below == "repo/.git" && MAY_CHANGE.contains(&name.as_str()));
        if is_excluded {
            continue;
        }
        let kind = fs::symlink_metadata(root.join(&path)).unwrap();
        if kind.is_dir() {
            read_all(root, &path, files);
        } else if kind.is_symlink() {
            let target = fs::read_link(root.join(&path)).unwrap();
            files.insert(path, target.into_os_string().into_encoded_bytes());
        } else if kind.is_file() {
            files.insert(path.clone(), fs::read(root.join(&path)).unwrap());
        } else {
            files.insert(path, b"special".to_vec());
        }
    }
}

//! Creates commits in a bare repository, and reads about them.

use std::path::Path;

use crate::git::{git, git_with, run, try_git};
use crate::stop::stop;

/// What is known about a commit.
#[derive(Clone, Debug)]
pub struct CommitInfo {
    pub sha: String,
    pub tree: String,
    pub subject: String,
    pub at: i64,
}

/// How much a pull request changes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    pub additions: u64,
    pub deletions: u64,
    pub files: u64,
    pub commits: u64,
}

/// Commits these files on top of a branch, which is created from `start` if it is new. An empty
/// text deletes the file.
pub fn commit(
    repository: &Path,
    branch: &str,
    start: Option<&str>,
    files: &[(&str, &str)],
    message: &str,
) -> String {
    let name = format!("refs/heads/{branch}");
    let parent = try_git(repository, &["rev-parse", "--verify", "-q", &name]).ok();
    let parent = parent.or(start.map(str::to_owned));
    let index = repository
        .join("forge-index")
        .to_string_lossy()
        .into_owned();
    let with_index = |arguments: &[&str], input: &str| {
        let result = run(repository, arguments, input, &[("GIT_INDEX_FILE", &index)]);
        result.unwrap_or_else(|error| stop(&format!("cannot commit to `{branch}`: {error}")))
    };
    match &parent {
        Some(parent) => with_index(&["read-tree", parent], ""),
        None => with_index(&["read-tree", "--empty"], ""),
    };
    for (path, content) in files {
        if content.is_empty() {
            with_index(&["update-index", "--force-remove", path], "");
            continue;
        }
        let blob = git_with(repository, &["hash-object", "-w", "--stdin"], content);
        with_index(
            &[
                "update-index",
                "--add",
                "--cacheinfo",
                &format!("100644,{blob},{path}"),
            ],
            "",
        );
    }
    let tree = with_index(&["write-tree"], "");
    let mut arguments = vec!["commit-tree", &tree, "-m", message];
    if let Some(parent) = &parent {
        arguments.extend(["-p", parent]);
    }
    let sha = git(repository, &arguments);
    git(repository, &["update-ref", &name, &sha]);
    sha
}

pub fn commit_info(repository: &Path, sha: &str) -> Option<CommitInfo> {
    let found = try_git(repository, &["show", "-s", "--format=%H%n%T%n%ct%n%s", sha]).ok()?;
    let mut lines = found.lines();
    Some(CommitInfo {
        sha: lines.next()?.to_owned(),
        tree: lines.next()?.to_owned(),
        at: lines.next()?.parse().ok()?,
        subject: lines.next().unwrap_or_default().to_owned(),
    })
}

/// The full hash of a commit that a client names by a branch or by an abbreviated hash.
pub fn resolve(repository: &Path, name: &str) -> Option<String> {
    let name = name.strip_prefix("heads/").unwrap_or(name);
    let heads = format!("refs/heads/{name}^{{commit}}");
    let other = format!("{name}^{{commit}}");
    let ask = |it: &str| {
        try_git(
            repository,
            &["rev-parse", "--verify", "-q", "--end-of-options", it],
        )
    };
    ask(&heads).or_else(|_| ask(&other)).ok()
}

/// The size of what the head has and the base lacks.
pub fn size(repository: &Path, base: &str, head: &str) -> Size {
    let range = format!("{base}...{head}");
    let lines = try_git(repository, &["diff", "--numstat", &range]).unwrap_or_default();
    let mut size = Size::default();
    for line in lines.lines() {
        let mut numbers = line.split('\t').map(|it| it.parse::<u64>().unwrap_or(0));
        size.additions += numbers.next().unwrap_or(0);
        size.deletions += numbers.next().unwrap_or(0);
        size.files += 1;
    }
    let range = format!("{base}..{head}");
    let count = try_git(repository, &["rev-list", "--count", &range]).unwrap_or_default();
    size.commits = count.parse().unwrap_or(0);
    size
}

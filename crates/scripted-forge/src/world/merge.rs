//! Mergeability and merging, by real git.

use std::path::Path;

use super::World;
use super::issue::{Issue, event};
use super::pull::{Merge, Pull};
use super::repository::Repository;
use crate::git::{git, run, try_git};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Merge,
    Squash,
    Rebase,
}

/// How to merge, with which text, and by which account.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub method: Method,
    pub title: Option<&'a str>,
    pub message: Option<&'a str>,
    pub by: &'a str,
}

/// GraphQL's `mergeStateStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeState {
    Unknown,
    Dirty,
    Draft,
    Behind,
    Blocked,
    Unstable,
    Clean,
}

impl MergeState {
    /// The state as REST names it.
    pub fn rest(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Dirty => "dirty",
            Self::Draft => "draft",
            Self::Behind => "behind",
            Self::Blocked => "blocked",
            Self::Unstable => "unstable",
            Self::Clean => "clean",
        }
    }

    /// The state as GraphQL names it: a draft is only `BLOCKED` there.
    pub fn graphql(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Dirty => "DIRTY",
            Self::Draft | Self::Blocked => "BLOCKED",
            Self::Behind => "BEHIND",
            Self::Unstable => "UNSTABLE",
            Self::Clean => "CLEAN",
        }
    }
}

/// The tree of the merge, or `None` when it conflicts.
pub fn merged_tree(repository: &Path, base: &str, head: &str) -> Option<String> {
    let output = try_git(repository, &["merge-tree", "--write-tree", base, head]).ok()?;
    output.lines().next().map(str::to_owned)
}

impl World {
    /// Mergeability as a client reads it: unknown for the first reads after a change.
    pub fn read_mergeable(&self, repository: &Repository, issue: &Issue) -> Option<bool> {
        let pull = issue.pull.as_ref().filter(|_| issue.is_open)?;
        let left = pull.unknown_reads.get();
        if left > 0 {
            pull.unknown_reads.set(left - 1);
            return None;
        }
        let commits = (pull.base_sha.clone(), pull.head_sha.clone());
        let mut known = self.mergeability.borrow_mut();
        let merges = known
            .entry(commits)
            .or_insert_with_key(|(base, head)| merged_tree(&repository.path, base, head).is_some());
        Some(*merges)
    }

    /// Whether a pull request could be merged, and what is in the way.
    pub fn merge_state(
        &self,
        repository: &Repository,
        issue: &Issue,
        mergeable: Option<bool>,
    ) -> MergeState {
        let Some(pull) = issue.pull.as_ref().filter(|_| issue.is_open) else {
            return MergeState::Unknown;
        };
        match mergeable {
            None => return MergeState::Unknown,
            Some(false) => return MergeState::Dirty,
            Some(true) if pull.draft => return MergeState::Draft,
            Some(true) => {}
        }
        if is_blocked(self, repository, pull) {
            return MergeState::Blocked;
        }
        let protection = repository.protection(&pull.base_ref);
        let arguments = [
            "merge-base",
            "--is-ancestor",
            &pull.base_sha,
            &pull.head_sha,
        ];
        if protection.strict && try_git(&repository.path, &arguments).is_err() {
            return MergeState::Behind;
        }
        match repository.rollup(&pull.head_sha) {
            None | Some("SUCCESS") => MergeState::Clean,
            Some(_) => MergeState::Unstable,
        }
    }

    /// Merges into the base branch. The caller has checked that the merge is allowed. `None` when
    /// it conflicts.
    pub fn merge(&mut self, repository: u64, number: u64, request: &Request) -> Option<String> {
        self.sync();
        let found = self.repository_by_id(repository)?;
        let issue = found.issue(number).filter(|it| it.is_open)?;
        let pull = issue.pull.as_ref()?;
        let path = found.path.clone();
        let head_owner = self.repository_by_id(pull.head_repository);
        let head_owner = head_owner.map_or("ghost", |it| &it.owner);
        let (title, message) = match request.method {
            Method::Squash => (format!("{} (#{number})", issue.title()), String::new()),
            Method::Merge | Method::Rebase => (
                format!(
                    "Merge pull request #{number} from {head_owner}/{}",
                    pull.head_ref
                ),
                issue.title().to_owned(),
            ),
        };
        let title = request.title.unwrap_or(&title);
        let message = format!("{title}\n\n{}", request.message.unwrap_or(&message));
        let (base, head) = (pull.base_sha.clone(), pull.head_sha.clone());
        let target = format!("refs/heads/{}", pull.base_ref);
        let sha = match request.method {
            Method::Merge => {
                let tree = merged_tree(&path, &base, &head)?;
                git(
                    &path,
                    &[
                        "commit-tree",
                        &tree,
                        "-p",
                        &base,
                        "-p",
                        &head,
                        "-m",
                        &message,
                    ],
                )
            }
            Method::Squash => {
                let tree = merged_tree(&path, &base, &head)?;
                git(&path, &["commit-tree", &tree, "-p", &base, "-m", &message])
            }
            Method::Rebase => rebased(&path, &base, &head)?,
        };
        git(&path, &["update-ref", &target, &sha, &base]);
        let by = request.by.to_owned();
        self.mark_merged(repository, number, &by, &sha);
        self.sync();
        Some(sha)
    }

    pub(super) fn mark_merged(&mut self, repository: u64, number: u64, by: &str, sha: &str) {
        let first = self.new_id();
        self.change_issue(repository, number, |issue, at, id| {
            let Some(pull) = issue.pull.as_mut() else {
                return;
            };
            pull.queued = None;
            pull.merge = Some(Merge {
                at,
                by: by.to_owned(),
                sha: sha.to_owned(),
            });
            issue.record(event(first, "merged", by, at));
            issue.close(by, None, at, id);
        });
        for closed in self.closed_with(repository, number) {
            self.change_issue(repository, closed, |issue, at, id| {
                issue.close(by, Some("completed"), at, id);
            });
        }
    }

    /// The issues that a pull request closes by words such as `Closes #1` in its text. Only a merge
    /// into the default branch closes issues.
    fn closed_with(&self, repository: u64, number: u64) -> Vec<u64> {
        let found = self.repository_by_id(repository);
        let text = found.and_then(|repository| {
            let issue = repository.issue(number)?;
            let base = &issue.pull.as_ref()?.base_ref;
            (*base == repository.default_branch).then(|| issue.body().to_lowercase())
        });
        let text = text.unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        let closes = |word: &str| ["closes", "fixes", "resolves"].contains(&word);
        let pairs = words.windows(2).filter(|it| closes(it[0]));
        let numbers = pairs.filter_map(|it| it[1].strip_prefix('#')?.parse().ok());
        numbers.collect()
    }

    /// Merges the base into the head branch, as the button "Update branch" does; `false` when they
    /// conflict.
    pub fn update_branch(&mut self, repository: u64, number: u64) -> bool {
        self.sync();
        let Some(found) = self.repository_by_id(repository) else {
            return false;
        };
        let Some(pull) = found.issue(number).and_then(|it| it.pull.clone()) else {
            return false;
        };
        let Some(head) = self.repository_by_id(pull.head_repository) else {
            return false;
        };
        let source = found.path.to_string_lossy().into_owned();
        git(&head.path, &["fetch", "-q", &source, &pull.base_sha]);
        let Some(tree) = merged_tree(&head.path, &pull.head_sha, &pull.base_sha) else {
            return false;
        };
        let message = format!("Merge branch '{}' into {}", pull.base_ref, pull.head_ref);
        let parents = ["-p", &pull.head_sha, "-p", &pull.base_sha];
        let arguments = [&["commit-tree", &tree, "-m", &message][..], &parents].concat();
        let sha = git(&head.path, &arguments);
        git(
            &head.path,
            &["update-ref", &format!("refs/heads/{}", pull.head_ref), &sha],
        );
        self.sync();
        true
    }
}

/// Whether a required review or check is missing.
fn is_blocked(world: &World, repository: &Repository, pull: &Pull) -> bool {
    let protection = repository.protection(&pull.base_ref);
    let mut required = protection.all_checks();
    required.any(|it| repository.required_result(&pull.head_sha, it) != Some(true))
        || world
            .review_decision(repository, pull)
            .is_some_and(|it| it != "APPROVED")
}

/// Applies the commits of the head, one after the other, on top of the base; returns the new tip.
fn rebased(repository: &Path, base: &str, head: &str) -> Option<String> {
    let range = format!("{base}..{head}");
    let commits = git(
        repository,
        &["rev-list", "--reverse", "--no-merges", &range],
    );
    let mut tip = base.to_owned();
    for commit in commits.lines() {
        let parent = format!("--merge-base={commit}^");
        let tree = try_git(
            repository,
            &["merge-tree", "--write-tree", &parent, &tip, commit],
        )
        .ok()?;
        let tree = tree.lines().next()?.to_owned();
        let written = git(
            repository,
            &[
                "show",
                "-s",
                "--format=%an%n%ae%n%ad%n%B",
                "--date=raw",
                commit,
            ],
        );
        let mut lines = written.splitn(4, '\n');
        let names = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"];
        let author: Vec<(&str, &str)> = names
            .into_iter()
            .map(|it| (it, lines.next().unwrap_or_default()))
            .collect();
        let message = lines.next().unwrap_or_default();
        tip = run(
            repository,
            &["commit-tree", &tree, "-p", &tip, "-F", "-"],
            message,
            &author,
        )
        .ok()?;
    }
    Some(tip)
}

//! Notices pushes: compares the branches in git with the known ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::World;
use super::issue::event;
use super::pull::Pull;
use super::review::ReviewState;
use crate::git::{git, git_with, try_git};

/// A pull request whose head or base has moved.
struct MovedPull {
    repository: u64,
    number: u64,
    /// The new tips; `None` for a branch that was deleted.
    head: Option<String>,
    base: Option<String>,
}

impl World {
    /// Reads all branches from git, and updates the pull requests accordingly.
    pub fn sync(&mut self) {
        let mut changed = false;
        let now = self.now();
        for repository in self.repositories.iter_mut().filter(|it| !it.deleted) {
            let branches = branches(&repository.path);
            if branches != repository.branches {
                repository.branches = branches;
                repository.pushed_at = now;
                changed = true;
            }
        }
        if changed {
            let mut contained = HashMap::new();
            for moved in self.moved_pulls() {
                self.follow(&moved, &mut contained);
            }
        }
    }

    fn moved_pulls(&self) -> Vec<MovedPull> {
        let mut found = Vec::new();
        for repository in self.repositories.iter().filter(|it| !it.deleted) {
            for issue in repository.issues.iter().filter(|it| it.is_open) {
                let Some(pull) = &issue.pull else { continue };
                let head = self.repository_by_id(pull.head_repository);
                let head = head.and_then(|it| it.branches.get(&pull.head_ref)).cloned();
                let base = repository.branches.get(&pull.base_ref).cloned();
                if head.as_ref() != Some(&pull.head_sha) || base.as_ref() != Some(&pull.base_sha) {
                    let (repository, number) = (repository.id, issue.number);
                    found.push(MovedPull {
                        repository,
                        number,
                        head,
                        base,
                    });
                }
            }
        }
        found
    }

    fn follow(&mut self, moved: &MovedPull, contained: &mut HashMap<(String, String), bool>) {
        let Some(repository) = self.repository_by_id(moved.repository) else {
            return;
        };
        let (path, owner) = (repository.path.clone(), repository.owner.clone());
        let Some(issue) = repository.issue(moved.number) else {
            return;
        };
        let (Some(pull), author) = (issue.pull.clone(), issue.author.clone()) else {
            return;
        };
        let (Some(head), Some(base)) = (&moved.head, &moved.base) else {
            let name = if moved.base.is_none() {
                "base_ref_deleted"
            } else {
                "head_ref_deleted"
            };
            let closing = self.new_id();
            self.change_issue(moved.repository, moved.number, |issue, at, id| {
                issue.record(event(id, name, &author, at));
                issue.close(&author, None, at, closing);
            });
            return;
        };
        if pull.head_sha != *head {
            let source = self
                .repository_by_id(pull.head_repository)
                .map(|it| it.path.clone());
            if let Some(source) = source.filter(|it| *it != path) {
                git(&path, &["fetch", "-q", &source.to_string_lossy(), head]);
            }
            git(
                &path,
                &[
                    "update-ref",
                    &format!("refs/pull/{}/head", moved.number),
                    head,
                ],
            );
        }
        let unknown_reads = self.unknown_reads;
        let dismisses = repository_dismisses(self, moved.repository, &pull);
        let changed_files = changed_files(&path, &pull.head_sha, head);
        let is_push = pull.head_sha != *head;
        self.change_issue(moved.repository, moved.number, |issue, at, id| {
            let Some(pull) = issue.pull.as_mut() else {
                return;
            };
            pull.unknown_reads.set(unknown_reads);
            base.clone_into(&mut pull.base_sha);
            if !is_push {
                return;
            }
            head.clone_into(&mut pull.head_sha);
            pull.queued = None;
            for thread in &mut pull.threads {
                thread.outdated |= changed_files.contains(&thread.path);
            }
            for review in pull.reviews.iter_mut().filter(|_| dismisses) {
                if review.state == ReviewState::Approved {
                    review.state = ReviewState::Dismissed;
                }
            }
            issue.record(event(id, "head_ref_pushed", &author, at));
        });
        // The pull request may have been merged with git alone.
        let is_contained = *contained
            .entry((head.clone(), base.clone()))
            .or_insert_with(|| {
                try_git(&path, &["merge-base", "--is-ancestor", head, base]).is_ok()
            });
        if is_contained {
            self.mark_merged(moved.repository, moved.number, &owner, head);
        } else if is_push {
            self.start_ci(moved.repository, moved.number);
        }
    }

    /// Opens many pull requests that all propose the same commit, from branches `bulk-1` on.
    pub fn open_many_pulls(
        &mut self,
        repository: u64,
        author: &str,
        sha: &str,
        count: u64,
    ) -> Vec<u64> {
        let Some(found) = self.repository_by_id(repository) else {
            return Vec::new();
        };
        let (path, base_ref) = (found.path.clone(), found.default_branch.clone());
        let first = found.last_number + 1;
        let refs: String = (0..count)
            .map(|it| {
                let head = format!("create refs/heads/bulk-{} {sha}\n", it + 1);
                head + &format!("create refs/pull/{}/head {sha}\n", first + it)
            })
            .collect();
        git_with(&path, &["update-ref", "--stdin"], &refs);
        self.sync();
        let base_sha = self
            .repository_by_id(repository)
            .and_then(|it| it.branches.get(&base_ref));
        let base_sha = base_sha.cloned().unwrap_or_default();
        let open = |world: &mut Self, it: u64| {
            let pull = Pull {
                id: world.new_id(),
                head_repository: repository,
                head_ref: format!("bulk-{}", it + 1),
                head_sha: sha.to_owned(),
                base_ref: base_ref.clone(),
                base_sha: base_sha.clone(),
                draft: false,
                merge: None,
                reviews: Vec::new(),
                threads: Vec::new(),
                queued: None,
                unknown_reads: world.unknown_reads.into(),
            };
            world.add_issue(
                repository,
                author,
                &format!("Change {}", it + 1),
                "",
                Some(pull),
            )
        };
        (0..count).map(|it| open(self, it)).collect()
    }
}

fn repository_dismisses(world: &World, repository: u64, pull: &Pull) -> bool {
    let repository = world.repository_by_id(repository);
    repository.is_some_and(|it| it.protection(&pull.base_ref).dismiss_stale)
}

fn branches(repository: &Path) -> BTreeMap<String, String> {
    let format = "--format=%(refname:lstrip=2) %(objectname)";
    let lines = git(repository, &["for-each-ref", format, "refs/heads"]);
    let pairs = lines.lines().filter_map(|line| line.rsplit_once(' '));
    pairs
        .map(|(name, sha)| (name.to_owned(), sha.to_owned()))
        .collect()
}

fn changed_files(repository: &Path, old: &str, new: &str) -> BTreeSet<String> {
    if old == new {
        return BTreeSet::new();
    }
    let lines = try_git(repository, &["diff", "--name-only", old, new]).unwrap_or_default();
    lines.lines().map(str::to_owned).collect()
}

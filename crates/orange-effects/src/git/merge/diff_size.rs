//! The size of a branch's changes, in numbers.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use orange_engine::names::CommitId;

use super::diff::{DiffRequest, NEW_LARGEST, NEW_SHOWN};
use crate::git::repository::call::{path, split_zero_terminated};
use crate::git::worktree::status::HELD_FOLDER;
use crate::git::{Git, GitError, Worktree};
use crate::private_file;

/// As in git, a NUL among the first bytes means that a file is binary.
const BINARY_CHECK: usize = 8000;

/// The size of a branch's changes since it forked from the default branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffSize {
    pub commits: u64,
    /// Changed files.
    pub files: u64,
    /// Added lines.
    pub added: u64,
    /// Removed lines.
    pub removed: u64,
    pub head: Option<CommitId>,
}

const NUMSTAT: [&str; 6] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
    "--numstat",
    "-z",
];

impl Git {
    /// The size of the changes in the branch's commits; zero if the branch does not exist and was
    /// not merged.
    pub fn diff_size(&self, request: &DiffRequest<'_>) -> Result<DiffSize, GitError> {
        let merged = || request.merged.map(|(_, head)| head.clone());
        let Some(head) = self.branch(request.branch)?.or_else(merged) else {
            return Ok(DiffSize::default());
        };
        let base = self.fork_point(request, &head)?;
        let range = [base.to_string(), head.to_string()];
        let numbers = self.call(NUMSTAT).with_arguments(&range).bytes()?;
        Ok(parse_numstat(self.count(&base, &head)?, head, &numbers))
    }
}

impl Worktree<'_> {
    /// The size of the committed and uncommitted changes, including new files.
    pub fn diff_size(&self, request: &DiffRequest<'_>) -> Result<DiffSize, GitError> {
        let git = self.git();
        let Some(head) = git.branch(request.branch)? else {
            return Ok(DiffSize::default());
        };
        let base = git.fork_point(request, &head)?;
        let numbers = self
            .call(NUMSTAT)
            .with_arguments([base.as_str(), "--"])
            .bytes()?;
        let mut size = parse_numstat(git.count(&base, &head)?, head, &numbers);
        self.add_new_files(&mut size)?;
        Ok(size)
    }

    /// Adds the files that git neither tracks nor ignores. Little is read, because the dashboard
    /// asks often: the lines of the first `NEW_SHOWN` files count, as long as these files together
    /// are not larger than `NEW_LARGEST`. Other files, and binary ones, count without their lines.
    fn add_new_files(&self, size: &mut DiffSize) -> Result<(), GitError> {
        let words = ["ls-files", "-z", "--others", "--exclude-standard"];
        let found = self.call(words).bytes()?;
        let mut room = NEW_LARGEST;
        let mut seen = 0;
        for name in split_zero_terminated(&found) {
            let name = path(name);
            // A name that ends with a slash is a nested repository, which cannot be committed.
            if name.as_os_str().as_bytes().ends_with(b"/") || name.starts_with(HELD_FOLDER) {
                continue;
            }
            size.files += 1;
            seen += 1;
            if seen > NEW_SHOWN {
                continue;
            }
            let file = self.path().join(name);
            let Ok(metadata) = fs::symlink_metadata(&file) else {
                continue;
            };
            if metadata.is_symlink() {
                size.added += 1;
            } else if metadata.len() <= room
                && let Ok(Some(content)) = private_file::read_from_agent(&file, room)
            {
                room = room.saturating_sub(metadata.len());
                size.added += count_lines(&content);
            }
        }
        Ok(())
    }
}

/// The lines of a file; zero for a binary one.
fn count_lines(content: &[u8]) -> u64 {
    let start = content.get(..BINARY_CHECK).unwrap_or(content);
    if start.contains(&0) {
        return 0;
    }
    let lines = content.split_inclusive(|byte| *byte == b'\n').count();
    u64::try_from(lines).unwrap_or(u64::MAX)
}

fn parse_numstat(commits: u64, head: CommitId, numbers: &[u8]) -> DiffSize {
    let mut size = DiffSize {
        commits,
        head: Some(head),
        ..DiffSize::default()
    };
    for part in split_zero_terminated(numbers) {
        let part = String::from_utf8_lossy(part);
        // The names of a renamed file follow its numbers in parts of their own.
        if part.matches('\t').count() < 2 {
            continue;
        }
        size.files += 1;
        let mut fields = part.split('\t');
        let mut count = || fields.next()?.parse::<u64>().ok();
        // For a binary file, git prints no numbers.
        let (added, removed) = (count().unwrap_or(0), count().unwrap_or(0));
        size.added += added;
        size.removed += removed;
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_renamed_file_are_no_numbers() {
        let numbers = b"0\t0\t\x005000\x007000\x003\t1\ta\x00-\t-\tpicture\x00";
        let size = parse_numstat(1, CommitId::new("aaa"), numbers);
        assert_eq!((size.files, size.added, size.removed), (3, 3, 1));
    }
}

//! How much space a directory takes, and how much is free.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The size of a block in `st_blocks`.
const BLOCK: u64 = 512;

/// The bytes that a directory takes on its disk.
///
/// Follows no symbolic link and stays on the disk of the directory. A file with several names
/// counts once. A file that disappears meanwhile or cannot be read counts as 0 bytes.
pub fn disk_usage(directory: &Path) -> io::Result<u64> {
    let top = fs::symlink_metadata(directory)?;
    let mut seen_inodes = BTreeSet::new();
    let mut sum = top.blocks().saturating_mul(BLOCK);
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.dev() != top.dev()
                || metadata.nlink() > 1 && !seen_inodes.insert(metadata.ino())
            {
                continue;
            }
            sum = sum.saturating_add(metadata.blocks().saturating_mul(BLOCK));
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(sum)
}

/// The bytes that are free for the user on the disk of a path; the path need not exist yet.
pub fn free_space(path: &Path) -> io::Result<u64> {
    let existing = path.ancestors().find(|it| it.exists());
    let filesystem = rustix::fs::statvfs(existing.unwrap_or(Path::new("/")))?;
    Ok(filesystem.f_bavail.saturating_mul(filesystem.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_two_names_counts_once_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        let outside = folder.path().join("outside");
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("large"), vec![1; 1 << 20]).unwrap();
        let empty = disk_usage(&inside).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        fs::write(inside.join("one"), vec![1; 1 << 18]).unwrap();
        fs::hard_link(inside.join("one"), inside.join("two")).unwrap();
        let used = disk_usage(&inside).unwrap() - empty;
        assert!((1 << 18..1 << 19).contains(&used), "{used}");
        assert!(disk_usage(&folder.path().join("missing")).is_err());
    }

    #[test]
    fn the_free_space_of_a_missing_directory_is_that_of_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_space(&folder.path().join("a/b")).unwrap() > 0);
    }
}

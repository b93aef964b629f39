//! Writes, updates and removes the skill file of one agent.
//!
//! Invariant: a file is replaced or removed only if its last line proves that orange wrote it and
//! that it is unchanged since. A process that is killed midway leaves the old file or the new one,
//! and at most a temporary file beside it, which the next call removes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use orange_config::reason;
use orange_engine::skill::{self, Authorship};
use rustix::fs::FlockOperation;

/// The file that agents look for in a skill's directory.
const FILE: &str = "SKILL.md";

/// The temporary name of the file while it is being written; only the holder of the lock uses it.
const HIDDEN: &str = ".SKILL.md.orange-new";

/// How many bytes of the file are read; orange writes no larger file.
const LARGEST: u64 = 1024 * 1024;

/// What is at the skill's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillState {
    Absent,
    /// A file that orange wrote, with its text.
    Own(String),
    /// A file that orange wrote and that was changed since.
    Changed,
    /// Something that orange did not write; the text says what it is.
    Foreign(&'static str),
    /// The skill's directory is a link or a file; the text says which.
    ForeignFolder(&'static str),
}

/// The result of writing or removing the skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was missing and has been written.
    Written,
    /// It had other text before.
    Updated,
    /// It was already up to date.
    Unchanged,
    Removed,
    /// There was no file that orange wrote.
    Absent,
    Kept(SkillState),
}

/// Why the skill could not be read, written or removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {verb} `{}`: {reason}", .path.display())]
pub struct SkillFileError {
    verb: &'static str,
    path: PathBuf,
    reason: String,
}

/// The path of the skill below an agent's skills directory.
pub fn path(skills: &Path) -> PathBuf {
    skills.join(skill::NAME).join(FILE)
}

/// Inspects the skill's path and changes nothing.
pub fn inspect(skills: &Path) -> Result<SkillState, SkillFileError> {
    let folder = skills.join(skill::NAME);
    match fs::symlink_metadata(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SkillState::Absent),
        Err(error) => return Err(failed("inspect", &folder)(error)),
        // The link's target may belong to another agent, or be in one of the user's repositories.
        Ok(found) if found.is_symlink() => {
            return Ok(SkillState::ForeignFolder("its folder is a link"));
        }
        Ok(found) if !found.is_dir() => {
            return Ok(SkillState::ForeignFolder("its folder is a file"));
        }
        Ok(_) => {}
    }
    let file = folder.join(FILE);
    match fs::symlink_metadata(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SkillState::Absent),
        Err(error) => return Err(failed("inspect", &file)(error)),
        Ok(found) if found.is_symlink() => return Ok(SkillState::Foreign("it is a link")),
        Ok(found) if !found.is_file() => {
            return Ok(SkillState::Foreign("it is not a regular file"));
        }
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let read = File::open(&file).and_then(|opened| opened.take(LARGEST).read_to_end(&mut bytes));
    read.map_err(failed("read", &file))?;
    Ok(match skill::authorship(&bytes) {
        Authorship::Own => SkillState::Own(String::from_utf8_lossy(&bytes).into_owned()),
        Authorship::Changed => SkillState::Changed,
        Authorship::Foreign => SkillState::Foreign("orange did not write it"),
    })
}

/// Writes this text as the skill, if what is there may be replaced.
pub fn install(skills: &Path, text: &str) -> Result<Outcome, SkillFileError> {
    match inspect(skills)? {
        SkillState::Absent | SkillState::Own(_) => {}
        other => return Ok(Outcome::Kept(other)),
    }
    let folder = skills.join(skill::NAME);
    fs::create_dir_all(&folder).map_err(failed("create the folder", &folder))?;
    let _lock = lock(&folder);
    let (hidden, file) = (folder.join(HIDDEN), folder.join(FILE));
    match inspect(skills)? {
        SkillState::Own(found) if found == text => Ok(Outcome::Unchanged),
        SkillState::Own(found) => {
            fill(&hidden, text).map_err(failed("write", &file))?;
            // Another process may have changed the file while we wrote the new one.
            match inspect(skills)? {
                SkillState::Own(still) if still == found => {
                    fs::rename(&hidden, &file).map_err(failed("write", &file))?;
                    Ok(Outcome::Updated)
                }
                other => {
                    let _stays = fs::remove_file(&hidden);
                    Ok(Outcome::Kept(other))
                }
            }
        }
        SkillState::Absent => {
            fill(&hidden, text).map_err(failed("write", &file))?;
            // A hard link, unlike a rename, never replaces an existing file.
            let linked = fs::hard_link(&hidden, &file);
            let _stays = fs::remove_file(&hidden);
            match linked {
                Ok(()) => Ok(Outcome::Written),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Ok(Outcome::Kept(inspect(skills)?))
                }
                Err(error) => Err(failed("write", &file)(error)),
            }
        }
        other => Ok(Outcome::Kept(other)),
    }
}

/// Removes the file that orange wrote, and its directory if that is then empty.
pub fn remove(skills: &Path) -> Result<Outcome, SkillFileError> {
    let folder = skills.join(skill::NAME);
    let is_folder = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
    let _lock = is_folder.then(|| lock(&folder));
    let outcome = match inspect(skills)? {
        SkillState::Own(_) => {
            let file = folder.join(FILE);
            fs::remove_file(&file).map_err(failed("remove", &file))?;
            Outcome::Removed
        }
        SkillState::Absent | SkillState::Foreign(_) | SkillState::ForeignFolder(_) => {
            Outcome::Absent
        }
        changed @ SkillState::Changed => Outcome::Kept(changed),
    };
    if is_folder {
        let _absent = fs::remove_file(folder.join(HIDDEN));
        // The directory stays if the user keeps other files in it.
        let _stays = fs::remove_dir(&folder);
    }
    Ok(outcome)
}

/// Locks out other orange processes until the returned file is dropped; on a file system without
/// locks, does nothing.
fn lock(folder: &Path) -> Option<File> {
    let opened = File::open(folder).ok()?;
    rustix::fs::flock(&opened, FlockOperation::LockExclusive).ok()?;
    Some(opened)
}

fn fill(hidden: &Path, text: &str) -> io::Result<()> {
    // A killed process may have left its temporary file; nothing in it is needed.
    match fs::remove_file(hidden) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(hidden)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn failed(verb: &'static str, path: &Path) -> impl Fn(io::Error) -> SkillFileError {
    let path = path.to_owned();
    move |error| SkillFileError {
        verb,
        path: path.clone(),
        reason: reason(&error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::thread;

    use super::*;

    fn text(words: &str) -> String {
        skill::add_mark(words)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn it_is_written_updated_and_removed() {
        let root = tempfile::tempdir().unwrap();
        let skills = root.path().join("agent/skills");
        assert_eq!(remove(&skills).unwrap(), Outcome::Absent);
        assert!(!skills.exists(), "looking makes nothing");
        assert_eq!(install(&skills, &text("one")).unwrap(), Outcome::Written);
        assert_eq!(install(&skills, &text("one")).unwrap(), Outcome::Unchanged);
        assert_eq!(install(&skills, &text("two")).unwrap(), Outcome::Updated);
        assert_eq!(fs::read_to_string(path(&skills)).unwrap(), text("two"));
        assert_eq!(names(&skills.join("orange")), ["SKILL.md"]);
        assert_eq!(remove(&skills).unwrap(), Outcome::Removed);
        assert_eq!(remove(&skills).unwrap(), Outcome::Absent);
        assert_eq!(names(&skills), [""; 0]);
    }

    #[test]
    fn leftovers_of_a_killed_process_are_replaced() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("orange");
        for (old, outcome) in [(None, Outcome::Written), (Some("old"), Outcome::Updated)] {
            let _absent = fs::remove_dir_all(&folder);
            fs::create_dir(&folder).unwrap();
            if let Some(old) = old {
                fs::write(folder.join(FILE), text(old)).unwrap();
            }
            fs::write(folder.join(HIDDEN), "---\nna").unwrap();
            assert_eq!(install(root.path(), &text("new")).unwrap(), outcome);
            assert_eq!(names(&folder), ["SKILL.md"]);
        }
        fs::write(folder.join(HIDDEN), "---\nna").unwrap();
        assert_eq!(remove(root.path()).unwrap(), Outcome::Removed);
        assert!(!folder.exists());
    }

    #[test]
    fn foreign_files_are_not_touched() {
        let root = tempfile::tempdir().unwrap();
        let (folder, elsewhere) = (root.path().join("orange"), root.path().join("elsewhere"));
        let file = folder.join(FILE);
        let changed = text("one").replace("one", "mine");
        fs::create_dir(&folder).unwrap();
        for (theirs, found) in [
            (changed.as_str(), SkillState::Changed),
            ("mine", SkillState::Foreign("orange did not write it")),
            ("", SkillState::Foreign("orange did not write it")),
        ] {
            fs::write(&file, theirs).unwrap();
            let left = install(root.path(), &text("two")).unwrap();
            assert_eq!(left, Outcome::Kept(found));
            remove(root.path()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
        }
        fs::remove_file(&file).unwrap();
        fs::write(&elsewhere, text("one")).unwrap();
        symlink(&elsewhere, &file).unwrap();
        let left = install(root.path(), &text("two")).unwrap();
        assert_eq!(left, Outcome::Kept(SkillState::Foreign("it is a link")));
        assert_eq!(remove(root.path()).unwrap(), Outcome::Absent);
        assert!(file.is_symlink());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), text("one"));
    }

    #[test]
    fn the_skills_folder_may_be_a_link_but_the_skill_may_not() {
        let root = tempfile::tempdir().unwrap();
        let (real, linked) = (root.path().join("dotfiles"), root.path().join("skills"));
        fs::create_dir(&real).unwrap();
        symlink(&real, &linked).unwrap();
        assert_eq!(install(&linked, &text("one")).unwrap(), Outcome::Written);
        assert!(real.join("orange/SKILL.md").is_file());
        let other = root.path().join("other");
        fs::create_dir(&other).unwrap();
        symlink(real.join("orange"), other.join("orange")).unwrap();
        let left = Outcome::Kept(SkillState::ForeignFolder("its folder is a link"));
        assert_eq!(install(&other, &text("two")).unwrap(), left);
        assert_eq!(remove(&other).unwrap(), Outcome::Absent);
        assert_eq!(inspect(&linked).unwrap(), SkillState::Own(text("one")));
        symlink(root.path().join("nowhere"), root.path().join("dangling")).unwrap();
        let error = install(&root.path().join("dangling"), &text("one")).unwrap_err();
        assert!(error.to_string().contains("create the folder"), "{error}");
    }

    #[test]
    fn other_files_in_the_folder_are_kept() {
        let root = tempfile::tempdir().unwrap();
        install(root.path(), &text("one")).unwrap();
        let notes = root.path().join("orange/notes.md");
        fs::write(&notes, "mine").unwrap();
        assert_eq!(remove(root.path()).unwrap(), Outcome::Removed);
        assert_eq!(fs::read_to_string(&notes).unwrap(), "mine");
    }

    #[test]
    fn concurrent_writers_leave_one_complete_file() {
        let root = tempfile::tempdir().unwrap();
        thread::scope(|scope| {
            for number in 0..8 {
                let skills = root.path();
                scope.spawn(move || install(skills, &text(&number.to_string())).unwrap());
            }
        });
        assert!(matches!(inspect(root.path()).unwrap(), SkillState::Own(_)));
        assert_eq!(names(&root.path().join("orange")), ["SKILL.md"]);
    }
}

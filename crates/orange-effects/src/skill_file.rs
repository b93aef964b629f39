//! The skill of one agent: written, kept true, taken away.
//!
//! Invariant: nothing is replaced or removed but a file that orange wrote and nobody has changed
//! since, which its last line proves. Whoever is killed on the way leaves the old file or the new
//! one, and at most a hidden one beside it that the next call takes away.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use orange_config::reason;
use orange_engine::skill::{self, Authorship};
use rustix::fs::FlockOperation;

/// The file that agents look for in the folder of a skill.
const FILE: &str = "SKILL.md";

/// What it is called before it is whole; only who holds the lock has one.
const HIDDEN: &str = ".SKILL.md.orange-new";

/// No skill is larger; what is larger is not ours.
const LARGEST: u64 = 1024 * 1024;

/// What is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// What orange wrote, and what it says.
    Own(String),
    /// What orange wrote and somebody has changed since.
    Changed,
    /// What somebody else put there, and what it is.
    Foreign(&'static str),
    /// The folder of the skill is somebody else's, and what it is.
    Elsewhere(&'static str),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was not there and is now.
    Written,
    /// It said something else before.
    Updated,
    /// It was as it should be.
    Already,
    /// It was there and is gone.
    Removed,
    /// There was none of ours.
    Absent,
    Left(Found),
}

/// Why the skill could not be looked at, written or removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {verb} `{}`: {reason}", .path.display())]
pub struct SkillFileError {
    verb: &'static str,
    path: PathBuf,
    reason: String,
}

/// Where the skill of an agent is, below its folder of skills.
pub fn path(skills: &Path) -> PathBuf {
    skills.join(skill::NAME).join(FILE)
}

/// Looks at what is there; nothing is changed.
pub fn look(skills: &Path) -> Result<Found, SkillFileError> {
    let folder = skills.join(skill::NAME);
    match fs::symlink_metadata(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Absent),
        Err(error) => return Err(failed("look at", &folder)(error)),
        // What it leads to may be another agent's, or in a repository of the person's.
        Ok(found) if found.is_symlink() => return Ok(Found::Elsewhere("its folder is a link")),
        Ok(found) if !found.is_dir() => return Ok(Found::Elsewhere("its folder is a file")),
        Ok(_) => {}
    }
    let file = folder.join(FILE);
    match fs::symlink_metadata(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Absent),
        Err(error) => return Err(failed("look at", &file)(error)),
        Ok(found) if found.is_symlink() => return Ok(Found::Foreign("it is a link")),
        Ok(found) if !found.is_file() => return Ok(Found::Foreign("it is no regular file")),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let read = File::open(&file).and_then(|opened| opened.take(LARGEST).read_to_end(&mut bytes));
    read.map_err(failed("read", &file))?;
    Ok(match skill::authorship(&bytes) {
        Authorship::Own => Found::Own(String::from_utf8_lossy(&bytes).into_owned()),
        Authorship::Changed => Found::Changed,
        Authorship::Foreign => Found::Foreign("orange did not write it"),
    })
}

/// Brings it about that the skill says this, if what is there may be replaced.
pub fn put(skills: &Path, text: &str) -> Result<Outcome, SkillFileError> {
    match look(skills)? {
        Found::Absent | Found::Own(_) => {}
        left => return Ok(Outcome::Left(left)),
    }
    let folder = skills.join(skill::NAME);
    fs::create_dir_all(&folder).map_err(failed("make the folder", &folder))?;
    let _lock = locked(&folder);
    let (hidden, file) = (folder.join(HIDDEN), folder.join(FILE));
    match look(skills)? {
        Found::Own(found) if found == text => Ok(Outcome::Already),
        Found::Own(found) => {
            fill(&hidden, text).map_err(failed("write", &file))?;
            // Somebody may have changed it while the other one was written.
            match look(skills)? {
                Found::Own(still) if still == found => {
                    fs::rename(&hidden, &file).map_err(failed("write", &file))?;
                    Ok(Outcome::Updated)
                }
                other => {
                    let _stays = fs::remove_file(&hidden);
                    Ok(Outcome::Left(other))
                }
            }
        }
        Found::Absent => {
            fill(&hidden, text).map_err(failed("write", &file))?;
            // A link, unlike a rename, never takes the place of what is there.
            let linked = fs::hard_link(&hidden, &file);
            let _stays = fs::remove_file(&hidden);
            match linked {
                Ok(()) => Ok(Outcome::Written),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Ok(Outcome::Left(look(skills)?))
                }
                Err(error) => Err(failed("write", &file)(error)),
            }
        }
        left => Ok(Outcome::Left(left)),
    }
}

/// Takes away what orange wrote, and its folder if nothing else is in it.
pub fn take_away(skills: &Path) -> Result<Outcome, SkillFileError> {
    let folder = skills.join(skill::NAME);
    let is_folder = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
    let _lock = is_folder.then(|| locked(&folder));
    let outcome = match look(skills)? {
        Found::Own(_) => {
            let file = folder.join(FILE);
            fs::remove_file(&file).map_err(failed("remove", &file))?;
            Outcome::Removed
        }
        Found::Absent | Found::Foreign(_) | Found::Elsewhere(_) => Outcome::Absent,
        changed @ Found::Changed => Outcome::Left(changed),
    };
    if is_folder {
        let _absent = fs::remove_file(folder.join(HIDDEN));
        // It stays where the person keeps something else in it.
        let _stays = fs::remove_dir(&folder);
    }
    Ok(outcome)
}

/// Keeps others of us out until it is dropped; a file system without locks has to do without.
fn locked(folder: &Path) -> Option<File> {
    let opened = File::open(folder).ok()?;
    rustix::fs::flock(&opened, FlockOperation::LockExclusive).ok()?;
    Some(opened)
}

fn fill(hidden: &Path, text: &str) -> io::Result<()> {
    // What a killed process left is nothing but a beginning of ours.
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
        skill::marked(words)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn it_is_written_once_kept_true_and_taken_away() {
        let root = tempfile::tempdir().unwrap();
        let skills = root.path().join("agent/skills");
        assert_eq!(take_away(&skills).unwrap(), Outcome::Absent);
        assert!(!skills.exists(), "looking makes nothing");
        assert_eq!(put(&skills, &text("one")).unwrap(), Outcome::Written);
        assert_eq!(put(&skills, &text("one")).unwrap(), Outcome::Already);
        assert_eq!(put(&skills, &text("two")).unwrap(), Outcome::Updated);
        assert_eq!(fs::read_to_string(path(&skills)).unwrap(), text("two"));
        assert_eq!(names(&skills.join("orange")), ["SKILL.md"]);
        assert_eq!(take_away(&skills).unwrap(), Outcome::Removed);
        assert_eq!(take_away(&skills).unwrap(), Outcome::Absent);
        assert_eq!(names(&skills), [""; 0]);
    }

    #[test]
    fn what_a_killed_process_left_is_no_obstacle() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("orange");
        for (old, outcome) in [(None, Outcome::Written), (Some("old"), Outcome::Updated)] {
            let _absent = fs::remove_dir_all(&folder);
            fs::create_dir(&folder).unwrap();
            if let Some(old) = old {
                fs::write(folder.join(FILE), text(old)).unwrap();
            }
            fs::write(folder.join(HIDDEN), "---\nna").unwrap();
            assert_eq!(put(root.path(), &text("new")).unwrap(), outcome);
            assert_eq!(names(&folder), ["SKILL.md"]);
        }
        fs::write(folder.join(HIDDEN), "---\nna").unwrap();
        assert_eq!(take_away(root.path()).unwrap(), Outcome::Removed);
        assert!(!folder.exists());
    }

    #[test]
    fn nothing_of_anybody_elses_is_touched() {
        let root = tempfile::tempdir().unwrap();
        let (folder, elsewhere) = (root.path().join("orange"), root.path().join("elsewhere"));
        let file = folder.join(FILE);
        let changed = text("one").replace("one", "mine");
        fs::create_dir(&folder).unwrap();
        for (theirs, found) in [
            (changed.as_str(), Found::Changed),
            ("mine", Found::Foreign("orange did not write it")),
            ("", Found::Foreign("orange did not write it")),
        ] {
            fs::write(&file, theirs).unwrap();
            let left = put(root.path(), &text("two")).unwrap();
            assert_eq!(left, Outcome::Left(found));
            take_away(root.path()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
        }
        fs::remove_file(&file).unwrap();
        fs::write(&elsewhere, text("one")).unwrap();
        symlink(&elsewhere, &file).unwrap();
        let left = put(root.path(), &text("two")).unwrap();
        assert_eq!(left, Outcome::Left(Found::Foreign("it is a link")));
        assert_eq!(take_away(root.path()).unwrap(), Outcome::Absent);
        assert!(file.is_symlink());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), text("one"));
    }

    #[test]
    fn a_folder_of_skills_may_be_a_link_and_that_of_the_skill_may_not() {
        let root = tempfile::tempdir().unwrap();
        let (real, linked) = (root.path().join("dotfiles"), root.path().join("skills"));
        fs::create_dir(&real).unwrap();
        symlink(&real, &linked).unwrap();
        assert_eq!(put(&linked, &text("one")).unwrap(), Outcome::Written);
        assert!(real.join("orange/SKILL.md").is_file());
        let other = root.path().join("other");
        fs::create_dir(&other).unwrap();
        symlink(real.join("orange"), other.join("orange")).unwrap();
        let left = Outcome::Left(Found::Elsewhere("its folder is a link"));
        assert_eq!(put(&other, &text("two")).unwrap(), left);
        assert_eq!(take_away(&other).unwrap(), Outcome::Absent);
        assert_eq!(look(&linked).unwrap(), Found::Own(text("one")));
        symlink(root.path().join("nowhere"), root.path().join("dangling")).unwrap();
        let error = put(&root.path().join("dangling"), &text("one")).unwrap_err();
        assert!(error.to_string().contains("make the folder"), "{error}");
    }

    #[test]
    fn what_else_is_in_its_folder_stays() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), &text("one")).unwrap();
        let notes = root.path().join("orange/notes.md");
        fs::write(&notes, "mine").unwrap();
        assert_eq!(take_away(root.path()).unwrap(), Outcome::Removed);
        assert_eq!(fs::read_to_string(&notes).unwrap(), "mine");
    }

    #[test]
    fn many_at_once_leave_one_whole_file() {
        let root = tempfile::tempdir().unwrap();
        thread::scope(|scope| {
            for number in 0..8 {
                let skills = root.path();
                scope.spawn(move || put(skills, &text(&number.to_string())).unwrap());
            }
        });
        assert!(matches!(look(root.path()).unwrap(), Found::Own(_)));
        assert_eq!(names(&root.path().join("orange")), ["SKILL.md"]);
    }
}

//! The private home of a task and harness, filled without following links.
//!
//! Agents wrote what is in it, so a link there may lead anywhere.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat,
};

use super::partial::{MAX_COPY, make_link, return_shared_file};
use crate::sandbox::description::{Description, Mount};

/// Creates the private home, the places where something is mounted in it, and the copies.
///
/// bwrap would create the places itself, but through a link that an agent left there. An agent of
/// the same task that runs at this moment can still replace a place afterwards; bwrap then creates
/// an empty file or folder at the link's target, and nothing there becomes visible.
pub(super) fn prepare_home(description: &Description) -> io::Result<()> {
    let user_home = Path::new(description.user_home.as_os_str());
    return_shared_files(description)?;
    let Some(private_home) = &description.private_home else {
        return Ok(());
    };
    let private_home = Path::new(private_home.as_os_str());
    fs::create_dir_all(private_home)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = openat(CWD, private_home, flags, Mode::empty())?;
    for (mount, relative) in mounts_in_home(description) {
        let Some(source) = mount.source() else {
            continue;
        };
        if description.bwrap.is_none() {
            let (folder, name) = open_parent(&root, relative)?;
            make_link(&folder, name, source)?;
        } else if source.is_dir() {
            open_folder(&root, relative)?;
        } else {
            let (folder, name) = open_parent(&root, relative)?;
            make_file(&folder, name)?;
        }
    }
    for copy in &description.copies {
        let relative = Path::new(copy.as_os_str());
        copy_file(&root, user_home, relative)?;
    }
    Ok(())
}

/// What is shown in the home, without what is below another mount: that has its place there.
fn mounts_in_home(description: &Description) -> Vec<(&Mount, &Path)> {
    let home = Path::new(description.user_home.as_os_str());
    let shown = || description.mounts.iter().filter_map(Mount::shown_at);
    let mounts = description.mounts.iter().filter_map(|mount| {
        let path = mount.shown_at()?;
        let is_covered = shown()
            .any(|other| other != path && path.starts_with(other) && inside(other, home).is_some());
        let relative = inside(path, home).filter(|_| !is_covered)?;
        Some((mount, relative))
    });
    mounts.collect()
}

/// Writes back what the agent shares with the user, where it has replaced the link by a newer file.
/// At the full level it cannot.
pub(super) fn return_shared_files(description: &Description) -> io::Result<()> {
    let (None, Some(home)) = (&description.bwrap, &description.private_home) else {
        return Ok(());
    };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(root) = openat(CWD, home.as_os_str(), flags, Mode::empty()) else {
        // It is not there yet.
        return Ok(());
    };
    for (mount, relative) in mounts_in_home(description) {
        if let Mount::Writable { path } = mount {
            let (folder, name) = open_parent(&root, relative)?;
            return_shared_file(&folder, name, Path::new(path.as_os_str()))?;
        }
    }
    Ok(())
}

/// The part of a path below the home, unless it is the home itself.
fn inside<'a>(path: &'a Path, home: &Path) -> Option<&'a Path> {
    let relative = path.strip_prefix(home).ok()?;
    (relative != Path::new("")).then_some(relative)
}

/// Opens a folder below `root`, and creates what is missing; a link on the way is replaced.
fn open_folder(root: &OwnedFd, relative: &Path) -> io::Result<OwnedFd> {
    let mut folder = root.try_clone()?;
    for part in relative.components() {
        let Component::Normal(name) = part else {
            return Err(io::Error::other("the path of a mount is not plain"));
        };
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(next) = openat(&folder, name, flags, Mode::empty()) {
            folder = next;
            continue;
        }
        remove_entry(&folder, name)?;
        mkdirat(&folder, name, Mode::from(0o700))?;
        folder = openat(&folder, name, flags, Mode::empty())?;
    }
    Ok(folder)
}

/// The folder of a file below `root`, and the file's name.
fn open_parent<'a>(
    root: &OwnedFd,
    relative: &'a Path,
) -> io::Result<(OwnedFd, &'a std::ffi::OsStr)> {
    let name = relative.file_name();
    let name = name.ok_or_else(|| io::Error::other("the path of a file has no name"))?;
    let parent = relative.parent().unwrap_or(Path::new(""));
    Ok((open_folder(root, parent)?, name))
}

/// Removes whatever is not a folder; an absent entry is not an error.
fn remove_entry(folder: &OwnedFd, name: &std::ffi::OsStr) -> io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(rustix::io::Errno::NOENT) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Makes sure that a regular file has this name.
fn make_file(folder: &OwnedFd, name: &std::ffi::OsStr) -> io::Result<()> {
    if let Ok(found) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        && FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
    {
        return Ok(());
    }
    remove_entry(folder, name)?;
    create_file(folder, name).map(drop)
}

fn create_file(folder: &OwnedFd, name: &std::ffi::OsStr) -> io::Result<File> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::from(0o600))?;
    Ok(File::from(file))
}

/// Copies a file of the user's home. The user may keep it elsewhere behind a link, which is
/// followed; a missing file is not an error.
fn copy_file(root: &OwnedFd, user_home: &Path, relative: &Path) -> io::Result<()> {
    let source = user_home.join(relative);
    match source.metadata() {
        Ok(found) if found.is_file() && found.len() <= MAX_COPY => {}
        _ => return Ok(()),
    }
    let bytes = fs::read(source)?;
    let (folder, name) = open_parent(root, relative)?;
    let mut temporary = name.as_bytes().to_vec();
    temporary.extend_from_slice(b".orange-copy");
    let temporary = std::ffi::OsStr::from_bytes(&temporary);
    remove_entry(&folder, temporary)?;
    create_file(&folder, temporary)?.write_all(&bytes)?;
    renameat(&folder, temporary, &folder, name)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;
    use crate::run::RawText;
    use crate::sandbox::description::Limits;
    use crate::sandbox::network::Network;

    fn describe(home: &Path, private: &Path, mounts: Vec<Mount>, copies: &[&str]) -> Description {
        Description {
            bwrap: Some("/usr/bin/bwrap".into()),
            orange: "/usr/bin/orange".into(),
            user_home: home.into(),
            private_home: Some(private.into()),
            temporary: None,
            copies: copies.iter().map(RawText::from).collect(),
            mounts,
            limits: Limits::default(),
            hostname: "orange".into(),
            network: Network::Open,
            login: None,
            hidden_variables: Vec::new(),
        }
    }

    fn folders(root: &Path) -> [PathBuf; 3] {
        ["home", "private", "elsewhere"].map(|name| {
            let path = root.join(name);
            fs::create_dir(&path).unwrap();
            path
        })
    }

    #[test]
    fn links_in_the_private_home_are_never_followed() {
        let root = tempfile::tempdir().unwrap();
        let [home, private, elsewhere] = folders(root.path());
        fs::create_dir_all(home.join(".tools/bin")).unwrap();
        fs::write(home.join(".gitconfig"), "[user]").unwrap();
        fs::write(home.join(".agent.json"), "{}").unwrap();
        fs::write(elsewhere.join("kept"), "kept").unwrap();
        symlink(&elsewhere, private.join(".tools")).unwrap();
        symlink(elsewhere.join("made"), private.join(".gitconfig")).unwrap();
        symlink(elsewhere.join("kept"), private.join(".agent.json")).unwrap();
        symlink(
            elsewhere.join("kept"),
            private.join(".agent.json.orange-copy"),
        )
        .unwrap();
        let mounts = vec![
            Mount::Other {
                source: private.as_path().into(),
                path: home.as_path().into(),
                is_read_only: false,
            },
            Mount::ReadOnly {
                path: home.join(".tools/bin").into(),
            },
            Mount::ReadOnly {
                path: home.join(".gitconfig").into(),
            },
        ];
        let description = describe(&home, &private, mounts, &[".agent.json", ".absent"]);
        for _again in 0..2 {
            prepare_home(&description).unwrap();
            assert!(private.join(".tools/bin").is_dir());
            let is_file = |name: &str| {
                let found = fs::symlink_metadata(private.join(name)).unwrap();
                found.is_file()
            };
            assert!(is_file(".gitconfig") && is_file(".agent.json"));
            assert_eq!(
                fs::read_to_string(private.join(".agent.json")).unwrap(),
                "{}"
            );
            let names = fs::read_dir(&elsewhere).unwrap();
            let names: Vec<_> = names.map(|it| it.unwrap().file_name()).collect();
            assert_eq!(names, ["kept"]);
            assert_eq!(fs::read_to_string(elsewhere.join("kept")).unwrap(), "kept");
        }
    }

    #[test]
    fn a_link_in_place_of_the_private_home_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let [home, private, elsewhere] = folders(root.path());
        fs::remove_dir(&private).unwrap();
        symlink(&elsewhere, &private).unwrap();
        let description = describe(&home, &private, Vec::new(), &[]);
        prepare_home(&description).unwrap_err();
    }
}

//! Decides what a run's sandbox shows.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::description::{Description, Limits, Mount};
use super::network::{InjectedLogin, Network};
use super::system_mounts::{TEMPORARY_BYTES, is_hidden, is_in_system, system_mounts};
use crate::run::RawText;

/// Variables by which programs find sockets that are not in the sandbox.
const HIDDEN_VARIABLES: [&str; 6] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "TMPDIR",
    "TMUX_TMPDIR",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
];

/// How many links lead from a program to its file at most.
const MAX_LINKS: usize = 16;

/// What a sandbox is made of.
#[derive(Clone, Debug)]
pub struct DescribeRequest<'a> {
    /// `None` at the partial level.
    pub bwrap: Option<&'a Path>,
    pub orange: &'a Path,
    pub user_home: &'a Path,
    /// orange's home. Nothing that a setting or the `PATH` names shows a part of it: a socket that
    /// is visible can be connected to, even if it is read-only.
    pub orange_home: &'a Path,
    /// The folder that replaces the home; `None` for an empty one.
    pub private_home: Option<&'a Path>,
    /// Where each start gets a folder for temporary files at the partial level.
    pub temporary: Option<&'a Path>,
    /// The agent's program.
    pub program: &'a Path,
    /// The agent's `PATH`; its folders are visible.
    pub path: Option<&'a OsStr>,
    /// Files and folders that are visible if they exist.
    pub read: Vec<PathBuf>,
    /// The same for files of orange.
    pub own: Vec<PathBuf>,
    /// Files and folders that are visible and will exist when the agent starts.
    pub given: Vec<PathBuf>,
    /// Files of the user's home that are copied into the private home.
    pub copy: Vec<PathBuf>,
    /// Files of the user's home that the agent writes too, if they exist.
    pub share: Vec<PathBuf>,
    /// Folders that the agent works in.
    pub writable: Vec<PathBuf>,
    /// The worktree, if the run has one; its link to the repository cannot be replaced.
    pub worktree: Option<&'a Path>,
    /// What is visible at other paths than outside.
    pub others: Vec<Mount>,
    pub network: Network,
    /// The login that stays outside.
    pub login: Option<InjectedLogin>,
}

/// Why no sandbox can be described.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescribeError {
    #[error("`{}` contains your home directory `{}`, which the sandbox hides", .path.display(), .home.display())]
    ContainsHome { path: PathBuf, home: PathBuf },
    #[error("`{}` is not an absolute path", .0.display())]
    Relative(PathBuf),
}

/// Describes the sandbox of a run; looks at the files, and changes nothing.
pub fn describe(request: &DescribeRequest<'_>) -> Result<Description, DescribeError> {
    let home = request.user_home;
    let hidden = [home, request.orange_home];
    let mut shown: Vec<Mount> = Vec::new();
    for path in &request.writable {
        if !path.is_absolute() {
            return Err(DescribeError::Relative(path.clone()));
        }
        if home.starts_with(path) {
            let (path, home) = (path.clone(), home.to_owned());
            return Err(DescribeError::ContainsHome { path, home });
        }
        // A file cannot be moved from one mount to another, as orange moves TASK.md into a worktree.
        let is_below = |other: &PathBuf| other != path && path.starts_with(other);
        if !request.writable.iter().any(is_below) {
            push(&mut shown, Mount::Writable { path: path.into() });
        }
    }
    let shared = request.share.iter();
    for path in shared.filter(|path| may_show(path, home) && !shows_part(path, request.orange_home))
    {
        push(&mut shown, Mount::Writable { path: path.into() });
    }
    let link = request.worktree.map(|folder| folder.join(".git"));
    let link = link.filter(|link| link.is_file());
    // What npm installs is linked from `.bin` into the packages beside it.
    let folders = std::env::split_paths(request.path.unwrap_or_default());
    let folders = folders.map(|folder| packages_of(&folder).to_owned());
    let read = request.read.iter().cloned();
    let read = read.chain(folders);
    let read = read.chain(program_places(request.program, hidden));
    let read = read.filter(|path| !shows_part(path, request.orange_home));
    let read = read.chain(request.own.iter().cloned()).chain(link);
    let read = read.chain([request.orange.to_owned()]);
    let read = read.filter(|path| may_show(path, home) && !is_in_system(path));
    for path in read.chain(request.given.iter().cloned()) {
        push(&mut shown, Mount::ReadOnly { path: path.into() });
    }
    shown.extend(request.others.iter().cloned());
    if !is_in_system(home) || is_hidden(home) {
        shown.push(match request.private_home {
            Some(source) => Mount::Other {
                source: source.into(),
                path: home.into(),
                is_read_only: false,
            },
            None => Mount::Temporary {
                path: home.into(),
                bytes: Some(TEMPORARY_BYTES),
            },
        });
    }
    // A parent comes before its children, so that it does not hide them.
    shown.sort_by_key(|mount| mount.path().to_owned());
    let mut mounts = system_mounts();
    mounts.extend(shown);
    let copies = request.copy.iter();
    let copies = copies.filter_map(|path| path.strip_prefix(home).ok());
    Ok(Description {
        bwrap: request.bwrap.map(Into::into),
        orange: request.orange.into(),
        user_home: home.into(),
        private_home: request.private_home.map(Into::into),
        temporary: request.temporary.map(Into::into),
        copies: copies.map(RawText::from).collect(),
        mounts,
        limits: Limits::default(),
        hostname: String::from("orange"),
        network: request.network.clone(),
        login: request.login.clone(),
        hidden_variables: HIDDEN_VARIABLES.map(str::to_owned).to_vec(),
    })
}

/// Whether a path exists and showing it does not show the whole home or more.
fn may_show(path: &Path, home: &Path) -> bool {
    let special = ["/dev", "/proc", "/sys"];
    path.is_absolute()
        && !home.starts_with(path)
        && !special.iter().any(|folder| path.starts_with(folder))
        && path.exists()
}

/// Whether showing a path shows a part of a folder, also through links.
fn shows_part(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (path, folder) = (real(path), real(folder));
    path.starts_with(&folder) || folder.starts_with(&path)
}

/// Adds a mount; the first one of a path counts.
fn push(mounts: &mut Vec<Mount>, mount: Mount) {
    let path_of = |mount: &Mount| match mount {
        Mount::ReadOnly { path } | Mount::Writable { path } => Some(path.clone()),
        _ => None,
    };
    let path = path_of(&mount);
    if !mounts.iter().any(|known| path_of(known) == path) {
        mounts.push(mount);
    }
}

/// What must be visible for a program to start: its folder, and the folders that its links lead
/// to. Of a package of npm, its `node_modules`.
fn program_places(program: &Path, hidden: [&Path; 2]) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let mut current = program.to_owned();
    for _ in 0..MAX_LINKS {
        places.push(place_of(&current, hidden));
        let Ok(target) = fs::read_link(&current) else {
            break;
        };
        let parent = current.parent().unwrap_or(Path::new("/"));
        current = parent.join(target);
    }
    if let Ok(real) = program.canonicalize() {
        places.push(place_of(&real, hidden));
    }
    places
}

/// The `node_modules` that a folder is in, or the folder.
fn packages_of(folder: &Path) -> &Path {
    let mut folders = folder.ancestors();
    let packages = folders.find(|it| it.ends_with("node_modules"));
    packages.unwrap_or(folder)
}

fn place_of(program: &Path, hidden: [&Path; 2]) -> PathBuf {
    let folder = packages_of(program.parent().unwrap_or(program));
    // The homes themselves stay hidden; then only the file is visible.
    if hidden.iter().any(|home| home.starts_with(folder)) {
        return program.to_owned();
    }
    folder.to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn request<'a>(home: &'a Path, program: &'a Path) -> DescribeRequest<'a> {
        DescribeRequest {
            bwrap: Some(Path::new("/usr/bin/bwrap")),
            orange: Path::new("/usr/bin/true"),
            user_home: home,
            orange_home: Path::new("/nowhere"),
            private_home: Some(Path::new("/nowhere/private")),
            temporary: None,
            program,
            path: None,
            read: Vec::new(),
            own: Vec::new(),
            given: Vec::new(),
            copy: Vec::new(),
            share: Vec::new(),
            writable: Vec::new(),
            worktree: None,
            others: Vec::new(),
            network: Network::Open,
            login: None,
        }
    }

    /// The mounts that are not of the system, as text.
    fn shown(request: &DescribeRequest<'_>, root: &Path) -> Vec<String> {
        let description = describe(request).unwrap();
        let text = |path: &RawText| {
            let path = Path::new(path.as_os_str());
            path.strip_prefix(root)
                .ok()
                .map(|it| it.display().to_string())
        };
        let mounts = description.mounts.iter();
        let mounts = mounts.filter_map(|mount| match mount {
            Mount::ReadOnly { path } => Some(format!("read {}", text(path)?)),
            Mount::Writable { path } => Some(format!("write {}", text(path)?)),
            Mount::Other { path, .. } if Path::new(path.as_os_str()) == request.user_home => {
                Some(String::from("home"))
            }
            _ => None,
        });
        mounts.collect()
    }

    #[test]
    fn parents_come_first_and_writing_wins() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let home = root.join("ada");
        for folder in ["ada/orange/w", "ada/tools/bin", "ada/.agent", "repo/.git"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(home.join("orange/w/.git"), "gitdir: /repo").unwrap();
        let worktree = home.join("orange/w");
        let packages = root.join("agent/node_modules");
        fs::create_dir_all(packages.join(".bin")).unwrap();
        let folders = [
            home.join("tools/bin"),
            home.clone(),
            root.clone(),
            packages.join(".bin"),
        ];
        let path = std::env::join_paths(folders);
        let path = path.unwrap();
        let mut request = request(&home, Path::new("/bin/sh"));
        request.path = Some(&path);
        request.worktree = Some(&worktree);
        request.read = vec![home.join(".agent"), home.join("absent")];
        request.writable = vec![
            worktree.clone(),
            home.join("orange"),
            root.join("repo/.git"),
        ];
        request.copy = vec![home.join(".agent.json"), root.join("other")];
        let expected = [
            "home",
            "read ada/.agent",
            "write ada/orange",
            "read ada/orange/w/.git",
            "read ada/tools/bin",
            "read agent/node_modules",
            "write repo/.git",
        ];
        assert_eq!(shown(&request, &root), expected);
        let copies = describe(&request).unwrap().copies;
        assert_eq!(copies, [RawText::from(".agent.json")]);
    }

    #[test]
    fn no_setting_shows_a_part_of_oranges_home() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (home, orange_home) = (root.join("ada"), root.join("data/orange"));
        for folder in ["ada/tools", "data/orange/skills", "data/other"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(orange_home.join("tmux.sock"), "").unwrap();
        symlink(&orange_home, home.join("link")).unwrap();
        let path = std::env::join_paths([&orange_home, &root.join("data/other")]).unwrap();
        let program = root.join("data/agent");
        fs::write(&program, "").unwrap();
        let mut request = request(&home, &program);
        request.orange_home = &orange_home;
        request.path = Some(&path);
        request.own = vec![orange_home.join("skills")];
        request.read = vec![
            orange_home.clone(),
            orange_home.join("tmux.sock"),
            home.join("link/tmux.sock"),
            root.join("data"),
            home.join("tools"),
        ];
        request.share = vec![home.join("link"), orange_home.join("skills")];
        let expected = [
            "home",
            "read ada/tools",
            "read data/agent",
            "read data/orange/skills",
            "read data/other",
        ];
        assert_eq!(shown(&request, &root), expected);
    }

    #[test]
    fn the_links_of_a_program_are_visible_and_the_home_is_not() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let home = root.join("ada");
        let package = home.join("node/lib/node_modules/agent/bin");
        for folder in [&package, &home.join("node/bin"), &home.join(".local/bin")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(package.join("cli.js"), "").unwrap();
        let linked = home.join("node/bin/agent");
        symlink("../lib/node_modules/agent/bin/cli.js", &linked).unwrap();
        let program = home.join(".local/bin/agent");
        symlink(&linked, &program).unwrap();
        let expected = [
            "home",
            "read ada/.local/bin",
            "read ada/node/bin",
            "read ada/node/lib/node_modules",
        ];
        // The link has `..` in its path, which is not the same text.
        let found = shown(&request(&home, &program), &root);
        let plain: Vec<_> = found.iter().filter(|it| !it.contains("..")).collect();
        assert_eq!(plain, expected.iter().collect::<Vec<_>>());
        let alone = home.join("agent");
        fs::write(&alone, "").unwrap();
        let expected = ["home", "read ada/agent"];
        assert_eq!(shown(&request(&home, &alone), &root), expected);
    }

    #[test]
    fn a_worktree_that_contains_the_home_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("ada");
        let mut request = request(&home, Path::new("/bin/sh"));
        for path in [root.path().to_owned(), home.clone(), "/".into()] {
            request.writable = vec![path.clone()];
            let error = describe(&request).unwrap_err();
            assert!(
                matches!(error, DescribeError::ContainsHome { .. }),
                "{error}"
            );
        }
        request.writable = vec!["here".into()];
        let error = describe(&request).unwrap_err();
        assert_eq!(error, DescribeError::Relative("here".into()));
    }
}

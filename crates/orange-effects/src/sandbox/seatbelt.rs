//! The same sandbox as a profile for macOS, which is untested.
//!
//! `sandbox-exec` reads the profile. In it the last rule that matches counts, and paths are real
//! paths. orange starts no agent with it, because it was never tried on a Mac.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::description::{Description, Mount};
use super::network::Network;
use crate::run::RawText;

/// What every program needs. The key chain is not among the services, because it has the user's
/// passwords. A program can use the terminal it was given, and open no other.
const GROUND: &str = r#"(version 1)
(deny default)
(allow process-exec process-fork)
(allow process-info* signal (target same-sandbox))
(allow sysctl-read ipc-posix-sem)
(allow mach-lookup
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.trustd.agent"))
(allow file-read*
  (literal "/")
  (subpath "/Library")
  (subpath "/System")
  (subpath "/private/var/db/timezone")
  (subpath "/private/var/select"))
(allow file-read* file-write*
  (literal "/dev/null")
  (literal "/dev/random")
  (literal "/dev/tty")
  (literal "/dev/urandom")
  (literal "/dev/zero")
  (subpath "/dev/fd"))
(allow file-ioctl (regex #"^/dev/tty"))
"#;

/// Folders that macOS has in `/private`.
const PRIVATE: [&str; 3] = ["/etc", "/tmp", "/var"];

/// A path that no profile can contain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a profile cannot contain the path {0:?}, which is not plain text")]
pub struct UnwritablePath(pub PathBuf);

/// The profile. Its parameters are given with `sandbox-exec -D`: `CALLS` is the socket for calls of
/// `orange`, and `PROXY` the address of the proxy.
pub fn seatbelt_profile(description: &Description) -> Result<String, UnwritablePath> {
    let mut profile = String::from(GROUND);
    let own = [&description.private_home, &description.temporary];
    let own = own.into_iter().flatten();
    let mut rules: Vec<(PathBuf, Rule)> = own.map(|path| (real(path), Rule::Write)).collect();
    for mount in &description.mounts {
        rules.extend(rule(mount));
    }
    // A parent comes before its children, whose rules count.
    rules.sort();
    rules.dedup_by(|(path, _), (earlier, _)| path == earlier);
    let mut folders: Vec<&Path> = Vec::new();
    for (path, rule) in &rules {
        let quoted = quote(path)?;
        let text = match rule {
            Rule::Read => format!(
                "(allow file-read* (subpath {quoted}))\n(deny file-write* (subpath {quoted}))\n"
            ),
            Rule::Write => format!("(allow file-read* file-write* (subpath {quoted}))\n"),
            Rule::Repository => format!(
                "(allow file-read* file-write* (subpath {quoted}))\n\
                 (deny file-write-create (require-all (subpath {quoted}) (vnode-type SYMLINK)))\n"
            ),
        };
        profile.push_str(&text);
        folders.extend(path.ancestors().skip(1));
    }
    folders.sort_unstable();
    folders.dedup();
    profile.push_str("(allow file-read-metadata");
    for folder in folders {
        let _ = write!(profile, "\n  (literal {})", quote(folder)?);
    }
    profile.push_str(")\n");
    profile.push_str(match &description.network {
        Network::Open => "(allow network* system-socket)\n",
        Network::List(hosts) if !hosts.is_empty() => {
            "(allow network-outbound (remote ip (param \"PROXY\")))\n"
        }
        Network::List(_) | Network::None => "",
    });
    profile.push_str(
        "(allow network-outbound (remote unix-socket (path-literal (param \"CALLS\"))))\n",
    );
    Ok(profile)
}

/// What a path allows; of two for one path, the first counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    Repository,
    Write,
    Read,
}

/// A mount whose path is its own. The private home and the folder for temporary files stand for the
/// others, which only namespaces can show.
fn rule(mount: &Mount) -> Option<(PathBuf, Rule)> {
    match mount {
        Mount::ReadOnly { path } => Some((real(path), Rule::Read)),
        Mount::Writable { path } => Some((real(path), Rule::Write)),
        Mount::Repository { path } => Some((real(path), Rule::Repository)),
        Mount::Other { .. } | Mount::Temporary { .. } | Mount::Link { .. } => None,
    }
}

/// The real path of a path whose first folder may be a link on macOS.
fn real(path: &RawText) -> PathBuf {
    let path = Path::new(path.as_os_str());
    match path.strip_prefix("/") {
        Ok(below) if PRIVATE.iter().any(|folder| path.starts_with(folder)) => {
            Path::new("/private").join(below)
        }
        _ => path.to_owned(),
    }
}

/// A path as a string of the profile.
fn quote(path: &Path) -> Result<String, UnwritablePath> {
    let text = path.to_str().filter(|it| !it.contains(char::is_control));
    let text = text.ok_or_else(|| UnwritablePath(path.to_owned()))?;
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    Ok(format!("\"{escaped}\""))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::super::description::Limits;
    use super::*;

    const EXPECTED: &str = r#"(allow file-read* file-write* (subpath "/Users/ada/orange/tasks/1/home"))
(allow file-read* file-write* (subpath "/Users/ada/orange/worktrees/1"))
(allow file-read* (subpath "/Users/ada/orange/worktrees/1/.git"))
(deny file-write* (subpath "/Users/ada/orange/worktrees/1/.git"))
(allow file-read* file-write* (subpath "/Users/ada/project/.git/objects"))
(deny file-write-create (require-all (subpath "/Users/ada/project/.git/objects") (vnode-type SYMLINK)))
(allow file-read* (subpath "/private/etc"))
(deny file-write* (subpath "/private/etc"))
(allow file-read* file-write* (subpath "/private/var/folders/1/temporary"))
(allow file-read* (subpath "/usr"))
(deny file-write* (subpath "/usr"))
(allow file-read-metadata
  (literal "/")
  (literal "/Users")
  (literal "/Users/ada")
  (literal "/Users/ada/orange")
  (literal "/Users/ada/orange/tasks")
  (literal "/Users/ada/orange/tasks/1")
  (literal "/Users/ada/orange/worktrees")
  (literal "/Users/ada/orange/worktrees/1")
  (literal "/Users/ada/project")
  (literal "/Users/ada/project/.git")
  (literal "/private")
  (literal "/private/var")
  (literal "/private/var/folders")
  (literal "/private/var/folders/1"))
(allow network-outbound (remote ip (param "PROXY")))
(allow network-outbound (remote unix-socket (path-literal (param "CALLS"))))
"#;

    fn description(network: Network) -> Description {
        Description {
            bwrap: None,
            orange: "/usr/local/bin/orange".into(),
            user_home: "/Users/ada".into(),
            private_home: Some("/Users/ada/orange/tasks/1/home".into()),
            temporary: Some("/var/folders/1/temporary".into()),
            copies: Vec::new(),
            mounts: vec![
                Mount::ReadOnly {
                    path: "/usr".into(),
                },
                Mount::ReadOnly {
                    path: "/etc".into(),
                },
                Mount::Temporary {
                    path: "/tmp".into(),
                    bytes: None,
                },
                Mount::Writable {
                    path: "/Users/ada/orange/worktrees/1".into(),
                },
                Mount::ReadOnly {
                    path: "/Users/ada/orange/worktrees/1/.git".into(),
                },
                Mount::Repository {
                    path: "/Users/ada/project/.git/objects".into(),
                },
            ],
            limits: Limits::default(),
            hostname: String::from("orange"),
            network,
            login: None,
            hidden_variables: Vec::new(),
        }
    }

    #[test]
    fn a_profile_allows_what_the_description_shows() {
        let hosts = vec!["example.com".parse().unwrap()];
        let profile = seatbelt_profile(&description(Network::List(hosts))).unwrap();
        assert_eq!(profile.strip_prefix(GROUND).unwrap(), EXPECTED);
        let none = seatbelt_profile(&description(Network::None)).unwrap();
        let lines = profile.lines().filter(|line| !line.contains("PROXY"));
        assert_eq!(none.lines().collect::<Vec<_>>(), lines.collect::<Vec<_>>());
    }

    #[test]
    fn no_path_ends_its_string() {
        let mut description = description(Network::Open);
        let path = "/w/\") (allow default) (\"\\";
        description.mounts = vec![Mount::Writable { path: path.into() }];
        let profile = seatbelt_profile(&description).unwrap();
        assert!(profile.contains(r#"(subpath "/w/\") (allow default) (\"\\")"#));
        for bad in [&b"/w/\xff"[..], b"/w/a\nb"] {
            let path = Path::new(OsStr::from_bytes(bad));
            description.mounts = vec![Mount::Writable { path: path.into() }];
            let error = seatbelt_profile(&description).unwrap_err();
            assert_eq!(error, UnwritablePath(path.to_owned()));
        }
    }
}

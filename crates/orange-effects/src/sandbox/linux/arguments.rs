//! The arguments of bwrap, made from a description.

use std::ffi::OsString;
use std::path::Path;

use crate::sandbox::description::{Description, Mount};
use crate::sandbox::network::Network;
use crate::sandbox::places::{FOLDER, PLAN};

/// The files of a run that are visible inside under other names.
pub(super) struct RunFiles<'a> {
    /// The descriptor that bwrap reads the plan from.
    pub(super) plan: i32,
    /// The folder of the sockets, each with its name there and its path inside.
    pub(super) folder: &'a Path,
    pub(super) sockets: &'a [(&'static str, &'static str)],
}

/// Arguments that are the same for every sandbox; whether this machine can make one is tried with
/// them.
///
/// There is no `--new-session`: the agent would lose its terminal. bwrap is not process 1, because
/// it would turn a signal into an exit code.
pub(super) fn namespace_arguments(hostname: &str, network: &Network) -> Vec<OsString> {
    let mut words = vec!["--cap-drop", "ALL"];
    words.extend(["--unshare-user", "--disable-userns", "--unshare-pid"]);
    words.extend(["--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
    words.extend(["--die-with-parent", "--hostname", hostname]);
    match network {
        Network::Open => {}
        Network::List(_) | Network::None => words.push("--unshare-net"),
    }
    words.into_iter().map(OsString::from).collect()
}

/// The arguments for these mounts, in their order.
pub(super) fn mount_arguments(mounts: &[Mount]) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut push = |those: &[&std::ffi::OsStr]| words.extend(those.iter().map(OsString::from));
    for mount in mounts {
        match mount {
            Mount::ReadOnly { path } => {
                push(&["--ro-bind".as_ref(), path.as_os_str(), path.as_os_str()]);
            }
            Mount::Writable { path } | Mount::Repository { path } => {
                push(&["--bind".as_ref(), path.as_os_str(), path.as_os_str()]);
            }
            Mount::Other {
                source,
                path,
                is_read_only,
            } => {
                let option = if *is_read_only { "--ro-bind" } else { "--bind" };
                push(&[option.as_ref(), source.as_os_str(), path.as_os_str()]);
            }
            Mount::Temporary { path, bytes } => {
                if let Some(bytes) = bytes {
                    push(&["--size".as_ref(), bytes.to_string().as_ref()]);
                }
                push(&["--tmpfs".as_ref(), path.as_os_str()]);
            }
            Mount::Link { path, target } => {
                push(&["--symlink".as_ref(), target.as_os_str(), path.as_os_str()]);
            }
        }
    }
    let devices = ["--dev", "/dev", "--proc", "/proc"];
    words.extend(devices.map(OsString::from));
    words
}

/// The namespaces and the mounts.
pub fn machine_arguments(description: &Description) -> Vec<OsString> {
    let mut words = namespace_arguments(&description.hostname, &description.network);
    words.extend(mount_arguments(&description.mounts));
    words
}

/// Everything but the program that bwrap starts.
pub(super) fn sandbox_arguments(
    description: &Description,
    files: &RunFiles<'_>,
    directory: &Path,
) -> Vec<OsString> {
    let mut words = machine_arguments(description);
    let plan = files.plan.to_string();
    words.extend(["--perms", "0700", "--dir", FOLDER].map(OsString::from));
    words.extend(["--perms", "0600", "--file", &plan, PLAN].map(OsString::from));
    for (name, inside) in files.sockets {
        let outside = files.folder.join(name);
        words.extend(["--bind".into(), outside.into(), inside.into()]);
    }
    words.extend(["--chdir".into(), directory.into(), "--as-pid-1".into()]);
    words
}

/// Arguments as bwrap reads them from a descriptor: each ends with a NUL.
pub(super) fn with_nul(words: &[OsString]) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut bytes = Vec::new();
    for word in words {
        bytes.extend_from_slice(word.as_bytes());
        bytes.push(0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::description::Limits;
    use crate::sandbox::places::CONTROL;

    fn description(mounts: Vec<Mount>) -> Description {
        Description {
            bwrap: Some("/usr/bin/bwrap".into()),
            orange: "/usr/bin/orange".into(),
            user_home: "/home/ada".into(),
            private_home: Some("/o/tasks/app/t1/home.claude".into()),
            temporary: None,
            copies: Vec::new(),
            mounts,
            limits: Limits::default(),
            hostname: "orange".into(),
            network: Network::Open,
            login: None,
            hidden_variables: Vec::new(),
        }
    }

    fn words(mounts: Vec<Mount>) -> Vec<String> {
        let files = RunFiles {
            plan: 7,
            folder: Path::new("/o/run"),
            sockets: &[("control", CONTROL)],
        };
        let words = sandbox_arguments(&description(mounts), &files, Path::new("/w"));
        words
            .into_iter()
            .map(|it| it.into_string().unwrap())
            .collect()
    }

    /// Whether these words follow each other.
    fn has(words: &[String], expected: &[&str]) -> bool {
        words.windows(expected.len()).any(|it| it == expected)
    }

    #[test]
    fn every_sandbox_drops_capabilities_and_dies_with_its_parent() {
        let words = words(Vec::new());
        assert!(has(&words, &["--cap-drop", "ALL"]));
        for word in ["--unshare-user", "--disable-userns", "--unshare-pid"] {
            assert!(has(&words, &[word]), "{word}");
        }
        assert!(has(&words, &["--die-with-parent"]));
        assert!(has(&words, &["--chdir", "/w", "--as-pid-1"]));
        assert!(!has(&words, &["--new-session"]), "it takes the terminal");
        assert!(!has(&words, &["--unshare-net"]), "the network is open");
    }

    #[test]
    fn each_mount_has_its_words_in_order() {
        let mounts = vec![
            Mount::ReadOnly {
                path: "/usr".into(),
            },
            Mount::Link {
                path: "/bin".into(),
                target: "usr/bin".into(),
            },
            Mount::Temporary {
                path: "/tmp".into(),
                bytes: Some(5),
            },
            Mount::Temporary {
                path: "/run".into(),
                bytes: None,
            },
            Mount::Other {
                source: "/o/tasks/app/t1/home.claude".into(),
                path: "/home/ada".into(),
                is_read_only: false,
            },
            Mount::Other {
                source: "/repo/.git/objects".into(),
                path: "/run/orange/objects".into(),
                is_read_only: true,
            },
            Mount::Writable {
                path: "/home/ada/w".into(),
            },
        ];
        let expected = "--ro-bind /usr /usr --symlink usr/bin /bin --size 5 --tmpfs /tmp --tmpfs \
                        /run --bind /o/tasks/app/t1/home.claude /home/ada --ro-bind \
                        /repo/.git/objects /run/orange/objects --bind /home/ada/w /home/ada/w --dev /dev --proc /proc";
        let expected: Vec<&str> = expected.split_whitespace().collect();
        let words = words(mounts);
        assert!(has(&words, &expected), "{words:?}");
        let files = "--perms 0700 --dir /run/orange --perms 0600 --file 7 /run/orange/plan.json \
                     --bind /o/run/control /run/orange/control";
        let files: Vec<&str> = files.split_whitespace().collect();
        assert!(has(&words, &files), "{words:?}");
    }

    #[test]
    fn arguments_end_with_a_nul() {
        assert_eq!(with_nul(&["--a b".into(), "".into()]), b"--a b\0\0");
    }

    #[test]
    fn a_description_survives_its_file() {
        let description = description(vec![Mount::Writable { path: "/w".into() }]);
        let text = serde_json::to_string(&description).unwrap();
        assert_eq!(
            serde_json::from_str::<Description>(&text).unwrap(),
            description
        );
    }
}

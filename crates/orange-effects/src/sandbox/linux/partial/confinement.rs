//! What Landlock allows without namespaces.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _,
    RulesetError, Scope, make_bitflags,
};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};
use rustix::stdio::{stderr, stdin, stdout};
use serde::{Deserialize, Serialize};

use crate::run::RawText;
use crate::sandbox::description::{Description, Mount};
use crate::sandbox::network::Network;

/// The version that has every rule used here.
const VERSION: ABI = ABI::V6;

/// Files that every program may read and write. Another terminal than its own is none of them.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Read by programs to learn about themselves; Landlock keeps them from the memory, the variables
/// and the descriptors of processes outside.
const PROC: &str = "/proc";

const TERMINAL: &str = "/dev/tty";

/// What a program may do with files, and which ports it reaches.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::sandbox::linux) struct Confinement {
    read: Vec<RawText>,
    write: Vec<RawText>,
    /// Writable, without links and special files.
    repository: Vec<RawText>,
    /// Where temporary files go; each start has a folder of its own there.
    pub(in crate::sandbox::linux) temporary: RawText,
    /// Whether the home has no other place than the folder for temporary files.
    pub(in crate::sandbox::linux) is_home_temporary: bool,
    pub(in crate::sandbox::linux) is_network_limited: bool,
    /// The ports of this machine that it reaches with a limited network.
    pub(in crate::sandbox::linux) ports: Vec<u16>,
}

impl Confinement {
    /// `None` at the full level, where the mounts decide.
    pub(in crate::sandbox::linux) fn of(description: &Description) -> Option<Self> {
        if description.bwrap.is_some() {
            return None;
        }
        let mut confinement = Confinement {
            read: vec![description.orange.clone()],
            write: description.private_home.iter().cloned().collect(),
            repository: Vec::new(),
            temporary: description
                .temporary
                .clone()
                .unwrap_or_else(|| RawText::from("/nonexistent")),
            is_home_temporary: description.private_home.is_none(),
            is_network_limited: description.network != Network::Open,
            ports: Vec::new(),
        };
        for mount in &description.mounts {
            match mount {
                Mount::ReadOnly { path } | Mount::Link { path, .. } => {
                    confinement.read.push(path.clone());
                }
                Mount::Writable { path } => confinement.write.push(path.clone()),
                Mount::Repository { path } => confinement.repository.push(path.clone()),
                // Nothing can be shown elsewhere, and nothing can be hidden.
                Mount::Other { .. } | Mount::Temporary { .. } => {}
            }
        }
        Some(confinement)
    }

    /// Adds the folder for temporary files.
    pub(in crate::sandbox::linux) fn add_writable(&mut self, folder: &Path) {
        self.write.push(folder.into());
    }
}

/// Restricts this thread and whatever it starts.
pub(in crate::sandbox::linux) fn restrict_in_place(
    confinement: &Confinement,
) -> Result<(), RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(VERSION))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    if confinement.is_network_limited {
        rules = rules.handle_access(AccessNet::from_all(VERSION))?;
    }
    let mut rules = rules.create()?;
    for (paths, access) in [
        (&confinement.read, reading()),
        (&confinement.write, writing()),
        (&confinement.repository, repository()),
    ] {
        for path in paths {
            rules = allow(rules, Path::new(path.as_os_str()), access)?;
        }
    }
    rules = allow(rules, Path::new(PROC), reading())?;
    let device = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate});
    for path in DEVICES {
        rules = allow(rules, Path::new(path), device)?;
    }
    rules = allow(rules, Path::new(TERMINAL), device | AccessFs::IoctlDev)?;
    rules = allow_standard_files(rules)?;
    if confinement.is_network_limited {
        for port in &confinement.ports {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
    }
    rules.restrict_self()?;
    Ok(())
}

fn reading() -> BitFlags<AccessFs> {
    AccessFs::from_read(VERSION)
}

/// Device files cannot be made or used.
fn writing() -> BitFlags<AccessFs> {
    let devices = make_bitflags!(AccessFs::{MakeChar | MakeBlock | IoctlDev});
    AccessFs::from_all(VERSION) & !devices
}

/// The user's git appends to files there, and would follow a link.
fn repository() -> BitFlags<AccessFs> {
    let special = make_bitflags!(AccessFs::{MakeSym | MakeSock | MakeFifo | Execute});
    writing() & !special
}

/// Allows this below a path; a path that does not exist needs no rule.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(opened) = PathFd::new(path) else {
        return Ok(rules);
    };
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(VERSION)
    };
    rules.add_rule(PathBeneath::new(opened, access))
}

/// A program may open its own input and outputs again, as `/dev/stderr`: its terminal, or the file
/// that its output goes to. It gets no right that it does not have by the descriptor.
fn allow_standard_files(mut rules: RulesetCreated) -> Result<RulesetCreated, RulesetError> {
    for file in [stdin(), stdout(), stderr()] {
        let (Ok(found), Ok(flags)) = (fstat(file), fcntl_getfl(file)) else {
            continue;
        };
        let mut access = match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => BitFlags::empty(),
            FileType::CharacterDevice => BitFlags::from(AccessFs::IoctlDev),
            _ => continue,
        };
        let mode = flags & OFlags::RWMODE;
        if mode != OFlags::WRONLY {
            access |= AccessFs::ReadFile;
        }
        if mode != OFlags::RDONLY {
            access |= AccessFs::WriteFile;
        }
        if !access.is_empty() {
            rules = rules.add_rule(PathBeneath::new(file, access))?;
        }
    }
    Ok(rules)
}

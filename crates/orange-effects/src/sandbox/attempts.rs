//! What a sandbox prevents, as attempts that do no harm.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Something that a program without a sandbox can do.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Attempt {
    ReadOrangeHome,
    WriteOrangeHome,
    ReadUserHome,
    SeeProcess,
    SignalProcess,
    ConnectSocketFile,
    ConnectAbstractSocket,
    ConnectPort,
    ShareTemporaryFiles,
    WriteSystem,
    HaveCapability,
    GainPrivileges,
    MakeSystemCall,
    MakeNamespace,
}

impl Attempt {
    /// What the program can do then.
    pub fn words(self) -> &'static str {
        match self {
            Attempt::ReadOrangeHome => "read orange's home",
            Attempt::WriteOrangeHome => "write to orange's home",
            Attempt::ReadUserHome => "read your home directory",
            Attempt::SeeProcess => "see your processes",
            Attempt::SignalProcess => "signal your processes",
            Attempt::ConnectSocketFile => "connect to a socket file",
            Attempt::ConnectAbstractSocket => "connect to an abstract socket",
            Attempt::ConnectPort => "connect to a port of this machine",
            Attempt::ShareTemporaryFiles => "use the same /tmp, /var/tmp or /dev/shm",
            Attempt::WriteSystem => "write to /usr or /etc",
            Attempt::HaveCapability => "have a capability",
            Attempt::GainPrivileges => "gain privileges from a setuid program",
            Attempt::MakeSystemCall => "make every system call",
            Attempt::MakeNamespace => "make a user namespace",
        }
    }
}

/// Which attempts succeed; those that cannot be made here are absent.
pub type AttemptResults = BTreeMap<Attempt, bool>;

/// What is attacked: it was made for that, or attacking it changes nothing.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Targets {
    /// A folder in orange's home.
    pub(super) folder: PathBuf,
    pub(super) abstract_socket: String,
    pub(super) port: u16,
    pub(super) process: u32,
    /// When the process started: inside, another one may have its id.
    pub(super) process_start: String,
    pub(super) user_home: PathBuf,
    /// The device and the inode of folders, by which they are known in another place.
    pub(super) identities: BTreeMap<PathBuf, (u64, u64)>,
}

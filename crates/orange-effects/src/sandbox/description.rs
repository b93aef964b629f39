//! What a run's sandbox shows, limits and hides; pure data.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::capabilities::Level;
use super::network::{InjectedLogin, Network};
use crate::run::RawText;

/// A sandbox, decided before the agent starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The bwrap that makes the namespaces; `None` at the partial level, which has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bwrap: Option<RawText>,
    /// This program, which is visible inside at the same path.
    pub orange: RawText,
    /// The user's home directory, which the sandbox hides.
    pub user_home: RawText,
    /// The folder of the private home, which belongs to one task and harness; `None` if the home is
    /// empty and gone at the end.
    pub private_home: Option<RawText>,
    /// Where each start gets an empty folder for temporary files at the partial level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temporary: Option<RawText>,
    /// Files that are copied from the user's home into the private home at every start, relative to
    /// the home.
    pub copies: Vec<RawText>,
    /// What is visible, each parent before its children.
    pub mounts: Vec<Mount>,
    pub limits: Limits,
    pub hostname: String,
    pub network: Network,
    /// The login that stays outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<InjectedLogin>,
    /// Variables that the agent does not get.
    pub hidden_variables: Vec<String>,
}

/// One entry of the file system inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Mount {
    ReadOnly {
        path: RawText,
    },
    Writable {
        path: RawText,
    },
    /// A writable part of the user's repository, in which no links and no special files can be
    /// made: the user's git would follow them.
    Repository {
        path: RawText,
    },
    /// What is at `source` outside.
    Other {
        source: RawText,
        path: RawText,
        is_read_only: bool,
    },
    /// An empty folder in memory; `bytes` limits its size.
    Temporary {
        path: RawText,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
    },
    /// A symbolic link.
    Link {
        path: RawText,
        target: RawText,
    },
}

impl Description {
    pub fn level(&self) -> Level {
        match self.bwrap {
            Some(_) => Level::Full,
            None => Level::Partial,
        }
    }

    /// Whether a path shows inside what it shows outside.
    pub fn shows(&self, path: &Path) -> bool {
        let mut mounts = self.mounts.iter();
        mounts.any(|mount| match mount {
            Mount::ReadOnly { path: shown }
            | Mount::Writable { path: shown }
            | Mount::Repository { path: shown } => path.starts_with(shown.as_os_str()),
            Mount::Other { .. } | Mount::Temporary { .. } | Mount::Link { .. } => false,
        })
    }

    /// How many bytes `/tmp` may have; at the partial level, it is not there.
    pub fn max_temporary_bytes(&self) -> Option<u64> {
        self.bwrap.as_ref()?;
        let mut mounts = self.mounts.iter();
        mounts.find_map(|mount| match mount {
            Mount::Temporary { path, bytes } if path.as_os_str() == "/tmp" => *bytes,
            _ => None,
        })
    }
}

impl Mount {
    /// Where it is inside.
    pub(super) fn path(&self) -> &Path {
        let (Mount::ReadOnly { path }
        | Mount::Writable { path }
        | Mount::Repository { path }
        | Mount::Other { path, .. }
        | Mount::Temporary { path, .. }
        | Mount::Link { path, .. }) = self;
        Path::new(path.as_os_str())
    }

    /// Where it is inside, if it shows something of the machine.
    pub(super) fn shown_at(&self) -> Option<&Path> {
        match self {
            Mount::ReadOnly { .. }
            | Mount::Writable { .. }
            | Mount::Repository { .. }
            | Mount::Other { .. } => Some(self.path()),
            Mount::Temporary { .. } | Mount::Link { .. } => None,
        }
    }

    /// What it shows of the machine.
    pub(super) fn source(&self) -> Option<&Path> {
        match self {
            Mount::Other { source, .. } => Some(Path::new(source.as_os_str())),
            _ => self.shown_at(),
        }
    }
}

/// Limits of every process inside; `None` keeps the limit of the pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// How many processes may run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// How many bytes a file may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            processes: Some(4096),
            file_bytes: Some(64_000_000_000),
        }
    }
}

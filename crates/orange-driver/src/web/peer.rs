//! Whether the process behind a connection is the user.

use std::net::SocketAddrV4;

use orange_config::ORANGE_BACKGROUND;
use orange_effects::process::{
    ProcessError, SocketOwners, directory_of, process_and_ancestors, socket_owners,
};
use orange_engine::role::Role;
use orange_store::StoreError;

use crate::DriverError;
use crate::context::caller::{Caller, Parent, is_home, mark_in};
use crate::web::Web;

/// Who is at the other end of a connection on the loopback interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Nothing connects it with a task, or it belongs to another user of the machine.
    User,
    /// It belongs to a run or to code of a task, or it cannot be identified.
    Refused(String),
    /// This system does not tell.
    Unknown,
}

impl Web {
    /// Identifies the process that has connected from `peer` to `own`, by the rules by which the
    /// caller of a command is identified. A process that hides its connections from us counts as
    /// the worst of those that do.
    pub fn identify_peer(&self, peer: SocketAddrV4, own: SocketAddrV4) -> Peer {
        let pids = match socket_owners(peer, own) {
            Ok(Some(SocketOwners::OtherUser)) => return Peer::User,
            Ok(Some(SocketOwners::Known(pids) | SocketOwners::Hidden(pids))) => pids,
            Ok(None) => Vec::new(),
            Err(ProcessError::Unsupported(_)) => return Peer::Unknown,
            Err(error) => return Peer::Refused(error.to_string()),
        };
        if pids.is_empty() {
            return Peer::Refused(String::from("the process that connected cannot be found"));
        }
        for pid in pids {
            match self.role_of(pid) {
                Ok(Role::Human) => {}
                Ok(role) => return Peer::Refused(format!("it belongs to the {role} of a task")),
                Err(error) => return Peer::Refused(error.to_string()),
            }
        }
        Peer::User
    }

    fn role_of(&self, pid: u32) -> Result<Role, DriverError> {
        let unknown = |error: ProcessError| DriverError::CallerUnknown(error.to_string());
        let found = process_and_ancestors(pid).map_err(unknown)?;
        let home = crate::context::caller::canonical_path(self.context.home.path());
        let supervisor = self.context.supervisor_process();
        let parents = found.into_iter().map(|ancestor| Parent {
            mark: mark_in(&home, &ancestor),
            is_background: is_home(&home, ancestor.variable(ORANGE_BACKGROUND))
                || supervisor.as_ref() == Some(&ancestor.process),
            process: ancestor.process,
        });
        let caller = Caller {
            mark: None,
            parents: parents.collect(),
        };
        let directory = directory_of(pid);
        match self.context.read_store() {
            Ok(store) => {
                let identity = self
                    .callers
                    .identify_from(&store, &caller, directory.as_deref())?;
                Ok(identity.role)
            }
            Err(StoreError::Missing { .. }) if !caller.is_connected() => Ok(Role::Human),
            Err(error) => Err(error.into()),
        }
    }
}

//! Finds the process at the other end of a loopback connection.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use orange_config::reason;
use rustix::process::geteuid;

use super::{ProcessError, SocketOwners};

/// The fields of a line of `/proc/net/tcp`.
const LOCAL: usize = 1;
const REMOTE: usize = 2;
const UID: usize = 7;
const INODE: usize = 9;

/// The processes that have the socket of `peer` open, which is connected to `own`.
pub fn socket_owners(
    peer: SocketAddrV4,
    own: SocketAddrV4,
) -> Result<Option<SocketOwners>, ProcessError> {
    let failed = |error: io::Error| ProcessError::NotListed(reason(&error));
    let mut found = None;
    // A program may connect to an IPv4 address with an IPv6 socket.
    for (table, encode) in [
        ("/proc/net/tcp", plain as fn(SocketAddrV4) -> String),
        ("/proc/net/tcp6", mapped),
    ] {
        let text = match fs::read_to_string(table) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read.map_err(failed)?,
        };
        found = found.or(find(&text, &encode(peer), &encode(own)));
    }
    let Some((uid, inode)) = found else {
        return Ok(None);
    };
    let own_uid = geteuid().as_raw();
    if uid != own_uid {
        return Ok(Some(SocketOwners::OtherUser));
    }
    let (mut known, mut hidden) = (Vec::new(), Vec::new());
    let wanted = format!("socket:[{inode}]");
    for entry in fs::read_dir("/proc").map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let open = has_open(&entry.path(), &wanted);
        let is_hidden = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        match open {
            Ok(true) => known.push(pid),
            Err(error) if is_hidden(&error) && runs_as(&entry.path(), own_uid) => hidden.push(pid),
            // It has exited, belongs to another user, or has other files open.
            Ok(false) | Err(_) => {}
        }
    }
    Ok(Some(if known.is_empty() {
        SocketOwners::Hidden(hidden)
    } else {
        SocketOwners::Known(known)
    }))
}

/// The user and the inode of the socket with these addresses.
fn find(table: &str, local: &str, remote: &str) -> Option<(u32, u64)> {
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let field = |number: usize| fields.get(number).copied();
        if field(LOCAL)? != local || field(REMOTE)? != remote {
            return None;
        }
        let inode: u64 = field(INODE)?.parse().ok()?;
        // A socket that is closed already belongs to no process.
        (inode != 0).then_some((field(UID)?.parse().ok()?, inode))
    })
}

/// An address as the kernel prints it: in the byte order of the machine.
fn plain(address: SocketAddrV4) -> String {
    format!("{}:{:04X}", word(*address.ip()), address.port())
}

/// The same as an IPv6 address.
fn mapped(address: SocketAddrV4) -> String {
    let prefix = u32::from_ne_bytes([0, 0, 0xff, 0xff]);
    let (ip, port) = (word(*address.ip()), address.port());
    format!("{:016X}{prefix:08X}{ip}:{port:04X}", 0)
}

fn word(ip: Ipv4Addr) -> String {
    format!("{:08X}", u32::from_ne_bytes(ip.octets()))
}

fn has_open(process: &Path, wanted: &str) -> io::Result<bool> {
    for entry in fs::read_dir(process.join("fd"))? {
        let target = entry.and_then(|entry| fs::read_link(entry.path()));
        if target.is_ok_and(|target| target.as_os_str() == wanted) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a process runs as this user. The owner of its directory is root if the process is hidden,
/// so its status is read, which everyone may.
fn runs_as(process: &Path, uid: u32) -> bool {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let mut lines = status.lines();
    let uids = lines.find_map(|line| line.strip_prefix("Uid:"));
    let uids = uids.unwrap_or_default().split_whitespace();
    let mut uids = uids.filter_map(|it| it.parse::<u32>().ok());
    let owner = fs::metadata(process).map(|it| it.uid());
    uids.any(|it| it == uid) || owner.is_ok_and(|it| it == uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_as_the_kernel_prints_them() {
        if cfg!(target_endian = "little") {
            let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7171);
            assert_eq!(plain(address), "0100007F:1C03");
            assert_eq!(mapped(address), "0000000000000000FFFF00000100007F:1C03");
        }
    }
}

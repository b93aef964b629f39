//! Detects file systems on which the database is not safe.
//!
//! WAL shares memory between processes. File systems that are on a network or shared with another
//! machine do not support this; `SQLite` cannot detect it and would damage the database.

use std::io;
use std::path::Path;

/// Whether a database with WAL may be kept on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    /// No known problem.
    Local,
    /// Safe from damage by other processes, but the data will not survive.
    Volatile {
        /// Its name, for the message.
        kind: &'static str,
        /// When the data disappears.
        until: &'static str,
    },
    /// Two processes can damage a database on it.
    Unsafe {
        /// Its name, for the message.
        kind: &'static str,
    },
}

/// The refused kinds, by the magic number that `statfs` reports on Linux.
const UNSAFE: [(u32, &str); 15] = [
    (0x6969, "NFS"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x517b, "SMB"),
    (0x564c, "NCP"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "FUSE (sshfs and the like)"),
    (0x7375_7245, "Coda"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x7461_636f, "OCFS2"),
    (0x0116_1970, "GFS2"),
];

/// The kinds that do not keep data: magic number, name, and when the data disappears.
const VOLATILE: [(u32, &str, &str); 3] = [
    (0x0102_1994, "tmpfs", "after a reboot"),
    (0x8584_58f6, "ramfs", "after a reboot"),
    (0x794c_7630, "an overlay", "with its container"),
];

/// Classifies the magic number that `statfs` reports on Linux.
pub fn classify_magic(magic: u32) -> FileSystem {
    let unsafe_kind = UNSAFE
        .iter()
        .find(|(unsafe_magic, _)| *unsafe_magic == magic);
    let volatile = VOLATILE
        .iter()
        .find(|(volatile_magic, ..)| *volatile_magic == magic);
    match (unsafe_kind, volatile) {
        (Some((_, kind)), _) => FileSystem::Unsafe { kind },
        (None, Some((_, kind, until))) => FileSystem::Volatile { kind, until },
        (None, None) => FileSystem::Local,
    }
}

/// The kind of the file system that holds a directory.
#[cfg(target_os = "linux")]
pub fn file_system_of(directory: &Path) -> io::Result<FileSystem> {
    let found = rustix::fs::statfs(directory)?;
    // The magic number has 32 bits, but the field is signed. A number with its top bit set, such as
    // that of CIFS, may arrive sign-extended.
    let magic = u32::try_from(found.f_type & 0xffff_ffff).unwrap_or_default();
    Ok(classify_magic(magic))
}

/// The kind of the file system that holds a directory; on these systems the mount flags say whether
/// it is local.
#[cfg(not(target_os = "linux"))]
pub fn file_system_of(directory: &Path) -> io::Result<FileSystem> {
    // `MNT_LOCAL` of the BSD family.
    const LOCAL: u32 = 0x1000;
    let found = rustix::fs::statfs(directory)?;
    Ok(if found.f_flags & LOCAL == 0 {
        FileSystem::Unsafe {
            kind: "a network file system",
        }
    } else {
        FileSystem::Local
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_refused_and_local_ones_are_not() {
        let is_passing = |magic| matches!(classify_magic(magic), FileSystem::Volatile { .. });
        let table = [
            (0xef53, true),       // ext4
            (0x5846_5342, true),  // xfs
            (0x9123_683e, true),  // btrfs
            (0x0102_1994, true),  // tmpfs
            (0x2fc1_2fc1, true),  // zfs
            (0x794c_7630, true),  // overlayfs
            (0xf2f5_2010, true),  // f2fs
            (0x6969, false),      // nfs
            (0xff53_4d42, false), // cifs
            (0xfe53_4d42, false), // smb2
            (0x517b, false),      // smb
            (0x0102_1997, false), // 9p
            (0x6573_5546, false), // fuse
            (0x00c3_6400, false), // ceph
        ];
        for (magic, local) in table {
            let is_refused = matches!(classify_magic(magic), FileSystem::Unsafe { .. });
            assert_eq!(!is_refused, local, "{magic:#x}");
        }
        let passing = table.iter().filter(|(magic, _)| is_passing(*magic));
        let passing: Vec<u32> = passing.map(|(magic, _)| *magic).collect();
        assert_eq!(passing, [0x0102_1994, 0x794c_7630]);
    }

    #[test]
    fn the_current_directory_has_a_file_system_kind() {
        assert!(file_system_of(Path::new(".")).is_ok());
    }
}

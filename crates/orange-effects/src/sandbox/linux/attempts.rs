//! Tries what a sandbox keeps a program from.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use orange_config::Environment;
use rustix::fs::{Access, Mode, OFlags, access, open};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::control::{connect_file, listen_in};
use crate::command::{CommandExit, Invocation};
use crate::sandbox::attempts::{Attempt, AttemptResults, Targets};
use crate::sandbox::network::can_connect;

const FILE: &str = "file";
const SOCKET: &str = "socket";

/// Folders for temporary files that all programs of a machine share.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

const SYSTEM: [&str; 2] = ["/usr", "/etc"];

/// Sockets that can be attacked while this exists.
#[derive(Debug)]
pub struct TargetSockets {
    _file: UnixListener,
    _abstract: UnixListener,
    _port: TcpListener,
}

/// Makes targets in an empty folder of orange's home; this process is one too.
pub fn create_targets(folder: &Path, user_home: &Path) -> io::Result<(Targets, TargetSockets)> {
    fs::write(folder.join(FILE), "")?;
    let process = std::process::id();
    let abstract_socket = format!("orange-attempts-{process}");
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let places = TEMPORARY.iter().map(PathBuf::from);
    let places = places.chain([user_home.to_owned()]);
    let targets = Targets {
        folder: folder.to_owned(),
        abstract_socket: abstract_socket.clone(),
        port: port.local_addr()?.port(),
        process,
        process_start: start_of(process).ok_or(io::ErrorKind::NotFound)?,
        user_home: user_home.to_owned(),
        identities: places
            .filter_map(|place| Some((place.clone(), identity(&place)?)))
            .collect(),
    };
    let sockets = TargetSockets {
        _file: listen_in(folder, SOCKET)?,
        _abstract: UnixListener::bind_addr(&SocketAddr::from_abstract_name(abstract_socket)?)?,
        _port: port,
    };
    Ok((targets, sockets))
}

/// Makes every attempt that can be made here.
pub fn make_attempts(targets: &Targets, environment: &Environment) -> AttemptResults {
    let has_same = |place: &Path| {
        let known = targets.identities.get(place);
        known.is_some() && known == identity(place).as_ref()
    };
    let process = start_of(targets.process).is_some_and(|it| it == targets.process_start);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let status = |name: &str| {
        let line = status.lines().find_map(|it| it.strip_prefix(name));
        line.map(str::trim).map(str::to_owned)
    };
    // What the mode of the file allows may still be refused.
    let is_writable = |path: &str| access(path, Access::WRITE_OK).is_ok() && can_create_in(path);
    let mut results = AttemptResults::from([
        (
            Attempt::ReadOrangeHome,
            fs::read(targets.folder.join(FILE)).is_ok(),
        ),
        (
            Attempt::WriteOrangeHome,
            OpenOptions::new()
                .append(true)
                .open(targets.folder.join(FILE))
                .is_ok(),
        ),
        (Attempt::ReadUserHome, has_same(&targets.user_home)),
        (Attempt::SeeProcess, process),
        (
            Attempt::SignalProcess,
            process && can_signal(targets.process),
        ),
        (
            Attempt::ConnectSocketFile,
            connect_file(&targets.folder.join(SOCKET)).is_ok(),
        ),
        (
            Attempt::ConnectAbstractSocket,
            SocketAddr::from_abstract_name(&targets.abstract_socket)
                .and_then(|name| UnixStream::connect_addr(&name))
                .is_ok(),
        ),
        (Attempt::ConnectPort, can_connect(targets.port)),
        (
            Attempt::ShareTemporaryFiles,
            TEMPORARY.iter().any(|place| has_same(Path::new(place))),
        ),
        (
            Attempt::WriteSystem,
            SYSTEM.iter().any(|path| is_writable(path)),
        ),
    ]);
    let mut add = |attempt, result: Option<bool>| {
        results.extend(result.map(|succeeds| (attempt, succeeds)));
    };
    let capabilities = status("CapEff:");
    add(
        Attempt::HaveCapability,
        capabilities.map(|it| it.contains(|digit| digit != '0')),
    );
    add(
        Attempt::GainPrivileges,
        status("NoNewPrivs:").map(|it| it == "0"),
    );
    add(
        Attempt::MakeSystemCall,
        status("Seccomp:").map(|it| it == "0"),
    );
    add(Attempt::MakeNamespace, can_make_namespace(environment));
    results
}

/// When a process started, as the system counts; also proof that it is visible.
fn start_of(process: u32) -> Option<String> {
    let mut text = String::new();
    let mut file = fs::File::open(format!("/proc/{process}/stat")).ok()?;
    file.read_to_string(&mut text).ok()?;
    // The name in brackets may have spaces; the start is the 22nd value.
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_whitespace().nth(19).map(str::to_owned)
}

/// Whether a file can be made in a folder; it has no name there.
fn can_create_in(folder: &str) -> bool {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    match open(folder, flags, Mode::from(0o600)) {
        // Not every file system can do that.
        Ok(_) | Err(Errno::OPNOTSUPP | Errno::ISDIR) => true,
        Err(_) => false,
    }
}

fn can_signal(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    process.is_some_and(|process| test_kill_process(process).is_ok())
}

fn identity(place: &Path) -> Option<(u64, u64)> {
    // At the partial level its name is visible, but it cannot be opened.
    let metadata = fs::File::open(place).ok()?.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// `None` without the program that makes one.
fn can_make_namespace(environment: &Environment) -> Option<bool> {
    let finished = Invocation::new("unshare", environment.passed_variables([]))
        .arguments(["--user", "true"])
        .directory("/")
        .run();
    Some(finished.ok()?.ending == CommandExit::Code(0))
}

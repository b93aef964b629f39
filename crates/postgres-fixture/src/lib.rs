//! A PostgreSQL of its own for each test, gone afterwards.
//!
//! It listens on a Unix socket in a temporary folder only. It ends with its [`Cluster`], and also
//! when the test's process is killed: a shell waits for the end of a pipe from that process.
#![expect(
    clippy::disallowed_methods,
    reason = "tests start real programs, and the product never uses this crate"
)]

use std::fs;
use std::io::{self, Error};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Whether data reaches the disk before a commit is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    On,
    /// Faster, and lost only when the machine fails.
    Off,
}

#[derive(Debug)]
pub struct Cluster {
    folder: TempDir,
    sync: Fsync,
    server: Option<Child>,
}

/// Starting takes a second or two, or longer beside a build.
const PATIENCE: Duration = Duration::from_mins(2);

/// Ends the server when the pipe from the test's process ends. The shell ends with the server.
const WATCH: &str = "exec 3<&0; \"$@\" </dev/null 3<&- & server=$!; \
                     (cat <&3 >/dev/null; kill -QUIT $server 2>/dev/null) & wait $server";

impl Cluster {
    pub fn start(sync: Fsync) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("pg").tempdir()?;
        let mut cluster = Self {
            folder,
            sync,
            server: None,
        };
        if is_root()? {
            // PostgreSQL refuses to run as root.
            run(Command::new("chown")
                .arg("postgres")
                .arg(cluster.folder.path()))?;
        }
        let mut initialise = cluster.command("initdb")?;
        initialise.args(["-U", "orange", "-A", "trust", "-E", "UTF8", "--locale=C"]);
        initialise.args(["--no-sync", "-D"]).arg(cluster.data());
        run(&mut initialise)?;
        cluster.begin()?;
        Ok(cluster)
    }

    /// The address of the database, as a client writes it.
    pub fn url(&self) -> String {
        let folder = self.folder.path().display();
        format!("host={folder} user=orange dbname=postgres")
    }

    /// Ends the server as `kill -9` does, and starts it again on what it has written.
    pub fn crash(&mut self) -> io::Result<()> {
        self.kill()?;
        self.begin()
    }

    /// Ends the server as `kill -9` does, and starts it as after a restore or a promotion: with a
    /// new timeline.
    pub fn restore(&mut self) -> io::Result<()> {
        self.kill()?;
        fs::write(self.data().join("recovery.signal"), "")?;
        self.begin()
    }

    /// Ends the server as `kill -9` does.
    pub fn kill(&mut self) -> io::Result<()> {
        let leader = self.leader()?;
        let children = fs::read_to_string(format!("/proc/{leader}/task/{leader}/children"));
        let children = children.unwrap_or_default();
        let mut kill = Command::new("kill");
        kill.arg("-9")
            .arg(&leader)
            .args(children.split_whitespace());
        // A process that has ended meanwhile needs no signal.
        kill.stderr(Stdio::null()).status()?;
        self.end()
    }

    /// Starts the server after [`Self::kill`].
    pub fn begin(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        // The former server's processes may still be about to end.
        while self.try_to_begin(deadline)?.is_none() {
            sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn try_to_begin(&mut self, deadline: Instant) -> io::Result<Option<()>> {
        let log = fs::File::create(self.folder.path().join("log"))?;
        let folder = self.folder.path();
        let sync = if self.sync == Fsync::On { "on" } else { "off" };
        let server = self.command("postgres")?;
        let mut watch = Command::new("sh");
        watch
            .arg("-c")
            .arg(WATCH)
            .arg("sh")
            .arg(server.get_program())
            .args(server.get_args());
        watch.arg("-D").arg(self.data()).arg("-k").arg(folder);
        watch.args(["-c", "listen_addresses=", "-c", "shared_buffers=64MB"]);
        // Where nothing is archived, a restore ends with what is in the folder.
        watch.args(["-c", "restore_command=false", "-c", "hot_standby=off"]);
        watch.args(["-c", "max_connections=120", "-c", &format!("fsync={sync}")]);
        watch.current_dir(folder).stdin(Stdio::piped());
        watch.stdout(log.try_clone()?).stderr(log);
        let mut child = watch.spawn()?;
        while child.try_wait()?.is_none() {
            let mut ready = self.command("pg_isready")?;
            ready.arg("-q").arg("-h").arg(folder).stderr(Stdio::null());
            let is_begun = self.leader().is_ok() && ready.status()?.success();
            if is_begun {
                self.server = Some(child);
                return Ok(Some(()));
            }
            if Instant::now() > deadline {
                drop(child.stdin.take());
                child.wait()?;
                break;
            }
            sleep(Duration::from_millis(30));
        }
        if Instant::now() > deadline {
            let log = self.log();
            return Err(Error::other(format!("PostgreSQL did not start:\n{log}")));
        }
        Ok(None)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The shell reaps the server, and the data is free for the next one.
    fn end(&mut self) -> io::Result<()> {
        if let Some(mut server) = self.server.take() {
            drop(server.stdin.take());
            server.wait()?;
        }
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn leader(&self) -> io::Result<String> {
        let text = fs::read_to_string(self.data().join("postmaster.pid"))?;
        let first = text.lines().next().map(str::to_owned);
        first.ok_or_else(|| Error::other("postmaster.pid is empty"))
    }

    /// A program of PostgreSQL, as a user that it accepts.
    fn command(&self, name: &str) -> io::Result<Command> {
        let program = program(name)?;
        let mut command = if is_root()? {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
            command.arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.folder.path());
        Ok(command)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Nothing more can be done about a server that does not end.
        drop(self.end());
    }
}

/// The newest installed version, and the one in the path where there is no such folder.
fn program(name: &str) -> io::Result<PathBuf> {
    let folder = Path::new("/usr/lib/postgresql");
    let mut versions = Vec::new();
    if folder.is_dir() {
        for version in fs::read_dir(folder)? {
            let program = version?.path().join("bin").join(name);
            if program.is_file() {
                versions.push(program);
            }
        }
    }
    versions.sort();
    Ok(versions.pop().unwrap_or_else(|| PathBuf::from(name)))
}

fn is_root() -> io::Result<bool> {
    let output = Command::new("id").arg("-u").output()?;
    Ok(output.stdout == b"0\n")
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(Error::other(format!("{command:?} failed: {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_crashes_begins_again_and_goes() {
        let mut cluster = Cluster::start(Fsync::Off).unwrap();
        let first = cluster.leader().unwrap();
        cluster.crash().unwrap();
        let second = cluster.leader().unwrap();
        assert_ne!(first, second);
        drop(cluster);
        let is_there = |pid: &str| Path::new("/proc").join(pid).exists();
        assert!(!is_there(&first) && !is_there(&second));
    }
}

//! A PostgreSQL of the test's own, which ends with it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use orange_config::clock::Deadline;
use tempfile::TempDir;

pub struct Cluster {
    folder: TempDir,
    port: u16,
    server: Child,
}

impl Cluster {
    pub fn start() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("orange-pg")
            .tempdir()
            .unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let data = folder.path().join("data");
        let made = command("initdb", folder.path())
            .args(["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C"])
            .args(["--username=orange", "--pgdata"])
            .arg(&data)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(made.success(), "initdb failed");
        // The port is free now; whoever takes it in between makes the start fail, loudly.
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = port.local_addr().unwrap().port();
        let server = command("postgres", folder.path())
            .arg("-D")
            .arg(&data)
            .args(["-c", "listen_addresses=127.0.0.1"])
            .args(["-c", "unix_socket_directories="])
            .args(["-c", "max_connections=100", "-c", "fsync=off"])
            .arg("-p")
            .arg(port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let cluster = Self {
            folder,
            port,
            server,
        };
        let is_up = Deadline::after(Duration::from_mins(1)).wait_for(|| cluster.is_up());
        assert!(is_up, "PostgreSQL did not start");
        cluster
    }

    fn is_up(&self) -> bool {
        let asked = command("pg_isready", self.folder.path())
            .args([
                "-h",
                "127.0.0.1",
                "-p",
                &self.port.to_string(),
                "-U",
                "orange",
                "-q",
            ])
            .status();
        asked.unwrap().success()
    }

    pub fn url(&self) -> String {
        format!("postgres://orange@127.0.0.1:{}/postgres", self.port)
    }

    /// Runs a statement of the test.
    pub fn run(&self, statement: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(async {
            let connected = tokio_postgres::connect(&self.url(), tokio_postgres::NoTls).await;
            let (client, connection) = connected.unwrap();
            let connection = tokio::spawn(connection);
            client.batch_execute(statement).await.unwrap();
            drop(client);
            connection.await.unwrap().unwrap();
        });
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Ends all its processes at once, and frees its shared memory.
        let id = self.server.id().to_string();
        let ended = Command::new("kill").args(["-QUIT", &id]).status();
        if !ended.is_ok_and(|it| it.success()) {
            let _killed = self.server.kill();
        }
        let _ended = self.server.wait();
    }
}

/// A program of PostgreSQL. It refuses to run as root, and ends when this thread does.
fn command(program: &str, folder: &Path) -> Command {
    let path = programs().join(program);
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "QUIT"]);
    let me = Command::new("id").arg("-u").output().unwrap().stdout;
    if me == b"0\n" {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    }
    command.arg(path).current_dir(folder);
    command
}

/// Where Debian puts them.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").unwrap();
    let mut versions: Vec<PathBuf> = versions.map(|it| it.unwrap().path()).collect();
    versions.sort();
    versions.pop().unwrap().join("bin")
}

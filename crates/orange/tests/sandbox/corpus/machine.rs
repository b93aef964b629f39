//! A user's machine with everything that attempts reach for.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use orange_config::Environment;

use super::attempts::Attempt;
use crate::fixture::wait_for;
use crate::ordinary_user::{USER, give_away};
use crate::support::Stage;

const WORDS: &str = include_str!("words.pl");
const VICTIMS: &str = include_str!("victims.pl");

/// Files of the user, with a secret in each.
const SECRETS: [&str; 11] = [
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".config/gh/hosts.yml",
    ".netrc",
    ".git-credentials",
    ".bash_history",
    ".mozilla/cookies.sqlite",
    ".claude/.credentials.json",
    "repo/notes.txt",
    "home/tasks/app/other/runs/r1/launch/run.json",
    "home/workspaces/app--9/secret.txt",
];

/// Sockets of the user.
const SOCKETS: [&str; 9] = [
    "sockets/ssh-agent",
    "sockets/bus",
    "sockets/X0",
    "sockets/wayland-0",
    "sockets/podman.sock",
    ".gnupg/S.gpg-agent",
    "home/tasks/app/other/runs/r1/broker",
    "home/tasks/app/other/runs/r1/proxy",
    "sockets/other",
];

/// What is served: on loopback, at the address of cloud metadata, and on the internet.
const TCP: [&str; 4] = [
    "127.0.0.1:8081",
    "::1:8082",
    "169.254.169.254:80",
    "203.0.113.5:8080",
];
const UDP: [&str; 2] = ["203.0.113.53:53", "127.0.0.53:53"];

/// System calls that attempts name.
const CALLS: &[(&str, libc::c_long)] = &[
    ("open_by_handle_at", libc::SYS_open_by_handle_at),
    ("clone3", libc::SYS_clone3),
    ("open_tree", libc::SYS_open_tree),
    ("ptrace", libc::SYS_ptrace),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("pidfd_open", libc::SYS_pidfd_open),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("keyctl", libc::SYS_keyctl),
    ("add_key", libc::SYS_add_key),
    ("ioctl", libc::SYS_ioctl),
    ("socket", libc::SYS_socket),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("bpf", libc::SYS_bpf),
    ("perf_event_open", libc::SYS_perf_event_open),
    ("userfaultfd", libc::SYS_userfaultfd),
    ("kexec_load", libc::SYS_kexec_load),
    ("init_module", libc::SYS_init_module),
    ("swapon", libc::SYS_swapon),
    ("quotactl", libc::SYS_quotactl),
    ("acct", libc::SYS_acct),
    ("personality", libc::SYS_personality),
    ("kcmp", libc::SYS_kcmp),
    ("landlock_create_ruleset", libc::SYS_landlock_create_ruleset),
];

static NEXT: AtomicU32 = AtomicU32::new(0);

/// An ordinary user's machine, with a network of its own.
pub struct Machine {
    pub stage: Stage,
    /// Processes that only this test has: the network, and what attempts reach for.
    processes: Vec<Child>,
    network: u32,
    mark: String,
    task: String,
    variables: String,
}

impl Machine {
    /// `settings` are those of the sandbox.
    pub fn new(settings: &str, has_bwrap: bool) -> Machine {
        let mut stage = Stage::new("minimal");
        stage.require_sandbox(&["~/scripts"]);
        fs::write(stage.home().settings(), format!("[sandbox]\n{settings}")).unwrap();
        write_files(&stage);
        let mut variables = stage.environment.variables().clone();
        let programs = if has_bwrap {
            String::from("/usr/local/bin:/usr/bin:/bin")
        } else {
            link_programs(&stage.path("programs"));
            stage.path("programs").display().to_string()
        };
        let path = format!("{}:{programs}", stage.path("bin").display());
        variables.insert("PATH".into(), path.into());
        stage.environment = Environment::of(variables);
        let (network, process) = start_network();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut machine = Machine {
            mark: format!("o{}s{number}", std::process::id()),
            stage,
            processes: vec![process],
            network,
            task: String::new(),
            variables: String::new(),
        };
        give_away(&machine.stage.path(""));
        machine.create_task();
        // A home with the directories of tasks and no database is damaged.
        write_secrets(&machine.stage);
        give_away(&machine.stage.path(""));
        let base = machine.make_repository();
        // Root's alone, and everybody may run it.
        let program = machine.stage.path("scripts/setuid-id");
        fs::copy("/usr/bin/id", &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
        machine.start_victims();
        machine.set_variables(&base);
        machine
    }

    /// The user's branches and remote, and an object that nothing refers to; returns the commit of
    /// the default branch.
    fn make_repository(&self) -> String {
        let remote = self.stage.path("remote.git").display().to_string();
        for call in [
            format!("init -q --bare {remote}"),
            format!("remote add origin {remote}"),
            String::from("branch users-own"),
            String::from("hash-object -w notes.txt"),
        ] {
            self.git(&call);
        }
        self.git("rev-parse main")
    }

    /// A command of the user, in the network of this machine.
    pub fn command(&self, program: &str) -> Command {
        let user = USER.to_string();
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.network));
        command.args(["setpriv", "--reuid", &user, "--regid", &user]);
        command.args(["--clear-groups", program]).env_clear();
        command.envs(self.stage.environment.variables());
        command.current_dir(self.stage.path("repo"));
        command.stdin(Stdio::null());
        command
    }

    fn git(&self, words: &str) -> String {
        text(&self.command("git").args(words.split(' ')).output().unwrap())
    }

    pub fn orange(&self, words: &[&str]) -> Output {
        let program = self.stage.path("bin/orange");
        let output = self.command(program.to_str().unwrap()).args(words).output();
        let output = output.unwrap();
        let said = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
        assert!(output.status.success(), "orange {words:?}: {said:?}");
        output
    }

    fn create_task(&mut self) {
        let created = self.orange(&["task", "create", "--no-spawn", "--json", "Add a line"]);
        let answer: serde_json::Value = serde_json::from_slice(&created.stdout).unwrap();
        answer["task"]["id"]
            .as_str()
            .unwrap()
            .clone_into(&mut self.task);
    }

    fn start_victims(&mut self) {
        let script = self.stage.path("victims.pl").display().to_string();
        let docker = format!("/run/{}-docker.sock", self.mark);
        let ready = |name: &str| self.stage.path(name).display().to_string();
        let mut served = Command::new("nsenter");
        served.arg(format!("--net=/proc/{}/ns/net", self.network));
        served.args(["perl", &script, &ready("served"), &self.mark, &docker, "--"]);
        served.args(TCP).arg("--").args(UDP).stdin(Stdio::null());
        let sockets = SOCKETS.map(|name| self.stage.path(name));
        let mut own = self.command("perl");
        own.args([&script, &ready("ready"), &self.mark]);
        own.args(sockets).arg(format!("@{}", self.mark));
        own.env("CANARY", "canary").env("H", self.stage.path(""));
        own.env("SHARED", self.shared_key());
        own.env("add_key", libc::SYS_add_key.to_string());
        for (mut command, name) in [(served, "served"), (own, "ready")] {
            self.processes.push(command.spawn().unwrap());
            let path = self.stage.path(name);
            wait_for(name, || {
                fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n'))
            });
        }
        let socket = self.stage.path("sockets/tmux").display().to_string();
        let mut tmux = self.command("tmux");
        tmux.args(["-S", &socket, "-f", "/dev/null", "new-session", "-d", "cat"]);
        assert!(tmux.status().unwrap().success());
    }

    fn shared_key(&self) -> String {
        let number = self.mark.bytes().fold(7_u32, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u32::from(byte))
        });
        (number & 0x7fff_ffff).to_string()
    }

    fn set_variables(&mut self, base: &str) {
        let root = self.stage.path("").display().to_string();
        let root = root.trim_end_matches('/');
        let read = |name: &str| fs::read_to_string(self.stage.path(name)).unwrap();
        let socket = self.stage.path("sockets/tmux").display().to_string();
        let mut tmux = self.command("tmux");
        tmux.args(["-S", &socket, "list-panes", "-a", "-F", "#{pane_tty}"]);
        let terminal = text(&tmux.output().unwrap());
        let blob = self.git("hash-object notes.txt");
        let (folder, name) = blob.split_at(2);
        let mut variables = format!(
            "H={root} O={root}/home R={root}/repo SOCKETS={root}/sockets MARK={} BASE={base}\n\
             BLOB={folder}/{name} VICTIM={} TERMINAL={terminal} SHARED={}\n\
             CR=$(printf '\\r\\nx'); CR=${{CR%x}}\n\
             PATH={root}/scripts/words:$PATH\n\
             export H O R SOCKETS MARK BASE BLOB VICTIM TERMINAL SHARED CR PATH\n",
            self.mark,
            read("ready").trim(),
            self.shared_key(),
        );
        for (name, number) in CALLS {
            writeln!(variables, "export {name}={number}").unwrap();
        }
        self.variables = variables;
    }

    /// Has an agent make these attempts; returns for each whether it succeeded, and what it said.
    pub fn make(&self, attempts: &[Attempt]) -> Vec<(bool, String)> {
        let rows = self.stage.path("scripts/rows");
        fs::create_dir(&rows).unwrap();
        let mut shell = format!("{}uname -n > {}/host\n", self.variables, rows.display());
        for attempt in attempts {
            let row = rows.join(attempt.number);
            fs::write(&row, &attempt.shell).unwrap();
            let row = row.display();
            writeln!(
                shell,
                "timeout --foreground -k 1 20 sh {row} > {row}.out 2>&1 < /dev/null\n\
                 echo $? > {row}.code"
            )
            .unwrap();
        }
        give_away(&rows);
        self.stage.script(
            "worker-1",
            &format!("{shell}touch {}/done\n", rows.display()),
        );
        self.orange(&["task", "spawn", &self.task]);
        wait_for("the attempts", || rows.join("done").exists());
        let checked = self.check(attempts);
        let read = |attempt: &Attempt, end: &str| {
            let bytes = fs::read(rows.join(format!("{}.{end}", attempt.number))).unwrap();
            String::from_utf8_lossy(&bytes).trim().to_owned()
        };
        let results = attempts.iter().zip(checked).map(|(attempt, checked)| {
            let has_succeeded = checked.unwrap_or(read(attempt, "code") == "0");
            (has_succeeded, read(attempt, "out"))
        });
        results.collect()
    }

    /// The host that the agent saw.
    pub fn host(&self) -> String {
        fs::read_to_string(self.stage.path("scripts/rows/host")).unwrap()
    }

    /// What the checks outside say; `None` for attempts without one.
    fn check(&self, attempts: &[Attempt]) -> Vec<Option<bool>> {
        let mut shell = self.variables.clone();
        for attempt in attempts {
            let check = attempt.check.unwrap_or("false");
            writeln!(shell, "( {check} ) > /dev/null 2>&1; echo $?").unwrap();
        }
        let output = self.command("sh").args(["-c", &shell]).output().unwrap();
        let codes = text(&output);
        assert_eq!(codes.lines().count(), attempts.len(), "{codes}");
        let codes = attempts.iter().zip(codes.lines());
        codes
            .map(|(attempt, code)| attempt.check.map(|_| code == "0"))
            .collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let socket = self.stage.path("sockets/tmux").display().to_string();
        let _gone = self
            .command("tmux")
            .args(["-S", &socket, "kill-server"])
            .output();
        for process in &mut self.processes {
            let _gone = process.kill();
            let _reaped = process.wait();
        }
        let _gone = fs::remove_file(format!("/run/{}-docker.sock", self.mark));
        for folder in ["/tmp", "/dev/shm", "/var/tmp"] {
            let _absent = fs::remove_file(Path::new(folder).join(&self.mark));
        }
    }
}

fn write_secrets(stage: &Stage) {
    for name in SECRETS.iter().chain(&SOCKETS) {
        fs::create_dir_all(stage.path(name).parent().unwrap()).unwrap();
    }
    for name in SECRETS {
        fs::write(stage.path(name), "canary\n").unwrap();
    }
}

fn write_files(stage: &Stage) {
    for folder in ["bin", ".claude", "scripts/words"] {
        fs::create_dir_all(stage.path(folder)).unwrap();
    }
    for name in [".bashrc", ".gitconfig", ".claude/settings.json"] {
        fs::write(stage.path(name), "").unwrap();
    }
    fs::copy(env!("CARGO_BIN_EXE_orange"), stage.path("bin/orange")).unwrap();
    fs::write(stage.path("victims.pl"), VICTIMS).unwrap();
    let words = stage.path("scripts/words/words");
    fs::write(&words, WORDS).unwrap();
    fs::set_permissions(&words, fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["opens", "sys", "unix", "tcp", "udp", "serve", "proxy"] {
        symlink("words", stage.path("scripts/words").join(name)).unwrap();
    }
}

/// A folder with every program of the system but bwrap.
fn link_programs(folder: &Path) {
    fs::create_dir(folder).unwrap();
    for place in ["/usr/local/bin", "/usr/bin", "/bin"] {
        for entry in fs::read_dir(place).unwrap().flatten() {
            if entry.file_name() != "bwrap" {
                let _twice = symlink(entry.path(), folder.join(entry.file_name()));
            }
        }
    }
}

/// Starts a process in a network with a loopback interface that has public addresses too.
fn start_network() -> (u32, Child) {
    let script = "ip link set lo up && ip addr add 203.0.113.5/32 dev lo && \
                  ip addr add 203.0.113.53/32 dev lo && ip addr add 169.254.169.254/32 dev lo && \
                  echo '0 2147483647' > /proc/sys/net/ipv4/ping_group_range && \
                  echo ready && exec sleep 600";
    let mut network = Command::new("unshare");
    network.args(["--net", "--", "sh", "-c", script]);
    network.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut process = network.spawn().unwrap();
    let mut ready = [0; 6];
    process
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut ready)
        .unwrap();
    assert_eq!(&ready, b"ready\n");
    (process.id(), process)
}

fn text(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

//! Starts the agent of a sandbox, usually as process 1.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_config::{Environment, ORANGE_SANDBOX_FOLDER};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, wait,
};
use signal_hook::consts::{
    SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2,
};

use super::control::{
    FirstConnection, Signals, connect_in, listen_in, wait_readable, watch_signals,
};
use super::partial::{TemporaryFolder, adopt_orphans, end_below, run_guarded};
use super::protocol::{Go, PLAN_VARIABLE, Plan, Report, Request, StartFailure, code_of};
use super::terminal::give_terminal;
use crate::command::Invocation;
use crate::sandbox::network::{open_bridges, serve_ports};
use crate::sandbox::places::{
    CONTROL_SOCKET, PLAN_FILE, PORTS, PORTS_SOCKET, START_SOCKET, meeting_folder,
};

/// All that are ignored when this process starts, and those that are passed on.
const WATCHED: [i32; 7] = [SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// A kill of a run may signal several of its processes; the agent gets one signal.
const REPEATED: Duration = Duration::from_millis(300);

/// A program that stops because it may not use the terminal stops again at once.
const STOP_PAUSE: Duration = Duration::from_millis(50);

/// Starts the agent's last step in its own process group and waits for its end. When this process
/// ends, the system ends everything in the sandbox; at the partial level this process does.
/// Returns the exit code.
pub fn run_init(environment: &Environment) -> io::Result<u8> {
    if let Some(plan) = environment.variable(PLAN_VARIABLE) {
        let plan: Plan = serde_json::from_slice(plan.as_encoded_bytes())?;
        return match plan.confinement {
            None => run_program(plan),
            Some(_) => run_guarded(plan, environment),
        };
    }
    let folder = meeting_folder(environment);
    let mut plan: Plan = serde_json::from_slice(&fs::read(folder.join(PLAN_FILE))?)?;
    // The first connection counts, and there is no agent yet that could make it.
    let control = connect_in(&folder, CONTROL_SOCKET)?;
    let start = listen_in(&folder, START_SOCKET)?;
    // Before the agent starts: it would inherit ignored signals, but no handlers.
    let signals = watch_signals(&WATCHED)?;
    let (go, temporary) = prepare(&mut plan).map_err(|error| not_started(&control, error))?;
    let mut go = serde_json::to_vec(&go)?;
    go.push(b'\n');
    let directory = match temporary {
        None => Path::new(plan.directory.as_os_str()),
        // Where the sockets are.
        Some(_) => Path::new("."),
    };
    let child = Invocation::new(
        plan.orange.as_os_str(),
        confine_variables(&plan, environment),
    )
    .arguments(["sandbox-confine"])
    .directory(directory)
    .start_in_terminal(None, true)
    .map_err(|error| not_started(&control, io::Error::other(error)))?;
    let agent = Pid::from_child(&child);
    if plan.takes_terminal {
        give_terminal(agent);
    }
    let mut init = Init {
        agent,
        control: BufReader::new(control),
        is_controlled: true,
        start: FirstConnection::Listening(start),
        signals,
        last_forwarded: None,
        go,
        start_socket: folder.join(START_SOCKET),
        is_first_process: temporary.is_none(),
    };
    let status = init.watch_agent();
    if !init.is_first_process {
        end_below();
    }
    drop(temporary);
    init.report(status?)?;
    Ok(0)
}

/// Reports that there is no agent; otherwise `exec-run` would take it for killed.
fn not_started(control: &UnixStream, error: io::Error) -> io::Error {
    let report = Report::NotStarted(StartFailure {
        is_missing: false,
        message: format!("cannot prepare the sandbox: {error}"),
    });
    if let Ok(mut line) = serde_json::to_vec(&report) {
        line.push(b'\n');
        let mut control = control;
        // If `exec-run` has ended, there is nothing to report to.
        let _gone = control.write_all(&line);
    }
    error
}

/// Opens the ports, and makes what the agent needs without namespaces.
fn prepare(plan: &mut Plan) -> io::Result<(Go, Option<TemporaryFolder>)> {
    let open = open_bridges(&plan.bridges)?;
    let Some(mut confinement) = plan.confinement.take() else {
        open_ports()?;
        let variables = open.variables;
        let confinement = None;
        return Ok((
            Go {
                variables,
                confinement,
            },
            None,
        ));
    };
    adopt_orphans()?;
    let temporary = TemporaryFolder::create(&confinement.temporary)?;
    let mut variables = open.variables;
    variables.extend(temporary.variables(confinement.is_home_temporary)?);
    confinement.add_writable(temporary.path());
    confinement.ports = open.ports;
    let confinement = Some(confinement);
    Ok((
        Go {
            variables,
            confinement,
        },
        Some(temporary),
    ))
}

/// The variables of the last step before the agent.
fn confine_variables(plan: &Plan, environment: &Environment) -> BTreeMap<OsString, OsString> {
    let mut variables = plan.variables();
    let folder = environment.variable(ORANGE_SANDBOX_FOLDER);
    variables.extend(folder.map(|it| (ORANGE_SANDBOX_FOLDER.into(), it.to_owned())));
    variables
}

/// Listens for callers from outside who want to reach a port, if this sandbox has ports of its own.
fn open_ports() -> io::Result<()> {
    let folder = Path::new(PORTS);
    if !folder.is_dir() {
        return Ok(());
    }
    let socket = folder.join(PORTS_SOCKET);
    // Of an agent that was started here before.
    let _absent = fs::remove_file(&socket);
    serve_ports(UnixListener::bind(socket)?)
}

/// Opens the ports for a program without a terminal, and runs it.
fn run_program(mut plan: Plan) -> io::Result<u8> {
    let open = open_bridges(&plan.bridges)?;
    plan.add_variables(&open.variables);
    let program = Invocation::new(plan.orange.as_os_str(), plan.variables())
        .arguments(["sandbox-confine"])
        .variable(PLAN_VARIABLE, serde_json::to_string(&plan)?)
        .directory(Path::new(plan.directory.as_os_str()));
    let mut child = program
        .start_in_terminal(None, false)
        .map_err(io::Error::other)?;
    Ok(code_of(child.wait()?))
}

struct Init {
    /// The agent, and its process group.
    agent: Pid,
    control: BufReader<UnixStream>,
    is_controlled: bool,
    /// The last step before the agent; its end of the connection closes when it becomes the agent.
    start: FirstConnection,
    signals: Signals,
    last_forwarded: Option<(i32, Deadline)>,
    /// What the last step waits for.
    go: Vec<u8>,
    /// The socket where it does.
    start_socket: PathBuf,
    /// Whether the system ends everything in the sandbox with this process.
    is_first_process: bool,
}

impl Init {
    fn watch_agent(&mut self) -> io::Result<WaitStatus> {
        loop {
            let control = self.is_controlled.then(|| self.control.get_ref().as_fd());
            let descriptors = [
                Some(self.signals.get_read().as_fd()),
                control,
                self.start.descriptor(),
            ];
            let [has_signal, is_controlled, is_start] = wait_readable(descriptors, None)?;
            if is_start && self.start.advance()? {
                // The terminal belongs to the agent's group by now.
                self.start.send(&self.go);
                let _gone = fs::remove_file(&self.start_socket);
            }
            if is_controlled {
                self.obey();
                if !self.is_controlled && !self.is_first_process {
                    // `exec-run` was killed.
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
            if has_signal {
                let pending: Vec<i32> = self.signals.pending().collect();
                for signal in pending.into_iter().filter(|it| *it != SIGCHLD) {
                    self.forward(signal);
                }
                if let Some(status) = self.reap()? {
                    return Ok(status);
                }
            }
        }
    }

    /// Reads the requests from outside that have arrived.
    fn obey(&mut self) {
        loop {
            let mut line = String::new();
            if self.control.read_line(&mut line).unwrap_or(0) == 0 {
                self.is_controlled = false;
            } else if let Ok(Request::Signal(signal)) = serde_json::from_str(&line) {
                self.forward(signal);
            }
            // What is in the buffer already wakes no poll.
            if !self.control.buffer().contains(&b'\n') {
                return;
            }
        }
    }

    fn forward(&mut self, signal: i32) {
        let is_repeated = self
            .last_forwarded
            .is_some_and(|(last, until)| last == signal && !until.has_passed());
        if is_repeated {
            return;
        }
        self.last_forwarded = Some((signal, Deadline::after(REPEATED)));
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _gone = kill_process_group(self.agent, signal);
        }
    }

    /// Takes note of every process that has ended or stopped. Returns how the agent ended.
    fn reap(&self) -> io::Result<Option<WaitStatus>> {
        loop {
            match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Ok(Some((process, status))) if status.stopped() => {
                    self.resume(process, status.stopping_signal());
                }
                Ok(Some((process, status))) if process == self.agent => return Ok(Some(status)),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) | Err(Errno::CHILD) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Continues a process that has stopped: its terminal has no shell in which the user could.
    fn resume(&self, process: Pid, signal: Option<i32>) {
        if matches!(signal, Some(SIGTTIN | SIGTTOU)) {
            thread::sleep(STOP_PAUSE);
        }
        let _gone = if process == self.agent {
            kill_process_group(process, Signal::CONT)
        } else {
            kill_process(process, Signal::CONT)
        };
    }

    fn report(self, status: WaitStatus) -> io::Result<()> {
        let failure = self.start.into_received();
        let failure = failure.and_then(|it| serde_json::from_slice::<StartFailure>(&it).ok());
        let report = match failure {
            Some(failure) => Report::NotStarted(failure),
            None => Report::Ended(status.as_raw()),
        };
        let mut control = self.control.into_inner();
        serde_json::to_writer(&control, &report)?;
        control.write_all(b"\n")
    }
}

//! Runs an agent in a sandbox, and ends as it ends.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

use orange_config::Environment;
use orange_config::clock::Deadline;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use super::arguments::{RunFiles, sandbox_arguments, with_nul};
use super::control::{
    FirstConnection, IGNORING, Signals, inherited_file, listen_in, wait_readable, watch_signals,
};
use super::partial::{calls_bridge, end_marked, start_init};
use super::private_home::{prepare_home, return_shared_files};
use super::protocol::{Plan, Report, Request, StartFailure, visible_variables};
use super::proxy::serve_proxy;
use super::terminal::is_foreground;
use crate::command::Invocation;
use crate::sandbox::broker::{Broker, answer_calls};
use crate::sandbox::ending::AgentExit;
use crate::sandbox::network::{Bridge, LoginService, Network, proxy_bridge, serve};
use crate::sandbox::places::{
    BROKER, BROKER_SOCKET, CONTROL, CONTROL_SOCKET, LOGIN, LOGIN_SOCKET, PLAN_FILE, PORTS,
    PORTS_FOLDER, PROXY, PROXY_SOCKET, START_SOCKET,
};
use crate::sandbox::sandboxed_run::SandboxedRun;
use crate::sandbox::secret::Secret;
use crate::sandbox::unstarted::SandboxError;

/// What ends a program by default and is passed on to the agent.
const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// How many requests with the login are sent at once.
const MAX_REQUESTS: usize = 64;

/// How long the agent may take to end after SIGTERM or SIGHUP.
const GRACE: Duration = Duration::from_secs(2);

/// How long `sandbox-init` may take to kill everything.
const LAST_GRACE: Duration = Duration::from_secs(10);

/// Runs the agent until it ends. Must be called on the main thread: the system ends bwrap with the
/// thread that started it.
pub fn run_in_sandbox(run: SandboxedRun<'_>) -> Result<AgentExit, SandboxError> {
    let failed = |what: &'static str| move |error| SandboxError::System { what, error };
    prepare_home(run.description).map_err(failed("prepare the private home"))?;
    let signals = watch_signals(&FORWARDED).map_err(failed("watch signals"))?;
    let listen = |name| listen_in(run.folder, name).map_err(failed("listen on a socket"));
    let (control, calls) = (listen(CONTROL_SOCKET)?, listen(BROKER_SOCKET)?);
    let description = run.description;
    let is_full = description.bwrap.is_some();
    // Without namespaces, every process of the machine reaches the ports.
    let secret = (!is_full).then(Secret::random).transpose();
    let secret = secret.map_err(failed("make a secret"))?;
    let mut sockets = vec![(CONTROL_SOCKET, CONTROL), (BROKER_SOCKET, BROKER)];
    let mut bridges: Vec<Bridge> = secret.iter().map(calls_bridge).collect();
    // Where `sandbox-init` finds a socket.
    let at = |name, inside| if is_full { inside } else { name };
    if let Network::List(hosts) = &description.network {
        let started = serve_proxy(listen(PROXY_SOCKET)?, hosts.clone(), secret.clone());
        started.map_err(failed("start the proxy"))?;
        sockets.push((PROXY_SOCKET, PROXY));
        bridges.push(proxy_bridge(at(PROXY_SOCKET, PROXY), secret.as_ref()));
    }
    if let (Some(login), Some(secret)) = (&description.login, run.secret.clone()) {
        let environment = Environment::of(run.environment.clone());
        let service = LoginService::new(login.clone(), secret, &environment);
        let started = serve_login(listen(LOGIN_SOCKET)?, service);
        started.map_err(failed("pass requests on"))?;
        sockets.push((LOGIN_SOCKET, LOGIN));
        bridges.push(login.bridge(at(LOGIN_SOCKET, LOGIN)));
    }
    if description.network != Network::Open && is_full {
        let made = fs::create_dir_all(run.folder.join(PORTS_FOLDER));
        made.map_err(failed("create the folder for ports"))?;
        sockets.push((PORTS_FOLDER, PORTS));
    }
    let child = start(&run, &sockets, bridges).map_err(failed("start the sandbox"))?;
    let broker = Broker {
        secret,
        ..run.broker
    };
    thread::spawn(move || answer_calls(&calls, broker));
    let mut watch = Watch {
        signals,
        control: FirstConnection::Listening(control),
        unsent: Vec::new(),
        kill_at: None,
        is_full,
        is_killed: false,
    };
    let status = watch.wait(child).map_err(failed("wait for the sandbox"))?;
    let own = [START_SOCKET, PLAN_FILE].into_iter().filter(|_| !is_full);
    for name in sockets.into_iter().map(|(name, _)| name).chain(own) {
        let _left = fs::remove_file(run.folder.join(name));
    }
    let ending = watch.ending(status);
    if !is_full {
        if status.code() != Some(0) {
            end_marked(&run.environment);
        }
        // The next start tries again.
        let _unwritten = return_shared_files(description);
    }
    ending
}

/// Answers requests that need the user's login, until this process ends.
fn serve_login(listener: UnixListener, service: LoginService) -> io::Result<()> {
    thread::Builder::new().spawn(move || {
        serve(
            listener.incoming().flatten(),
            MAX_REQUESTS,
            |_| {},
            move |stream| {
                // A caller that is gone gets no answer.
                let _gone = service.answer(&stream);
            },
        );
    })?;
    Ok(())
}

/// Starts bwrap, or `sandbox-init` itself.
fn start(
    run: &SandboxedRun<'_>,
    sockets: &[(&'static str, &'static str)],
    bridges: Vec<Bridge>,
) -> io::Result<Child> {
    let description = run.description;
    let plan = Plan::new(
        description,
        run.program,
        run.arguments,
        &run.environment,
        run.directory,
    );
    let plan = Plan {
        takes_terminal: is_foreground(),
        bridges,
        ..plan
    };
    let Some(bwrap) = &description.bwrap else {
        return start_init(run, &plan);
    };
    // bwrap keeps the path of orange's home, by which the processes of the run are found.
    let environment = visible_variables(description, &run.environment);
    let environment = environment.map(|(name, value)| (name.clone(), value.clone()));
    let environment = environment.collect();
    let plan = inherited_file(&serde_json::to_vec(&plan)?)?;
    let files = RunFiles {
        plan: plan.as_raw_fd(),
        folder: run.folder,
        sockets,
    };
    let words = sandbox_arguments(description, &files, run.directory);
    let words = inherited_file(&with_nul(&words))?;
    let output = run.output.as_ref().map(File::try_clone).transpose()?;
    let descriptor = words.as_raw_fd().to_string();
    let command = Invocation::new("/bin/sh", environment)
        .arguments(["-c", IGNORING, "sh"])
        .arguments([bwrap.as_os_str()])
        .arguments(["--args", &descriptor, "--"])
        .arguments([description.orange.as_os_str(), "sandbox-init".as_ref()]);
    // Both files are closed when this function returns, before any other program is started.
    let started = command.start_in_terminal(output, false);
    started.map_err(io::Error::other)
}

/// What happens while the agent runs.
struct Watch {
    signals: Signals,
    control: FirstConnection,
    /// Requests from before `sandbox-init` connected.
    unsent: Vec<u8>,
    kill_at: Option<Deadline>,
    /// Whether the end of the child ends everything in the sandbox.
    is_full: bool,
    /// Whether `sandbox-init` was asked to kill the agent.
    is_killed: bool,
}

impl Watch {
    /// Passes signals on until the child has ended.
    fn wait(&mut self, mut child: Child) -> io::Result<ExitStatus> {
        let exit: OwnedFd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        loop {
            let timeout = self.kill_at.map(Deadline::remaining);
            let descriptors = [
                Some(exit.as_fd()),
                Some(self.signals.get_read().as_fd()),
                self.control.descriptor(),
            ];
            let [has_ended, has_signal, is_heard] = wait_readable(descriptors, timeout)?;
            if has_ended {
                return child.wait();
            }
            if has_signal {
                self.pass_signals_on();
            }
            if is_heard && self.control.advance()? {
                let unsent = std::mem::take(&mut self.unsent);
                self.control.send(&unsent);
            }
            if self.kill_at.is_some_and(Deadline::has_passed) {
                self.kill(&mut child)?;
            }
        }
    }

    /// Ends everything in the sandbox.
    fn kill(&mut self, child: &mut Child) -> io::Result<()> {
        if self.is_full || self.is_killed {
            self.kill_at = None;
            return child.kill();
        }
        self.is_killed = true;
        self.kill_at = Some(Deadline::after(LAST_GRACE));
        self.pass_on(SIGKILL);
        Ok(())
    }

    fn pass_signals_on(&mut self) {
        let pending: Vec<i32> = self.signals.pending().collect();
        for signal in pending {
            self.pass_on(signal);
            if matches!(signal, SIGTERM | SIGHUP) && self.kill_at.is_none() {
                self.kill_at = Some(Deadline::after(GRACE));
            }
        }
    }

    fn pass_on(&mut self, signal: i32) {
        if let Ok(mut line) = serde_json::to_vec(&Request::Signal(signal)) {
            line.push(b'\n');
            match self.control {
                FirstConnection::Listening(_) => self.unsent.extend(line),
                _ => {
                    self.control.send(&line);
                }
            }
        }
    }

    /// How the agent ended, by the word of `sandbox-init`.
    fn ending(self, status: ExitStatus) -> Result<AgentExit, SandboxError> {
        let Some(received) = self.control.into_received() else {
            // It was never there.
            return match status.signal() {
                Some(signal) => Ok(AgentExit::Signal(signal)),
                None if self.is_full => Err(SandboxError::Bwrap(status.code().unwrap_or(1))),
                None => Err(SandboxError::Init(status.code().unwrap_or(1))),
            };
        };
        let first = received.split(|byte| *byte == b'\n').next();
        match serde_json::from_slice(first.unwrap_or_default()) {
            Ok(Report::Ended(raw)) => Ok(ExitStatus::from_raw(raw).into()),
            Ok(Report::NotStarted(StartFailure {
                is_missing,
                message,
            })) => Err(SandboxError::NotStarted {
                is_missing,
                message,
            }),
            // Whatever ended `sandbox-init` or bwrap killed the agent too.
            Err(_) => Ok(AgentExit::Signal(SIGKILL)),
        }
    }
}

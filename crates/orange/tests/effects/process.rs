//! Finding and killing the processes of a run.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use orange_effects::command::{CommandExit, Invocation};
use orange_effects::process::{self, Liveness, ProcessIdentity, SocketOwners, socket_owners};
use orange_engine::evidence::Evidence;

use crate::stage::{Stage, TIMEOUT, is_running, variables, wait_for};

/// Starts a script as a run, in its own session.
fn start(stage: &Stage, run: &str, script: &str) -> u32 {
    stage.kill_on_drop(run);
    let out = stage.root.path().display().to_string();
    let id = stage.id(run);
    let inner = stage.id("inner-1");
    let set = [
        ("ORANGE_RUN_ID", id.as_str()),
        ("OUT", &out),
        ("INNER", inner.as_str()),
    ];
    let variables = variables(&set);
    let program = Invocation::new("sh", variables).arguments(["-c", script]);
    let orange = std::path::Path::new(env!("CARGO_BIN_EXE_orange"));
    orange_effects::command::start_detached(orange, &program).unwrap()
}

fn end(stage: &Stage, run: &str, spared: &[u32]) -> Vec<u32> {
    let ended = process::end_run_processes(&stage.id(run), &[], spared, TIMEOUT).unwrap();
    ended.processes.iter().map(|process| process.pid).collect()
}

#[test]
fn lesson_15_children_that_ignore_sigterm_are_killed() {
    let stage = Stage::new();
    let script = "\
        sh -c 'trap \"\" HUP TERM; echo $$ >$OUT/deaf.new; mv $OUT/deaf.new $OUT/deaf; while :; do sleep 1; done' &\n\
        setsid sh -c 'trap \"\" HUP; echo $$ >$OUT/apart.new; mv $OUT/apart.new $OUT/apart; exec sleep 1000' &\n\
        env -i sh -c 'echo $$; exec sleep 1000' >$OUT/clean & wait";
    let agent = start(&stage, "stubborn-1", script);
    let children = ["deaf", "apart"].map(|name| stage.pid(name));
    wait_for("the clean child", || {
        !stage.wait_for_file("clean").is_empty()
    });
    let clean = stage.pid("clean");
    let ended = end(&stage, "stubborn-1", &[]);
    for pid in [agent, clean].into_iter().chain(children) {
        assert!(ended.contains(&pid), "{pid} was not found");
        assert!(!is_running(pid), "{pid} survived");
    }
    assert!(
        end(&stage, "stubborn-1", &[]).is_empty(),
        "ending twice is ending once"
    );
}

#[test]
fn a_child_that_dropped_its_mark_and_lost_its_parent_is_found_by_its_session() {
    let stage = Stage::new();
    let script = "(env -i timeout 1000 sleep 1000 & echo $! >$OUT/new; mv $OUT/new $OUT/orphan); exec sleep 1000";
    let agent = start(&stage, "orphan-1", script);
    // `timeout` creates its own process group. The session belongs to the process that created it,
    // which has exited.
    let orphan = stage.pid("orphan");
    wait_for("the orphan", || is_running(orphan));
    let ended = end(&stage, "orphan-1", &[]);
    assert!(ended.contains(&agent) && ended.contains(&orphan));
    assert!(!is_running(orphan));
}

#[test]
fn lesson_8_run_1_does_not_end_run_10() {
    let stage = Stage::new();
    let one = start(&stage, "number-1", "exec sleep 1000");
    let ten = start(&stage, "number-10", "exec sleep 1000");
    wait_for("both", || {
        process::processes_of_run(&stage.id("number-10"))
            .unwrap()
            .len()
            == 1
    });
    assert_eq!(end(&stage, "number-1", &[]), [one]);
    assert!(is_running(ten));
}

#[test]
fn another_run_below_this_one_is_another_run() {
    let stage = Stage::new();
    stage.kill_on_drop("inner-1");
    let script =
        "ORANGE_RUN_ID=$INNER sleep 1000 & echo $! >$OUT/new; mv $OUT/new $OUT/inner; wait";
    start(&stage, "outer-1", script);
    let inner = stage.pid("inner");
    wait_for("the inner run", || {
        process::processes_of_run(&stage.id("inner-1"))
            .unwrap()
            .len()
            == 1
    });
    assert!(!end(&stage, "outer-1", &[]).contains(&inner));
    assert!(is_running(inner));
}

#[test]
fn spared_processes_are_not_killed() {
    let stage = Stage::new();
    let pid = start(&stage, "spared-1", "exec sleep 1000");
    wait_for("it", || is_running(pid));
    assert!(end(&stage, "spared-1", &[pid]).is_empty());
    assert!(is_running(pid));
}

#[test]
fn an_unreaped_exit_is_reported() {
    for (script, expected) in [
        ("exit 7", Evidence::Exit { code: 7 }),
        ("kill -9 $$", Evidence::Signal { signal: 9 }),
    ] {
        let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let own = std::process::id();
        wait_for("the end", || {
            process::unreaped_exit(child.id(), own).is_some()
        });
        assert_eq!(process::unreaped_exit(child.id(), own), Some(expected));
        assert_eq!(process::unreaped_exit(child.id(), 1), None);
        child.wait().unwrap();
        assert_eq!(process::unreaped_exit(child.id(), own), None);
    }
}

#[test]
fn output_held_open_by_another_process_is_not_awaited() {
    let stage = Stage::new();
    let run = stage.id("r1");
    let script = "setsid sleep 1000 & echo early; exit 3";
    let program = Invocation::new("sh", variables(&[("ORANGE_RUN_ID", run.as_str())]));
    let began = Instant::now();
    let finished = program.arguments(["-c", script]).run().unwrap();
    let took = began.elapsed();
    let ended = process::end_run_processes(&run, &[], &[], TIMEOUT).unwrap();
    assert_eq!(ended.processes.len(), 1);
    assert_eq!(finished.ending, CommandExit::Code(3));
    assert_eq!(finished.stdout.bytes, b"early\n");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

/// While a process replaces its program, the kernel shows it without variables for a moment.
#[test]
fn a_process_that_calls_exec_again_and_again_is_found_each_time() {
    let stage = Stage::new();
    let script = stage.root.path().join("again.sh");
    // It stops by itself if this test is killed.
    let text = "[ $1 -lt 100000 ] && exec sh \"$0\" $(($1 + 1))\n";
    std::fs::write(&script, text).unwrap();
    let first = format!("exec sh {} 0", script.display());
    let pid = start(&stage, "restless-1", &first);
    let run = stage.id("restless-1");
    for round in 0..1000 {
        let found = process::processes_of_run(&run).unwrap();
        let pids: Vec<u32> = found.iter().map(|it| it.pid).collect();
        assert_eq!(pids, [pid], "round {round}");
    }
    assert_eq!(end(&stage, "restless-1", &[]), [pid]);
}

#[test]
fn a_process_is_gone_when_it_ended_and_not_before() {
    let stage = Stage::new();
    let pid = start(&stage, "life-1", "exec sleep 1000");
    let identity = ProcessIdentity::of(pid).unwrap();
    assert_eq!(identity.liveness(), Liveness::Alive);
    let written = serde_json::to_string(&identity).unwrap();
    end(&stage, "life-1", &[]);
    let read: ProcessIdentity = serde_json::from_str(&written).unwrap();
    assert_eq!(read.liveness(), Liveness::Gone);
}

#[test]
fn the_owner_of_a_connection_is_found() {
    let v4 = |address: SocketAddr| match address {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(_) => panic!("it was bound to an IPv4 address"),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, peer) = listener.accept().unwrap();
    let own = v4(server.local_addr().unwrap());
    assert_eq!(client.local_addr().unwrap(), peer);
    let found = socket_owners(v4(peer), own).unwrap();
    assert_eq!(found, Some(SocketOwners::Known(vec![std::process::id()])));
    // A child that inherits the connection has it open too.
    let inherited = std::os::fd::OwnedFd::from(client.try_clone().unwrap());
    let mut child = Command::new("sleep")
        .arg("60")
        .stdin(inherited)
        .spawn()
        .unwrap();
    let both = socket_owners(v4(peer), own).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let Some(SocketOwners::Known(pids)) = both else {
        panic!("{both:?}");
    };
    assert!(
        pids.contains(&child.id()) && pids.contains(&std::process::id()),
        "{pids:?}"
    );
    drop(client);
    drop(server);
    assert_eq!(
        socket_owners(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1), own).unwrap(),
        None
    );
}

/// The system shows a process whose first thread has ended as it shows one that has ended, although
/// its other threads hold its files and locks.
#[test]
fn a_process_lives_as_long_as_one_of_its_threads() {
    let end = libc::SYS_exit;
    let script = format!("use threads; threads->create(sub {{ sleep 600 }}); syscall({end}, 0)");
    let mut perl = Command::new("perl").args(["-e", &script]).spawn().unwrap();
    let stat = format!("/proc/{}/stat", perl.id());
    wait_for("the end of the first thread", || {
        let stat = std::fs::read_to_string(&stat).unwrap();
        stat.contains(") Z ")
    });
    let process = ProcessIdentity::of(perl.id()).unwrap();
    assert_eq!(process.liveness(), Liveness::Alive);
    perl.kill().unwrap();
    wait_for("its end", || process.liveness() == Liveness::Gone);
    perl.wait().unwrap();
}

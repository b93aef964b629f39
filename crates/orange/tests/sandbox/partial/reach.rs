//! What an agent reaches without namespaces: sockets, processes and ports.

use std::net::TcpListener;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::Command;

use orange_effects::sandbox::{Description, Level, Network};

use crate::fixture::Fixture;

fn printed(fixture: &Fixture, description: Option<&Description>, script: &str) -> String {
    let file = fixture.run_file_with(script, description);
    let output = fixture.exec_run(&file).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{errors}");
    text
}

/// Says for each piece of Perl whether it succeeds.
fn perl(fixture: &Fixture, description: Option<&Description>, pieces: &[String]) -> Vec<bool> {
    let lines = pieces.iter().map(|piece| {
        format!("if perl -MSocket -e '{piece}' >/dev/null 2>&1; then echo yes; else echo no; fi\n")
    });
    let text = printed(fixture, description, &lines.collect::<String>());
    let results: Vec<bool> = text.lines().map(|line| line == "yes").collect();
    assert_eq!(results.len(), pieces.len(), "{text}");
    results
}

fn assert_results(pieces: &[String], results: &[bool], expected: bool, where_: &str) {
    for (piece, result) in pieces.iter().zip(results) {
        assert_eq!(*result, expected, "{where_}: {piece}");
    }
}

#[test]
fn sockets_of_other_programs_are_refused() {
    let fixture = Fixture::new();
    let (stream, datagram) = (fixture.path("w/stream"), fixture.path("w/datagram"));
    let _stream = UnixListener::bind(&stream).unwrap();
    let _datagram = UnixDatagram::bind(&datagram).unwrap();
    let (stream, datagram) = (stream.display(), datagram.display());
    let abstract_name = format!("orange-{}", fixture.mark());
    let _abstract = {
        use std::os::linux::net::SocketAddrExt as _;
        let name = std::os::unix::net::SocketAddr::from_abstract_name(&abstract_name).unwrap();
        UnixListener::bind_addr(&name).unwrap()
    };
    let pieces = [
        format!(
            "socket(S, AF_UNIX, SOCK_STREAM, 0) or die; connect(S, pack_sockaddr_un(\"{stream}\")) or die"
        ),
        format!(
            "socket(S, AF_UNIX, SOCK_STREAM, 0) or die; connect(S, pack_sockaddr_un(\"\\0{abstract_name}\")) or die"
        ),
        format!(
            "socket(S, AF_UNIX, SOCK_DGRAM, 0) or die; send(S, \"x\", 0, pack_sockaddr_un(\"{datagram}\")) or die"
        ),
        // A pair of datagram sockets sends to others too, and so does a raw one, which is the same.
        format!(
            "socketpair(S, T, AF_UNIX, SOCK_DGRAM, 0) or die; send(S, \"x\", 0, pack_sockaddr_un(\"{datagram}\")) or die"
        ),
        format!(
            "socketpair(S, T, AF_UNIX, SOCK_RAW, 0) or die; send(S, \"x\", 0, pack_sockaddr_un(\"{datagram}\")) or die"
        ),
        String::from("syscall(SHMGET, 0, 4096, 01600) >= 0 or die")
            .replace("SHMGET", &libc::SYS_shmget.to_string()),
    ];
    assert_results(&pieces, &perl(&fixture, None, &pieces), true, "without");
    for network in [Network::Open, Network::None] {
        let mut description = fixture.describe_at(Level::Partial);
        description.network = network.clone();
        let results = perl(&fixture, Some(&description), &pieces);
        assert_results(&pieces, &results, false, &format!("{network:?}"));
    }
}

#[test]
fn other_processes_are_seen_but_not_touched() {
    let fixture = Fixture::new();
    let mut victim = Command::new("sleep")
        .arg("600")
        .env("CANARY", "canary")
        .spawn()
        .unwrap();
    let pid = victim.id();
    let script = format!(
        "try() {{ if \"$@\" >/dev/null 2>&1; then echo yes; else echo no; fi; }}\n\
         try ls /proc/{pid}/status\ntry kill -0 {pid}\ntry cat /proc/{pid}/environ\n\
         try ls /proc/{pid}/root/\ntry readlink /proc/{pid}/fd/0\ntry head -c 1 /proc/{pid}/mem\n\
         try prlimit --pid {pid} --nofile=100:100\ntry kill -9 $PPID\n\
         grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status | cut -f2\n"
    );
    let description = fixture.describe_at(Level::Partial);
    let text = printed(&fixture, Some(&description), &script);
    victim.kill().unwrap();
    victim.wait().unwrap();
    let results: Vec<&str> = text.lines().collect();
    assert_eq!(
        results[..8],
        ["yes", "no", "no", "no", "no", "no", "no", "no"],
        "{text}"
    );
    assert_eq!(
        results[8], "0000000000000000",
        "no capability, also as root"
    );
    if rustix::process::geteuid().is_root() {
        assert_eq!(results[9], "0000000000000000");
    }
    assert_eq!(results[10..], ["1", "2"]);
}

#[test]
fn a_limited_network_reaches_the_ports_of_orange_alone() {
    let fixture = Fixture::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let connect = "socket(S, AF_INET, SOCK_STREAM, 0) or die; connect(S, ADDRESS) or die";
    let address = format!("pack_sockaddr_in({port}, inet_aton(\"127.0.0.1\"))");
    let pieces = [
        connect.replace("ADDRESS", &address),
        connect.replace("AF_INET", "AF_INET6").replace(
            "ADDRESS",
            &format!(
                "pack_sockaddr_in6({port}, Socket::inet_pton(AF_INET6, \"::ffff:127.0.0.1\"))"
            ),
        ),
        // A connection that is made by sending.
        format!(
            "socket(S, AF_INET, SOCK_STREAM, 0) or die; send(S, \"x\", 0x20000000, {address}) or die"
        ),
        format!("socket(S, AF_INET, SOCK_DGRAM, 0) or die; send(S, \"x\", 0, {address}) or die"),
        String::from(
            "socket(S, AF_INET, SOCK_STREAM, 0) or die; bind(S, pack_sockaddr_in(0, INADDR_LOOPBACK)) or die",
        ),
        // It gets a port without asking for one.
        String::from("socket(S, AF_INET, SOCK_STREAM, 0) or die; listen(S, 1) or die"),
        String::from("socket(S, 16, SOCK_RAW, 0) or die"),
    ];
    assert_results(&pieces, &perl(&fixture, None, &pieces), true, "without");
    let mut description = fixture.describe_at(Level::Partial);
    let open = perl(&fixture, Some(&description), &pieces);
    assert_results(&pieces, &open, true, "open");
    description.network = Network::None;
    let limited = perl(&fixture, Some(&description), &pieces);
    assert_results(&pieces, &limited, false, "limited");
    // Other kinds of connections that Landlock does not know, where this kernel has them.
    let others = [(1, 262), (1, 132), (5, 132), (1, 256), (3, 6)];
    let others =
        others.map(|(kind, protocol)| format!("socket(S, AF_INET, {kind}, {protocol}) or die"));
    let limited = perl(&fixture, Some(&description), &others);
    assert_results(&others, &limited, false, "limited");
}

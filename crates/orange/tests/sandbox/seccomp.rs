//! `orange sandbox-confine` refuses system calls, each tried without a sandbox too.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::fixture::{Around, BOTH, Fixture};

/// The kernel's answer to success, and its errors.
const SUCCESS: i32 = 0;
const EPERM: i32 = 1;
const ENOSYS: i32 = 38;
const ENOTTY: i32 = 25;

/// Calls with arguments that are wrong or ask for nothing, so that no harm is done where they are
/// allowed.
const REFUSED: &[(&str, libc::c_long, &str)] = &[
    ("io_uring_setup", libc::SYS_io_uring_setup, "0, 0"),
    (
        "io_uring_enter",
        libc::SYS_io_uring_enter,
        "-1, 0, 0, 0, 0, 0",
    ),
    (
        "io_uring_register",
        libc::SYS_io_uring_register,
        "-1, 99, 0, 0",
    ),
    ("add_key", libc::SYS_add_key, "0, 0, 0, 0, 0"),
    ("request_key", libc::SYS_request_key, "0, 0, 0, 0"),
    ("keyctl", libc::SYS_keyctl, "999, 0, 0, 0, 0"),
    ("ptrace", libc::SYS_ptrace, "9999, 0, 0, 0"),
    (
        "process_vm_readv",
        libc::SYS_process_vm_readv,
        "0, 0, 0, 0, 0, 1",
    ),
    (
        "process_vm_writev",
        libc::SYS_process_vm_writev,
        "0, 0, 0, 0, 0, 1",
    ),
    ("pidfd_getfd", libc::SYS_pidfd_getfd, "-1, 0, 0"),
    ("kcmp", libc::SYS_kcmp, "0, 0, 99, 0, 0"),
    ("bpf", libc::SYS_bpf, "9999, 0, 0"),
    (
        "perf_event_open",
        libc::SYS_perf_event_open,
        "0, 0, -1, -1, 0",
    ),
    ("userfaultfd", libc::SYS_userfaultfd, "0x7fff0000"),
    ("mount", libc::SYS_mount, "0, 0, 0, 0, 0"),
    ("umount2", libc::SYS_umount2, "0, 0x7fff0000"),
    ("pivot_root", libc::SYS_pivot_root, "0, 0"),
    ("open_tree", libc::SYS_open_tree, "-1, 0, 0"),
    (
        "move_mount",
        libc::SYS_move_mount,
        "-1, 0, -1, 0, 0x7fff0000",
    ),
    ("fsopen", libc::SYS_fsopen, "0, 0"),
    ("fsconfig", libc::SYS_fsconfig, "-1, 0, 0, 0, 0"),
    ("fsmount", libc::SYS_fsmount, "-1, 0, 0"),
    ("fspick", libc::SYS_fspick, "-1, 0, 0"),
    ("mount_setattr", libc::SYS_mount_setattr, "-1, 0, 0, 0, 0"),
    ("chroot", libc::SYS_chroot, "0"),
    ("setns", libc::SYS_setns, "-1, 0"),
    ("open_by_handle_at", libc::SYS_open_by_handle_at, "-1, 0, 0"),
    ("init_module", libc::SYS_init_module, "0, 0, 0"),
    ("finit_module", libc::SYS_finit_module, "-1, 0, 0"),
    ("delete_module", libc::SYS_delete_module, "0, 0"),
    ("reboot", libc::SYS_reboot, "0, 0, 0, 0"),
    ("syslog", libc::SYS_syslog, "999, 0, 0"),
    ("swapon", libc::SYS_swapon, "0, 0"),
    ("swapoff", libc::SYS_swapoff, "0"),
    ("quotactl", libc::SYS_quotactl, "0, 0, 0, 0"),
    ("quotactl_fd", libc::SYS_quotactl_fd, "-1, 0, 0, 0"),
    ("personality", libc::SYS_personality, "0xffffffff"),
    ("unshare user", libc::SYS_unshare, "0x10000000"),
    ("unshare mounts", libc::SYS_unshare, "0x00020000"),
];

/// What the calls answer: an error number, or 0.
fn answers(fixture: &Fixture, calls: &[(&str, libc::c_long, &str)], around: Around) -> Vec<i32> {
    let mut script = String::new();
    for (_, number, arguments) in calls {
        // A process of its own each, because some change the process.
        writeln!(
            script,
            "perl -e '$! = 0; my $r = syscall({number}, {arguments}); \
             print $r == -1 ? $! + 0 : 0, \"\\n\"'"
        )
        .unwrap();
    }
    let printed = fixture.printed(&script, around);
    let answers = printed.lines().map(|line| line.parse().unwrap());
    answers.collect()
}

#[test]
fn every_dangerous_call_is_refused() {
    let fixture = Fixture::new();
    let [bare, inside] = BOTH.map(|around| answers(&fixture, REFUSED, around));
    let mut held = 0;
    for ((name, _, _), (bare, inside)) in REFUSED.iter().zip(bare.iter().zip(inside)) {
        assert_eq!(inside, EPERM, "{name}");
        if *bare == EPERM {
            eprintln!("{name}: refused without a sandbox too");
        } else {
            held += 1;
        }
    }
    let expected = if rustix::process::geteuid().is_root() {
        30
    } else {
        12
    };
    assert!(
        held >= expected,
        "only {held} of them show anything: {bare:?}"
    );
}

#[test]
fn clone3_is_unknown_so_that_programs_use_clone() {
    let fixture = Fixture::new();
    let calls = [("clone3", libc::SYS_clone3, "0, 0")];
    assert_eq!(answers(&fixture, &calls, Around::Sandbox), [ENOSYS]);
    assert_ne!(answers(&fixture, &calls, Around::Nothing), [ENOSYS]);
    // A new user namespace by clone. Without a sandbox this would start a second perl.
    let calls = [("clone", libc::SYS_clone, "0x10000011, 0, 0, 0, 0")];
    assert_eq!(answers(&fixture, &calls, Around::Sandbox), [EPERM]);
    assert_eq!(
        fixture.printed("(echo child); echo $(echo x)", Around::Sandbox),
        "child\nx\n"
    );
}

#[test]
fn nothing_is_typed_into_a_terminal() {
    let fixture = Fixture::new();
    let requests = ["0x5412", "0x541c", "0x5423", "0x100005412"];
    let calls = requests.map(|request| (request, format!("1, {request}, 0")));
    let calls: Vec<_> = calls
        .iter()
        .map(|(name, arguments)| (*name, libc::SYS_ioctl, arguments.as_str()))
        .collect();
    assert_eq!(answers(&fixture, &calls, Around::Sandbox), [EPERM; 4]);
    // The output is no terminal, and the kernel says so.
    assert_eq!(answers(&fixture, &calls, Around::Nothing), [ENOTTY; 4]);
    let other = [("TIOCGWINSZ", libc::SYS_ioctl, "1, 0x5413, 0")];
    assert_eq!(answers(&fixture, &other, Around::Sandbox), [ENOTTY]);
}

#[test]
fn only_four_families_of_sockets_are_left() {
    let fixture = Fixture::new();
    let families: BTreeMap<&str, libc::c_int> = BTreeMap::from([
        ("vsock", libc::AF_VSOCK),
        ("alg", libc::AF_ALG),
        ("packet", libc::AF_PACKET),
        ("bluetooth", libc::AF_BLUETOOTH),
        ("tipc", libc::AF_TIPC),
        ("xdp", libc::AF_XDP),
        ("can", libc::AF_CAN),
        ("key", libc::AF_KEY),
        ("rds", libc::AF_RDS),
    ]);
    let arguments: Vec<(&str, String)> = families
        .iter()
        .map(|(name, family)| (*name, format!("{family}, 1, 0")))
        .collect();
    let calls: Vec<_> = arguments
        .iter()
        .map(|(name, arguments)| (*name, libc::SYS_socket, arguments.as_str()))
        .collect();
    let inside = answers(&fixture, &calls, Around::Sandbox);
    assert_eq!(inside, vec![EPERM; calls.len()]);
    let bare = answers(&fixture, &calls, Around::Nothing);
    let vsock = calls.iter().position(|(name, _, _)| *name == "vsock");
    if bare[vsock.unwrap()] != SUCCESS {
        eprintln!("NOT SHOWN: this kernel has no vsock ({bare:?})");
    }
    let allowed = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6].map(|it| format!("{it}, 1, 0"));
    let netlink = format!("{}, 3, 0", libc::AF_NETLINK);
    let allowed: Vec<_> = allowed
        .iter()
        .chain([&netlink])
        .map(|arguments| ("allowed", libc::SYS_socket, arguments.as_str()))
        .collect();
    for around in BOTH {
        assert_eq!(answers(&fixture, &allowed, around), [SUCCESS; 4]);
    }
}

#[test]
fn abstract_sockets_of_the_machine_are_out_of_reach() {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixListener};
    let fixture = Fixture::new();
    if orange_effects::sandbox::Capabilities::find(&fixture.environment, &[]).landlock < 6 {
        eprintln!("NOT TRIED: abstract sockets (this kernel has no Landlock 6)");
        return;
    }
    let name = format!("o-{}", fixture.mark());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let script = format!(
        "perl -MSocket -e 'socket(S, 1, 1, 0) or die; \
         connect(S, pack(\"Sa*\", 1, \"\\0{name}\")) and print \"reached\"; print \"\\n\"'"
    );
    assert_eq!(fixture.printed(&script, Around::Nothing), "reached\n");
    assert_eq!(fixture.printed(&script, Around::Sandbox), "\n");
}

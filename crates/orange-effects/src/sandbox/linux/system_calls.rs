//! seccomp: refuses system calls that agents do not need.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};

/// Refused whatever the arguments are.
const REFUSED: &[libc::c_long] = &[
    // io_uring makes system calls that no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The keyrings of the user are shared with every program of the user.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Large parts of the kernel with a long history of holes.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    // The machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_personality,
];

/// Refused at the partial level too, where these are shared with every program of the user: the
/// memory, semaphores and queues of System V and of POSIX.
const SHARED: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Which sockets a program may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Those that its namespaces keep inside.
    OfNamespaces,
    /// At the partial level with an open network: those that reach no program of the user by a
    /// file.
    OfMachine,
    /// At the partial level with a limited network: those whose connections Landlock decides.
    ToPorts,
}

/// Socket families that are allowed. vsock reaches the hypervisor from every namespace; the others
/// are rarely used parts of the kernel.
const FAMILIES: [libc::c_int; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

/// What Landlock's rule for ports does not see: a connection that is made while sending.
const FAST_OPEN: u64 = 0x2000_0000;

/// The bits of a socket's type that are no flags.
const TYPE: u64 = 0xf;

/// Requests to a terminal: typing into it, the same on a console, and loading a line discipline.
/// Their numbers are the same on x86-64 and arm64.
const TERMINAL_REQUESTS: [u64; 3] = [TIOCSTI, TIOCLINUX, TIOCSETD];
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;
const TIOCSETD: u64 = 0x5423;

/// The flags of `clone` and `unshare` that create namespaces.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Set in the numbers of the x32 interface, which is another way to the same calls.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Calls that have a number of their own in the x32 interface: ioctl, ptrace, `process_vm_readv`,
/// `process_vm_writev` and `kexec_load`.
#[cfg(target_arch = "x86_64")]
const X32_REFUSED: [i64; 5] = [514, 521, 539, 540, 528];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refuses the calls in this thread and whatever it starts.
pub(super) fn refuse_system_calls(sockets: Sockets) -> Result<(), String> {
    apply(
        refused(sockets).map_err(|error| error.to_string())?,
        libc::EPERM,
    )?;
    // Its flags are behind a pointer, which a filter cannot read. Programs use `clone` if the
    // system does not know it.
    apply(Rules::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)
}

fn apply(rules: Rules, errno: libc::c_int) -> Result<(), String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let errno = SeccompAction::Errno(errno.cast_unsigned());
    let architecture = std::env::consts::ARCH.try_into();
    let architecture = architecture.map_err(|error: BackendError| text(&error))?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, errno, architecture);
    let filter = filter.map_err(|error| text(&error))?;
    let program: Result<BpfProgram, _> = filter.try_into();
    let program = program.map_err(|error: BackendError| text(&error))?;
    seccompiler::apply_filter(&program).map_err(|error| text(&error))
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn refused(sockets: Sockets) -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    for number in REFUSED {
        rules.insert(*number, Vec::new());
    }
    // The kernel looks at the low 32 bits of a request alone, so nothing else is compared.
    let mut requests = Vec::new();
    for request in TERMINAL_REQUESTS {
        let is_equal = condition(1, SeccompCmpOp::Eq, request)?;
        requests.push(SeccompRule::new(vec![is_equal])?);
    }
    rules.insert(libc::SYS_ioctl, requests);
    for number in [libc::SYS_clone, libc::SYS_unshare] {
        let mut flags = Vec::new();
        for flag in NAMESPACES {
            let flag = u64::from(flag.cast_unsigned());
            let has_flag = condition(0, SeccompCmpOp::MaskedEq(flag), flag)?;
            flags.push(SeccompRule::new(vec![has_flag])?);
        }
        rules.insert(number, flags);
    }
    match sockets {
        Sockets::OfNamespaces => {
            rules.insert(libc::SYS_socket, vec![is_none_of(0, &FAMILIES)?]);
        }
        Sockets::OfMachine | Sockets::ToPorts => refuse_shared(&mut rules, sockets)?,
    }
    #[cfg(target_arch = "x86_64")]
    {
        let x32 = rules
            .iter()
            .map(|(number, rule)| (number | X32, rule.clone()));
        let x32: Vec<_> = x32.collect();
        rules.extend(x32);
        rules.extend(X32_REFUSED.map(|number| (number | X32, Vec::new())));
    }
    Ok(rules)
}

/// Refused if an argument is none of these.
fn is_none_of(argument: u8, allowed: &[libc::c_int]) -> Result<SeccompRule, BackendError> {
    let different = allowed.iter().map(|value| {
        let value = u64::from(value.cast_unsigned());
        condition(argument, SeccompCmpOp::Ne, value)
    });
    SeccompRule::new(different.collect::<Result<_, _>>()?)
}

/// Refused if the type of a socket, which is in the second argument, is one of these. Other bits are
/// flags.
fn has_type(types: &[libc::c_int]) -> Result<Vec<SeccompRule>, BackendError> {
    let rules = types.iter().map(|kind| {
        let kind = u64::from(kind.cast_unsigned());
        SeccompRule::new(vec![condition(1, SeccompCmpOp::MaskedEq(TYPE), kind)?])
    });
    rules.collect()
}

/// What the partial level refuses because no namespace keeps it inside.
fn refuse_shared(rules: &mut Rules, sockets: Sockets) -> Result<(), BackendError> {
    for number in SHARED {
        rules.insert(*number, Vec::new());
    }
    // The limits of another process: Landlock does not ask for them.
    let is_other = SeccompRule::new(vec![condition(0, SeccompCmpOp::Ne, 0)?])?;
    rules.insert(libc::SYS_prlimit64, vec![is_other]);
    // A pair of datagram sockets is no pair: each can send to any socket file.
    let mut pairs = has_type(&[libc::SOCK_DGRAM, libc::SOCK_RAW])?;
    pairs.push(is_none_of(0, &[libc::AF_UNIX])?);
    rules.insert(libc::SYS_socketpair, pairs);
    if sockets == Sockets::OfMachine {
        let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
        // Addresses and routes; the other protocols tell more.
        let is_netlink = u64::from(libc::AF_NETLINK.cast_unsigned());
        let is_other = SeccompRule::new(vec![
            condition(0, SeccompCmpOp::Eq, is_netlink)?,
            condition(2, SeccompCmpOp::Ne, 0)?,
        ])?;
        rules.insert(libc::SYS_socket, vec![is_none_of(0, &families)?, is_other]);
        return Ok(());
    }
    // Landlock knows plain TCP alone, neither datagrams nor MPTCP, SCTP and SMC.
    let mut refused = vec![is_none_of(0, &[libc::AF_INET, libc::AF_INET6])?];
    let others: Vec<libc::c_int> = (0..16).filter(|it| *it != libc::SOCK_STREAM).collect();
    refused.extend(has_type(&others)?);
    refused.push(is_none_of(2, &[0, libc::IPPROTO_TCP])?);
    rules.insert(libc::SYS_socket, refused);
    // A socket that listens without an address gets a port, and Landlock is not asked.
    rules.insert(libc::SYS_listen, Vec::new());
    for (number, flags) in [
        (libc::SYS_sendto, 3),
        (libc::SYS_sendmsg, 2),
        (libc::SYS_sendmmsg, 3),
    ] {
        let connects = condition(flags, SeccompCmpOp::MaskedEq(FAST_OPEN), FAST_OPEN)?;
        rules.insert(number, vec![SeccompRule::new(vec![connects])?]);
    }
    Ok(())
}

//! seccomp: refuses system calls that agents do not need.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
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

/// Socket families that are allowed. vsock reaches the hypervisor from every namespace; the others
/// are rarely used parts of the kernel.
const FAMILIES: [libc::c_int; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

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
pub(super) fn refuse_system_calls() -> Result<(), String> {
    apply(refused().map_err(|error| error.to_string())?, libc::EPERM)?;
    // Its flags are behind a pointer, which a filter cannot read. Programs use `clone` if the
    // system does not know it.
    apply(Rules::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)
}

fn apply(rules: Rules, errno: libc::c_int) -> Result<(), String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let errno = SeccompAction::Errno(errno.cast_unsigned());
    let architecture = std::env::consts::ARCH.try_into();
    let architecture = architecture.map_err(|error: seccompiler::BackendError| text(&error))?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, errno, architecture);
    let filter = filter.map_err(|error| text(&error))?;
    let program: Result<BpfProgram, _> = filter.try_into();
    let program = program.map_err(|error: seccompiler::BackendError| text(&error))?;
    seccompiler::apply_filter(&program).map_err(|error| text(&error))
}

fn refused() -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    for number in REFUSED {
        rules.insert(*number, Vec::new());
    }
    let condition = |argument, operator, value| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
    };
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
    let mut is_other = Vec::new();
    for family in FAMILIES {
        let family = u64::from(family.cast_unsigned());
        is_other.push(condition(0, SeccompCmpOp::Ne, family)?);
    }
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(is_other)?]);
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

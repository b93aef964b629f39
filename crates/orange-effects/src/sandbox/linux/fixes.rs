//! What to do when this machine cannot make a sandbox.

use super::bwrap::BwrapProblem;

/// How to install bubblewrap.
const INSTALL: &str = "install bubblewrap 0.8 or newer: `apt install bubblewrap`, `dnf install \
                       bubblewrap` or `pacman -S bubblewrap`";

pub(super) fn bwrap_fix(problem: &BwrapProblem) -> String {
    match problem {
        BwrapProblem::Missing => INSTALL.to_owned(),
        BwrapProblem::Setuid(path) => format!(
            "run `sudo chmod u-s,g-s {}`: orange needs a bwrap without special rights",
            path.display()
        ),
        BwrapProblem::InWorktree(_) => {
            format!("{INSTALL}, and put its folder first on your PATH")
        }
    }
}

/// What a failed trial of bwrap means: the reason in our words, and the fix.
pub(super) fn explain_failure(message: &str) -> (String, String) {
    let says = |part: &str| message.contains(part);
    let (reason, fix) = if says("setting up uid map: Permission denied")
        || says("loopback: Failed RTM_NEWADDR")
    {
        (
            "AppArmor does not let bwrap use user namespaces, as in Ubuntu 23.10 and newer",
            "add an AppArmor profile for bwrap: docs/sandbox.md#ubuntu has the commands",
        )
    } else if says("No space left on device") || says("ENOSPC") {
        (
            "this machine allows no user namespaces (`user.max_user_namespaces` is used up or 0)",
            "run `sudo sysctl user.max_user_namespaces=15000`",
        )
    } else if says("No permissions to create new namespace")
        || says("Creating new namespace failed")
        || says("Operation not permitted") && says("namespace")
    {
        (
            "bwrap may not create user namespaces, as in most containers",
            "run orange outside of the container, or allow user namespaces in it: \
             docs/sandbox.md#containers",
        )
    } else if says("Can't mount proc") {
        (
            "bwrap may not mount /proc, because the container hides parts of it",
            "start the container with an unmasked /proc: docs/sandbox.md#containers",
        )
    } else if says("Unknown option") || says("unknown option") {
        ("this bwrap is too old", INSTALL)
    } else {
        (
            "bwrap does not work here",
            "run `bwrap --unshare-user --unshare-pid --ro-bind / / true` to see why",
        )
    };
    let message = message.trim();
    let reason = match message {
        "" => reason.to_owned(),
        message => format!("{reason} ({message})"),
    };
    (reason, fix.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_known_failure_has_its_fix() {
        for (message, fix) in [
            ("bwrap: setting up uid map: Permission denied", "#ubuntu"),
            (
                "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
                "#ubuntu",
            ),
            (
                "bwrap: No permissions to create new namespace, likely because …",
                "#containers",
            ),
            (
                "bwrap: Creating new namespace failed: No space left on device",
                "max_user_namespaces",
            ),
            (
                "bwrap: Creating new namespace failed: nesting depth or \
                 /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
                "max_user_namespaces",
            ),
            (
                "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
                "unmasked",
            ),
            ("bwrap: Unknown option --disable-userns", "0.8"),
            ("something else", "to see why"),
        ] {
            let (reason, found) = explain_failure(message);
            assert!(found.contains(fix), "{message}: {found}");
            assert!(reason.contains(message), "{reason}");
        }
    }
}

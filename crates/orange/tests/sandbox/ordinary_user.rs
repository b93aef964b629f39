//! The sandbox of an ordinary user, when the tests run as root.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::path::Path;
use std::process::Command;

use orange_config::Environment;

use crate::fixture::{ALL, Around, Fixture};

/// A user that no machine has.
pub const USER: u32 = 4242;

/// Gives files to that user, but nothing that a link leads to: it may be of the system.
pub fn give_away(path: &Path) {
    lchown(path, Some(USER), Some(USER)).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
}

#[test]
fn an_ordinary_user_has_the_same_sandbox() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("NOT TRIED twice: every other test runs as an ordinary user already");
        return;
    }
    let mut fixture = Fixture::new();
    // The program may be in a folder that only root enters.
    let orange = fixture.path("orange-program");
    fs::copy(&fixture.orange, &orange).unwrap();
    fs::set_permissions(&orange, fs::Permissions::from_mode(0o755)).unwrap();
    fixture.orange = orange;
    // The folders of root's PATH may be out of its reach.
    let mut variables = fixture.environment.variables().clone();
    variables.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
    fixture.environment = Environment::of(variables);
    let script = "id -u; grep CapEff /proc/self/status\n\
                  cat ~/.netrc 2>/dev/null && echo || echo hidden\n\
                  echo x > here && echo written\n\
                  touch /usr/x 2>/dev/null || echo refused\n\
                  ls -d /proc/[0-9]* | wc -l";
    for around in ALL {
        let file = fixture.run_file(script, around);
        give_away(&fixture.path(""));
        let orange = fixture.exec_run(&file);
        let mut as_user = Command::new("setpriv");
        let user = USER.to_string();
        as_user.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
        as_user.arg(orange.get_program()).args(orange.get_args());
        as_user.env_clear().env("TERM", "dumb").current_dir("/");
        let output = as_user.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = printed.lines().map(str::trim).collect();
        assert_eq!(lines.len(), 6, "{around:?}: {printed}{errors}");
        let secret = match around {
            Around::Nothing | Around::Freezable => "canary",
            Around::Sandbox | Around::Partial => "hidden",
        };
        let expected = [
            "4242",
            "CapEff:\t0000000000000000",
            secret,
            "written",
            "refused",
        ];
        assert_eq!(lines[..5], expected, "{around:?}");
        if around == Around::Sandbox {
            assert!(lines[5].parse::<u32>().unwrap() <= 5, "{printed}");
        }
    }
}

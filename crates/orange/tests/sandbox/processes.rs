//! What an agent sees of other processes, and which rights it has.

use std::process::{Command, Stdio};

use crate::fixture::{ALL, Around, Fixture};

/// The value of a line of `/proc/self/status`.
fn status<'a>(printed: &'a str, name: &str) -> &'a str {
    let line = printed.lines().find(|line| line.starts_with(name));
    line.unwrap().split_whitespace().nth(1).unwrap()
}

#[test]
fn other_processes_are_invisible() {
    let fixture = Fixture::new();
    let mut victim = Command::new("sleep");
    victim.arg("600").env("CANARY", "canary");
    let mut victim = victim.stdin(Stdio::null()).spawn().unwrap();
    let pid = victim.id();
    let script = format!(
        "ls -d /proc/[0-9]* | wc -l\n\
         grep -c canary /proc/{pid}/environ 2>/dev/null || echo hidden\n\
         kill -0 {pid} 2>/dev/null && echo reached || echo hidden\n\
         ls /proc/{pid}/root >/dev/null 2>&1 && echo reached || echo hidden"
    );
    for around in ALL {
        let printed = fixture.printed(&script, around);
        let lines: Vec<&str> = printed.lines().collect();
        match around {
            Around::Nothing | Around::Freezable => {
                assert_eq!(lines[1..], ["1", "reached", "reached"]);
            }
            Around::Sandbox => {
                assert_eq!(lines[1..], ["hidden"; 3], "{printed}");
                let count: u32 = lines[0].trim().parse().unwrap();
                assert!(count <= 5, "{count} processes are visible");
            }
            // They are visible, but nothing of them.
            Around::Partial => assert_eq!(lines[1..], ["hidden"; 3], "{printed}"),
        }
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[test]
fn an_agent_has_no_rights_and_gets_none() {
    let fixture = Fixture::new();
    let printed = fixture.printed("cat /proc/self/status", Around::Sandbox);
    for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(status(&printed, name), "0000000000000000", "{name}");
    }
    assert_eq!(status(&printed, "NoNewPrivs"), "1");
    assert_eq!(status(&printed, "Seccomp"), "2");
    let bare = fixture.printed("cat /proc/self/status", Around::Nothing);
    assert_eq!(status(&bare, "NoNewPrivs"), "0");
    assert_eq!(status(&bare, "Seccomp"), "0");
    // The same user, and another name of the machine.
    assert_eq!(status(&printed, "Uid"), status(&bare, "Uid"));
    let name = fixture.printed("uname -n", Around::Sandbox);
    assert_eq!(name, "orange\n");
}

#[test]
fn root_keeps_no_rights_to_mount() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("NOT TRIED: an agent of root (this user is not root)");
        return;
    }
    let fixture = Fixture::new();
    let script = "mount -o remount,rw,bind /usr 2>/dev/null && echo remounted\n\
                  chroot / true 2>/dev/null && echo chrooted\n\
                  mknod device b 8 0 2>/dev/null && echo made\n\
                  mknod plain c 1 3 2>/dev/null && echo made; rm -f plain device; true";
    let bare = fixture.printed("chroot / true && echo chrooted", Around::Nothing);
    assert_eq!(bare, "chrooted\n");
    assert_eq!(fixture.printed(script, Around::Sandbox), "");
}

#[test]
fn limits_stop_a_flood_of_processes() {
    let fixture = Fixture::new();
    let mut description = fixture.describe();
    description.limits.processes = Some(40);
    description.limits.file_bytes = Some(1_000_000);
    let script = "ulimit -f\n\
                  i=0; while [ $i -lt 80 ]; do sleep 5 & i=$((i + 1)); done 2>/dev/null\n\
                  echo all";
    let file = fixture.run_file_with(script, Some(&description));
    let output = fixture.exec_run(&file).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert!(
        printed.contains("1953"),
        "1,000,000 bytes in blocks: {printed}"
    );
    if rustix::process::geteuid().is_root() {
        // The kernel counts for an ordinary user; `ordinary_user` tries that.
        return;
    }
    assert!(!lines.contains(&"all"), "{printed}");
}

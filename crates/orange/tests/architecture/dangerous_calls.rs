//! Each dangerous call of the product is allowed in a few places.
//!
//! Clippy enforces the same places semantically (`clippy.toml`), but an `#[expect]` lifts that
//! anywhere; this check says in which file that may be.

use crate::source::Source;
use crate::verdict::Violation;

struct Door {
    /// Files, and folders that end in `/`.
    places: &'static [&'static str],
    behind: &'static [&'static [&'static str]],
}

const DOORS: &[Door] = &[
    Door {
        places: &["crates/orange-effects/src/command/mod.rs"],
        behind: &[&["std", "process", "Command"], &["Command", "new"]],
    },
    Door {
        places: &["crates/orange-config/src/env.rs"],
        behind: &[
            &["std", "env", "var"],
            &["std", "env", "var_os"],
            &["std", "env", "vars"],
            &["std", "env", "vars_os"],
            &["std", "env", "home_dir"],
            &["std", "env", "current_dir"],
            &["std", "env", "temp_dir"],
        ],
    },
    Door {
        places: &["crates/orange-config/src/clock.rs"],
        behind: &[
            &["std", "time", "SystemTime", "now"],
            &["std", "time", "Instant", "now"],
            &["SystemTime", "now"],
            &["Instant", "now"],
        ],
    },
    Door {
        places: &[
            "crates/orange-effects/src/forge/http.rs",
            "crates/orange-effects/src/sandbox/network/",
        ],
        behind: &[
            &["ureq", "Agent"],
            &["ureq", "agent"],
            &["ureq", "get"],
            &["ureq", "post"],
            &["ureq", "run"],
            &["std", "net", "TcpStream"],
            &["std", "net", "UdpSocket"],
            &["TcpStream", "connect"],
        ],
    },
    Door {
        places: &[
            "crates/orange-effects/src/forge/",
            "crates/orange-effects/src/sandbox/network/",
            "crates/orange-server/src/tls.rs",
        ],
        behind: &[&["ureq"], &["rustls"]],
    },
    Door {
        places: &["crates/orange/src/output/"],
        behind: &[
            &["std", "io", "stdout"],
            &["std", "io", "stderr"],
            &["anstream"],
        ],
    },
];

/// Where a file of the product makes such a call outside its place.
pub fn check(source: &Source) -> Vec<Violation> {
    let inside = source.path.as_str();
    let is_product = inside.starts_with("crates/orange") && inside.contains("/src/");
    let is_pure = [
        "crates/orange-engine/",
        "crates/orange-check/",
        "crates/orange-fleet/",
    ]
    .iter()
    .any(|it| inside.starts_with(it));
    if !is_product || is_pure {
        return Vec::new();
    }
    let mut found = Vec::new();
    for path in &source.paths {
        let around = DOORS.iter().find(|door| {
            let mut places = door.places.iter();
            let at_home = places.any(|place| match place.strip_suffix('/') {
                Some(_) => inside.starts_with(place),
                None => inside == *place,
            });
            !at_home && door.behind.iter().any(|target| path.leads_to(target))
        });
        if let Some(door) = around {
            let places = door.places.join("` and `");
            let rule = format!("`{}`: only `{places}` may name it", path.text());
            found.push(Violation::new(&source.path, path.line, rule));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::lines_of;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        lines_of(&check(&Source::new(path, text)))
    }

    const ELSEWHERE: &str = "crates/orange-effects/src/git.rs";

    #[test]
    fn bypassing_a_wrapper_is_found() {
        for planted in [
            "use std::process::Command;",
            "use std::process::{Command as C, Stdio};",
            "use std::process::*;",
            "fn f() { Command::new(x); }",
            "fn f() { process::Command::new(x); }",
            "use std::env::var;",
            "fn f() { std::env::var_os(x); }",
            "fn f() { env::vars(); }",
            "fn f() { env::current_dir(); }",
            "use std::env as e;",
            "fn f() { SystemTime::now(); }",
            "fn f() { std::time::Instant::now(); }",
            "fn f() { std::io::stdout(); }",
            "fn f() { io::stderr(); }",
            "use anstream::AutoStream;",
            "fn f() { anstream::stdout(); }",
            "use ureq::http::Method;",
            "use std::net::TcpStream;",
            "fn f() { net::TcpStream::connect(x); }",
            "fn f() { TcpStream::connect(x); }",
        ] {
            assert_eq!(
                lines(ELSEWHERE, &format!("//! A.\n{planted}")),
                [2],
                "{planted}"
            );
        }
    }

    #[test]
    fn each_wrapped_call_is_allowed_only_in_its_wrapper() {
        let at = |place: &str, text: &str| lines(&format!("crates/{place}"), text).len();
        assert_eq!(
            at(
                "orange-effects/src/command/mod.rs",
                "use std::process::Command;"
            ),
            0
        );
        assert_eq!(
            at("orange/src/cli/command.rs", "use std::process::Command;"),
            1
        );
        assert_eq!(at("orange-config/src/env.rs", "use std::env::var;"), 0);
        assert_eq!(
            at("orange-config/src/env.rs", "use std::process::Command;"),
            1
        );
        assert_eq!(
            at(
                "orange-config/src/clock.rs",
                "fn f() { std::time::SystemTime::now(); }"
            ),
            0
        );
        assert_eq!(
            at("orange-effects/src/forge/http.rs", "use ureq::Agent;"),
            0
        );
        assert_eq!(
            at("orange-effects/src/forge/client.rs", "use ureq::Agent;"),
            1
        );
        assert_eq!(
            at("orange-effects/src/forge/client.rs", "use ureq::http::Uri;"),
            0
        );
        assert_eq!(
            at("orange/src/output/mod.rs", "fn f() { std::io::stdout(); }"),
            0
        );
        assert_eq!(
            at("orange/src/output.rs", "fn f() { std::io::stdout(); }"),
            1
        );
    }

    #[test]
    fn similar_calls_are_allowed() {
        let text = "use std::process::ExitCode;\nuse std::io;\nuse std::time::Duration;\nfn f() { std::env::args_os(); clap::Command::new(x); env!(y); }";
        assert_eq!(lines(ELSEWHERE, text).len(), 0);
    }

    #[test]
    fn tests_of_the_whole_program_are_exempt() {
        assert_eq!(
            lines("crates/orange/tests/cli.rs", "use std::process::Command;").len(),
            0
        );
    }
}

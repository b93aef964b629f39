//! Files that appear or change while a workspace is given back.

use std::fs;
use std::path::Path;

use orange::effects::git::Released;
use orange_engine::names::TaskId;

use crate::yard::{Yard, committed, files};

/// The calls before which somebody writes.
const BEFORE: &[&str] = &[
    "ls-files",
    "status",
    "hash-object",
    "write-tree",
    "commit-tree",
    "cat-file",
    "for-each-ref",
    "update-ref",
    "read-tree",
    "checkout-index",
];

/// Lesson 5: what appears between check and act is not lost.
#[test]
fn lesson_5_what_appears_meanwhile_is_kept() {
    let yard = Yard::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    fs::write(yard.slot().join("README"), "early\n").unwrap();
    fs::write(yard.slot().join("new"), "early\n").unwrap();
    yard.keep();
    for call in BEFORE {
        for nth in [1, 2] {
            yard.reset();
            let script = format!(
                "cd {0} || exit 1\n\
                 if [ \"$2\" = {call} ]; then\n\
                 n=$(cat ../../n 2>/dev/null || echo 0); n=$((n+1)); echo $n >../../n\n\
                 if [ $n = {nth} ]; then\n\
                 echo late >late; echo late >new; echo late >src/main.rs; echo late >x.log\n\
                 fi\nfi\nexec $real \"$@\"",
                yard.slot().display()
            );
            // Calls are made with one option before the command.
            let busy = yard.open_with(yard.wrapper("busy", &script));
            let released = yard.release(&busy, "t1");
            let Released::Free { rescues } = &released else {
                panic!("before {call} {nth}: {released:?}");
            };
            let now = files(&yard.slot());
            let saved: Vec<_> = rescues
                .iter()
                .map(|it| committed(&yard, it.commit.as_str()))
                .collect();
            let has = |path: &str, text: &str| {
                let wanted = (0o100_644, text.as_bytes().to_vec());
                now.get(Path::new(path)) == Some(&wanted)
                    || saved
                        .iter()
                        .any(|files| files.get(Path::new(path)) == Some(&wanted))
            };
            assert!(has("README", "early\n"), "before {call} {nth}");
            if fs::read_to_string(yard.path("n"))
                .is_ok_and(|n| n.trim().parse::<u32>().unwrap() >= nth)
            {
                for path in ["late", "new", "src/main.rs", "x.log"] {
                    assert!(has(path, "late\n"), "{path} before {call} {nth}");
                }
            }
            let known = git.rescues(&TaskId::new("t1")).unwrap();
            assert!(rescues.iter().all(|rescued| known.contains(rescued)));
        }
    }
}

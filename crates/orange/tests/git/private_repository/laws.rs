//! Whatever an agent does with its branch, the import brings exactly that.

use orange_effects::git::Import;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::sandbox::{Sandbox, check_repository, collect_garbage, worktree_fixture};
use crate::repo_fixture::{commit_files, files};

/// How many histories are tried.
const CASES: u32 = 6;

/// Each leaves the worktree clean and on the task's branch, whatever happened before.
const OPERATIONS: [&str; 11] = [
    "echo $RANDOM$N >f$N; git add f$N; git commit -q -m $N",
    "echo $N >>shared; git add shared; git commit -q -m shared$N",
    "git commit -q --amend --allow-empty -m amended$N",
    "git reset -q --hard HEAD~1 2>/dev/null || true",
    "git switch -q -c side$N; echo $N >s$N; git add s$N; git commit -q -m s$N; git switch -q fix; \
     git merge -q --no-ff -m merge$N side$N",
    "git switch -q -c base$N main; echo $N >b$N; git add b$N; git commit -q -m b$N; \
     git switch -q fix; git rebase -q base$N >/dev/null 2>&1 || git rebase --abort",
    "git revert --no-edit HEAD >/dev/null 2>&1 || git revert --abort || git reset -q --hard",
    "git gc -q --prune=now",
    "git pack-refs --all",
    "git mv README moved$N 2>/dev/null && git commit -q -m mv$N || git reset -q --hard",
    "echo x >stashed; git add stashed; git stash -q",
];

#[derive(Clone, Copy, Debug)]
enum Step {
    Inside(usize),
    Import,
    /// The user's `gc --prune=now`.
    Collect,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..OPERATIONS.len()).prop_map(Step::Inside),
        2 => Just(Step::Import),
        1 => Just(Step::Collect),
    ];
    proptest::collection::vec(step, 3..14)
}

fn check(steps: &[Step]) {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    for (number, step) in steps.iter().chain([&Step::Import]).enumerate() {
        match step {
            Step::Inside(operation) => {
                let script = OPERATIONS[*operation];
                sandbox.run(&format!("N={number}; {script}"));
            }
            Step::Collect => collect_garbage(&repo),
            Step::Import => {
                let imported = sandbox.import(&repo);
                let refused = matches!(imported, Import::Refused(_));
                assert!(!refused, "{steps:?}: {imported:?}");
                let inside = sandbox.run("git rev-list --objects fix");
                let outside = repo.git(&repo.app(), &["rev-list", "--objects", "fix"]);
                assert_eq!(outside, inside, "{steps:?}");
                assert_eq!(commit_files(&repo, "fix"), files(&repo.slot()), "{steps:?}");
                assert_eq!(repo.git(&repo.slot(), &["status", "--porcelain"]), "");
            }
        }
    }
    sandbox.run("git fsck --strict --no-dangling");
    collect_garbage(&repo);
    check_repository(&repo, "at the end");
}

#[test]
fn the_branch_outside_is_the_branch_inside() {
    let cases = std::env::var("PRIVATE_RUNS")
        .ok()
        .and_then(|text| text.parse().ok());
    let config = Config {
        cases: cases.unwrap_or(CASES),
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&steps(), |steps| {
            check(&steps);
            Ok(())
        })
        .unwrap();
}

//! Packs that an agent made to harm the real repository.

use std::fs;

use orange_effects::command::Invocation;
use orange_effects::git::{Import, ImportRefusal};

use super::sandbox::{MAX_BYTES, Sandbox, check_repository, worktree_fixture};
use super::snapshot::Snapshot;
use crate::repo_fixture::RepoFixture;

/// Imports while the sandbox answers with the output of a script instead of a pack; `$T` is the tip.
fn import_instead(sandbox: &Sandbox, repo: &RepoFixture, script: &str) -> Import {
    let inside = |words: &[&str]| -> Invocation {
        if words.contains(&"pack-objects") {
            let script = format!("cat >/dev/null; T=$(git rev-parse fix); {script}");
            sandbox.program(&["sh", "-c", &script])
        } else {
            sandbox.git(words)
        }
    };
    let git = repo.open();
    let short = std::time::Duration::from_secs(5);
    let git = git.timeouts(short, short, std::time::Duration::from_millis(100));
    sandbox.try_import(&git, repo, &inside, MAX_BYTES).unwrap()
}

/// Checks that an import is refused, and that the real repository is as it was.
fn refused(repo: &RepoFixture, what: &str, import: impl FnOnce() -> Import) -> ImportRefusal {
    let snapshot = Snapshot::of(repo);
    let before = repo.branches();
    let Import::Refused(refusal) = import() else {
        panic!("{what} was imported");
    };
    snapshot.check_unchanged(repo, what);
    assert_eq!(repo.branches(), before, "{what}");
    check_repository(repo, what);
    refusal
}

fn with_commit() -> (RepoFixture, Sandbox) {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    sandbox.run("mkdir d; echo a >d/a; git add d; git commit -q -m a");
    (repo, sandbox)
}

#[test]
fn incomplete_and_broken_packs_are_refused() {
    let (repo, sandbox) = with_commit();
    for (what, script) in [
        ("nothing", ""),
        ("text", "echo hello"),
        (
            "another commit",
            "git rev-parse HEAD~1 | git pack-objects --stdout -q",
        ),
        ("the commit alone", "echo $T | git pack-objects --stdout -q"),
        (
            "no blob",
            "(echo $T; git rev-parse $T^{tree} $T:d) | git pack-objects --stdout -q",
        ),
        (
            "half a pack",
            "printf '%s\\n' $T | git pack-objects --revs --stdout -q | head -c 300",
        ),
        (
            "a changed byte",
            "printf '%s\\n' $T | git pack-objects --revs --stdout -q >/tmp/p; \
             printf X | dd of=/tmp/p bs=1 seek=60 conv=notrunc 2>/dev/null; cat /tmp/p",
        ),
    ] {
        let refusal = refused(&repo, what, || import_instead(&sandbox, &repo, script));
        let is_invalid = matches!(
            refusal,
            ImportRefusal::Invalid(_) | ImportRefusal::Inside(_)
        );
        assert!(is_invalid, "{what}: {refusal:?}");
    }
    sandbox.import_all(&repo, "the same commit, honestly");
}

#[test]
fn an_answer_without_end_is_given_up() {
    let (repo, sandbox) = with_commit();
    for (what, script) in [("endless", "cat /dev/zero"), ("silent", "sleep 600")] {
        refused(&repo, what, || import_instead(&sandbox, &repo, script));
    }
}

#[test]
fn a_large_pack_is_refused() {
    let (repo, sandbox) = with_commit();
    sandbox.run("head -c 300000 /dev/urandom >large; git add large; git commit -q -m large");
    let refusal = refused(&repo, "a large pack", || {
        let git = repo.open();
        sandbox
            .try_import(&git, &repo, &|words| sandbox.git(words), 100_000)
            .unwrap()
    });
    assert_eq!(refusal, ImportRefusal::TooLarge { limit: 100_000 });
    sandbox.import_all(&repo, "with a higher limit");
}

/// Objects that git itself refuses to check out or to fetch.
#[test]
fn objects_that_harm_a_checkout_are_refused() {
    for (what, names) in [
        ("a file named .git", &[".git"][..]),
        ("a file named ..", &[".."]),
        ("a path with a slash", &["a/b"]),
        ("two files of one name", &["a", "a"]),
    ] {
        let (repo, sandbox) = with_commit();
        let blob = sandbox.tip("HEAD:d/a");
        let digits: Vec<&str> = (0..20).map(|at| &blob[2 * at..2 * at + 2]).collect();
        let id = digits
            .into_iter()
            .map(|it| u8::from_str_radix(it, 16).unwrap());
        let id: Vec<u8> = id.collect();
        let mut tree = Vec::new();
        for name in names {
            tree.extend_from_slice(format!("100644 {name}\0").as_bytes());
            tree.extend_from_slice(&id);
        }
        fs::write(repo.slot().join("tree"), tree).unwrap();
        sandbox.run(
            "T=$(git hash-object -t tree -w --literally tree); \
             git update-ref refs/heads/fix $(git commit-tree -p HEAD -m evil $T)",
        );
        let refusal = refused(&repo, what, || sandbox.import(&repo));
        assert!(
            matches!(refusal, ImportRefusal::Invalid(_)),
            "{what}: {refusal:?}"
        );
    }
}

#[test]
fn a_branch_that_is_no_commit_is_refused() {
    for (what, id) in [
        ("a blob", "$(echo new | git hash-object -w --stdin)"),
        ("a tree", "$(git rev-parse HEAD^{tree})"),
        ("a tag", "$(git tag -a -m t v1 && git rev-parse v1)"),
        ("a missing object", "$(printf '%040d' 1)"),
    ] {
        let (repo, sandbox) = with_commit();
        sandbox.run(&format!(
            "I={id}; echo $I >$(git rev-parse --git-path refs/heads/fix)"
        ));
        let refusal = refused(&repo, what, || sandbox.import(&repo));
        let expected = matches!(
            refusal,
            ImportRefusal::NotACommit(_) | ImportRefusal::Invalid(_) | ImportRefusal::Inside(_)
        );
        assert!(expected, "{what}: {refusal:?}");
    }
}

#[test]
fn history_that_was_replaced_inside_is_imported_as_it_is() {
    let (repo, sandbox) = with_commit();
    sandbox.run("git replace HEAD HEAD~1");
    let tip = sandbox.tip("fix");
    sandbox.import_all(&repo, "replaced");
    assert_eq!(crate::merge::tip(&repo, &repo.app(), "fix"), tip);
    assert!(!fs::exists(repo.app().join(".git/refs/replace")).unwrap());
    check_repository(&repo, "replaced");
}

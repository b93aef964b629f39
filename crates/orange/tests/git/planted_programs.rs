//! Programs that an agent planted in the repository never run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use orange_effects::git::{
    Deletion, DiffRequest, MergeObstacle, PushResult, ReleaseResult, RestoreResult,
};
use orange_engine::effect::MergeStrategy;
use orange_engine::names::BranchName;

use crate::repo_fixture::{RepoFixture, files};

/// Plants a program wherever git would run one; returns the file that it would leave.
fn plant(repo: &RepoFixture) -> PathBuf {
    let evidence = repo.path("evidence");
    let evil = repo.path("evil");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >>{}\ncat\n", evidence.display());
    fs::write(&evil, script).unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = repo.app().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "post-checkout",
        "pre-commit",
        "reference-transaction",
        "post-index-change",
        "post-rewrite",
    ] {
        fs::copy(&evil, hooks.join(hook)).unwrap();
    }
    let evil = evil.display().to_string();
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.editor",
        "core.pager",
        "core.askPass",
        "credential.helper",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.external",
        "remote.origin.uploadpack",
        "gpg.program",
        "sequence.editor",
        "core.alternateRefsCommand",
    ] {
        repo.git(&repo.app(), &["config", key, &evil]);
    }
    repo.git(&repo.app(), &["config", "filter.evil.required", "true"]);
    repo.git(&repo.app(), &["config", "commit.gpgSign", "true"]);
    repo.git(&repo.app(), &["config", "protocol.ext.allow", "always"]);
    let url = format!("ext::{evil}");
    repo.git(&repo.app(), &["config", "remote.origin.url", &url]);
    repo.git(
        &repo.app(),
        &["config", "extensions.worktreeConfig", "true"],
    );
    repo.git(
        &repo.slot(),
        &["config", "--worktree", "filter.own.clean", &evil],
    );
    let attributes = "* filter=evil\nREADME filter=own\n";
    fs::write(repo.slot().join(".gitattributes"), attributes).unwrap();
    // The same size as before, so that git has to read and filter them.
    fs::write(repo.slot().join("README"), "ONE\ntwo\nthree\n").unwrap();
    fs::write(repo.slot().join("src/main.rs"), "fn MAIN() {}\n").unwrap();
    let _only_the_tests_own_calls = fs::remove_file(&evidence);
    evidence
}

#[test]
fn no_planted_program_runs() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    let evidence = plant(&repo);
    let before = files(&repo.slot());

    let git = repo.open();
    let ReleaseResult::Free { rescues } = repo.release(&git, "t1") else {
        panic!("it can be released");
    };
    let back = repo.acquire(&git, "t1", "fix");
    let restored = back.worktree.restore(&rescues[0]).unwrap();
    assert!(
        matches!(restored, RestoreResult::Done { .. }),
        "{restored:?}"
    );
    assert_eq!(files(&repo.slot()), before, "byte for byte");
    back.worktree.condition().unwrap();
    assert!(
        !evidence.exists(),
        "{}",
        fs::read_to_string(evidence).unwrap()
    );
}

#[test]
fn the_check_notices_a_program_that_runs() {
    let repo = RepoFixture::new();
    let evidence = repo.path("evidence");
    let hook = repo.app().join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(
        &hook,
        format!("#!/bin/sh\necho ran >{}\n", evidence.display()),
    )
    .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    repo.git(&repo.app(), &["switch", "-q", "-c", "x"]);
    assert!(evidence.exists());
}

/// Settings that make git call a program, or change what a merge or a diff does.
const PLANTED_SETTINGS: [(&str, &str); 6] = [
    ("commit.gpgSign", "true"),
    ("push.gpgSign", "if-asked"),
    ("merge.verifySignatures", "true"),
    ("log.showSignature", "true"),
    ("branch.main.mergeOptions", "--squash"),
    ("diff.submodule", "log"),
];

/// Everything an agent could plant, and a branch whose files trigger it.
#[test]
fn no_planted_program_runs_during_merge_diff_and_push() {
    for strategy in crate::merge::ALL {
        let repo = RepoFixture::new();
        crate::merge::branch(&repo);
        let remote = crate::merge::add_remote(&repo);
        repo.git(&remote, &["branch", "-D", "fix"]);
        let attributes = "* filter=evil diff=evil merge=evil\n";
        repo.commit(&repo.slot(), ".gitattributes", attributes);
        fs::write(repo.slot().join("README"), "not committed\n").unwrap();
        fs::write(repo.slot().join("new"), "new\n").unwrap();
        let evidence = repo.path("evidence");
        let evil = repo.path("evil");
        let script = format!("#!/bin/sh\necho \"$0 $*\" >>{}\ncat\n", evidence.display());
        fs::write(&evil, script).unwrap();
        fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
        let hooks = repo.app().join(".git/hooks");
        fs::create_dir_all(&hooks).unwrap();
        for hook in [
            "pre-push",
            "post-merge",
            "post-checkout",
            "pre-merge-commit",
            "commit-msg",
            "reference-transaction",
            "post-index-change",
        ] {
            fs::copy(&evil, hooks.join(hook)).unwrap();
        }
        let evil = evil.display().to_string();
        for key in [
            "core.fsmonitor",
            "core.pager",
            "core.editor",
            "core.askPass",
            "credential.helper",
            "filter.evil.clean",
            "filter.evil.smudge",
            "filter.evil.process",
            "diff.external",
            "diff.evil.command",
            "diff.evil.textconv",
            "merge.evil.driver",
            "pager.diff",
            "gpg.program",
            "gpg.ssh.program",
            "remote.origin.uploadpack",
            "remote.origin.receivepack",
            "core.alternateRefsCommand",
            "uploadpack.packObjectsHook",
        ] {
            repo.git(&repo.app(), &["config", key, &evil]);
        }
        for (key, value) in PLANTED_SETTINGS {
            repo.git(&repo.app(), &["config", key, value]);
        }
        let _only_the_tests_own_calls = fs::remove_file(&evidence);

        let git = repo.open();
        let ask = DiffRequest {
            branch: &BranchName::new("fix"),
            default: &BranchName::new("main"),
            start: None,
            merged: None,
            stat: false,
            colour: false,
        };
        let difference = git.worktree(&repo.slot()).unwrap().diff(&ask).unwrap();
        let text = difference.uncommitted.unwrap().text;
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(text.contains("+not committed"), "{text}");
        assert!(text.contains("+++ b/new"), "{text}");
        git.diff(&ask).unwrap();
        let pushed = git.push_branch(&BranchName::new("fix")).unwrap();
        assert_eq!(pushed, PushResult::Done);
        let parameters = crate::merge::MergeParameters::now(&repo, strategy).with_push();
        // Without the filter the files would not be what the checkout's owner expects.
        let before = files(&repo.app());
        let MergeObstacle::NeedsFilter { filters: named, .. } = parameters.obstacle(&git) else {
            panic!("it was not seen");
        };
        assert!(named.contains_key(&PathBuf::from("README")), "{named:?}");
        assert_eq!(files(&repo.app()), before);
        let head = crate::merge::tip(&repo, &repo.app(), "HEAD");
        fs::write(repo.app().join(".git/HEAD"), format!("{head}\n")).unwrap();
        let commit = parameters.merge(&git);
        let tip = crate::merge::tip(&repo, &remote, "main");
        assert_eq!(tip, commit);
        let deletion = git
            .delete_remote_branch(&BranchName::new("fix"), &BranchName::new("main"))
            .unwrap();
        assert!(matches!(deletion, Deletion::Deleted(_)), "{deletion:?}");
        assert!(
            !evidence.exists(),
            "{}",
            fs::read_to_string(evidence).unwrap()
        );
    }
}

/// A planted merge driver is not run; what it would have decided becomes a conflict.
#[test]
fn a_planted_merge_driver_decides_nothing() {
    let repo = RepoFixture::new();
    crate::merge::branch(&repo);
    repo.commit(&repo.slot(), ".gitattributes", "* merge=evil\n");
    repo.commit(&repo.app(), "README", "zero\ntwo\nthree\n");
    repo.commit(&repo.app(), ".gitattributes", "* merge=evil\n");
    let evidence = repo.path("evidence");
    let driver = format!("echo evil >%A; touch {}", evidence.display());
    repo.git(&repo.app(), &["config", "merge.evil.driver", &driver]);
    let parameters = crate::merge::MergeParameters::now(&repo, MergeStrategy::Merge);
    let MergeObstacle::Conflicts(files) = parameters.obstacle(&repo.open()) else {
        panic!("no conflict");
    };
    assert_eq!(files, [std::path::Path::new("README")]);
    assert!(!evidence.exists());
    let merge = ["merge-tree", "--write-tree", "main", "fix"];
    repo.try_git(&repo.app(), &merge);
    assert!(evidence.exists(), "the check notices a driver that runs");
}

#[test]
fn the_users_own_filter_applies_to_a_merge() {
    let repo = RepoFixture::new();
    crate::merge::branch(&repo);
    let mut text = fs::read_to_string(repo.path("home/.gitconfig")).unwrap();
    text += "[filter \"loud\"]\nsmudge = tr a-z A-Z\nclean = tr A-Z a-z\n";
    fs::write(repo.path("home/.gitconfig"), text).unwrap();
    repo.commit(&repo.slot(), ".gitattributes", "one filter=loud\n");
    crate::merge::MergeParameters::now(&repo, MergeStrategy::Squash).merge(&repo.open());
    assert_eq!(fs::read(repo.app().join("one")).unwrap(), b"ONE OF FIX\n");
    assert_eq!(repo.git(&repo.app(), &["status", "--porcelain"]), "");
}

#[cfg(target_os = "linux")]
#[test]
fn no_planted_program_runs_on_any_path_of_the_driver() {
    let fixture = crate::home_fixture::HomeFixture::new(2);
    let repo = &fixture.repo;
    let id = fixture.create_with_workspace();
    fs::write(repo.app().join(".env"), "SECRET=1\n").unwrap();
    fs::write(repo.app().join(".worktreeinclude"), ".env\n").unwrap();
    let evidence = plant(repo);
    let before = crate::home_fixture::files_without_task(&repo.slot());
    let silent = |what: &str| {
        let output = fs::read_to_string(&evidence);
        assert!(output.is_err(), "{what}: {}", output.unwrap());
    };
    fixture.move_to(&id, "open");
    silent("releasing");
    let task = fixture.move_to(&id, "held");
    assert_eq!(task.status.as_str(), "held", "{}", fixture.diagnostics(&id));
    silent("acquiring, preparing and restoring");
    let mut now = crate::home_fixture::files_without_task(&repo.slot());
    assert!(now.remove(std::path::Path::new(".env")).is_some());
    assert_eq!(now, before);
    fixture.json(&["task", "restore", id.as_str(), "1", "--worktree"]);
    fixture.json(&["task", "restore", id.as_str(), "1", "--branch", "kept"]);
    let out = repo.path("out").display().to_string();
    fixture.json(&["task", "restore", id.as_str(), "1", "--directory", &out]);
    silent("restoring");
    fixture.json(&["workspace", "init"]);
    silent("making ahead");
    fixture.move_to(&id, "closed");
    fixture.json(&["workspace", "gc", "--yes"]);
    silent("collecting");
    let next = fixture.create(Some("next"));
    assert_eq!(fixture.move_to(&next, "held").status.as_str(), "held");
    silent("the next task");
}

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
fn plant(yard: &RepoFixture) -> PathBuf {
    let evidence = yard.path("evidence");
    let evil = yard.path("evil");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >>{}\ncat\n", evidence.display());
    fs::write(&evil, script).unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = yard.app().join(".git/hooks");
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
        yard.git(&yard.app(), &["config", key, &evil]);
    }
    yard.git(&yard.app(), &["config", "filter.evil.required", "true"]);
    yard.git(&yard.app(), &["config", "commit.gpgSign", "true"]);
    yard.git(&yard.app(), &["config", "protocol.ext.allow", "always"]);
    let url = format!("ext::{evil}");
    yard.git(&yard.app(), &["config", "remote.origin.url", &url]);
    yard.git(
        &yard.app(),
        &["config", "extensions.worktreeConfig", "true"],
    );
    yard.git(
        &yard.slot(),
        &["config", "--worktree", "filter.own.clean", &evil],
    );
    let attributes = "* filter=evil\nREADME filter=own\n";
    fs::write(yard.slot().join(".gitattributes"), attributes).unwrap();
    // The same size as before, so that git has to read and filter them.
    fs::write(yard.slot().join("README"), "ONE\ntwo\nthree\n").unwrap();
    fs::write(yard.slot().join("src/main.rs"), "fn MAIN() {}\n").unwrap();
    let _only_the_tests_own_calls = fs::remove_file(&evidence);
    evidence
}

#[test]
fn nothing_that_is_planted_runs() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    let evidence = plant(&yard);
    let before = files(&yard.slot());

    let git = yard.open();
    let ReleaseResult::Free { rescues } = yard.release(&git, "t1") else {
        panic!("it can be released");
    };
    let back = yard.acquire(&git, "t1", "fix");
    let restored = back.worktree.restore(&rescues[0]).unwrap();
    assert!(
        matches!(restored, RestoreResult::Done { .. }),
        "{restored:?}"
    );
    assert_eq!(files(&yard.slot()), before, "byte for byte");
    back.worktree.condition().unwrap();
    assert!(
        !evidence.exists(),
        "{}",
        fs::read_to_string(evidence).unwrap()
    );
}

#[test]
fn the_check_notices_a_program_that_runs() {
    let yard = RepoFixture::new();
    let evidence = yard.path("evidence");
    let hook = yard.app().join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(
        &hook,
        format!("#!/bin/sh\necho ran >{}\n", evidence.display()),
    )
    .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    yard.git(&yard.app(), &["switch", "-q", "-c", "x"]);
    assert!(evidence.exists());
}

/// Everything an agent could plant, and a branch whose files trigger it.
#[test]
fn nothing_that_is_planted_runs_during_merge_diff_and_push() {
    for strategy in crate::merge::ALL {
        let yard = RepoFixture::new();
        crate::merge::branch(&yard);
        let remote = crate::merge::add_remote(&yard);
        yard.git(&remote, &["branch", "-D", "fix"]);
        let attributes = "* filter=evil diff=evil merge=evil\n";
        yard.commit(&yard.slot(), ".gitattributes", attributes);
        fs::write(yard.slot().join("README"), "not committed\n").unwrap();
        fs::write(yard.slot().join("new"), "new\n").unwrap();
        let evidence = yard.path("evidence");
        let evil = yard.path("evil");
        let script = format!("#!/bin/sh\necho \"$0 $*\" >>{}\ncat\n", evidence.display());
        fs::write(&evil, script).unwrap();
        fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
        let hooks = yard.app().join(".git/hooks");
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
            yard.git(&yard.app(), &["config", key, &evil]);
        }
        for (key, value) in [
            ("commit.gpgSign", "true"),
            ("push.gpgSign", "if-asked"),
            ("merge.verifySignatures", "true"),
            ("log.showSignature", "true"),
            ("branch.main.mergeOptions", "--squash"),
            ("diff.submodule", "log"),
        ] {
            yard.git(&yard.app(), &["config", key, value]);
        }
        let _only_the_tests_own_calls = fs::remove_file(&evidence);

        let git = yard.open();
        let ask = DiffRequest {
            branch: &BranchName::new("fix"),
            default: &BranchName::new("main"),
            merged: None,
            stat: false,
            colour: false,
        };
        let difference = git.worktree(&yard.slot()).unwrap().diff(&ask).unwrap();
        let text = difference.uncommitted.unwrap().text;
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(text.contains("+not committed"), "{text}");
        assert!(text.contains("+++ b/new"), "{text}");
        git.diff(&ask).unwrap();
        let pushed = git.push_branch(&BranchName::new("fix")).unwrap();
        assert_eq!(pushed, PushResult::Done);
        let wanted = crate::merge::MergeParameters::now(&yard, strategy).with_push();
        // Without the filter the files would not be what the checkout's owner expects.
        let before = files(&yard.app());
        let MergeObstacle::NeedsFilter { files: named, .. } = wanted.obstacle(&git) else {
            panic!("it was not seen");
        };
        assert!(named.contains(&"README".into()), "{named:?}");
        assert_eq!(files(&yard.app()), before);
        let head = crate::merge::tip(&yard, &yard.app(), "HEAD");
        fs::write(yard.app().join(".git/HEAD"), format!("{head}\n")).unwrap();
        let commit = wanted.merge(&git);
        let tip = crate::merge::tip(&yard, &remote, "main");
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
    let yard = RepoFixture::new();
    crate::merge::branch(&yard);
    yard.commit(&yard.slot(), ".gitattributes", "* merge=evil\n");
    yard.commit(&yard.app(), "README", "zero\ntwo\nthree\n");
    yard.commit(&yard.app(), ".gitattributes", "* merge=evil\n");
    let evidence = yard.path("evidence");
    let driver = format!("echo evil >%A; touch {}", evidence.display());
    yard.git(&yard.app(), &["config", "merge.evil.driver", &driver]);
    let wanted = crate::merge::MergeParameters::now(&yard, MergeStrategy::Merge);
    let MergeObstacle::Conflicts(files) = wanted.obstacle(&yard.open()) else {
        panic!("no conflict");
    };
    assert_eq!(files, [std::path::Path::new("README")]);
    assert!(!evidence.exists());
    let merge = ["merge-tree", "--write-tree", "main", "fix"];
    yard.try_git(&yard.app(), &merge);
    assert!(evidence.exists(), "the check notices a driver that runs");
}

#[test]
fn a_filter_of_the_persons_own_writes_what_a_merge_brings() {
    let yard = RepoFixture::new();
    crate::merge::branch(&yard);
    let mut text = fs::read_to_string(yard.path("home/.gitconfig")).unwrap();
    text += "[filter \"loud\"]\nsmudge = tr a-z A-Z\nclean = tr A-Z a-z\n";
    fs::write(yard.path("home/.gitconfig"), text).unwrap();
    yard.commit(&yard.slot(), ".gitattributes", "one filter=loud\n");
    crate::merge::MergeParameters::now(&yard, MergeStrategy::Squash).merge(&yard.open());
    assert_eq!(fs::read(yard.app().join("one")).unwrap(), b"ONE OF FIX\n");
    assert_eq!(yard.git(&yard.app(), &["status", "--porcelain"]), "");
}

#[cfg(target_os = "linux")]
#[test]
fn no_planted_program_runs_on_any_path_of_the_driver() {
    let ground = crate::home_fixture::HomeFixture::new(2);
    let yard = &ground.yard;
    let id = ground.create_with_workspace();
    fs::write(yard.app().join(".env"), "SECRET=1\n").unwrap();
    fs::write(yard.app().join(".worktreeinclude"), ".env\n").unwrap();
    let evidence = plant(yard);
    let before = crate::home_fixture::files_without_task(&yard.slot());
    let silent = |what: &str| {
        let told = fs::read_to_string(&evidence);
        assert!(told.is_err(), "{what}: {}", told.unwrap());
    };
    ground.go(&id, "open");
    silent("releasing");
    let task = ground.go(&id, "held");
    assert_eq!(task.status.as_str(), "held", "{}", ground.told(&id));
    silent("acquiring, preparing and restoring");
    let mut now = crate::home_fixture::files_without_task(&yard.slot());
    assert!(now.remove(std::path::Path::new(".env")).is_some());
    assert_eq!(now, before);
    ground.json(&["task", "restore", id.as_str(), "1", "--worktree"]);
    ground.json(&["task", "restore", id.as_str(), "1", "--branch", "kept"]);
    let out = yard.path("out").display().to_string();
    ground.json(&["task", "restore", id.as_str(), "1", "--directory", &out]);
    silent("restoring");
    ground.json(&["workspace", "init"]);
    silent("making ahead");
    ground.go(&id, "closed");
    ground.json(&["workspace", "gc", "--yes"]);
    silent("collecting");
    let next = ground.create(Some("next"));
    assert_eq!(ground.go(&next, "held").status.as_str(), "held");
    silent("the next task");
}

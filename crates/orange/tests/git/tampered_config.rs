//! Changes an agent makes in `.git` mislead no call of orange.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use orange_effects::git::{
    BranchDiff, DiffRequest, Git, GitError, Obstacle, ReleaseResult, RemoteAddress,
};
use orange_engine::effect::MergeStrategy;
use orange_engine::names::BranchName;

use crate::home_fixture::HomeFixture;
use crate::merge::{MergeParameters, tip};
use crate::repo_fixture::RepoFixture;

fn diff(git: &Git, yard: &RepoFixture) -> Result<BranchDiff, GitError> {
    git.worktree(&yard.slot()).unwrap().diff(&DiffRequest {
        branch: &BranchName::new("fix"),
        default: &BranchName::new("main"),
        merged: None,
        stat: false,
        colour: false,
    })
}

/// Both parts, one after the other.
fn text(difference: &BranchDiff) -> String {
    let uncommitted = difference.uncommitted.as_ref().map(|it| &it.text);
    let all = [Some(&difference.committed.text), uncommitted];
    let all = all.into_iter().flatten();
    all.map(|it| String::from_utf8_lossy(it).into_owned())
        .collect()
}

/// A program that leaves evidence, and the settings that would make git run it as a filter.
fn filter(yard: &RepoFixture) -> (PathBuf, String) {
    let (evidence, evil) = (yard.path("evidence"), yard.path("evil"));
    let script = format!("#!/bin/sh\ntouch {}\nexec cat\n", evidence.display());
    fs::write(&evil, script).unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    let evil = evil.display();
    let settings = format!("[filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n");
    (evidence, settings)
}

/// A task's worktree with changes that a filter would see.
fn change_worktree(yard: &RepoFixture) {
    yard.acquire(&yard.open(), "t1", "fix");
    fs::write(yard.slot().join(".gitattributes"), "* filter=evil\n").unwrap();
    fs::write(yard.slot().join("README"), "changed\n").unwrap();
    fs::write(yard.slot().join("new"), "new\n").unwrap();
}

fn append(path: &Path, text: &str) {
    let before = fs::read_to_string(path).unwrap_or_default();
    fs::write(path, before + text).unwrap();
}

/// Runs everything that reads the worktree, with a newly opened handle.
fn read_everything(yard: &RepoFixture) {
    let git = yard.open();
    let shown = text(&diff(&git, yard).unwrap());
    assert!(
        shown.contains("+changed") && shown.contains("+++ b/new"),
        "{shown}"
    );
    git.worktree(&yard.slot()).unwrap().condition().unwrap();
    yard.release(&git, "t1");
    yard.acquire(&git, "t2", "other");
}

#[test]
fn a_filter_that_an_include_brings_under_a_condition_does_not_run() {
    for condition in ["onbranch:fix", "gitdir:**/worktrees/**", "gitdir:**"] {
        let yard = RepoFixture::new();
        change_worktree(&yard);
        let (evidence, settings) = filter(&yard);
        fs::write(yard.path("included"), settings).unwrap();
        let included = yard.path("included");
        let include = format!(
            "[includeIf \"{condition}\"]\n\tpath = {}\n",
            included.display()
        );
        append(&yard.app().join(".git/config"), &include);
        read_everything(&yard);
        assert!(!evidence.exists(), "{condition}");
    }
}

#[test]
fn a_filter_of_another_repository_that_commondir_names_does_not_run() {
    let yard = RepoFixture::new();
    change_worktree(&yard);
    let (evidence, settings) = filter(&yard);
    yard.git(
        &yard.path(""),
        &["clone", "-q", "--bare", "app", "elsewhere.git"],
    );
    append(&yard.path("elsewhere.git/config"), &settings);
    let record = yard.git(&yard.slot(), &["rev-parse", "--absolute-git-dir"]);
    let elsewhere = format!("{}\n", yard.path("elsewhere.git").display());
    fs::write(Path::new(record.trim()).join("commondir"), elsewhere).unwrap();
    let shown = text(&diff(&yard.open(), &yard).unwrap());
    assert!(shown.contains("+changed"), "{shown}");
    assert!(!evidence.exists());
}

#[test]
fn a_filter_that_comes_and_goes_between_reading_and_calling_does_not_run() {
    let yard = RepoFixture::new();
    change_worktree(&yard);
    let (evidence, settings) = filter(&yard);
    fs::write(yard.path("on"), &settings).unwrap();
    fs::write(yard.path("off"), "").unwrap();
    let toggled = yard.path("toggled");
    std::os::unix::fs::symlink(yard.path("off"), &toggled).unwrap();
    let include = format!("[include]\n\tpath = {}\n", toggled.display());
    append(&yard.app().join(".git/config"), &include);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for which in ["on", "off"] {
                    let next = yard.path("next");
                    std::os::unix::fs::symlink(yard.path(which), &next).unwrap();
                    fs::rename(&next, &toggled).unwrap();
                    thread::yield_now();
                }
            }
        });
        for _ in 0..20 {
            diff(&yard.open(), &yard).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(!evidence.exists());
}

#[test]
fn grafts_hide_no_commit() {
    let yard = RepoFixture::new();
    yard.acquire(&yard.open(), "t1", "fix");
    yard.commit(&yard.slot(), "README", "EVIL\n");
    yard.commit(&yard.slot(), "good", "good\n");
    let hidden = tip(&yard, &yard.slot(), "HEAD~1");
    let graft = format!("{} {hidden}\n", tip(&yard, &yard.app(), "main"));
    fs::create_dir_all(yard.app().join(".git/info")).unwrap();
    fs::write(yard.app().join(".git/info/grafts"), graft).unwrap();
    let difference = diff(&yard.open(), &yard).unwrap();
    assert!(text(&difference).contains("+EVIL"), "{}", text(&difference));
    assert_eq!(difference.commits, 2);
    MergeParameters::now(&yard, MergeStrategy::Ff).merge(&yard.open());
}

#[test]
fn attributes_make_no_text_binary() {
    for place in [".git/info/attributes", ".git/.gitattributes"] {
        let yard = RepoFixture::new();
        yard.acquire(&yard.open(), "t1", "fix");
        yard.commit(&yard.slot(), "README", "EVIL\n");
        yard.commit(&yard.slot(), ".gitattributes", "* -diff\n");
        fs::write(yard.slot().join("src/main.rs"), "fn EVIL() {}\n").unwrap();
        fs::create_dir_all(yard.app().join(".git/info")).unwrap();
        fs::write(yard.app().join(place), "* -diff binary\n").unwrap();
        let shown = text(&diff(&yard.open(), &yard).unwrap());
        assert!(
            shown.contains("+EVIL") && shown.contains("+fn EVIL()"),
            "{shown}"
        );
        assert!(!shown.contains("Binary files"), "{shown}");
    }
}

#[test]
fn a_difference_has_what_was_removed_or_moved_and_not_committed() {
    let yard = RepoFixture::new();
    yard.acquire(&yard.open(), "t1", "fix");
    yard.git(&yard.slot(), &["mv", "README", "MOVED"]);
    yard.git(&yard.slot(), &["rm", "-q", "src/main.rs"]);
    let status = yard.git(&yard.slot(), &["status", "--porcelain"]);
    let difference = diff(&yard.open(), &yard).unwrap();
    let shown = text(&difference);
    assert!(shown.contains("rename to MOVED"), "{shown}");
    assert!(shown.contains("deleted file mode"), "{shown}");
    assert!(difference.committed.files.is_empty() && difference.commits == 0);
    assert_eq!(yard.git(&yard.slot(), &["status", "--porcelain"]), status);
}

#[test]
fn many_new_files_are_named_and_not_all_shown() {
    let yard = RepoFixture::new();
    yard.acquire(&yard.open(), "t1", "fix");
    fs::create_dir(yard.slot().join("many")).unwrap();
    for number in 0..1500 {
        fs::write(yard.slot().join(format!("many/{number}")), "x\n").unwrap();
    }
    let part = diff(&yard.open(), &yard).unwrap().uncommitted.unwrap();
    assert_eq!((part.files.len(), part.omitted.len()), (1000, 500));
}

/// Puts a FIFO where a file may be.
fn pipe(path: &Path) {
    let _absent = fs::remove_file(path);
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

/// How long git may block here.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_pipe_among_the_files_that_git_reads_is_named_and_retires_the_workspace() {
    for file in [".gitignore", ".gitattributes"] {
        let yard = RepoFixture::new();
        yard.acquire(&yard.open(), "t1", "fix");
        fs::write(yard.slot().join("README"), "unsaved\n").unwrap();
        pipe(&yard.slot().join(file));
        let begun = Instant::now();
        let error = diff(&yard.open(), &yard).unwrap_err();
        assert!(
            matches!(&error, GitError::NotRegularFile(path) if path.ends_with(file)),
            "{error}"
        );
        let ReleaseResult::Retired { obstacles, .. } = yard.release(&yard.open(), "t1") else {
            panic!("it was released");
        };
        assert_eq!(obstacles, [Obstacle::NotRegularFile(file.into())]);
        assert!(begun.elapsed() < SOON);
        assert_eq!(fs::read(yard.slot().join("README")).unwrap(), b"unsaved\n");
        // Once it is gone, nothing has been lost.
        fs::remove_file(yard.slot().join(file)).unwrap();
        let released = yard.release(&yard.open(), "t1");
        assert!(matches!(&released, ReleaseResult::Free { rescues } if rescues.len() == 1));
    }
}

#[test]
fn a_pipe_deeper_down_is_named_once_git_has_waited_for_it() {
    let yard = RepoFixture::new();
    yard.acquire(&yard.open(), "t1", "fix");
    pipe(&yard.slot().join("src/.gitignore"));
    let short = Duration::from_secs(2);
    let git = yard.open().timeouts(short, short, short);
    let error = diff(&git, &yard).unwrap_err();
    assert!(
        matches!(&error, GitError::NotRegularFile(path) if path.ends_with("src/.gitignore")),
        "{error}"
    );
}

#[test]
fn pipes_that_settings_name_hold_nothing_up() {
    let yard = RepoFixture::new();
    yard.acquire(&yard.open(), "t1", "fix");
    let made = yard.path("pipe");
    pipe(&made);
    let made = made.display().to_string();
    for key in ["core.excludesFile", "core.attributesFile", "include.path"] {
        let config = yard.app().join(".git/config").display().to_string();
        yard.git(&yard.path(""), &["config", "--file", &config, key, &made]);
    }
    fs::create_dir_all(yard.app().join(".git/info")).unwrap();
    let _absent = fs::remove_file(yard.app().join(".git/info/exclude"));
    for file in ["exclude", "attributes", "grafts"] {
        pipe(&yard.app().join(".git/info").join(file));
    }
    let begun = Instant::now();
    fs::write(yard.slot().join("README"), "unsaved\n").unwrap();
    let git = yard.open();
    assert!(text(&diff(&git, &yard).unwrap()).contains("+unsaved"));
    let released = yard.release(&git, "t1");
    assert!(
        matches!(released, ReleaseResult::Free { .. }),
        "{released:?}"
    );
    assert!(begun.elapsed() < SOON);
}

#[test]
fn a_forged_rescue_writes_nothing_into_a_git_directory() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    fs::write(yard.slot().join("new"), "new\n").unwrap();
    let ReleaseResult::Free { rescues } = yard.release(&git, "t1") else {
        panic!("it was not released");
    };
    let app = yard.app();
    let blob = yard.git(&app, &["hash-object", "-w", "README"]);
    let tree = |line: &str| {
        let script = format!("printf '{line}' | git mktree");
        let mut shell = std::process::Command::new("sh");
        let made = shell
            .args(["-c", &script])
            .current_dir(&app)
            .output()
            .unwrap();
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    let inner = tree(&format!("100755 blob {}\\tpost-checkout\\n", blob.trim()));
    // Git itself would reject the name.
    let mut bytes = b"40000 .git\0".to_vec();
    let digits: Vec<u8> = inner.bytes().collect();
    bytes.extend(
        digits
            .chunks(2)
            .map(|it| u8::from_str_radix(std::str::from_utf8(it).unwrap(), 16).unwrap()),
    );
    fs::write(yard.path("tree"), bytes).unwrap();
    let file = yard.path("tree").display().to_string();
    let forged = ["hash-object", "-w", "-t", "tree", "--literally", &file];
    let forged = yard.git(&app, &forged);
    let real = rescues[0].reference();
    let message = yard.git(&app, &["log", "-1", "--format=%B", &real]);
    let parents = yard.git(&app, &["log", "-1", "--format=%P", &real]);
    let mut words = vec!["commit-tree", forged.trim(), "-m", message.trim()];
    for parent in parents.split_whitespace() {
        words.extend(["-p", parent]);
    }
    let commit = yard.git(&app, &words);
    let name = real.replace("/1", "/2");
    yard.git(&app, &["update-ref", &name, commit.trim()]);
    let forged = git.require_rescue(&rescues[0].about.task, 2).unwrap();
    let out = yard.path("out");
    fs::create_dir(&out).unwrap();
    let error = git.restore_to_folder(&forged, &out).unwrap_err();
    assert!(error.to_string().contains(".git"), "{error}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
}

#[test]
fn what_is_left_in_the_place_of_the_task_file_spoils_no_later_start() {
    type LeaveTask = fn(&HomeFixture, &Path);
    let ways: [(&str, LeaveTask); 3] = [
        ("a pipe", |_, file| {
            fs::remove_file(file).unwrap();
            pipe(file);
        }),
        ("a directory", |_, file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
            fs::write(file.join("inside"), "kept\n").unwrap();
        }),
        ("a task without its directory", |ground, file| {
            let tasks = ground.home().tasks();
            let text = fs::read(file).unwrap();
            fs::remove_dir_all(tasks).unwrap();
            fs::write(file, text).unwrap();
        }),
    ];
    for (what, leave) in ways {
        let ground = HomeFixture::new(1);
        let id = ground.create_with_workspace();
        leave(&ground, &ground.yard.slot().join("TASK.md"));
        ground.call(&["task", "cancel", id.as_str()]);
        ground.call(&["workspace", "gc"]);
        let next = ground.create(Some("next"));
        let task = ground.go(&next, "held");
        assert_eq!(
            task.status.as_str(),
            "held",
            "{what}: {}",
            ground.told(&next)
        );
        assert!(ground.yard.slot().join("TASK.md").is_file(), "{what}");
    }
}

#[test]
fn a_remote_that_an_agent_changed_gets_nothing_until_it_is_accepted() {
    for (key, is_push) in [
        ("remote.origin.pushurl", true),
        ("remote.origin.url", false),
    ] {
        let ground = HomeFixture::new(1);
        let yard = &ground.yard;
        let remote = crate::merge::add_remote(yard);
        let typed = format!("https://ada:secret@{}", "host/x.git");
        let (code, said) = ground.call(&["project", "update", "app", "--remote", &typed]);
        assert_eq!(code, 0, "{said}");
        let shown = ground.json(&["project", "show", "app"]);
        assert_eq!(
            shown["project"]["remote"], "https://host/x.git",
            "no password is kept"
        );
        let address = remote.display().to_string();
        ground.call(&["project", "update", "app", "--remote", &address]);
        yard.git(
            &yard.path(""),
            &["clone", "-q", "--bare", &address, "evil.git"],
        );
        let before = tip(yard, &yard.path("evil.git"), "main");
        let evil = yard.path("evil.git").display().to_string();
        ground.create_with_workspace();
        yard.git(&yard.app(), &["config", key, &evil]);
        yard.git(
            &yard.app(),
            &["config", &format!("url.{evil}.insteadOf"), &address],
        );
        yard.commit(&yard.slot(), "one", "one\n");
        let open = || {
            let (fetch, push) = (address.clone(), None);
            yard.open()
                .with_registered_remote("app", Some(RemoteAddress { fetch, push }))
        };
        let git = open();
        let wanted = MergeParameters::now(yard, MergeStrategy::Ff).with_push();
        let main = tip(yard, &yard.app(), "main");
        let error = wanted.try_merge(&git).unwrap_err().to_string();
        assert!(
            error.contains("orange project update app --remote"),
            "{error}"
        );
        assert!(error.contains(&evil) && error.contains(&address), "{error}");
        assert_eq!(tip(yard, &yard.app(), "main"), main, "nothing moved");
        assert_eq!(tip(yard, &yard.path("evil.git"), "main"), before);
        // Once put back, it is used; a setting that rewrites its address is not.
        if is_push {
            yard.git(&yard.app(), &["config", "--unset", key]);
        } else {
            yard.git(&yard.app(), &["config", key, &address]);
        }
        let git = open();
        let commit = wanted.merge(&git);
        assert_eq!(tip(yard, &remote, "main"), commit);
        assert_eq!(tip(yard, &yard.path("evil.git"), "main"), before);
    }
}

//! Changes an agent makes in `.git` mislead no call of orange.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use orange_effects::git::{
    BranchDiff, DiffRequest, Git, GitError, MergeObstacle, Obstacle, ReleaseResult, RemoteAddress,
};
use orange_engine::effect::MergeStrategy;
use orange_engine::names::BranchName;

use crate::home_fixture::HomeFixture;
use crate::merge::{MergeParameters, tip};
use crate::repo_fixture::RepoFixture;

fn diff(git: &Git, repo: &RepoFixture) -> Result<BranchDiff, GitError> {
    git.worktree(&repo.slot()).unwrap().diff(&DiffRequest {
        branch: &BranchName::new("fix"),
        default: &BranchName::new("main"),
        start: None,
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
fn filter(repo: &RepoFixture) -> (PathBuf, String) {
    let (evidence, evil) = (repo.path("evidence"), repo.path("evil"));
    let script = format!("#!/bin/sh\ntouch {}\nexec cat\n", evidence.display());
    fs::write(&evil, script).unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    let evil = evil.display();
    let settings = format!("[filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n");
    (evidence, settings)
}

/// A task's worktree with changes that a filter would see.
fn change_worktree(repo: &RepoFixture) {
    repo.acquire(&repo.open(), "t1", "fix");
    fs::write(repo.slot().join(".gitattributes"), "* filter=evil\n").unwrap();
    fs::write(repo.slot().join("README"), "changed\n").unwrap();
    fs::write(repo.slot().join("new"), "new\n").unwrap();
}

fn append(path: &Path, text: &str) {
    let before = fs::read_to_string(path).unwrap_or_default();
    fs::write(path, before + text).unwrap();
}

/// Runs everything that reads the worktree, with a newly opened handle.
fn read_everything(repo: &RepoFixture) {
    let git = repo.open();
    let shown = text(&diff(&git, repo).unwrap());
    assert!(
        shown.contains("+changed") && shown.contains("+++ b/new"),
        "{shown}"
    );
    git.worktree(&repo.slot()).unwrap().condition().unwrap();
    repo.release(&git, "t1");
    repo.acquire(&git, "t2", "other");
}

#[test]
fn a_filter_from_a_conditional_include_does_not_run() {
    for condition in ["onbranch:fix", "gitdir:**/worktrees/**", "gitdir:**"] {
        let repo = RepoFixture::new();
        change_worktree(&repo);
        let (evidence, settings) = filter(&repo);
        fs::write(repo.path("included"), settings).unwrap();
        let included = repo.path("included");
        let include = format!(
            "[includeIf \"{condition}\"]\n\tpath = {}\n",
            included.display()
        );
        append(&repo.app().join(".git/config"), &include);
        read_everything(&repo);
        assert!(!evidence.exists(), "{condition}");
    }
}

#[test]
fn a_filter_of_another_repository_that_commondir_names_does_not_run() {
    let repo = RepoFixture::new();
    change_worktree(&repo);
    let (evidence, settings) = filter(&repo);
    repo.git(
        &repo.path(""),
        &["clone", "-q", "--bare", "app", "elsewhere.git"],
    );
    append(&repo.path("elsewhere.git/config"), &settings);
    let record = repo.git(&repo.slot(), &["rev-parse", "--absolute-git-dir"]);
    let elsewhere = format!("{}\n", repo.path("elsewhere.git").display());
    fs::write(Path::new(record.trim()).join("commondir"), elsewhere).unwrap();
    let shown = text(&diff(&repo.open(), &repo).unwrap());
    assert!(shown.contains("+changed"), "{shown}");
    assert!(!evidence.exists());
}

#[test]
fn a_filter_that_comes_and_goes_between_reading_and_calling_does_not_run() {
    let repo = RepoFixture::new();
    change_worktree(&repo);
    let (evidence, settings) = filter(&repo);
    fs::write(repo.path("on"), &settings).unwrap();
    fs::write(repo.path("off"), "").unwrap();
    let toggled = repo.path("toggled");
    std::os::unix::fs::symlink(repo.path("off"), &toggled).unwrap();
    let include = format!("[include]\n\tpath = {}\n", toggled.display());
    append(&repo.app().join(".git/config"), &include);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for which in ["on", "off"] {
                    let next = repo.path("next");
                    std::os::unix::fs::symlink(repo.path(which), &next).unwrap();
                    fs::rename(&next, &toggled).unwrap();
                    thread::yield_now();
                }
            }
        });
        for _ in 0..20 {
            diff(&repo.open(), &repo).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(!evidence.exists());
}

#[test]
fn a_filter_of_the_repository_is_named_for_files_that_look_changed() {
    for place in [".gitattributes", ".git/info/attributes"] {
        let repo = RepoFixture::new();
        let app = repo.app();
        repo.git(&app, &["config", "filter.sorted.clean", "sort"]);
        fs::create_dir_all(app.join(".git/info")).unwrap();
        fs::write(app.join(place), "*.dat filter=sorted\n").unwrap();
        repo.git(&app, &["add", "-A"]);
        repo.commit(&app, "z.dat", "b\na\n");
        repo.acquire(&repo.open(), "t1", "fix");
        repo.commit(&repo.slot(), "one", "one\n");
        fs::write(repo.slot().join("new.dat"), "new\n").unwrap();
        for folder in [app.clone(), repo.slot()] {
            // git has to read the file again, and only the filter tells that it is the same.
            let file = fs::File::options().append(true).open(folder.join("z.dat"));
            let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            file.unwrap().set_modified(long_ago).unwrap();
        }
        fs::write(repo.slot().join("z.dat"), "b\na\n").unwrap();
        let git = repo.open();
        let worktree = git.worktree(&repo.slot()).unwrap();
        assert_eq!(worktree.unread_filters().unwrap().len(), 1, "{place}");
        let named = [(PathBuf::from("z.dat"), String::from("sorted"))].into();
        let condition = worktree.condition().unwrap();
        assert_eq!(condition.unfiltered, named, "{place}");
        assert!(
            condition.changes.contains(&"new.dat".into()),
            "{condition:?}"
        );
        assert!(!condition.is_clean());
        let part = diff(&git, &repo).unwrap().uncommitted.unwrap();
        assert_eq!(part.unfiltered, named, "{place}");
        let parameters = MergeParameters::now(&repo, MergeStrategy::Ff);
        let MergeObstacle::LacksFilter { filters, .. } = parameters.obstacle(&git) else {
            panic!("{place}: it was not seen");
        };
        assert_eq!(filters, named);
        // Files that really changed come first.
        fs::write(app.join("README"), "changed\n").unwrap();
        let MergeObstacle::UncommittedChanges { files, .. } = parameters.obstacle(&git) else {
            panic!("{place}: the change was not seen");
        };
        assert_eq!(files, [PathBuf::from("README")]);
    }
}

#[test]
fn grafts_hide_no_commit() {
    let repo = RepoFixture::new();
    repo.acquire(&repo.open(), "t1", "fix");
    repo.commit(&repo.slot(), "README", "EVIL\n");
    repo.commit(&repo.slot(), "good", "good\n");
    let hidden = tip(&repo, &repo.slot(), "HEAD~1");
    let graft = format!("{} {hidden}\n", tip(&repo, &repo.app(), "main"));
    fs::create_dir_all(repo.app().join(".git/info")).unwrap();
    fs::write(repo.app().join(".git/info/grafts"), graft).unwrap();
    let difference = diff(&repo.open(), &repo).unwrap();
    assert!(text(&difference).contains("+EVIL"), "{}", text(&difference));
    assert_eq!(difference.commits, 2);
    MergeParameters::now(&repo, MergeStrategy::Ff).merge(&repo.open());
}

#[test]
fn attributes_make_no_text_binary() {
    for place in [".git/info/attributes", ".git/.gitattributes"] {
        let repo = RepoFixture::new();
        repo.acquire(&repo.open(), "t1", "fix");
        repo.commit(&repo.slot(), "README", "EVIL\n");
        repo.commit(&repo.slot(), ".gitattributes", "* -diff\n");
        fs::write(repo.slot().join("src/main.rs"), "fn EVIL() {}\n").unwrap();
        fs::create_dir_all(repo.app().join(".git/info")).unwrap();
        fs::write(repo.app().join(place), "* -diff binary\n").unwrap();
        let shown = text(&diff(&repo.open(), &repo).unwrap());
        assert!(
            shown.contains("+EVIL") && shown.contains("+fn EVIL()"),
            "{shown}"
        );
        assert!(!shown.contains("Binary files"), "{shown}");
    }
}

#[test]
fn a_diff_includes_a_file_rewritten_in_the_second_it_was_recorded() {
    let repo = RepoFixture::new();
    repo.acquire(&repo.open(), "t1", "fix");
    let file = repo.slot().join("src/main.rs");
    let write = |text: &str| {
        fs::write(&file, text).unwrap();
        fs::metadata(&file).unwrap().mtime()
    };
    let mut tries = 0..20;
    loop {
        let recorded = write("fn main() {}\n");
        repo.git(&repo.slot(), &["add", "src/main.rs"]);
        // A text of the same size; the second may have ended in between.
        if write("fn EVIL() {}\n") == recorded {
            break;
        }
        tries.next().unwrap();
    }
    thread::sleep(Duration::from_millis(1100));
    let shown = text(&diff(&repo.open(), &repo).unwrap());
    assert!(shown.contains("+fn EVIL()"), "{shown}");
}

#[test]
fn a_diff_includes_uncommitted_removals_and_moves() {
    let repo = RepoFixture::new();
    repo.acquire(&repo.open(), "t1", "fix");
    repo.git(&repo.slot(), &["mv", "README", "MOVED"]);
    repo.git(&repo.slot(), &["rm", "-q", "src/main.rs"]);
    let status = repo.git(&repo.slot(), &["status", "--porcelain"]);
    let difference = diff(&repo.open(), &repo).unwrap();
    let shown = text(&difference);
    assert!(shown.contains("rename to MOVED"), "{shown}");
    assert!(shown.contains("deleted file mode"), "{shown}");
    assert!(difference.committed.files.is_empty() && difference.commits == 0);
    assert_eq!(repo.git(&repo.slot(), &["status", "--porcelain"]), status);
}

#[test]
fn many_new_files_are_listed_without_all_contents() {
    let repo = RepoFixture::new();
    repo.acquire(&repo.open(), "t1", "fix");
    fs::create_dir(repo.slot().join("many")).unwrap();
    for number in 0..1500 {
        fs::write(repo.slot().join(format!("many/{number}")), "x\n").unwrap();
    }
    let part = diff(&repo.open(), &repo).unwrap().uncommitted.unwrap();
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
fn a_pipe_among_gits_files_is_named_and_retires_the_workspace() {
    for file in [".gitignore", ".gitattributes"] {
        let repo = RepoFixture::new();
        repo.acquire(&repo.open(), "t1", "fix");
        fs::write(repo.slot().join("README"), "unsaved\n").unwrap();
        pipe(&repo.slot().join(file));
        let start = Instant::now();
        let error = diff(&repo.open(), &repo).unwrap_err();
        assert!(
            matches!(&error, GitError::NotRegularFile(path) if path.ends_with(file)),
            "{error}"
        );
        let ReleaseResult::Retired { obstacles, .. } = repo.release(&repo.open(), "t1") else {
            panic!("it was released");
        };
        assert_eq!(obstacles, [Obstacle::NotRegularFile(file.into())]);
        assert!(start.elapsed() < SOON);
        assert_eq!(fs::read(repo.slot().join("README")).unwrap(), b"unsaved\n");
        // Once it is gone, nothing has been lost.
        fs::remove_file(repo.slot().join(file)).unwrap();
        let released = repo.release(&repo.open(), "t1");
        assert!(matches!(&released, ReleaseResult::Free { rescues } if rescues.len() == 1));
    }
}

#[test]
fn a_pipe_deeper_down_is_named_once_git_has_waited_for_it() {
    let repo = RepoFixture::new();
    repo.acquire(&repo.open(), "t1", "fix");
    pipe(&repo.slot().join("src/.gitignore"));
    let short = Duration::from_secs(2);
    let git = repo.open().timeouts(short, short, short);
    let error = diff(&git, &repo).unwrap_err();
    assert!(
        matches!(&error, GitError::NotRegularFile(path) if path.ends_with("src/.gitignore")),
        "{error}"
    );
}

#[test]
fn pipes_named_by_settings_do_not_block() {
    let repo = RepoFixture::new();
    repo.acquire(&repo.open(), "t1", "fix");
    let made = repo.path("pipe");
    pipe(&made);
    let made = made.display().to_string();
    for key in ["core.excludesFile", "core.attributesFile", "include.path"] {
        let config = repo.app().join(".git/config").display().to_string();
        repo.git(&repo.path(""), &["config", "--file", &config, key, &made]);
    }
    fs::create_dir_all(repo.app().join(".git/info")).unwrap();
    let _absent = fs::remove_file(repo.app().join(".git/info/exclude"));
    for file in ["exclude", "attributes", "grafts"] {
        pipe(&repo.app().join(".git/info").join(file));
    }
    let start = Instant::now();
    fs::write(repo.slot().join("README"), "unsaved\n").unwrap();
    let git = repo.open();
    assert!(text(&diff(&git, &repo).unwrap()).contains("+unsaved"));
    let released = repo.release(&git, "t1");
    assert!(
        matches!(released, ReleaseResult::Free { .. }),
        "{released:?}"
    );
    assert!(start.elapsed() < SOON);
}

#[test]
fn a_forged_rescue_writes_nothing_into_a_git_directory() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    fs::write(repo.slot().join("new"), "new\n").unwrap();
    let ReleaseResult::Free { rescues } = repo.release(&git, "t1") else {
        panic!("it was not released");
    };
    let app = repo.app();
    let blob = repo.git(&app, &["hash-object", "-w", "README"]);
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
    fs::write(repo.path("tree"), bytes).unwrap();
    let file = repo.path("tree").display().to_string();
    let forged = ["hash-object", "-w", "-t", "tree", "--literally", &file];
    let forged = repo.git(&app, &forged);
    let real = rescues[0].reference();
    let message = repo.git(&app, &["log", "-1", "--format=%B", &real]);
    let parents = repo.git(&app, &["log", "-1", "--format=%P", &real]);
    let mut words = vec!["commit-tree", forged.trim(), "-m", message.trim()];
    for parent in parents.split_whitespace() {
        words.extend(["-p", parent]);
    }
    let commit = repo.git(&app, &words);
    let name = real.replace("/1", "/2");
    repo.git(&app, &["update-ref", &name, commit.trim()]);
    let forged = git.require_rescue(&rescues[0].about.task, 2).unwrap();
    let out = repo.path("out");
    fs::create_dir(&out).unwrap();
    let error = git.restore_to_folder(&forged, &out).unwrap_err();
    assert!(error.to_string().contains(".git"), "{error}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
}

#[test]
fn leftovers_at_the_path_of_the_task_file_do_not_break_a_later_start() {
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
        ("a task without its directory", |fixture, file| {
            let tasks = fixture.home().tasks();
            let text = fs::read(file).unwrap();
            fs::remove_dir_all(tasks).unwrap();
            fs::write(file, text).unwrap();
        }),
    ];
    for (what, leave) in ways {
        let fixture = HomeFixture::new(1);
        let id = fixture.create_with_workspace();
        leave(&fixture, &fixture.repo.slot().join("TASK.md"));
        fixture.call(&["task", "cancel", id.as_str()]);
        fixture.call(&["workspace", "gc"]);
        let next = fixture.create(Some("next"));
        let task = fixture.move_to(&next, "held");
        assert_eq!(
            task.status.as_str(),
            "held",
            "{what}: {}",
            fixture.diagnostics(&next)
        );
        assert!(fixture.repo.slot().join("TASK.md").is_file(), "{what}");
    }
}

#[test]
fn a_remote_changed_by_an_agent_gets_nothing_until_it_is_accepted() {
    for (key, is_push) in [
        ("remote.origin.pushurl", true),
        ("remote.origin.url", false),
    ] {
        let fixture = HomeFixture::new(1);
        let repo = &fixture.repo;
        let remote = crate::merge::add_remote(repo);
        let typed = format!("https://ada:secret@{}", "host/x.git");
        let (code, output) = fixture.call(&["project", "update", "app", "--remote", &typed]);
        assert_eq!(code, 0, "{output}");
        let shown = fixture.json(&["project", "show", "app"]);
        assert_eq!(
            shown["project"]["remote"], "https://host/x.git",
            "no password is kept"
        );
        let address = remote.display().to_string();
        fixture.call(&["project", "update", "app", "--remote", &address]);
        repo.git(
            &repo.path(""),
            &["clone", "-q", "--bare", &address, "evil.git"],
        );
        let before = tip(repo, &repo.path("evil.git"), "main");
        let evil = repo.path("evil.git").display().to_string();
        fixture.create_with_workspace();
        repo.git(&repo.app(), &["config", key, &evil]);
        repo.git(
            &repo.app(),
            &["config", &format!("url.{evil}.insteadOf"), &address],
        );
        repo.commit(&repo.slot(), "one", "one\n");
        let open = || {
            let (fetch, push) = (address.clone(), None);
            repo.open()
                .with_registered_remote("app", Some(RemoteAddress { fetch, push }))
        };
        let git = open();
        let parameters = MergeParameters::now(repo, MergeStrategy::Ff).with_push();
        let main = tip(repo, &repo.app(), "main");
        let error = parameters.try_merge(&git).unwrap_err().to_string();
        assert!(
            error.contains("orange project update app --remote"),
            "{error}"
        );
        assert!(error.contains(&evil) && error.contains(&address), "{error}");
        assert_eq!(tip(repo, &repo.app(), "main"), main, "nothing moved");
        assert_eq!(tip(repo, &repo.path("evil.git"), "main"), before);
        // Once put back, it is used; a setting that rewrites its address is not.
        if is_push {
            repo.git(&repo.app(), &["config", "--unset", key]);
        } else {
            repo.git(&repo.app(), &["config", key, &address]);
        }
        let git = open();
        let commit = parameters.merge(&git);
        assert_eq!(tip(repo, &remote, "main"), commit);
        assert_eq!(tip(repo, &repo.path("evil.git"), "main"), before);
    }
}

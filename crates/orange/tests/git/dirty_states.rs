//! The states that a workspace can be in when it is released.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::repo_fixture::RepoFixture;

/// The required outcome of the release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// Nothing was unsaved.
    Free,
    /// Something was unsaved, and is now saved.
    Rescued,
    /// Something cannot be saved, so nothing is touched.
    Retired,
}

/// One state: its name, how to create it in a workspace, and the required outcome.
pub struct DirtyState {
    pub name: &'static str,
    pub make: fn(&RepoFixture, &Path),
    pub expected: Expected,
    /// Whether a restore brings back the same `git status`.
    pub comes_back: bool,
}

macro_rules! dirty_states {
    ($($name:ident $expected:ident $comes_back:literal |$repo:pat_param, $at:pat_param| $make:block)+) => {
        pub const ALL: &[DirtyState] = &[$(DirtyState {
            name: stringify!($name),
            make: |$repo, $at| $make,
            expected: Expected::$expected,
            comes_back: $comes_back,
        }),+];

        mod each {
            $(#[test]
            fn $name() {
                crate::dirty_states_table::check_state(stringify!($name));
            })+
        }
    };
}

fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Two branches that change the same line; the other one is called `other`.
fn conflict(repo: &RepoFixture, at: &Path) {
    repo.git(at, &["branch", "other"]);
    repo.commit(at, "README", "ours\ntwo\nthree\n");
    repo.git(&repo.app(), &["switch", "-q", "other"]);
    repo.commit(&repo.app(), "README", "theirs\ntwo\nthree\n");
    repo.git(&repo.app(), &["switch", "-q", "main"]);
}

/// A repository that can be a submodule.
fn library(repo: &RepoFixture) -> String {
    let library = repo.path("library");
    repo.git(&repo.path(""), &["init", "-q", "-b", "main", "library"]);
    repo.commit(&library, "lib.rs", "lib\n");
    library.display().to_string()
}

fn add_submodule(repo: &RepoFixture, at: &Path) {
    let library = library(repo);
    let allow = "protocol.file.allow=always";
    repo.git(
        at,
        &["-c", allow, "submodule", "--quiet", "add", &library, "lib"],
    );
    repo.git(at, &["commit", "-q", "-m", "with a submodule"]);
}

dirty_states! {
    clean Free true |_, _| {}
    committed_and_unmerged Free true |repo, at| {
        repo.commit(at, "feature", "work\n");
    }
    uncommitted Rescued true |_, at| {
        write(at.join("README"), "changed\n");
    }
    staged Rescued true |repo, at| {
        write(at.join("README"), "staged\n");
        write(at.join("added"), "added\n");
        repo.git(at, &["add", "README", "added"]);
    }
    staged_and_unstaged_in_one_file Rescued true |repo, at| {
        write(at.join("README"), "staged\n");
        repo.git(at, &["add", "README"]);
        write(at.join("README"), "unstaged\n");
    }
    staged_and_back_again Rescued true |repo, at| {
        let before = fs::read(at.join("README")).unwrap();
        write(at.join("README"), "staged\n");
        repo.git(at, &["add", "README"]);
        write(at.join("README"), before);
    }
    untracked Rescued true |_, at| {
        write(at.join("new"), "new\n");
        write(at.join("a/b/c"), "deep\n");
        write(at.join("src/empty"), "");
    }
    ignored Free true |_, at| {
        write(at.join("x.log"), "log\n");
        write(at.join("cache/a"), "cached\n");
        write(at.join(".env"), "SECRET=1\n");
    }
    ignored_beside_untracked Rescued true |_, at| {
        write(at.join("out/x.log"), "log\n");
        write(at.join("out/result"), "result\n");
    }
    tracked_although_ignored Rescued true |_, at| {
        write(at.join("kept.log"), "changed\n");
    }
    deleted Rescued true |_, at| {
        fs::remove_file(at.join("README")).unwrap();
        fs::remove_file(at.join("src/deep/old.txt")).unwrap();
    }
    deletion_staged Rescued true |repo, at| {
        repo.git(at, &["rm", "-q", "README", "src/deep/old.txt"]);
    }
    untracked_again Rescued true |repo, at| {
        repo.git(at, &["rm", "-q", "--cached", "README"]);
    }
    renamed Rescued true |repo, at| {
        repo.git(at, &["mv", "src/deep/old.txt", "moved.txt"]);
    }
    renamed_unstaged Rescued true |_, at| {
        fs::rename(at.join("README"), at.join("LIESMICH")).unwrap();
    }
    mode_changed Rescued true |_, at| {
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(at.join("README"), executable).unwrap();
        fs::set_permissions(at.join("tool.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    }
    links Rescued true |_, at| {
        symlink("/nowhere/at all", at.join("dangling")).unwrap();
        fs::remove_file(at.join("link")).unwrap();
        symlink("src", at.join("link")).unwrap();
        fs::remove_file(at.join("README")).unwrap();
        symlink("src/main.rs", at.join("README")).unwrap();
    }
    names_that_are_not_utf8 Rescued true |_, at| {
        write(at.join(OsStr::from_bytes(b"n\xffn")), "changed\n");
        write(at.join(OsStr::from_bytes(b"\xfe\xff/\x80")), "new\n");
    }
    hostile_names Rescued true |repo, at| {
        for name in ["-rf", "a b", "tab\there", "new\nline", "\"quoted\"", "ünï", "$(id)", "*",
            "\\n", ":(top)x", "\u{1b}[31m"] {
            write(at.join(name), name);
        }
        write(at.join("staged\nname"), "x");
        repo.git(at, &["add", "staged\nname"]);
    }
    empty_folders Free true |_, at| {
        fs::create_dir_all(at.join("empty/deeper")).unwrap();
    }
    large_binaries Rescued true |_, at| {
        let bytes: Vec<u8> = (0..=255).cycle().take(2 * 1024 * 1024).collect();
        write(at.join("large.bin"), &bytes);
        write(at.join("data.bin"), &bytes[1024 * 1024..]);
    }
    stash Rescued true |repo, at| {
        write(at.join("README"), "stashed\n");
        repo.git(at, &["stash", "-q"]);
        write(at.join("README"), "after the stash\n");
    }
    rebase Rescued false |repo, at| {
        conflict(repo, at);
        assert!(!repo.try_git(at, &["rebase", "other"]).status.success());
        write(at.join("new"), "new\n");
    }
    rebase_between_two_commits Rescued false |repo, at| {
        repo.commit(at, "first", "first\n");
        repo.commit(at, "second", "second\n");
        let sequence = "sequence.editor=sed -i -e 's/^pick/edit/'";
        repo.git(at, &["-c", sequence, "rebase", "-q", "-i", "main"]);
        repo.commit(at, "third", "made in the middle\n");
    }
    merge Rescued false |repo, at| {
        conflict(repo, at);
        assert!(!repo.try_git(at, &["merge", "-q", "other"]).status.success());
    }
    merge_without_conflict Rescued false |repo, at| {
        repo.commit(at, "mine", "mine\n");
        repo.commit(&repo.app(), "theirs", "theirs\n");
        repo.git(at, &["merge", "-q", "--no-commit", "--no-ff", "main"]);
    }
    cherry_pick Rescued false |repo, at| {
        conflict(repo, at);
        assert!(!repo.try_git(at, &["cherry-pick", "other"]).status.success());
    }
    revert Rescued false |repo, at| {
        repo.commit(at, "README", "2\n");
        repo.commit(at, "README", "3\n");
        assert!(!repo.try_git(at, &["revert", "HEAD~1"]).status.success());
    }
    bisect Rescued false |repo, at| {
        for text in ["1\n", "2\n", "3\n", "4\n"] {
            repo.commit(at, "count", text);
        }
        repo.git(at, &["bisect", "start", "HEAD", "HEAD~3"]);
        write(at.join("new"), "new\n");
    }
    detached_with_a_commit Rescued false |repo, at| {
        repo.git(at, &["switch", "-q", "--detach"]);
        repo.commit(at, "adrift", "adrift\n");
    }
    detached_and_dirty Rescued true |repo, at| {
        repo.git(at, &["switch", "-q", "--detach"]);
        write(at.join("README"), "changed\n");
    }
    submodule_dirty Retired true |repo, at| {
        add_submodule(repo, at);
        write(at.join("lib/lib.rs"), "changed\n");
    }
    submodule_untracked Retired true |repo, at| {
        add_submodule(repo, at);
        write(at.join("lib/new"), "new\n");
    }
    submodule_commit Retired true |repo, at| {
        add_submodule(repo, at);
        repo.commit(&at.join("lib"), "lib.rs", "committed\n");
    }
    submodule_without_repository Retired true |repo, at| {
        add_submodule(repo, at);
        fs::remove_file(at.join("lib/.git")).unwrap();
    }
    repository_inside Retired true |repo, at| {
        repo.git(at, &["init", "-q", "inner"]);
        repo.commit(&at.join("inner"), "a", "a\n");
        write(at.join("README"), "changed\n");
    }
    repository_without_commit_inside Retired true |repo, at| {
        repo.git(at, &["init", "-q", "inner"]);
        write(at.join("inner/a"), "a\n");
    }
    pipe_instead_of_a_file Retired true |_, at| {
        fs::remove_file(at.join("README")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(at.join("README")).status();
        assert!(made.unwrap().success());
    }
    lock_left_over Rescued true |repo, at| {
        write(at.join("README"), "changed\n");
        let directory = repo.git(at, &["rev-parse", "--absolute-git-dir"]);
        write(Path::new(directory.trim()).join("index.lock"), "");
    }
    branch_deleted Rescued false |repo, at| {
        repo.commit(at, "feature", "work\n");
        write(at.join("README"), "changed\n");
        repo.git(&repo.app(), &["update-ref", "-d", "refs/heads/fix"]);
    }
    main_checkout_dirty Rescued true |repo, at| {
        write(at.join("README"), "changed\n");
        write(repo.app().join("README"), "the person's own\n");
        write(repo.app().join("own"), "the person's own\n");
        write(repo.app().join("staged"), "the person's own\n");
        repo.git(&repo.app(), &["add", "staged"]);
    }
    main_checkout_on_another_branch Rescued true |repo, at| {
        repo.git(&repo.app(), &["switch", "-q", "-c", "elsewhere"]);
        write(at.join("README"), "changed\n");
    }
    assumed_unchanged Rescued false |repo, at| {
        repo.git(at, &["update-index", "--assume-unchanged", "README", "src/main.rs", "link"]);
        write(at.join("README"), "hidden\n");
        fs::remove_file(at.join("src/main.rs")).unwrap();
    }
    skipped_by_hand Rescued false |repo, at| {
        repo.git(at, &["update-index", "--skip-worktree", "README", "data.bin"]);
        write(at.join("README"), "hidden\n");
    }
    file_became_a_folder Rescued true |_, at| {
        fs::remove_file(at.join("README")).unwrap();
        write(at.join("README/inside"), "inside\n");
    }
    folder_became_a_file Rescued true |_, at| {
        fs::remove_dir_all(at.join("src")).unwrap();
        write(at.join("src"), "a file\n");
    }
    folder_became_a_link Rescued true |repo, at| {
        fs::remove_dir_all(at.join("src")).unwrap();
        symlink(repo.app().join("src"), at.join("src")).unwrap();
    }
    intended_to_add Rescued false |repo, at| {
        write(at.join("new"), "new\n");
        repo.git(at, &["add", "--intent-to-add", "new"]);
    }
    other_line_ends Rescued true |repo, at| {
        repo.commit(at, ".gitattributes", "*.txt text eol=crlf\n");
        fs::remove_file(at.join("src/deep/old.txt")).unwrap();
        repo.git(at, &["checkout", "-q", "--", "src/deep/old.txt"]);
        write(at.join("src/deep/old.txt"), "mixed\nline\r\nends\r\n");
        write(at.join("new.txt"), "new\n");
    }
    sparse Rescued true |repo, at| {
        repo.git(at, &["sparse-checkout", "set", "--no-cone", "/*", "!/src/"]);
        write(at.join("README"), "changed\n");
        write(at.join("new"), "new\n");
    }
}

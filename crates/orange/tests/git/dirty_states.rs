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

macro_rules! dirt {
    ($($name:ident $expected:ident $comes_back:literal |$yard:pat_param, $at:pat_param| $make:block)+) => {
        pub const ALL: &[DirtyState] = &[$(DirtyState {
            name: stringify!($name),
            make: |$yard, $at| $make,
            expected: Expected::$expected,
            comes_back: $comes_back,
        }),+];

        mod each {
            $(#[test]
            fn $name() {
                crate::dirty_states_table::hold(stringify!($name));
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
fn conflict(yard: &RepoFixture, at: &Path) {
    yard.git(at, &["branch", "other"]);
    yard.commit(at, "README", "ours\ntwo\nthree\n");
    yard.git(&yard.app(), &["switch", "-q", "other"]);
    yard.commit(&yard.app(), "README", "theirs\ntwo\nthree\n");
    yard.git(&yard.app(), &["switch", "-q", "main"]);
}

/// A repository that can be a submodule.
fn library(yard: &RepoFixture) -> String {
    let library = yard.path("library");
    yard.git(&yard.path(""), &["init", "-q", "-b", "main", "library"]);
    yard.commit(&library, "lib.rs", "lib\n");
    library.display().to_string()
}

fn add_submodule(yard: &RepoFixture, at: &Path) {
    let library = library(yard);
    let allow = "protocol.file.allow=always";
    yard.git(
        at,
        &["-c", allow, "submodule", "--quiet", "add", &library, "lib"],
    );
    yard.git(at, &["commit", "-q", "-m", "with a submodule"]);
}

dirt! {
    clean Free true |_, _| {}
    committed_and_unmerged Free true |yard, at| {
        yard.commit(at, "feature", "work\n");
    }
    uncommitted Rescued true |_, at| {
        write(at.join("README"), "changed\n");
    }
    staged Rescued true |yard, at| {
        write(at.join("README"), "staged\n");
        write(at.join("added"), "added\n");
        yard.git(at, &["add", "README", "added"]);
    }
    staged_and_unstaged_in_one_file Rescued true |yard, at| {
        write(at.join("README"), "staged\n");
        yard.git(at, &["add", "README"]);
        write(at.join("README"), "unstaged\n");
    }
    staged_and_back_again Rescued true |yard, at| {
        let before = fs::read(at.join("README")).unwrap();
        write(at.join("README"), "staged\n");
        yard.git(at, &["add", "README"]);
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
    deletion_staged Rescued true |yard, at| {
        yard.git(at, &["rm", "-q", "README", "src/deep/old.txt"]);
    }
    untracked_again Rescued true |yard, at| {
        yard.git(at, &["rm", "-q", "--cached", "README"]);
    }
    renamed Rescued true |yard, at| {
        yard.git(at, &["mv", "src/deep/old.txt", "moved.txt"]);
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
    hostile_names Rescued true |yard, at| {
        for name in ["-rf", "a b", "tab\there", "new\nline", "\"quoted\"", "ünï", "$(id)", "*",
            "\\n", ":(top)x", "\u{1b}[31m"] {
            write(at.join(name), name);
        }
        write(at.join("staged\nname"), "x");
        yard.git(at, &["add", "staged\nname"]);
    }
    empty_folders Free true |_, at| {
        fs::create_dir_all(at.join("empty/deeper")).unwrap();
    }
    large_binaries Rescued true |_, at| {
        let bytes: Vec<u8> = (0..=255).cycle().take(2 * 1024 * 1024).collect();
        write(at.join("large.bin"), &bytes);
        write(at.join("data.bin"), &bytes[1024 * 1024..]);
    }
    stash Rescued true |yard, at| {
        write(at.join("README"), "stashed\n");
        yard.git(at, &["stash", "-q"]);
        write(at.join("README"), "after the stash\n");
    }
    rebase Rescued false |yard, at| {
        conflict(yard, at);
        assert!(!yard.try_git(at, &["rebase", "other"]).status.success());
        write(at.join("new"), "new\n");
    }
    rebase_between_two_commits Rescued false |yard, at| {
        yard.commit(at, "first", "first\n");
        yard.commit(at, "second", "second\n");
        let sequence = "sequence.editor=sed -i -e 's/^pick/edit/'";
        yard.git(at, &["-c", sequence, "rebase", "-q", "-i", "main"]);
        yard.commit(at, "third", "made in the middle\n");
    }
    merge Rescued false |yard, at| {
        conflict(yard, at);
        assert!(!yard.try_git(at, &["merge", "-q", "other"]).status.success());
    }
    merge_without_conflict Rescued false |yard, at| {
        yard.commit(at, "mine", "mine\n");
        yard.commit(&yard.app(), "theirs", "theirs\n");
        yard.git(at, &["merge", "-q", "--no-commit", "--no-ff", "main"]);
    }
    cherry_pick Rescued false |yard, at| {
        conflict(yard, at);
        assert!(!yard.try_git(at, &["cherry-pick", "other"]).status.success());
    }
    revert Rescued false |yard, at| {
        yard.commit(at, "README", "2\n");
        yard.commit(at, "README", "3\n");
        assert!(!yard.try_git(at, &["revert", "HEAD~1"]).status.success());
    }
    bisect Rescued false |yard, at| {
        for text in ["1\n", "2\n", "3\n", "4\n"] {
            yard.commit(at, "count", text);
        }
        yard.git(at, &["bisect", "start", "HEAD", "HEAD~3"]);
        write(at.join("new"), "new\n");
    }
    detached_with_a_commit Rescued false |yard, at| {
        yard.git(at, &["switch", "-q", "--detach"]);
        yard.commit(at, "adrift", "adrift\n");
    }
    detached_and_dirty Rescued true |yard, at| {
        yard.git(at, &["switch", "-q", "--detach"]);
        write(at.join("README"), "changed\n");
    }
    submodule_dirty Retired true |yard, at| {
        add_submodule(yard, at);
        write(at.join("lib/lib.rs"), "changed\n");
    }
    submodule_untracked Retired true |yard, at| {
        add_submodule(yard, at);
        write(at.join("lib/new"), "new\n");
    }
    submodule_commit Retired true |yard, at| {
        add_submodule(yard, at);
        yard.commit(&at.join("lib"), "lib.rs", "committed\n");
    }
    submodule_without_repository Retired true |yard, at| {
        add_submodule(yard, at);
        fs::remove_file(at.join("lib/.git")).unwrap();
    }
    repository_inside Retired true |yard, at| {
        yard.git(at, &["init", "-q", "inner"]);
        yard.commit(&at.join("inner"), "a", "a\n");
        write(at.join("README"), "changed\n");
    }
    repository_without_commit_inside Retired true |yard, at| {
        yard.git(at, &["init", "-q", "inner"]);
        write(at.join("inner/a"), "a\n");
    }
    pipe_instead_of_a_file Retired true |_, at| {
        fs::remove_file(at.join("README")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(at.join("README")).status();
        assert!(made.unwrap().success());
    }
    lock_left_over Rescued true |yard, at| {
        write(at.join("README"), "changed\n");
        let directory = yard.git(at, &["rev-parse", "--absolute-git-dir"]);
        write(Path::new(directory.trim()).join("index.lock"), "");
    }
    branch_deleted Rescued false |yard, at| {
        yard.commit(at, "feature", "work\n");
        write(at.join("README"), "changed\n");
        yard.git(&yard.app(), &["update-ref", "-d", "refs/heads/fix"]);
    }
    main_checkout_dirty Rescued true |yard, at| {
        write(at.join("README"), "changed\n");
        write(yard.app().join("README"), "the person's own\n");
        write(yard.app().join("own"), "the person's own\n");
        write(yard.app().join("staged"), "the person's own\n");
        yard.git(&yard.app(), &["add", "staged"]);
    }
    main_checkout_on_another_branch Rescued true |yard, at| {
        yard.git(&yard.app(), &["switch", "-q", "-c", "elsewhere"]);
        write(at.join("README"), "changed\n");
    }
    assumed_unchanged Rescued false |yard, at| {
        yard.git(at, &["update-index", "--assume-unchanged", "README", "src/main.rs", "link"]);
        write(at.join("README"), "hidden\n");
        fs::remove_file(at.join("src/main.rs")).unwrap();
    }
    skipped_by_hand Rescued false |yard, at| {
        yard.git(at, &["update-index", "--skip-worktree", "README", "data.bin"]);
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
    folder_became_a_link Rescued true |yard, at| {
        fs::remove_dir_all(at.join("src")).unwrap();
        symlink(yard.app().join("src"), at.join("src")).unwrap();
    }
    intended_to_add Rescued false |yard, at| {
        write(at.join("new"), "new\n");
        yard.git(at, &["add", "--intent-to-add", "new"]);
    }
    other_line_ends Rescued true |yard, at| {
        yard.commit(at, ".gitattributes", "*.txt text eol=crlf\n");
        fs::remove_file(at.join("src/deep/old.txt")).unwrap();
        yard.git(at, &["checkout", "-q", "--", "src/deep/old.txt"]);
        write(at.join("src/deep/old.txt"), "mixed\nline\r\nends\r\n");
        write(at.join("new.txt"), "new\n");
    }
    sparse Rescued true |yard, at| {
        yard.git(at, &["sparse-checkout", "set", "--no-cone", "/*", "!/src/"]);
        write(at.join("README"), "changed\n");
        write(at.join("new"), "new\n");
    }
}

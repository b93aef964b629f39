//! Hostile names, paths and links: refused, or kept byte for byte.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use orange_engine::names::ProjectName;

use crate::home_fixture::{HomeFixture, told};
use crate::repo_fixture::files;

/// Names that are not valid branches, and could be an option, a path or a trick.
fn refused() -> Vec<String> {
    let mut names: Vec<String> = [
        "-b",
        "--force",
        "..",
        "../up",
        "a/../b",
        "a..b",
        "/etc/passwd",
        "a/",
        "a//b",
        ".hidden",
        "a/.b",
        "a.lock",
        "a.lock/b",
        "a b",
        "a~1",
        "a^",
        "a:b",
        "a?",
        "a*",
        "a[",
        "a\\b",
        "a\nb",
        "a\tb",
        "a\u{1b}[31mb",
        "\u{7f}",
        "@",
        "HEAD",
        "a@{1}",
        "a.",
        "",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push("a".repeat(10_240));
    names
}

/// Odd names that are valid branches.
const ODD: &[&str] = &[
    "ünïcode/🦀",
    "日本語",
    "e\u{301}",
    "a'b\"c",
    "$(id)",
    "a;b&c|d",
    "refs/heads/x",
    "(detached)",
    "#1",
    "%41",
    "\u{202e}desrever",
];

#[test]
fn a_hostile_branch_is_refused_before_anything_happens() {
    let ground = HomeFixture::new(1);
    let id = ground.create(None);
    let before = files(&ground.yard.app());
    for name in refused() {
        let option = format!("--branch={name}");
        let (code, said) = ground.call(&["task", "create", "x", &option]);
        assert_eq!(code, 2, "{name:?}: {said}");
        assert!(!said.contains('\u{1b}'), "{said:?}");
        assert!(said.len() < 1000, "{} bytes for {name:?}", said.len());
        if name.is_empty() {
            continue;
        }
        let (code, said) = ground.call(&["task", "update", id.as_str(), &option]);
        assert_eq!(code, 2, "{name:?}: {said}");
    }
    let listed = ground.json(&["task", "list"]);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(files(&ground.yard.app()), before);
}

#[test]
fn an_odd_branch_is_that_branch_byte_for_byte() {
    let ground = HomeFixture::new(1);
    for name in ODD {
        let id = ground.create(Some(name));
        let task = ground.go(&id, "held");
        assert_eq!(task.status.as_str(), "held", "{name}: {}", ground.told(&id));
        let head = ground
            .yard
            .git(&ground.yard.slot(), &["symbolic-ref", "HEAD"]);
        assert_eq!(head, format!("refs/heads/{name}\n"));
        fs::write(ground.yard.slot().join("README"), name).unwrap();
        ground.go(&id, "closed");
        let kept = ground.driver().workspaces.rescues_of(&id, None).unwrap();
        assert_eq!(kept[0].branch.as_ref().unwrap().as_str(), *name);
    }
}

#[test]
fn a_hostile_project_is_refused_and_an_odd_path_is_that_path() {
    let ground = HomeFixture::new(1);
    let add = |path: &Path, name: &str| {
        let mut orange = ground.orange(&["project", "add", "--name", name]);
        told(&orange.current_dir(path).output().unwrap())
    };
    for name in [
        "",
        "-x",
        "..",
        "a/b",
        "a b",
        "a\nb",
        "ä",
        ".",
        "a.lock",
        &"a".repeat(10_240),
    ] {
        let option = format!("--name={name}");
        let (code, said) = ground.call(&["project", "add", &option]);
        assert_eq!(code, 2, "{name:?}: {said}");
    }
    let odd: [&[u8]; 6] = [
        "ünï 🦀".as_bytes(),
        b"-dash",
        b"a.lock",
        b"quo'te\"s",
        b"$(id)",
        b"..dots..",
    ];
    for (number, name) in odd.into_iter().enumerate() {
        let path = ground.yard.path("odd").join(OsStr::from_bytes(name));
        fs::create_dir_all(&path).unwrap();
        ground.yard.git(&path, &["init", "-q", "-b", "main"]);
        ground.yard.commit(&path, "file", "text\n");
        let project = format!("odd{number}");
        let (code, said) = add(&path, &project);
        assert_eq!(code, 0, "{path:?}: {said}");
        let made = ground.json(&["workspace", "init", "1", "--project", &project]);
        let made = made["workspaces"][0]["path"].as_str().unwrap();
        assert_eq!(fs::read(Path::new(made).join("file")).unwrap(), b"text\n");
        let listed = ground.yard.git(&path, &["worktree", "list", "--porcelain"]);
        assert!(listed.contains(&format!("worktree {made}\n")), "{listed}");
    }
    for name in [&b"new\nline"[..], b"not\xffutf8", b"esc\x1b[31m"] {
        let path = ground.yard.path("bad").join(OsStr::from_bytes(name));
        fs::create_dir_all(&path).unwrap();
        ground.yard.git(&path, &["init", "-q", "-b", "main"]);
        ground.yard.commit(&path, "file", "text\n");
        let (code, said) = add(&path, "bad");
        assert_eq!(code, 3, "{path:?}: {said}");
        assert!(!said.contains('\u{1b}'), "{said:?}");
    }
}

/// A directory outside of everything, which must not change.
fn outside(ground: &HomeFixture) -> std::path::PathBuf {
    let outside = ground.yard.path("outside");
    fs::create_dir_all(outside.join("src")).unwrap();
    for name in ["TASK.md", "README", "src/main.rs", "target"] {
        fs::write(outside.join(name), "the person's own\n").unwrap();
    }
    outside
}

#[test]
fn a_task_file_that_became_a_link_changes_nothing_outside() {
    let ground = HomeFixture::new(1);
    let id = ground.create_with_workspace();
    let outside = outside(&ground);
    let before = files(&outside);
    let file = ground.yard.slot().join("TASK.md");
    fs::remove_file(&file).unwrap();
    symlink(outside.join("target"), &file).unwrap();
    ground.call(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    assert_eq!(files(&outside), before);
    ground.call(&["task", "cancel", id.as_str()]);
    ground.call(&["workspace", "gc", "--yes"]);
    assert_eq!(files(&outside), before);
    let next = ground.create(Some("next"));
    ground.go(&next, "held");
    assert_eq!(files(&outside), before);
}

#[test]
fn a_branch_that_brings_a_link_as_task_file_is_refused() {
    let ground = HomeFixture::new(1);
    let outside = outside(&ground);
    let before = files(&outside);
    let app = ground.yard.app();
    ground.yard.git(&app, &["switch", "-q", "-c", "fix"]);
    symlink(outside.join("target"), app.join("TASK.md")).unwrap();
    ground.yard.git(&app, &["add", "-f", "TASK.md"]);
    ground.yard.git(&app, &["commit", "-q", "-m", "a link"]);
    ground.yard.git(&app, &["switch", "-q", "main"]);
    let id = ground.create(Some("fix"));
    let task = ground.go(&id, "held");
    assert_eq!(task.status.as_str(), "open", "{}", ground.told(&id));
    assert_eq!(files(&outside), before);
}

#[test]
fn a_worktree_that_became_a_link_changes_nothing_outside() {
    let ground = HomeFixture::new(2);
    let id = ground.create_with_workspace();
    let outside = outside(&ground);
    let before = files(&outside);
    let slot = ground.yard.slot();
    let moved = ground.yard.path("moved");
    fs::rename(&slot, &moved).unwrap();
    fs::write(moved.join("README"), "unsaved\n").unwrap();
    symlink(&outside, &slot).unwrap();
    let work = files(&moved);
    ground.call(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    assert_eq!(files(&outside), before, "after an update");
    ground.call(&["task", "cancel", id.as_str()]);
    assert_eq!(files(&outside), before, "after cancelling");
    ground.call(&["workspace", "gc", "--yes"]);
    assert_eq!(files(&outside), before, "after collecting");
    assert_eq!(files(&moved), work);
    // The pool continues with another one.
    let next = ground.create(Some("next"));
    assert_eq!(ground.go(&next, "held").status.as_str(), "held");
    assert_eq!(files(&outside), before);
}

#[test]
fn folders_that_became_links_change_nothing_outside() {
    let ground = HomeFixture::new(1);
    let id = ground.create_with_workspace();
    let outside = outside(&ground);
    let before = files(&outside);
    let slot = ground.yard.slot();
    fs::write(slot.join("src/main.rs"), "unsaved\n").unwrap();
    ground.go(&id, "open");
    // Another process replaces a folder in the idle slot; a rescue would write into it.
    fs::remove_dir_all(slot.join("src")).unwrap();
    symlink(outside.join("src"), slot.join("src")).unwrap();
    let task = ground.go(&id, "held");
    assert_eq!(files(&outside), before);
    assert!(
        ground
            .driver()
            .workspaces
            .rescues_of(&id, None)
            .unwrap()
            .len()
            == 1
    );
    let listed = ground
        .driver()
        .workspaces
        .workspaces(Some(&ProjectName::new("app")));
    assert!(
        listed.unwrap().iter().any(|it| it.state == "retired"),
        "{task:?}"
    );
}

//! Hostile names, paths and links: refused, or kept byte for byte.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use orange_engine::names::ProjectName;

use crate::home_fixture::{HomeFixture, code_and_text};
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
    let fixture = HomeFixture::new(1);
    let id = fixture.create(None);
    let before = files(&fixture.repo.app());
    for name in refused() {
        let option = format!("--branch={name}");
        let (code, output) = fixture.call(&["task", "create", "x", &option]);
        assert_eq!(code, 2, "{name:?}: {output}");
        assert!(!output.contains('\u{1b}'), "{output:?}");
        assert!(output.len() < 1000, "{} bytes for {name:?}", output.len());
        if name.is_empty() {
            continue;
        }
        let (code, output) = fixture.call(&["task", "update", id.as_str(), &option]);
        assert_eq!(code, 2, "{name:?}: {output}");
    }
    let listed = fixture.json(&["task", "list"]);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(files(&fixture.repo.app()), before);
}

#[test]
fn an_unusual_branch_name_is_kept_byte_for_byte() {
    let fixture = HomeFixture::new(1);
    for name in ODD {
        let id = fixture.create(Some(name));
        let task = fixture.move_to(&id, "held");
        assert_eq!(
            task.status.as_str(),
            "held",
            "{name}: {}",
            fixture.diagnostics(&id)
        );
        let head = fixture
            .repo
            .git(&fixture.repo.slot(), &["symbolic-ref", "HEAD"]);
        assert_eq!(head, format!("refs/heads/{name}\n"));
        fs::write(fixture.repo.slot().join("README"), name).unwrap();
        fixture.move_to(&id, "closed");
        let kept = fixture.driver().workspaces.rescues_of(&id, None).unwrap();
        assert_eq!(kept[0].branch.as_ref().unwrap().as_str(), *name);
    }
}

#[test]
fn a_hostile_project_is_refused_and_an_unusual_path_is_kept() {
    let fixture = HomeFixture::new(1);
    let add = |path: &Path, name: &str| {
        let mut orange = fixture.orange(&["project", "add", "--name", name]);
        code_and_text(&orange.current_dir(path).output().unwrap())
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
        let (code, output) = fixture.call(&["project", "add", &option]);
        assert_eq!(code, 2, "{name:?}: {output}");
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
        let path = fixture.repo.path("odd").join(OsStr::from_bytes(name));
        fs::create_dir_all(&path).unwrap();
        fixture.repo.git(&path, &["init", "-q", "-b", "main"]);
        fixture.repo.commit(&path, "file", "text\n");
        let project = format!("odd{number}");
        let (code, output) = add(&path, &project);
        assert_eq!(code, 0, "{path:?}: {output}");
        let made = fixture.json(&["workspace", "init", "1", "--project", &project]);
        let made = made["workspaces"][0]["path"].as_str().unwrap();
        assert_eq!(fs::read(Path::new(made).join("file")).unwrap(), b"text\n");
        let listed = fixture
            .repo
            .git(&path, &["worktree", "list", "--porcelain"]);
        assert!(listed.contains(&format!("worktree {made}\n")), "{listed}");
    }
    for name in [&b"new\nline"[..], b"not\xffutf8", b"esc\x1b[31m"] {
        let path = fixture.repo.path("bad").join(OsStr::from_bytes(name));
        fs::create_dir_all(&path).unwrap();
        fixture.repo.git(&path, &["init", "-q", "-b", "main"]);
        fixture.repo.commit(&path, "file", "text\n");
        let (code, output) = add(&path, "bad");
        assert_eq!(code, 3, "{path:?}: {output}");
        assert!(!output.contains('\u{1b}'), "{output:?}");
    }
}

/// A directory outside of everything, which must not change.
fn outside(fixture: &HomeFixture) -> std::path::PathBuf {
    let outside = fixture.repo.path("outside");
    fs::create_dir_all(outside.join("src")).unwrap();
    for name in ["TASK.md", "README", "src/main.rs", "target"] {
        fs::write(outside.join(name), "the person's own\n").unwrap();
    }
    outside
}

#[test]
fn a_task_file_that_became_a_link_changes_nothing_outside() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    let outside = outside(&fixture);
    let before = files(&outside);
    let file = fixture.repo.slot().join("TASK.md");
    fs::remove_file(&file).unwrap();
    symlink(outside.join("target"), &file).unwrap();
    fixture.call(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    assert_eq!(files(&outside), before);
    fixture.call(&["task", "cancel", id.as_str()]);
    fixture.call(&["workspace", "gc", "--yes"]);
    assert_eq!(files(&outside), before);
    let next = fixture.create(Some("next"));
    fixture.move_to(&next, "held");
    assert_eq!(files(&outside), before);
}

#[test]
fn a_branch_with_a_link_as_task_file_is_refused() {
    let fixture = HomeFixture::new(1);
    let outside = outside(&fixture);
    let before = files(&outside);
    let app = fixture.repo.app();
    fixture.repo.git(&app, &["switch", "-q", "-c", "fix"]);
    symlink(outside.join("target"), app.join("TASK.md")).unwrap();
    fixture.repo.git(&app, &["add", "-f", "TASK.md"]);
    fixture.repo.git(&app, &["commit", "-q", "-m", "a link"]);
    fixture.repo.git(&app, &["switch", "-q", "main"]);
    let id = fixture.create(Some("fix"));
    let task = fixture.move_to(&id, "held");
    assert_eq!(task.status.as_str(), "open", "{}", fixture.diagnostics(&id));
    assert_eq!(files(&outside), before);
}

#[test]
fn a_worktree_that_became_a_link_changes_nothing_outside() {
    let fixture = HomeFixture::new(2);
    let id = fixture.create_with_workspace();
    let outside = outside(&fixture);
    let before = files(&outside);
    let slot = fixture.repo.slot();
    let moved = fixture.repo.path("moved");
    fs::rename(&slot, &moved).unwrap();
    fs::write(moved.join("README"), "unsaved\n").unwrap();
    symlink(&outside, &slot).unwrap();
    let work = files(&moved);
    fixture.call(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    assert_eq!(files(&outside), before, "after an update");
    fixture.call(&["task", "cancel", id.as_str()]);
    assert_eq!(files(&outside), before, "after cancelling");
    fixture.call(&["workspace", "gc", "--yes"]);
    assert_eq!(files(&outside), before, "after collecting");
    assert_eq!(files(&moved), work);
    // The pool continues with another one.
    let next = fixture.create(Some("next"));
    assert_eq!(fixture.move_to(&next, "held").status.as_str(), "held");
    assert_eq!(files(&outside), before);
}

#[test]
fn folders_that_became_links_change_nothing_outside() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    let outside = outside(&fixture);
    let before = files(&outside);
    let slot = fixture.repo.slot();
    fs::write(slot.join("src/main.rs"), "unsaved\n").unwrap();
    fixture.move_to(&id, "open");
    // Another process replaces a folder in the idle slot; a rescue would write into it.
    fs::remove_dir_all(slot.join("src")).unwrap();
    symlink(outside.join("src"), slot.join("src")).unwrap();
    let task = fixture.move_to(&id, "held");
    assert_eq!(files(&outside), before);
    assert!(
        fixture
            .driver()
            .workspaces
            .rescues_of(&id, None)
            .unwrap()
            .len()
            == 1
    );
    let listed = fixture
        .driver()
        .workspaces
        .workspaces(Some(&ProjectName::new("app")));
    assert!(
        listed.unwrap().iter().any(|it| it.state == "retired"),
        "{task:?}"
    );
}

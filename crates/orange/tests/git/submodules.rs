//! Worktrees with submodules: what is removed, what is kept, and where.

use std::fs;
use std::path::Path;

use orange_engine::names::CommitId;

use crate::home_fixture::HomeFixture;

const ALLOW: &str = "protocol.file.allow=always";

/// A project whose default branch has the submodule `lib`.
fn with_submodule() -> HomeFixture {
    let fixture = HomeFixture::new(1);
    let repo = &fixture.repo;
    let library = repo.path("library");
    repo.git(&repo.path(""), &["init", "-q", "-b", "main", "library"]);
    repo.commit(&library, ".gitignore", "*.secret\n");
    let from = library.display().to_string();
    let add = ["-c", ALLOW, "submodule", "--quiet", "add", &from, "lib"];
    repo.git(&repo.app(), &add);
    repo.git(&repo.app(), &["commit", "-q", "-m", "with a submodule"]);
    fixture
}

/// Checks out the submodule in the slot's worktree.
fn fill(fixture: &HomeFixture) {
    let update = ["-c", ALLOW, "submodule", "--quiet", "update", "--init"];
    fixture.repo.git(&fixture.repo.slot(), &update);
}

fn state(fixture: &HomeFixture) -> String {
    fixture.json(&["workspace", "list"])["workspaces"][0]["state"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn record(fixture: &HomeFixture) -> std::path::PathBuf {
    fixture.repo.app().join(".git/worktrees/app--1")
}

#[test]
fn a_pristine_submodule_does_not_keep_a_worktree() {
    let fixture = with_submodule();
    let id = fixture.create_with_workspace();
    fill(&fixture);
    fixture.move_to(&id, "open");
    fs::write(fixture.repo.slot().join("lib/a.secret"), "mine\n").unwrap();
    let answer = fixture.json(&["workspace", "remove", "app--1"]);
    let removed = &answer["workspaces"][0]["removed"];
    assert!(removed["submodules"].is_null(), "{answer}");
    // Ignored files in the submodule are kept like others.
    let aside = Path::new(removed["moved_to"].as_str().unwrap());
    let kept = fs::read_to_string(aside.join("lib/a.secret")).unwrap();
    assert_eq!(kept, "mine\n");
    assert!(!fixture.repo.slot().exists() && !record(&fixture).exists());
    assert!(!fixture.repo.app().join(".git/orange-submodules").exists());
}

#[test]
fn commits_in_a_submodule_survive_the_removal_of_its_worktree() {
    let fixture = with_submodule();
    let repo = &fixture.repo;
    let id = fixture.create_with_workspace();
    fill(&fixture);
    let slot = repo.slot();
    let commit = repo.commit(&slot.join("lib"), "new", "only here\n");
    repo.git(&slot, &["commit", "-q", "-a", "-m", "bump"]);
    let of = |name: &str| CommitId::new(repo.git(&slot, &["rev-parse", name]).trim());
    let git = repo.open();
    let worktree = git.worktree(&slot).unwrap();
    let warnings = |from: &str, to: &str| {
        let warnings = worktree.unpublished_submodules(&of(from), &of(to));
        warnings.unwrap().join("; ")
    };
    assert!(warnings("HEAD~1", "HEAD").contains(&commit));
    assert_eq!(warnings("HEAD", "HEAD"), "");
    fixture.move_to(&id, "open");
    assert_eq!(state(&fixture), "free");
    // A refused removal changes nothing.
    fs::write(slot.join("lib/unsaved"), "mine\n").unwrap();
    fs::write(slot.join("lib/a.secret"), "mine\n").unwrap();
    let (code, output) = fixture.call(&["workspace", "remove", "app--1"]);
    assert_eq!(code, 3, "{output}");
    assert!(
        output.contains("`lib` is a submodule with uncommitted work"),
        "{output}"
    );
    assert!(record(&fixture).join("modules/lib/HEAD").is_file());
    assert!(slot.join("lib/a.secret").is_file());
    let status = repo.git(&slot.join("lib"), &["status", "--short"]);
    assert!(status.contains("unsaved"), "{status}");
    fs::remove_file(slot.join("lib/unsaved")).unwrap();

    let answer = fixture.json(&["workspace", "remove", "app--1"]);
    let removed = &answer["workspaces"][0]["removed"];
    let place = Path::new(removed["submodules"].as_str().unwrap());
    assert!(place.starts_with(repo.app().canonicalize().unwrap()));
    assert!(!slot.exists() && !record(&fixture).exists());
    let fetch = place.join("lib").display().to_string();
    let checkout = repo.app().join("lib");
    repo.git(&checkout, &["-c", ALLOW, "fetch", "-q", &fetch, &commit]);
    let text = repo.git(&checkout, &["show", &format!("{commit}:new")]);
    assert_eq!(text.trim(), "only here");
    let (_, output) = fixture.call(&["doctor", "--json"]);
    assert!(
        output.contains("submodules of 1 removed worktrees"),
        "{output}"
    );
    assert!(output.contains(".git/orange-submodules"), "{output}");
}

#[test]
fn an_interrupted_removal_keeps_the_submodules() {
    let fixture = with_submodule();
    let id = fixture.create_with_workspace();
    fill(&fixture);
    fixture.move_to(&id, "open");
    // Killed after the directory was moved to the trash.
    let trash = fixture.home().removed().join("app--1");
    fs::create_dir_all(fixture.home().removed()).unwrap();
    fs::rename(fixture.repo.slot(), trash).unwrap();
    let answer = fixture.json(&["workspace", "remove", "app--1"]);
    let place = answer["workspaces"][0]["removed"]["submodules"].as_str();
    assert!(Path::new(place.unwrap()).join("lib/HEAD").is_file());
    assert!(!record(&fixture).exists());
}

#[test]
fn a_git_directory_inside_the_worktree_is_not_deleted() {
    let fixture = with_submodule();
    let repo = &fixture.repo;
    let id = fixture.create_with_workspace();
    let slot = repo.slot();
    let library = repo.path("library").display().to_string();
    repo.git(&slot, &["clone", "-q", &library, "lib"]);
    fixture.move_to(&id, "open");
    assert_eq!(state(&fixture), "free");
    let (code, output) = fixture.call(&["workspace", "remove", "app--1"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("submodule absorbgitdirs"), "{output}");
    assert!(slot.join("lib/.git/HEAD").is_file());
    repo.git(&slot, &["submodule", "absorbgitdirs"]);
    fixture.json(&["workspace", "remove", "app--1"]);
    assert!(!slot.exists());
}

#[test]
fn a_worktree_kept_for_its_submodule_is_named_until_its_work_is_saved() {
    let fixture = with_submodule();
    let repo = &fixture.repo;
    let id = fixture.create_with_workspace();
    fill(&fixture);
    let slot = repo.slot();
    repo.commit(&slot.join("lib"), "new", "only here\n");
    fixture.move_to(&id, "open");
    assert_eq!(state(&fixture), "retired");
    let place = slot.canonicalize().unwrap().display().to_string();
    let reason = "`lib` is a submodule with uncommitted work";
    for words in [
        &["task", "show", id.as_str(), "--json"][..],
        &["task", "restore", id.as_str(), "--json"],
        &["attention", "--json"],
    ] {
        let (_, output) = fixture.call(words);
        assert!(
            output.contains(&place) && output.contains(reason),
            "{output}"
        );
    }
    repo.git(
        &slot.join("lib"),
        &["push", "-q", "origin", "HEAD:refs/heads/new"],
    );
    repo.git(&slot.join("lib"), &["reset", "-q", "--hard", "HEAD~1"]);
    fixture.json(&["workspace", "gc"]);
    assert_eq!(state(&fixture), "free");
    let (_, output) = fixture.call(&["attention", "--json"]);
    assert!(!output.contains(&place), "{output}");
}

#[test]
fn doctor_does_not_advise_to_delete_repositories_of_submodules() {
    let fixture = with_submodule();
    let aside = fixture.home().set_aside();
    let old = aside.join("app--1-1/modules/lib");
    fs::create_dir_all(old.join("objects")).unwrap();
    fs::create_dir_all(aside.join("app--1-2")).unwrap();
    let (_, output) = fixture.call(&["doctor", "--json"]);
    let folder = aside.display();
    assert!(!output.contains(&format!("rm -r '{folder}'`")), "{output}");
    assert!(
        output.contains(&format!("rm -r '{folder}/app--1-2'`")),
        "{output}"
    );
    assert!(output.contains("repositories of submodules"), "{output}");
}

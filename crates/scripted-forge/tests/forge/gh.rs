//! The real `gh` as a second, independent client.
#![expect(clippy::disallowed_methods, reason = "starts git as a user would")]

use std::path::Path;
use std::process::Command;

use scripted_forge::gh::Gh;
use scripted_forge::{Forge, ReviewState};

/// Runs git without the tester's configuration.
pub fn git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let names = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|it| (it, "Tester"));
    let mails = ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|it| (it, "t@example.invalid"));
    let mut command = Command::new("git");
    let path = std::env::var_os("PATH").unwrap();
    command
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder);
    let output = command
        .envs(names)
        .envs(mails)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(text(output.stderr))
    }
}

#[test]
fn gh_reads_the_same_state() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let token = forge.user("octo");
    let Some(gh) = Gh::find("gh_reads_the_same_state", &forge, &token) else {
        return;
    };
    forge.workflow("octo/demo", "ci", &["test"]);
    forge.unknown_reads(0);
    let number = forge.pull("octo/demo", "feature");
    forge.finish_job("octo/demo", number, "test", "failure", "");
    forge.review("octo/demo", number, "octo", ReviewState::Commented, "hm");
    forge.comment("octo/demo", number, "octo", "hello");
    assert_eq!(gh.json(&["api", "user"])["login"], "octo");
    let list = gh.call(&["pr", "list", "-R", "octo/demo"]);
    assert!(list.contains("Add feature"), "{list}");
    let fields = "number,state,isDraft,mergeable,mergeStateStatus,headRefOid,statusCheckRollup,reviews,comments,author,headRepository";
    let view = gh.json(&["pr", "view", "1", "-R", "octo/demo", "--json", fields]);
    assert_eq!(view["headRefOid"], forge.head("octo/demo", number));
    assert_eq!(
        (&view["mergeable"], &view["mergeStateStatus"]),
        (&"MERGEABLE".into(), &"UNSTABLE".into())
    );
    assert_eq!(view["statusCheckRollup"][0]["conclusion"], "FAILURE");
    assert_eq!(view["statusCheckRollup"][0]["workflowName"], "ci");
    assert_eq!(view["reviews"][0]["body"], "hm");
    assert_eq!(view["comments"][0]["body"], "hello");
    let page = gh.call(&["pr", "view", "1", "-R", "octo/demo"]);
    assert!(page.contains("title:\tAdd feature"), "{page}");
    forge.finish();
}

//! The real `gh` as a second, independent client.
#![expect(
    clippy::disallowed_methods,
    reason = "starts git and gh as a user would"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use scripted_forge::{Forge, ReviewState};
use serde_json::Value;

use crate::schemas::{installed, skip};

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

/// Runs `gh` with an empty environment, its own home, and no network: it reaches the forge by a
/// socket of the file system.
fn gh(forge: &Forge, socket: &Path, token: &str, arguments: &[&str]) -> Output {
    let home = forge.folder().join("home");
    fs::create_dir_all(home.join(".config/gh")).unwrap();
    let config = format!("version: \"1\"\nhttp_unix_socket: {}\n", socket.display());
    fs::write(home.join(".config/gh/config.yml"), config).unwrap();
    let mut command = Command::new("unshare");
    if !is_root() {
        command.arg("--map-root-user");
    }
    command
        .arg("--net")
        .arg(installed().join("bin/gh"))
        .args(arguments);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", &home);
    command
        .env("GH_TOKEN", token)
        .env("GH_PROMPT_DISABLED", "1")
        .env("GH_NO_UPDATE_NOTIFIER", "1");
    command.current_dir(&home).output().unwrap()
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

fn text(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn gh_reads_the_same_state() {
    let program = installed().join("bin/gh");
    if !program.exists() {
        return skip("gh_reads_the_same_state", &program);
    }
    let forge = Forge::start();
    forge.repository("octo/demo");
    let token = forge.user("octo");
    forge.workflow("octo/demo", "ci", &["test"]);
    forge.unknown_reads(0);
    let number = forge.pull("octo/demo", "feature");
    forge.finish_job("octo/demo", number, "test", "failure", "");
    forge.review("octo/demo", number, "octo", ReviewState::Commented, "hm");
    forge.comment("octo/demo", number, "octo", "hello");
    let socket = forge.socket();
    let gh = |arguments: &[&str]| gh(&forge, &socket, &token, arguments);
    let user: Value = serde_json::from_str(&text(&gh(&["api", "user"]))).unwrap();
    assert_eq!(user["login"], "octo");
    let list = text(&gh(&["pr", "list", "-R", "octo/demo"]));
    assert!(list.contains("Add feature"), "{list}");
    let fields = "number,state,isDraft,mergeable,mergeStateStatus,headRefOid,statusCheckRollup,reviews,comments,author,headRepository";
    let view = text(&gh(&[
        "pr",
        "view",
        "1",
        "-R",
        "octo/demo",
        "--json",
        fields,
    ]));
    let view: Value = serde_json::from_str(&view).unwrap();
    assert_eq!(view["headRefOid"], forge.head("octo/demo", number));
    assert_eq!(
        (&view["mergeable"], &view["mergeStateStatus"]),
        (&"MERGEABLE".into(), &"UNSTABLE".into())
    );
    assert_eq!(view["statusCheckRollup"][0]["conclusion"], "FAILURE");
    assert_eq!(view["statusCheckRollup"][0]["workflowName"], "ci");
    assert_eq!(view["reviews"][0]["body"], "hm");
    assert_eq!(view["comments"][0]["body"], "hello");
    let page = text(&gh(&["pr", "view", "1", "-R", "octo/demo"]));
    assert!(page.contains("title:\tAdd feature"), "{page}");
    forge.finish();
}

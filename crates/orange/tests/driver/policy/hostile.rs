//! Policies that attack their reader are shown harmlessly, or refused.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use super::{POLICY, TEAM, write_files};
use crate::support::Stage;

impl Stage {
    /// Refuses the policy, names this problem, and shows it without a control character.
    fn refuses_policy(&self, problem: &str) {
        let (code, answer) = self.json(&["allow", "--yes", "--json"]);
        assert_eq!(
            (code, &answer["error"]["code"]),
            (3, &"policy-invalid".into()),
            "{answer}"
        );
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains(problem),
            "{answer}"
        );
        let (_, text) = self.call(&["allow", "--yes"]);
        let hidden = |it: char| it != '\n' && (it.is_control() || "\u{202e}\u{2066}".contains(it));
        assert!(!text.contains(hidden), "{text:?}");
        assert!(!self.home().policies().exists());
    }

    fn git_fed(&self, arguments: &str, input: &[u8]) -> String {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(self.path("repo"))
            .args(arguments.split(' '));
        git.env_clear().envs(self.environment.variables());
        let mut git = git
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        git.stdin.take().unwrap().write_all(input).unwrap();
        let output = git.wait_with_output().unwrap();
        assert!(output.status.success(), "git {arguments}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Commits a tree that no checkout could make: one entry of `.orange`.
    fn commit_entry(&self, folder: &str, mode: &str, kind: &str, object: &str, name: &str) {
        let entry = format!("{mode} {kind} {object}\t{name}\0");
        let mut tree = self.git_fed("mktree -z --missing", entry.as_bytes());
        for folder in folder.rsplit('/') {
            let entry = format!("040000 tree {tree}\t{folder}\0");
            tree = self.git_fed("mktree -z", entry.as_bytes());
        }
        let commit = self.git_output("repo", &format!("commit-tree -m hostile {tree}"));
        self.git_output("repo", &format!("update-ref refs/heads/main {commit}"));
    }
}

#[test]
fn what_is_no_plain_file_is_refused() {
    let stage = Stage::new("default");
    let repo = stage.path("repo");
    let blob = stage.git_fed("hash-object -w --stdin", TEAM.as_bytes());
    let commit = stage.git_output("repo", "rev-parse main");
    for (folder, mode, kind, object, name) in [
        (".orange", "120000", "blob", &blob, "policy.toml"),
        (".orange", "120000", "blob", &blob, "workflows"),
        (".orange", "160000", "commit", &commit, "workflows"),
        (".orange/policy.toml", "160000", "commit", &commit, "x"),
        (".orange/workflows", "120000", "blob", &blob, "team.yml"),
        (".orange/workflows", "160000", "commit", &commit, "team.yml"),
    ] {
        stage.commit_entry(folder, mode, kind, object, name);
        stage.refuses_policy("is not a regular file");
        assert_eq!(stage.policy_state(), "not_allowed");
    }
    for name in [
        "..",
        "Team.yml",
        "-.yml",
        "a b.yml",
        "a\u{1b}[2J.yml",
        "\u{202e}.yml",
        "x.yaml",
    ] {
        let (folder, name) = match name {
            ".." => (".orange/workflows/..", "team.yml"),
            name => (".orange/workflows", name),
        };
        stage.commit_entry(folder, "100644", "blob", &blob, name);
        stage.refuses_policy("a workflow is a file");
    }
    stage.commit_entry(".orange/policy.toml", "100644", "blob", &blob, "x");
    stage.refuses_policy("a workflow is a file");
    // A link in place of the folder, and what it points to.
    stage.git_output("repo", &format!("update-ref refs/heads/main {commit}"));
    write_files(&stage.path("elsewhere"), POLICY);
    symlink(stage.path("elsewhere/.orange"), repo.join(".orange")).unwrap();
    stage.git_output("repo", "add -f .orange");
    stage.git_output("repo", "commit -qm link");
    stage.refuses_policy("is not a regular file");
}

#[test]
fn what_is_too_large_or_too_deep_is_refused() {
    let large = format!("# {}\n", "x".repeat(600_000));
    let deep = format!("name: team\nversion: 1\nstates: {}\n", "[".repeat(100_000));
    let lines = (1..40).map(|it| format!("a{it}: &a{it} [*a{0}, *a{0}]\n", it - 1));
    let bomb = lines.collect::<Vec<String>>().concat();
    let bomb = format!("a0: &a0 [x, x]\n{bomb}name: team\n");
    let not_safe = TEAM.replace("  - { from: asked, to: done, by: human }\n", "");
    let other_name = TEAM.replace("name: team", "name: default");
    for (path, text, problem) in [
        (".orange/policy.toml", large.as_str(), "more than"),
        (".orange/workflows/team.yml", &large, "more than"),
        (".orange/workflows/team.yml", &deep, "team.yml"),
        (".orange/workflows/team.yml", &bomb, "team.yml"),
        (".orange/workflows/team.yml", "", "team.yml"),
        (".orange/workflows/team.yml", &not_safe, "team.yml"),
        (
            ".orange/workflows/team.yml",
            &other_name,
            "but its `name` is `default`",
        ),
        (
            ".orange/policy.toml",
            "workflow = \"nowhere\"",
            "there is no workflow `nowhere`",
        ),
        (".orange/policy.toml", "harness = \"nowhere\"", "nowhere"),
        (
            ".orange/policy.toml",
            "forge.token_command = \"steal\"",
            "a repository may not set",
        ),
        (
            ".orange/policy.toml",
            "harnes = \"pi\"",
            "did you mean `harness`",
        ),
        (".orange/policy.toml", "a = \"\u{1b}[2J\"", "line 1"),
    ] {
        let stage = Stage::with_policy(&[(path, text)]);
        stage.refuses_policy(problem);
    }
    let names: Vec<String> = (0..40)
        .map(|it| format!(".orange/workflows/w{it}.yml"))
        .collect();
    let many: Vec<(&str, &str)> = names.iter().map(|it| (it.as_str(), TEAM)).collect();
    Stage::with_policy(&many).refuses_policy("it has 40 files");
    let stage = Stage::with_policy(POLICY);
    fs::write(stage.path("repo/.orange/policy.toml"), b"# \xff\n").unwrap();
    stage.commit_files(&stage.path("repo"), &[]);
    stage.refuses_policy("is not UTF-8");
}

#[test]
fn what_hides_from_a_terminal_is_shown() {
    let hidden = "# safe\u{202e}\u{2066}\u{200b}\n# more\n";
    let blank = "\n".repeat(300);
    let workflow = format!("{TEAM}{hidden}{blank}# last\n");
    let settings = "[merge]\nverify = \"make\u{202e}tset \u{200b}\"\n";
    let stage = Stage::with_policy(&[
        (".orange/policy.toml", settings),
        (".orange/workflows/team.yml", &workflow),
    ]);
    let (_, shown) = stage.call(&["allow"]);
    let is_hidden = |it: char| it != '\n' && (it.is_control() || "\u{202e}\u{200b}".contains(it));
    assert!(!shown.contains(is_hidden), "{shown:?}");
    assert!(
        shown.contains("# safe\\u{202e}\\u{2066}\\u{200b}"),
        "{shown}"
    );
    assert!(shown.contains("make\\u{202e}tset \\u{200b}"), "{shown}");
    let lines = workflow.lines().count();
    assert!(shown.contains(&format!("{lines:>6}  # last")), "{shown}");
    let json = stage.orange(&["allow", "--json"]).output().unwrap();
    let json = String::from_utf8(json.stdout).unwrap();
    assert!(!json.contains(|it: char| it != '\n' && (it.is_control() || it == '\u{202e}')));
    let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(parsed["policy"]["workflows"][0]["text"], workflow);
}

//! Which value of a setting counts.

use std::fs;

use orange_engine::names::{BranchName, ProjectName};

use super::*;
use crate::{ORANGE_LOG, PinnedPolicy, Unpriced};

fn project() -> Project {
    let name = ProjectName::new("app");
    Project::new(name, "/app".into(), BranchName::new("main"))
}

#[test]
fn an_empty_file_means_the_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let environment = Environment::of([("ORANGE_HOME", folder.path().join("absent"))]);
    let home = Home::resolve(&environment).unwrap();
    let settings = Settings::load(&home, &environment, Some(&project())).unwrap();
    assert_eq!(settings.workflow, "default");
    assert_eq!(settings.harness, None);
    assert_eq!(settings.limits, Limits::default());
    assert_eq!(settings.pool.size, 8);
    assert_eq!(settings.supervisor.tick, Duration::from_secs(2));
    assert_eq!(settings.supervisor.sweep, Duration::from_secs(30));
    assert_eq!(settings.log.max_size, 10_000_000);
    assert_eq!(settings.log.level, LogLevel::Info);
}

#[test]
fn the_environment_wins_then_the_project_then_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = "workflow = \"a\"\nharness = \"b\"\n[pool]\nsize = 2\nwhen_full = \"refuse\"\n\
                [log]\nlevel = \"warn\"\n[dashboard]\nbackground = \"light\"\n[limits.harness]\nb = 3\n[limits.status]\nx = 1\n\
                [budget]\ntask = \"1 USD\"\nday = \"5.00 USD\"\n";
    fs::write(folder.path().join("config.toml"), text).unwrap();
    let set = |level: &str| {
        let path = folder.path().as_os_str().to_owned();
        Environment::of([("ORANGE_HOME", path), (ORANGE_LOG, level.into())])
    };
    let home = Home::resolve(&set("")).unwrap();
    let load = |level: &str, project: Option<&Project>| Settings::load(&home, &set(level), project);
    let settings = load("", None).unwrap();
    assert_eq!(
        (settings.pool.size, settings.log.level),
        (2, LogLevel::Warn)
    );
    assert_eq!(settings.pool.when_full, WhenFull::Refuse);
    assert_eq!(settings.background, Some(Background::Light));
    assert_eq!(settings.limits.harness[&HarnessName::new("b")], 3);
    assert_eq!(settings.limits.status[&Status::new("x")], 1);
    let mut own = project();
    own.workflow = Some("c".to_owned());
    own.pool_size = Some(5);
    own.forge_merge = Some(MergePlace::Local);
    own.budget_task = "2M tokens".parse().ok();
    own.budget_unpriced = Some(Unpriced::Allow);
    own.forge_issues_comment = Some(IssueComment::None);
    own.forge_issues_close = Some(false);
    own.forge_labels = Some(vec![String::from("agent")]);
    own.forge_issues_label = Some(String::from("ready for agent"));
    own.forge_repository = Some(String::from("github.com/ada/engine"));
    // In a project, orange does not know a key that only `config.toml` may have.
    let program = serde_json::json!("steal");
    own.other
        .insert(String::from("forge_token_command"), program);
    let settings = load("debug", Some(&own)).unwrap();
    assert_eq!(settings.workflow, "c");
    assert_eq!(settings.harness, Some(HarnessName::new("b")));
    assert_eq!(settings.pool.size, 5);
    assert_eq!(settings.forge.merge, MergePlace::Local);
    let budget = &settings.budget;
    assert_eq!(budget.task, "2M tokens".parse().ok());
    assert_eq!(budget.day, "5 USD".parse().ok());
    assert!(budget.allows_unpriced && !budget.is_hard);
    assert_eq!(settings.forge.labels, ["agent"]);
    let issues = &settings.forge.issues;
    assert_eq!(issues.label.as_deref(), Some("ready for agent"));
    assert_eq!(issues.permission, Permission::Write);
    assert_eq!((issues.comment, issues.close), (IssueComment::None, false));
    let repository = settings.forge.repository.as_deref();
    assert_eq!(repository, Some("github.com/ada/engine"));
    assert_eq!(settings.forge.token_command, None);
    assert_eq!(settings.log.level, LogLevel::Debug);
    assert!(matches!(
        load("loud", None),
        Err(SettingsError::Variable { .. })
    ));
}

fn pin(home: &Home, text: &str) {
    let file = crate::PolicyFile {
        path: crate::POLICY_FILE.to_owned(),
        object: String::new(),
        text: text.to_owned(),
    };
    let files = vec![file];
    let pinned = PinnedPolicy {
        project: ProjectName::new("app"),
        branch: BranchName::new("main"),
        commit: orange_engine::names::CommitId::new("c"),
        hash: crate::policy_hash(&files),
        allowed_at: orange_engine::time::Timestamp::from_millis(0),
        files,
    };
    pinned.save(home).unwrap();
}

#[test]
fn a_policy_counts_where_the_user_sets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("home");
    let environment = Environment::of([("ORANGE_HOME", path)]);
    let home = Home::resolve(&environment).unwrap();
    pin(
        &home,
        "workflow = \"team\"\nharness = \"pi\"\nsetup = [\"make\"]\n\
         [merge]\nverify = \"make test\"\nstrategy = \"squash\"\n",
    );
    fs::write(home.settings(), "[merge]\nverify = \"mine\"\n").unwrap();
    let mut own = project();
    own.harness = Some(HarnessName::new("claude"));
    let settings = Settings::load(&home, &environment, Some(&own)).unwrap();
    assert_eq!(settings.workflow, "team");
    assert_eq!(settings.harness, own.harness);
    assert_eq!(settings.merge.verify.as_deref(), Some("mine"));
    assert_eq!(settings.merge.strategy, MergeStrategy::Squash);
    let origin = |key: &str| {
        &settings
            .all()
            .iter()
            .find(|it| it.key == key)
            .unwrap()
            .origin
    };
    assert!(matches!(origin("workflow"), SettingOrigin::Policy { commit, .. } if commit == "c"));
    assert!(matches!(origin("setup"), SettingOrigin::Policy { .. }));
    assert!(matches!(origin("harness"), SettingOrigin::Project { .. }));
    assert!(matches!(origin("merge.verify"), SettingOrigin::File { .. }));
    // It is the policy of this project only.
    let settings = Settings::load(&home, &environment, None).unwrap();
    assert_eq!(settings.workflow, "default");
    own.name = ProjectName::new("other");
    let settings = Settings::load(&home, &environment, Some(&own)).unwrap();
    assert_eq!(settings.workflow, "default");
    fs::write(home.policy(&project().name), "{}").unwrap();
    let refused = Settings::load(&home, &environment, Some(&project()));
    assert!(
        matches!(refused, Err(SettingsError::Policy(_))),
        "{refused:?}"
    );
}

#[test]
fn a_policy_makes_the_sandbox_stricter_and_never_weaker() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("home");
    let environment = Environment::of([("ORANGE_HOME", path)]);
    let home = Home::resolve(&environment).unwrap();
    // In the policy, in `config.toml`, what counts.
    let modes = [
        ("off", "", "auto"),
        ("off", "auto", "auto"),
        ("auto", "", "auto"),
        ("auto", "required", "required"),
        ("required", "off", "required"),
        ("required", "auto", "required"),
    ];
    let networks = [
        ("open", "", "open"),
        ("open", "list", "list"),
        ("open", "none", "none"),
        ("list", "open", "list"),
        ("list", "none", "none"),
        ("none", "list", "none"),
        ("none", "", "none"),
    ];
    let modes = modes.map(|case| ("mode", case));
    for (key, (policy, user, expected)) in modes
        .into_iter()
        .chain(networks.map(|case| ("network", case)))
    {
        pin(&home, &format!("[sandbox]\n{key} = \"{policy}\"\n"));
        let text = match user {
            "" => String::new(),
            user => format!("[sandbox]\n{key} = \"{user}\"\n"),
        };
        fs::write(home.settings(), text).unwrap();
        let settings = Settings::load(&home, &environment, Some(&project())).unwrap();
        let name = format!("sandbox.{key}");
        let found = settings.all().iter().find(|it| it.key == name).unwrap();
        let case = format!("{key}: {policy} and {user}");
        assert_eq!(found.value, Some(Value::text(expected)), "{case}");
    }
    // What the user says about this very project wins, and so does the user's list of hosts.
    pin(
        &home,
        "[sandbox]\nmode = \"required\"\nhosts = [\"evil.example.org\"]\n",
    );
    fs::write(home.settings(), "[sandbox]\nhosts = [\"a.example.org\"]\n").unwrap();
    let mut own = project();
    own.sandbox_mode = Some(crate::SandboxMode::Off);
    let settings = Settings::load(&home, &environment, Some(&own)).unwrap();
    assert_eq!(settings.sandbox.mode, crate::SandboxMode::Off);
    let hosts: Vec<&str> = settings
        .sandbox
        .hosts
        .iter()
        .map(crate::HostPort::host)
        .collect();
    assert_eq!(hosts, ["a.example.org"]);
}

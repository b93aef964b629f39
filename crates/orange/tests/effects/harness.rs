//! Harness definitions: what they contain, what is refused, their command lines.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use orange_config::{
    Environment, Harness, HarnessError, Harnesses, Home, Level, MAX_PROMPT_ARGUMENT, StartMode,
    Values,
};
use orange_effects::run::RunFile;
use orange_effects::tmux::Observation;
use orange_engine::evidence::Evidence;
use orange_engine::language::workflow::Permissions;
use orange_engine::names::HarnessName;
use orange_engine::role::Role;
use tempfile::TempDir;

use crate::stage::{Run, Stage, wait_for};

fn values(prompt: &str) -> Values<'_> {
    Values {
        prompt,
        prompt_file: Path::new("/runs/r1/prompt.md"),
        run_folder: Path::new("/runs/r1/given"),
        model: None,
        effort: None,
        session_id: None,
        resumed_id: None,
        schema: None,
        schema_file: None,
    }
}

fn harness(arguments: &str) -> Harness {
    let text = format!("name = \"x\"\nbinary = \"x\"\n[args]\nfull = {arguments}");
    Harness::parse("x.toml", &text).unwrap()
}

fn command_line(arguments: &str, values: &Values<'_>) -> Vec<OsString> {
    harness(arguments)
        .arguments(StartMode::Interactive, Level::Full, values)
        .unwrap()
}

fn refused(arguments: &str, values: &Values<'_>) -> String {
    let error = harness(arguments)
        .arguments(StartMode::Interactive, Level::Full, values)
        .unwrap_err();
    assert!(!error.hint().is_empty());
    error.to_string()
}

#[test]
fn the_smallest_definition_works_as_it_stands() {
    let stage = Stage::new();
    let agent = stage.path("agent");
    let kept = stage.path("kept");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >{0}.new; mv {0}.new {0}\n",
        kept.display()
    );
    fs::write(&agent, script).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o700)).unwrap();
    let text = "name = \"script\"\nbinary = \"/path/to/agent\"        # or a name on PATH\n[args]\n\
                full    = [\"--prompt-file\", \"{prompt_file}\"]\n\
                reduced = [\"--prompt-file\", \"{prompt_file}\"]\n";
    let home = Home::resolve(&stage.environment).unwrap();
    fs::create_dir_all(home.harnesses()).unwrap();
    let text = text.replace("/path/to/agent", agent.to_str().unwrap());
    fs::write(home.harnesses().join("script.toml"), text).unwrap();
    let harnesses = Harnesses::load(&home).unwrap();
    let harness = harnesses.require(&HarnessName::new("script")).unwrap();
    let run = Run::default();
    let file = stage.launch_with(&run, harness).unwrap();
    let pane = stage.try_start(&run, &file).unwrap().pane;
    let ended = Observation::Dead(Evidence::Exit { code: 0 });
    wait_for("the agent to end", || stage.tmux.observe(&pane) == ended);
    let prompt_file = file.with_file_name("prompt.md");
    let output = String::from_utf8(stage.wait_for_file("kept")).unwrap();
    assert_eq!(
        output,
        format!("--prompt-file\n{}\n", prompt_file.display())
    );
    assert_eq!(fs::read_to_string(prompt_file).unwrap(), "do it");
}

#[test]
fn the_documented_examples_are_valid_definitions() {
    let page = include_str!("../../../../harnesses/README.md");
    let mut examples = page
        .split("```toml\n")
        .skip(1)
        .map(|it| it.split("```").next().unwrap());
    let whole = examples.next().unwrap();
    Harness::parse("script.toml", whole).unwrap();
    let arguments = examples
        .next()
        .unwrap()
        .trim()
        .strip_prefix("full = ")
        .unwrap();
    assert_eq!(command_line(arguments, &values("-p")), ["run", "--", "-p"]);
    let transcript = format!("{whole}{}", examples.next().unwrap());
    let transcript = Harness::parse("script.toml", &transcript).unwrap();
    assert!(transcript.transcript_error.is_some());
    let usage = format!("{whole}{}", examples.next().unwrap());
    assert!(
        Harness::parse("script.toml", &usage)
            .unwrap()
            .usage
            .is_some()
    );
    let headless = format!("{whole}{}", examples.next().unwrap());
    let headless = Harness::parse("script.toml", &headless).unwrap();
    assert!(headless.can_be_headless() && headless.result.is_some());
    let deaths = format!("{whole}{}", examples.next().unwrap());
    let deaths = Harness::parse("script.toml", &deaths).unwrap().deaths;
    assert_eq!(deaths.len(), 3);
    assert_eq!(examples.next(), None);
}

#[test]
fn a_run_gets_its_own_files_and_their_paths() {
    let stage = Stage::new();
    let agent = stage.path("agent");
    fs::write(&agent, "#!/bin/sh\ncat \"$1\"\nexec sleep 60\n").unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o700)).unwrap();
    let text = r#"
name = "a"
binary = "AGENT"
[args]
every = ["{run_folder}/hooks.json"]
full = ["{prompt}"]
[[run_files]]
name = "hooks.json"
text = "tell"
[environment.set]
HOOKS = '{"file":"{run_folder}/hooks.json"}'
"#;
    let text = text.replace("AGENT", agent.to_str().unwrap());
    let harness = Harness::parse("a.toml", &text).unwrap();
    let run = Run::default();
    let path = stage.launch_with(&run, &harness).unwrap();
    let hooks = path.with_file_name("given").join("hooks.json");
    assert_eq!(fs::read_to_string(&hooks).unwrap(), "tell");
    let file = RunFile::read(&path).unwrap();
    assert_eq!(file.arguments[0].as_os_str(), hooks.as_os_str());
    let set = file.environment["HOOKS"].as_os_str().to_str().unwrap();
    assert_eq!(set, format!(r#"{{"file":"{}"}}"#, hooks.display()));
    for wrong in ["", "../run.json", ".hidden", "a/b"] {
        let text = text.replace("name = \"hooks.json\"", &format!("name = \"{wrong}\""));
        let refused = Harness::parse("a.toml", &text).unwrap_err().to_string();
        assert!(refused.contains("not a valid file name"), "{refused}");
    }
}

#[test]
fn an_optional_group_is_kept_or_dropped_as_a_whole() {
    let arguments =
        r#"["run", ["--model", "{model}"], ["-c", "effort={effort}", "-x"], "{prompt}"]"#;
    assert_eq!(command_line(arguments, &values("p")), ["run", "p"]);
    let all = Values {
        model: Some("m"),
        effort: Some("high"),
        ..values("p")
    };
    let expected = ["run", "--model", "m", "-c", "effort=high", "-x", "p"];
    assert_eq!(command_line(arguments, &all), expected);
}

#[test]
fn a_schema_is_passed_only_where_there_is_one() {
    let arguments = r#"["exec", ["--schema", "{schema}"], ["--in", "{schema_file}"], "{prompt}"]"#;
    assert_eq!(command_line(arguments, &values("p")), ["exec", "p"]);
    let all = Values {
        schema: Some("{\"type\":\"object\"}"),
        schema_file: Some(Path::new("/runs/r1/schema.json")),
        ..values("p")
    };
    let expected = [
        "exec",
        "--schema",
        "{\"type\":\"object\"}",
        "--in",
        "/runs/r1/schema.json",
        "p",
    ];
    assert_eq!(command_line(arguments, &all), expected);
}

#[test]
fn other_braces_are_literal() {
    let arguments = r#"['{"a":{"b":1}}', "{}", "{A}", "{", "}{prompt}{", "{{prompt}}"]"#;
    let expected = ["{\"a\":{\"b\":1}}", "{}", "{A}", "{", "}p{", "{p}"];
    assert_eq!(command_line(arguments, &values("p")), expected);
}

#[test]
fn values_are_not_expanded_again() {
    let sly = Values {
        model: Some("{prompt}"),
        ..values("{model} $(id)")
    };
    let expected = ["{prompt}", "{model} $(id)"];
    assert_eq!(command_line(r#"[["{model}"], "{prompt}"]"#, &sly), expected);
}

#[test]
fn lesson_27_a_prompt_is_never_a_flag() {
    let by_file = "Your instructions are in the file /runs/r1/prompt.md. Read all of it, then do \
                   what it says.";
    assert_eq!(
        command_line(r#"["{prompt}"]"#, &values("--version")),
        [by_file]
    );
    assert_eq!(
        command_line(r#"["--", "{prompt}"]"#, &values("-p")),
        ["--", "-p"]
    );
    assert_eq!(
        command_line(r#"["--prompt={prompt}"]"#, &values("-p")),
        ["--prompt=-p"]
    );
    // The definition itself closes a flag that takes many values; the flag stays as written.
    let variadic = r#"["--tools=a,b", "{prompt}"]"#;
    assert_eq!(command_line(variadic, &values("p")), ["--tools=a,b", "p"]);
    let model = Values {
        model: Some("-x"),
        ..values("p")
    };
    let message = refused(r#"[["--model", "{model}"]]"#, &model);
    assert!(message.contains("model begins with `-`"), "{message}");
}

#[test]
fn a_long_prompt_goes_by_file() {
    let fits = "x".repeat(MAX_PROMPT_ARGUMENT);
    assert_eq!(
        command_line(r#"["{prompt}"]"#, &values(&fits)),
        [fits.as_str()]
    );
    let long = "x".repeat(MAX_PROMPT_ARGUMENT + 1);
    let filled = command_line(r#"["{prompt}"]"#, &values(&long));
    assert!(filled[0].to_str().unwrap().contains("/runs/r1/prompt.md"));
    let unusual = Values {
        model: Some(&"x".repeat(131_072)),
        ..values("p")
    };
    let message = refused(r#"[["{model}"]]"#, &unusual);
    assert!(message.contains("model is too long"), "{message}");
}

#[test]
fn nul_is_refused() {
    let message = refused(r#"["x"]"#, &values("a\0b"));
    assert!(message.contains("prompt contains a NUL"), "{message}");
}

#[test]
fn an_unsupported_level_is_reported() {
    let error = harness("[]")
        .arguments(StartMode::Interactive, Level::Reduced, &values("p"))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the harness `x` has no arguments for `reduced` permissions"
    );
    assert!(error.hint().contains("add `reduced`"));
}

/// A definition, the line of its mistake, and a part of the message.
const MISTAKES: &[(&str, usize, &str)] = &[
    ("name = ", 1, ""),
    ("name = \"x\"\nbinry = \"x\"", 2, "unknown field `binry`"),
    (
        "name = \"x\"\n[args]\nfull = []",
        1,
        "missing field `binary`",
    ),
    ("name = \"x\"\nbinary = \"x\"", 1, "missing field `args`"),
    (
        "name = \"x\"\nbinary = 3\n[args]\nfull = []",
        2,
        "expected a string",
    ),
    (
        "name = \"X y\"\nbinary = \"x\"\n[args]\nfull = []",
        1,
        "`X y` is not a valid harness name",
    ),
    (
        "name = \"x\"\nbinary = \"./x\"\n[args]\nfull = []",
        2,
        "is neither an absolute path",
    ),
    (
        "name = \"x\"\nbinary = \"\"\n[args]\nfull = []",
        2,
        "is neither an absolute path",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\n",
        3,
        "offers no permission level",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nall = []",
        4,
        "unknown field `all`",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = [\n  \"a\",\n  \"{promt}\",\n]",
        6,
        "`{promt}` is not a placeholder",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = [\"{model}\"]",
        4,
        "may have no value",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = [3]",
        4,
        "a text, or a group",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = [[[\"a\"]]]",
        4,
        "expected a string",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = [\"\\u0000\"]",
        4,
        "NUL",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = []\n[environment]\npass = [\"A=B\"]",
        6,
        "not a valid variable name",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = []\n[environment]\npass = [\"*\"]",
        6,
        "not a valid variable name",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = []\n[environment]\nset = { ORANGE_ROLE = \"human\" }",
        6,
        "never passed on",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = []\n[environment.set]\n\"A*\" = \"1\"",
        6,
        "not a valid variable name",
    ),
    ("name = \"x\"\nname = \"x\"", 2, "duplicate"),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = []\n[args.headless]\nevery = [\"a\"]",
        5,
        "`[args.headless]` offers no permission level",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = []\n[args.headless]\nfull = [\"{promt}\"]",
        6,
        "`{promt}` is not a placeholder",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = []\n[result]\ntext = [{ keys = [\"a\"] }]",
        5,
        "is only for headless runs",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = []\nheadless.full = []\n[result]\ntxt = []",
        7,
        "unknown field `txt`",
    ),
    (
        "name = \"x\"\nbinary = \"x\"\n[args]\nfull = []\nheadless.full = []\n[result]\ntext = [{ key = 1 }]",
        7,
        "unknown field `key`",
    ),
];

#[test]
fn every_mistake_has_a_line_and_a_hint() {
    for (text, expected, part) in MISTAKES {
        let error = Harness::parse("home/x.toml", text).unwrap_err();
        let HarnessError::Invalid {
            file,
            line,
            message,
            hint,
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(
            (file.as_str(), *line),
            ("home/x.toml", *expected),
            "{text}: {message}"
        );
        assert!(message.contains(part), "{text}: {message}");
        assert!(!hint.is_empty());
        assert_eq!(error.to_string(), format!("home/x.toml:{line}: {message}"));
    }
}

#[test]
fn a_mistake_hides_no_other_definition() {
    let root = TempDir::new().unwrap();
    let set = [("ORANGE_HOME", root.path())];
    let home = Home::resolve(&Environment::of(set)).unwrap();
    let none = Harnesses::load(&home)
        .unwrap()
        .require(&HarnessName::new("a"))
        .unwrap_err();
    assert_eq!(none.to_string(), "there is no harness `a`");
    assert!(none.hint().contains("NAME.toml"), "{}", none.hint());

    fs::create_dir(home.harnesses()).unwrap();
    let write = |file: &str, text: &str| fs::write(home.harnesses().join(file), text).unwrap();
    write(
        "good.toml",
        "name = \"good\"\nbinary = \"x\"\n[args]\nfull = []",
    );
    write("bad.toml", "name = ");
    write(
        "other.toml",
        "\nname = \"mine\"\nbinary = \"x\"\n[args]\nfull = []",
    );
    write("huge.toml", &"#".repeat(70_000));
    write("latin.toml", "x");
    fs::write(home.harnesses().join("latin.toml"), b"\xff").unwrap();
    write(".hidden.toml", "");
    write("notes.md", "");
    let harnesses = Harnesses::load(&home).unwrap();
    let names: Vec<&str> = harnesses.names().collect();
    let own = names
        .iter()
        .filter(|name| home.harnesses().join(format!("{name}.toml")).exists());
    let own: Vec<&str> = own.copied().collect();
    assert_eq!(own, ["bad", "good", "huge", "latin", "other"]);
    assert!(
        names.contains(&"claude"),
        "the shipped ones are beside them"
    );
    let require = |name: &str| harnesses.require(&HarnessName::new(name));
    assert!(require("good").is_ok());
    let message = |name: &str| require(name).unwrap_err().to_string();
    assert!(
        message("other")
            .contains("other.toml:2: the file is `other.toml`, but its `name` is `mine`")
    );
    assert!(message("huge").contains("more than 65536 bytes"));
    assert!(message("latin").contains("cannot read"));
    assert!(message("bad").contains("bad.toml:1: "));
}

#[test]
fn a_program_is_found_on_the_path_or_by_its_full_path() {
    let root = TempDir::new().unwrap();
    let set = [("PATH", format!("relative:{}:/bin", root.path().display()))];
    let environment = Environment::of(set);
    let path = environment.variable("PATH");
    let named = |binary: &str| {
        let text = format!("name = \"x\"\nbinary = \"{binary}\"\n[args]\nfull = []");
        Harness::parse("x.toml", &text).unwrap().locate(path)
    };
    assert_eq!(named("sh").unwrap(), Path::new("/bin/sh"));
    assert_eq!(named("/bin/sh").unwrap(), Path::new("/bin/sh"));
    fs::write(root.path().join("plain"), "").unwrap();
    for binary in ["plain", "nowhere", "/bin", "/nowhere/x"] {
        let error = named(binary).unwrap_err();
        assert!(error.hint().contains("install it"), "{error}");
    }
}

#[test]
fn a_reviewer_uses_its_own_arguments_if_defined() {
    let level = Level::of(Permissions::Reduced, &Role::Reviewer);
    assert_eq!(level, Level::Review);
    assert_eq!(
        Level::of(Permissions::Reduced, &Role::Worker),
        Level::Reduced
    );
    assert_eq!(Level::of(Permissions::Full, &Role::Reviewer), Level::Full);
    let plain = "name = \"x\"\nbinary = \"x\"\n[args]\nreduced = [\"r\"]\n";
    let message = "review = [\"v\"]\n[environment]\nset.A = \"all\"\nset.B = \"all\"\n\
                review.B = \"review\"\n";
    let both = format!("{plain}{message}");
    for (text, expected) in [(plain, "r"), (both.as_str(), "v")] {
        let harness = Harness::parse("x.toml", text).unwrap();
        let arguments = harness.arguments(StartMode::Interactive, Level::Review, &values("p"));
        assert_eq!(arguments.unwrap(), [expected]);
    }
    let harness = Harness::parse("x.toml", &both).unwrap();
    let variables = |level| Vec::from_iter(harness.variables(level));
    assert_eq!(variables(Level::Reduced), [("A", "all"), ("B", "all")]);
    assert_eq!(variables(Level::Review), [("A", "all"), ("B", "review")]);
}

#[test]
fn a_headless_run_uses_its_own_arguments_if_defined() {
    let plain = "name = \"x\"\nbinary = \"x\"\n[args]\nevery = [\"e\"]\nfull = [\"f\"]\nreduced = [\"r\"]\n";
    let headless = format!("{plain}[args.headless]\nfull = [\"h\", [\"-m\", \"{{model}}\"]]\n");
    let own = format!("{headless}every = []\n");
    let arguments = |text: &str, manner| {
        let harness = Harness::parse("x.toml", text).unwrap();
        harness
            .arguments(manner, Level::Full, &values("p"))
            .unwrap()
    };
    for text in [plain, &headless, &own] {
        assert_eq!(arguments(text, StartMode::Interactive), ["e", "f"]);
    }
    assert_eq!(arguments(plain, StartMode::Headless), ["e", "f"]);
    assert_eq!(arguments(&headless, StartMode::Headless), ["e", "h"]);
    assert_eq!(arguments(&own, StartMode::Headless), ["h"]);
    let harness = Harness::parse("x.toml", &headless).unwrap();
    assert!(harness.accepts(StartMode::Headless, "model"));
    assert!(!harness.accepts(StartMode::Interactive, "model"));
    assert!(
        harness.require_setting("model", "m").is_err(),
        "not always taken"
    );
    let missing = harness.arguments(StartMode::Headless, Level::Reduced, &values("p"));
    let missing = missing.unwrap_err();
    assert!(
        missing
            .hint()
            .contains("add `reduced` to `[args.headless]`"),
        "{}",
        missing.hint()
    );
}

#[test]
fn lesson_27_no_shipped_agent_takes_a_prompt_for_a_flag() {
    let root = TempDir::new().unwrap();
    let set = [("ORANGE_HOME", root.path())];
    let home = Home::resolve(&Environment::of(set)).unwrap();
    let harnesses = Harnesses::load(&home).unwrap();
    assert_eq!(harnesses.names().count(), 5);
    let prompt = "--version, it says";
    for (name, _) in harnesses.all() {
        let harness = harnesses.require(&HarnessName::new(name)).unwrap();
        assert!(
            harness.can_be_headless() && harness.result.is_some(),
            "{name}"
        );
        for manner in [StartMode::Interactive, StartMode::Headless] {
            for level in [Level::Full, Level::Reduced, Level::Review] {
                let arguments = harness.arguments(manner, level, &values(prompt)).unwrap();
                let last = arguments.last().unwrap().to_str().unwrap();
                let before = arguments.iter().rev().nth(1);
                let is_closed = last == prompt && before.is_some_and(|it| it == "--");
                let is_joined =
                    last.starts_with("--prompt") && last.ends_with(&format!("={prompt}"));
                assert!(is_closed || is_joined, "{name}: {arguments:?}");
            }
        }
    }
}

#[test]
fn a_file_for_the_worktree_stays_below_a_folder_of_it() {
    let parse = |path: &str| {
        let text = format!(
            "name = \"x\"\nbinary = \"x\"\n[args]\nfull = []\n[[files]]\npath = \"{path}\"\n\
             text = \"a\""
        );
        Harness::parse("x.toml", &text)
    };
    assert_eq!(parse(".x/rules.toml").unwrap().files.len(), 1);
    for path in [
        "TASK.md",
        "../x/a",
        "/x/a",
        ".git/config",
        "x/.git/a",
        "x/",
        "x/a b",
        "x/*",
        "",
    ] {
        let error = parse(path).unwrap_err();
        assert!(
            error.to_string().contains("is not a valid path"),
            "{path}: {error}"
        );
        assert!(error.hint().contains(".agent/rules.toml"), "{error}");
    }
}

//! Hostile text reaches the agent byte for byte.

use std::cell::Cell;
use std::fs;

use orange_config::Harness;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::stage::{Run, Stage};

/// Keeps its arguments and its prompt file, and exits.
const KEEPER: &str = "\
    file=$1; shift
    mkdir \"$OUT/$ORANGE_RUN_ID\"
    printf '%s\\0' \"$@\" >\"$OUT/$ORANGE_RUN_ID/arguments\"
    cp \"$file\" \"$OUT/$ORANGE_RUN_ID/prompt\"
    mv \"$OUT/$ORANGE_RUN_ID\" \"$OUT/$ORANGE_RUN_ID.kept\"";

fn recording_harness(stage: &Stage) -> Harness {
    stage.harness(KEEPER, r#""{prompt_file}", "--", "{prompt}", "<{prompt}>""#)
}

/// Sends a prompt through a run file, a pane and `exec-run`; returns arguments and prompt as
/// received.
fn received_text(
    stage: &Stage,
    harness: &Harness,
    id: &str,
    prompt: &str,
) -> (Vec<Vec<u8>>, Vec<u8>) {
    let run = Run {
        id,
        prompt,
        ..Run::default()
    };
    let file = stage.launch_with(&run, harness).unwrap();
    stage.try_start(&run, &file).unwrap();
    let kept = stage.id(id);
    let prompt = stage.wait_for_file(&format!("{kept}.kept/prompt"));
    let mut arguments = stage.wait_for_file(&format!("{kept}.kept/arguments"));
    assert_eq!(arguments.pop(), Some(0));
    let arguments = arguments.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    (arguments.collect(), prompt)
}

fn hostile() -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        "$(id)",
        "`id`",
        "${HOME}",
        "'",
        "\"",
        "\\",
        "\\\n",
        "\n",
        "\r\n",
        "\t",
        ";",
        "; ",
        "#{pid}",
        "#(id)",
        "-",
        "--",
        "--help",
        "%",
        "!",
        "\u{1b}[31m",
        "\u{1b}[201~",
        "\u{7f}",
        "\u{1}",
        "\u{202e}",
        "\u{feff}",
        "é",
        "🦀",
        "{prompt}",
        "{prompt_file}",
        "{",
        "}",
        "|",
        "&",
        "<",
        "*",
        "~",
        " ",
        "=",
        "\u{10ffff}",
    ]);
    let any_text = any::<String>().prop_map(|text| text.replace('\0', ""));
    let mixed = prop::collection::vec(nasty, 0..20).prop_map(|parts| parts.concat());
    // Longer ones are passed by file.
    let long = "[ -~\u{e9}\n]{1,40}".prop_map(|part| part.repeat(1200));
    prop_oneof![3 => mixed, 2 => any_text, 1 => long]
}

#[test]
fn any_text_arrives_byte_for_byte() {
    let stage = Stage::new();
    let harness = recording_harness(&stage);
    let number = Cell::new(0);
    let config = Config {
        cases: 40,
        failure_persistence: None,
        ..Config::default()
    };
    let law = |prompt: String| {
        number.set(number.get() + 1);
        let id = format!("r{}", number.get());
        let (arguments, file) = received_text(&stage, &harness, &id, &prompt);
        prop_assert_eq!(&file, prompt.as_bytes());
        let expected = [
            b"--".to_vec(),
            prompt.clone().into(),
            format!("<{prompt}>").into(),
        ];
        prop_assert_eq!(arguments, expected);
        Ok(())
    };
    TestRunner::new(config).run(&hostile(), law).unwrap();
}

#[test]
fn a_megabyte_goes_by_file() {
    let stage = Stage::new();
    let harness = recording_harness(&stage);
    let prompt = "-n 'ä🦀' $(id) \u{1b}[31m\n;".repeat(60_000);
    assert!(prompt.len() > 1024 * 1024);
    let (arguments, file) = received_text(&stage, &harness, "r1", &prompt);
    assert!(file == prompt.as_bytes());
    let output = String::from_utf8(arguments[1].clone()).unwrap();
    assert!(
        output.contains(stage.path("runs/r1/prompt.md").to_str().unwrap()),
        "{output}"
    );
}

#[test]
fn lesson_27_a_prompt_that_looks_like_a_flag_is_text() {
    let stage = Stage::new();
    let harness = stage.harness(KEEPER, r#""{prompt_file}", "{prompt}""#);
    for (id, prompt) in [("r1", "--help"), ("r2", "-")] {
        let (arguments, file) = received_text(&stage, &harness, id, prompt);
        assert!(arguments[0].starts_with(b"Your instructions"));
        assert_eq!(file, prompt.as_bytes());
    }
}

#[test]
fn nul_is_refused_before_anything_is_written() {
    let stage = Stage::new();
    let run = Run {
        prompt: "a\0b",
        ..Run::default()
    };
    let error = stage
        .launch_with(&run, &recording_harness(&stage))
        .unwrap_err();
    assert!(error.to_string().contains("NUL"), "{error}");
    assert!(fs::read_dir(stage.path("runs")).is_err());
}

//! Tests the reading of recorded agent output.

use orange_engine::budget::{Money, RunCost, cost_of_run};
use proptest::prelude::*;

use super::*;
use crate::Harness;

/// Output recorded from the agent in the version of `harnesses/versions.toml`, shortened.
macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("recorded/", $name, ".jsonl"))
    };
}

macro_rules! shipped {
    ($name:literal) => {{
        let text = include_str!(concat!("../../../../../harnesses/", $name, ".toml"));
        Harness::parse($name, text).unwrap()
    }};
}

fn read(harness: &Harness, printed: &str) -> RunResult {
    let places = harness.result.as_ref().unwrap();
    places.read(printed.as_bytes(), &harness.deaths)
}

const SAID: &str = "It is done: \"quoted\".";

#[test]
fn an_answer_to_a_schema_is_read_as_json() {
    let claude = shipped!("claude");
    let end = r#"{"type":"result","is_error":false,"result":"Done.","structured_output":{"executor":"codex","decompose":false}}"#;
    let text = read(&claude, end).text.unwrap();
    assert_eq!(text, r#"{"decompose":false,"executor":"codex"}"#);
    let end = r#"{"type":"result","is_error":false,"result":"{\"executor\":\"codex\"}"}"#;
    let text = read(&claude, end).text.unwrap();
    assert_eq!(text, r#"{"executor":"codex"}"#);
}

#[test]
fn the_output_of_a_successful_run_is_read() {
    for (harness, printed, session, tokens, cost) in [
        (
            shipped!("claude"),
            recorded!("claude-succeeded"),
            "11111111-1111-4111-8111-111111111111",
            (300, 60),
            Some("0.0024"),
        ),
        (
            shipped!("codex"),
            recorded!("codex-succeeded"),
            "01a1e107-1d1c-7293-b045-89a894a89ecf",
            (300, 60),
            None,
        ),
        (
            shipped!("opencode"),
            recorded!("opencode-succeeded"),
            "ses_e1efa6ca8ffe5MSQ8h0StGny2D",
            (300, 60),
            Some("0"),
        ),
        (
            shipped!("pi"),
            recorded!("pi-succeeded"),
            "11111111-1111-4111-8111-111111111111",
            (300, 60),
            Some("0.00042"),
        ),
        (
            shipped!("gemini"),
            recorded!("gemini-succeeded"),
            "11111111-1111-4111-8111-111111111111",
            (400, 80),
            None,
        ),
    ] {
        let result = read(&harness, printed);
        let used = result.usage();
        assert_eq!(used.tokens().unwrap().total(), tokens.0 + tokens.1);
        let expected = RunResult {
            status: ResultStatus::Succeeded,
            text: Some(String::from(SAID)),
            input_tokens: Some(tokens.0),
            cached_tokens: Some(0),
            output_tokens: Some(tokens.1),
            cost_usd: cost.and_then(|it: &str| Cost::from_dollars(it.parse().unwrap())),
            session_id: Some(session.to_owned()),
            error: None,
            error_class: None,
            used,
        };
        assert_eq!(result, expected, "{}", harness.name);
    }
}

/// The recordings have no cached tokens. Here each agent reports 1,000 tokens of input, of which 700
/// came from the cache and 200 were written to it (as far as it tells), in its own way of counting.
fn with_cache(name: &str, printed: &str) -> String {
    let replaced = match name {
        "claude" => printed
            .replace(
                "\"input_tokens\":300,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0",
                "\"input_tokens\":100,\"cache_creation_input_tokens\":200,\"cache_read_input_tokens\":700",
            )
            .replace("\"total_cost_usd\":0.0024000000000000002,", ""),
        "codex" => printed.replace(
            "\"input_tokens\":300,\"cached_input_tokens\":0,\"cache_write_input_tokens\":0",
            "\"input_tokens\":1000,\"cached_input_tokens\":700,\"cache_write_input_tokens\":200",
        ),
        "gemini" => printed
            .replace("\"input_tokens\":400,\"output_tokens\":80,\"cached\":0", "\"input_tokens\":1100,\"output_tokens\":80,\"cached\":700")
            .replace("\"input_tokens\":300,\"output_tokens\":60,\"cached\":0", "\"input_tokens\":1000,\"output_tokens\":60,\"cached\":700"),
        "pi" => printed
            .replacen("\"usage\":{\"input\":100,\"output\":20,\"cacheRead\":0,\"cacheWrite\":0", "\"usage\":{\"input\":50,\"output\":20,\"cacheRead\":700,\"cacheWrite\":50", 1),
        _ => printed.replacen("\"input\":100,\"output\":20,\"reasoning\":0,\"cache\":{\"write\":0,\"read\":0}", "\"input\":50,\"output\":20,\"reasoning\":0,\"cache\":{\"write\":50,\"read\":700}", 1),
    };
    assert_ne!(replaced, printed, "{name}");
    replaced
}

#[test]
fn lesson_106_recorded_results_are_priced_to_a_millionth() {
    let prices = crate::prices();
    let known = |millionths| RunCost::Known(Money(millionths));
    // Each with the cost of the recording, and of the same run with a cache, in millionths of a
    // dollar; the prices are those of `prices.json`, per million tokens.
    for (harness, printed, model, recorded, cached) in [
        // Reported: 300 × 4 $ + 60 × 20 $. Then 100 × 4 + 200 × 5 + 700 × 0.2 + 60 × 20.
        (
            shipped!("claude"),
            recorded!("claude-succeeded"),
            None,
            known(2400),
            known(2740),
        ),
        // 300 × 1.25 + 60 × 10; then 100 × 1.25 + 200 × 1.25 + 700 × 0.125 + 60 × 10.
        (
            shipped!("codex"),
            recorded!("codex-succeeded"),
            Some("gpt-5-codex"),
            known(975),
            known(1063),
        ),
        // Two models: 100 × 0.3 + 20 × 2.5 and 300 × 2 + 60 × 12; then 300 × 2 + 700 × 0.2.
        (
            shipped!("gemini"),
            recorded!("gemini-succeeded"),
            None,
            known(1400),
            known(1540),
        ),
        // It reports its own cost, whatever the table says.
        (
            shipped!("pi"),
            recorded!("pi-succeeded"),
            None,
            known(420),
            known(420),
        ),
        // A cost of zero is left out by the count. Then 300 × 1.25 + 700 × 0.125 + 60 × 10.
        (
            shipped!("opencode"),
            recorded!("opencode-succeeded"),
            Some("openai/gpt-5"),
            known(975),
            known(1063),
        ),
    ] {
        let name = harness.name.as_str();
        let cost = |printed: &str| {
            let mut usage = read(&harness, printed).usage();
            usage.cost = usage.cost.filter(|it| *it > Cost::default());
            cost_of_run(&usage, model, &prices)
        };
        assert_eq!(cost(printed), recorded, "{name}");
        assert_eq!(cost(&with_cache(name, printed)), cached, "{name}");
    }
}

#[test]
fn a_codex_run_without_a_model_is_unpriced() {
    let usage = read(&shipped!("codex"), recorded!("codex-succeeded")).usage();
    let cost = cost_of_run(&usage, None, &crate::prices());
    assert_eq!(cost, RunCost::Unpriced { model: None });
    let model = Some(String::from("gpt-99"));
    let cost = cost_of_run(&usage, Some("gpt-99"), &crate::prices());
    assert_eq!(cost, RunCost::Unpriced { model });
}

#[test]
fn the_output_of_a_failed_run_has_a_class() {
    for (harness, printed, class, said) in [
        (
            shipped!("claude"),
            recorded!("claude-no-quota"),
            FailureClass::Quota,
            "rate_limit_error: API Error: Request rejected (429)",
        ),
        (
            shipped!("claude"),
            recorded!("claude-no-login"),
            FailureClass::Login,
            "authentication_error: Invalid API key",
        ),
        (
            shipped!("codex"),
            recorded!("codex-no-quota"),
            FailureClass::Quota,
            "Quota exceeded. Check your plan",
        ),
        (
            shipped!("codex"),
            recorded!("codex-no-login"),
            FailureClass::Login,
            "unexpected status 401 Unauthorized",
        ),
        // There is no recording of opencode without quota: it retries forever, and its plugin
        // reports that.
        (
            shipped!("opencode"),
            recorded!("opencode-no-login"),
            FailureClass::Login,
            "Incorrect API key provided.",
        ),
        (
            shipped!("pi"),
            recorded!("pi-no-quota"),
            FailureClass::Quota,
            "429: {\"code\":\"insufficient_quota\"",
        ),
        (
            shipped!("pi"),
            recorded!("pi-no-login"),
            FailureClass::Login,
            "401: {\"code\":\"invalid_api_key\"",
        ),
        (
            shipped!("gemini"),
            recorded!("gemini-no-quota"),
            FailureClass::Quota,
            "[API Error: You have exhausted your daily quota",
        ),
        (
            shipped!("gemini"),
            recorded!("gemini-no-login"),
            FailureClass::Login,
            "[API Error: {\"error\":{\"code\":400,\"message\":\"API key not valid.\"",
        ),
    ] {
        let result = read(&harness, printed);
        let name = &harness.name;
        assert_eq!(result.status, ResultStatus::Failed, "{name}: {result:?}");
        assert_eq!(result.error_class, Some(class), "{name}: {result:?}");
        assert!(result.error.unwrap().starts_with(said), "{name}");
        assert!(result.session_id.is_some(), "{name}");
        // Tokens used before the failure count too; codex does not count a failed turn.
        let counts = name.as_str() != "codex";
        assert_eq!(
            result.output_tokens.is_some_and(|it| it > 0),
            counts,
            "{name}"
        );
    }
}

#[test]
fn a_truncated_recording_is_never_a_success() {
    let harness = shipped!("claude");
    let whole = recorded!("claude-succeeded");
    let end = whole.trim_end().len();
    for at in (0..end).filter(|at| whole.is_char_boundary(*at)) {
        let result = read(&harness, &whole[..at]);
        assert_eq!(result.status, ResultStatus::Unclear, "cut at {at}");
        assert_eq!((result.text, result.output_tokens), (None, None));
    }
    assert_eq!(read(&harness, &whole[..end]).text.unwrap(), SAID);
}

fn places(text: &str) -> ResultLocations {
    toml::from_str(text).unwrap()
}

const PLACES: &str = r#"
succeeded = [{ with = { is = "good" } }]
failed = [{ with = { is = "bad" }, keys = ["kind"] }, { with = { is = "bad" }, keys = ["why"] }]
goes_on = [{ with = { is = "again" } }]
text = [{ keys = ["said", "*"] }]
session_id = [{ keys = ["id"] }]
input_tokens = [{ keys = ["in", "a"] }, { keys = ["in", "b"] }]
cost_usd = [{ keys = ["cost"] }]
"#;

fn read_plain(printed: &str) -> RunResult {
    places(PLACES).read(printed.as_bytes(), &[])
}

#[test]
fn noise_and_multi_line_values_are_accepted() {
    let printed = "starting { up\n{\"id\":\"a\"}\n{ not json\n[1, 2]\n\"in\"\n{\n  \"said\": [\n    \
                   \"x\",\n    \"y {\"\n  ]\n}\n\u{1b}[?25h\n{\"in\":{\"a\":1,\"b\":2}} and so on\n\
                   {\"in\":{\"a\":4}}{\"is\":\"good\"}\n{\"is\": \"ba";
    let result = read_plain(printed);
    assert_eq!(result.status, ResultStatus::Succeeded);
    assert_eq!(result.session_id.as_deref(), Some("a"));
    assert_eq!(result.text.as_deref(), Some("xy {"));
    assert_eq!(result.input_tokens, Some(7));
    assert_eq!(result.output_tokens, None);
}

#[test]
fn empty_output_has_no_result() {
    for printed in ["", "\n\n", "no JSON at all", "{", "{\"is\":", "[]", "null"] {
        let result = read_plain(printed);
        assert_eq!(result.status, ResultStatus::Unclear, "{printed}");
        assert_eq!((result.error, result.error_class), (None, None));
        assert_eq!((result.text, result.session_id), (None, None));
    }
    let bytes = b"{\"is\":\"\xff\"}\n{\"is\":\"good\"}";
    let result = places(PLACES).read(bytes, &[]);
    assert_eq!(result.status, ResultStatus::Succeeded);
}

#[test]
fn the_last_value_wins() {
    let bad = "{\"is\":\"bad\",\"kind\":\"k\",\"why\":\"w\"}";
    let result = read_plain(bad);
    assert_eq!(result.status, ResultStatus::Failed);
    assert_eq!(result.error.as_deref(), Some("k: w"));
    assert_eq!(result.error_class, Some(FailureClass::Crash));
    let result = read_plain(&format!("{bad}\n{{\"is\":\"again\"}}"));
    assert_eq!((result.status, result.error), (ResultStatus::Unclear, None));
    let result = read_plain(&format!("{bad}\n{{\"is\":\"again\"}}\n{{\"is\":\"good\"}}"));
    assert_eq!(result.status, ResultStatus::Succeeded);
    assert_eq!((result.error, result.error_class), (None, None));
    let result = read_plain("{\"is\":\"bad\"}");
    assert_eq!((result.status, result.error), (ResultStatus::Failed, None));
    assert_eq!(result.error_class, Some(FailureClass::Crash));
}

#[test]
fn text_in_several_pieces_is_joined() {
    let text = "text = [{ with = { by = \"a\" }, keys = [\"t\"] }]\nis_in_pieces = true";
    let printed = "{\"by\":\"a\",\"t\":\"first\"}\n{\"by\":\"tool\"}\n{\"by\":\"a\",\"t\":\"one \"}\n\
                   {\"by\":\"a\",\"t\":\"two\"}\n{\"by\":\"end\"}";
    let in_pieces = places(text).read(printed.as_bytes(), &[]).text;
    assert_eq!(in_pieces.as_deref(), Some("one two"));
    let whole = places(&text.replace("true", "false")).read(printed.as_bytes(), &[]);
    assert_eq!(whole.text.as_deref(), Some("two"));
}

#[test]
fn costs_are_shown_to_a_millionth() {
    let cost = |printed: &str| read_plain(printed).cost_usd.map(|it| it.to_string());
    assert_eq!(cost("{\"cost\":0.1}{\"cost\":0.2}").as_deref(), Some("0.3"));
    assert_eq!(cost("{\"cost\":12}").as_deref(), Some("12"));
    assert_eq!(cost("{\"cost\":100.5}").as_deref(), Some("100.5"));
    assert_eq!(cost("{\"cost\":0.0000004}").as_deref(), Some("0"));
    assert_eq!(cost("{\"cost\":-1}{\"cost\":\"2\"}"), None);
}

proptest! {
    #[test]
    fn any_output_can_be_read(printed: Vec<u8>, pieces in "[\\[\\]{}\":,a1\n ]{0,200}") {
        for harness in [shipped!("claude"), shipped!("gemini")] {
            let places = harness.result.as_ref().unwrap();
            places.read(&printed, &harness.deaths);
        }
        // Later output cannot remove a value that was read before.
        let printed = format!("{{\"id\":\"a\"}}\n{pieces}");
        prop_assert_eq!(read_plain(&printed).session_id.unwrap(), "a");
    }

    #[test]
    fn log_lines_between_values_are_ignored(noise in "[a-z\\[(\"][^\n]{0,40}") {
        let values = recorded!("pi-succeeded");
        let harness = shipped!("pi");
        let mixed = values.replace('\n', &format!("\n{noise}\n"));
        prop_assert_eq!(read(&harness, &mixed), read(&harness, values));
    }
}

//! No drawn secret leaves, and nothing else changes. `PROPTEST_CASES=10000` is the long form.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// A prefix, the characters after it and how many there are.
const FORMATS: &[(&str, &str, usize)] = &[
    ("ghp_", WORD, 36),
    ("gho_", WORD, 36),
    ("ghu_", WORD, 36),
    ("ghs_", WORD, 36),
    ("ghr_", WORD, 76),
    ("github_pat_", WORD, 82),
    ("sk-ant-api03-", WORD, 90),
    ("sk-proj-A1", WORD, 48),
    ("AIza", WORD, 35),
    ("AKIA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
    ("xoxb-", "0123456789", 24),
    ("xoxp-", "0123456789", 24),
    ("glpat-", WORD, 20),
    ("npm_", WORD, 36),
    ("hf_", WORD, 34),
];
const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// What stands directly before and after a secret.
const GLUE: &[(&str, &str)] = &[
    ("", " "),
    (" ", "\n"),
    ("\u{1b}[31m", "\u{1b}[0m"),
    ("\\u001b[01;31m", "\\u001b[m\\u001b[K"),
    ("\\n", "\\n"),
    ("\"", "\","),
    ("https://x/?a=", "&b=1"),
    ("token:", "."),
    ("=", ";"),
    ("🍊", "🍊"),
];

fn any_secret() -> impl Strategy<Value = String> {
    select(FORMATS).prop_flat_map(|(prefix, letters, count)| {
        let letters: Vec<char> = letters.chars().collect();
        let body = proptest::collection::vec(select(letters), count);
        body.prop_map(move |body| format!("{prefix}{}", body.into_iter().collect::<String>()))
    })
}

/// Text without anything that looks like a secret.
fn any_filler() -> impl Strategy<Value = String> {
    let pieces = select(vec![
        "a",
        "task-with-a-long-name-of-many-words",
        "\n",
        " ",
        "é",
        "🍊",
        "\u{1b}[1m",
        "\\n",
        "\\",
        "\"",
        "{",
        "}",
        "0",
        "sk-",
        "ghp_",
        "npm_config_registry",
        "-----",
        "://",
        "@",
        "-----BEGIN ",
        "AKIA",
        "\u{200b}",
        "eyJ",
        ".",
    ]);
    proptest::collection::vec(pieces, 0..30).prop_map(|pieces| pieces.join(" "))
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn lesson_98_laws_no_secret_leaves_and_nothing_else_changes(
        before in any_filler(),
        secret in any_secret(),
        after in any_filler(),
        (left, right) in select(GLUE),
    ) {
        let text = format!("{before} {left}{secret}{right} {after}");
        let expected = format!("{before} {left}{REDACTED}{right} {after}");
        prop_assert_eq!(Redactor::default().redact(&text), expected);
    }

    #[test]
    fn lesson_98_laws_a_highlighted_secret_does_not_leave(
        secret in any_secret(),
        cut in 1..12_usize,
        (left, right) in select(GLUE),
    ) {
        for code in ["\u{1b}[m\u{1b}[K", "\u{1b}[01;31m", "\\u001b[0m", "\u{200b}", "\u{feff}"] {
            let (head, tail) = secret.split_at(cut.min(secret.len() - 1));
            let text = format!("a {left}{head}{code}{tail}{right} b");
            let redacted = Redactor::default().redact(&text);
            prop_assert!(!redacted.contains(tail), "{redacted}");
            prop_assert_eq!(redacted, format!("a {left}{REDACTED}{right} b"));
        }
    }

    #[test]
    fn lesson_98_laws_own_values_do_not_leave(
        value in "[ -~]{8,40}",
        before in any_filler(),
        after in any_filler(),
    ) {
        let value = value.trim().to_owned();
        prop_assume!(value.len() >= SHORTEST);
        let redactor = Redactor::new(None, [value.as_str()]);
        for text in [
            format!("{before}|{value}|{after}"),
            format!("{before}\u{1b}[1m{value}\u{1b}[0m{after}"),
            serde_json::to_string(&format!("{before}\n{value}\n{after}")).unwrap(),
        ] {
            let redacted = redactor.redact(&text);
            prop_assert!(!redacted.contains(&value), "{redacted}");
        }
    }

    #[test]
    fn laws_text_without_a_secret_stays(text in any_filler()) {
        prop_assert_eq!(Redactor::default().redact(&text), text);
    }

    #[test]
    fn laws_any_text_can_be_redacted(text in any::<String>()) {
        let redacted = Redactor::default().redact(&text);
        prop_assert_eq!(Redactor::default().redact(&redacted), redacted);
    }
}

#[test]
fn keys_and_passwords_do_not_leave() {
    let redact = |text: &str| Redactor::default().redact(text);
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\nabc\n-----END RSA PRIVATE KEY-----";
    assert_eq!(redact(&format!("a\n{key}\nb")), "a\n[redacted]\nb");
    let escaped = key.replace('\n', "\\n");
    assert_eq!(redact(&format!("\"{escaped}\"")), "\"[redacted]\"");
    let cut = "-----BEGIN PRIVATE KEY-----\nMIIEabc";
    assert_eq!(redact(cut), "[redacted]");
    let public = "-----BEGIN PUBLIC KEY-----\nMIIEabc\n-----END PUBLIC KEY-----";
    assert_eq!(redact(public), public);
    assert_eq!(
        redact("git clone https://x-access-token:v1.abc@github.com/a/b"),
        "git clone https://x-access-token:[redacted]@github.com/a/b"
    );
    assert_eq!(redact("https://x:8080/a@b"), "https://x:8080/a@b");
    assert_eq!(
        redact("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMe"),
        "[redacted]"
    );
}

#[test]
fn ordinary_words_stay() {
    for text in [
        "task-implement-the-forge-client-and-more",
        "sk-learn-is-a-library-with-a-long-name",
        "npm_config_registry=https://registry.npmjs.org",
        "ghp_ is a prefix",
        "AKIA",
        "run `gh auth login`",
    ] {
        assert_eq!(Redactor::default().redact(text), text);
    }
}

#[test]
fn a_secret_is_removed_before_the_text_is_cut() {
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let text = format!("{}{secret}", "x".repeat(65_536 - 60));
    let body = Redactor::default().body(&text);
    assert!(!body.as_str().contains("a1B2"));
    let short = Redactor::new(None, ["1", "true", "secret-value"]);
    assert_eq!(
        short.title("true 1\nsecret-value").as_str(),
        "true 1 [redacted]"
    );
}

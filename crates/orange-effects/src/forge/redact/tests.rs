//! A random secret of each format is redacted, all else stays.

use orange_config::clock;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::known_values::SHORTEST;
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

/// The text directly before and after a secret.
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

/// What a program puts into the middle of a text that it highlights.
const HIGHLIGHTS: &[&str] = &[
    "\u{1b}[m\u{1b}[K",
    "\u{1b}[01;31m",
    "\\u001b[0m",
    "\u{200b}",
    "\u{feff}",
];

/// The longest secret has this many characters after its prefix.
const LONGEST: usize = 90;

/// A secret of each format, all made of the same random characters.
fn any_secrets() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(any::<u8>(), LONGEST).prop_map(|random| {
        let secrets = FORMATS.iter().map(|(prefix, letters, count)| {
            let letters = letters.as_bytes();
            let body = random.iter().take(*count);
            let body = body.map(|it| char::from(letters[usize::from(*it) % letters.len()]));
            format!("{prefix}{}", body.collect::<String>())
        });
        secrets.collect()
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
        secrets in any_secrets(),
        after in any_filler(),
        (left, right) in select(GLUE),
    ) {
        let text_with = |secrets: &[&str]| {
            let secrets = secrets.iter().map(|it| format!("{left}{it}{right}"));
            let secrets: Vec<String> = secrets.collect();
            format!("{before} {} {after}", secrets.join(" "))
        };
        let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
        let redacted = Redactor::default().redact(&text_with(&secrets));
        prop_assert_eq!(redacted, text_with(&[REDACTED; FORMATS.len()]));
    }

    #[test]
    fn lesson_98_laws_a_highlighted_secret_does_not_leave(
        secrets in any_secrets(),
        cut in 1..12_usize,
        (left, right) in select(GLUE),
        code in select(HIGHLIGHTS),
    ) {
        for secret in secrets {
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
        "npm_config_registry=https://packages.example.org",
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

#[test]
fn every_text_in_json_is_redacted() {
    let redactor = Redactor::new(None, ["the \"value\""]);
    let json = serde_json::json!({
        "number": 1,
        "list": [null, true, format!("a {TOKEN} b"), { "key": "the \"value\"" }],
    });
    let expected = serde_json::json!({
        "number": 1,
        "list": [null, true, "a [redacted] b", { "key": "[redacted]" }],
    });
    assert_eq!(redactor.json(&json).as_str(), expected.to_string());
}

const TOKEN: &str = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";

#[test]
fn lesson_98_every_control_sequence_is_seen_through() {
    for code in [
        "\u{9b}31m",
        "\u{1b}[38;5;1m",
        "\u{1b}[ q",
        "\u{1b}]0;a title\u{7}",
        "\u{1b}]8;;https://example.org/x\u{1b}\\",
        "\u{9d}0;title\u{9c}",
        "\u{1b}Pq#0\u{1b}\\",
        "\u{1b}_G\u{1b}\\",
        "\u{1b}(B",
        "\\u001b]0;title\\u0007",
        "\\x1b]8;;https://x\\x1b\\\\",
        "\\033[1m",
        "\\u009b1m",
    ] {
        for cut in [2, 4, 20] {
            let (head, tail) = TOKEN.split_at(cut);
            let redacted = Redactor::default().redact(&format!("a {head}{code}{tail} b"));
            assert_eq!(redacted, "a [redacted] b", "{code:?} at {cut}");
        }
    }
    // A sequence without an end hides nothing behind it.
    let open = format!("\u{1b}]0;title {TOKEN} \u{1b}[");
    assert_eq!(
        Redactor::default().redact(&open),
        "\u{1b}]0;title [redacted] \u{1b}["
    );
}

#[test]
fn lesson_98_invisible_characters_are_seen_through() {
    for c in [
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{115f}',
        '\u{180e}',
        '\u{200b}',
        '\u{2063}',
        '\u{206a}',
        '\u{3164}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{fff9}',
        '\u{1d173}',
        '\u{e0041}',
        '\u{e0100}',
        '\0',
    ] {
        let text: String = TOKEN.chars().flat_map(|it| [it, c]).collect();
        let redacted = Redactor::default().redact(&format!("a {text}b"));
        let rest = redacted.strip_prefix("a [redacted]").unwrap_or_else(|| {
            panic!("{c:?}: {redacted:?}");
        });
        assert!(!rest.contains("r8"), "{c:?}: {redacted:?}");
    }
}

#[test]
fn lesson_98_every_user_part_of_an_address_is_removed() {
    for (text, expected) in [
        ("https://u:p@ss@host/a", "https://u:[redacted]@host/a"),
        ("https://u:p:q@host/a", "https://u:[redacted]@host/a"),
        ("https://only-a-key@host/a", "https://[redacted]@host/a"),
        (
            "{\"url\":\"https:\\/\\/u:p@host\\/a\"}",
            "{\"url\":\"https:\\/\\/u:[redacted]@host\\/a\"}",
        ),
        (
            "\"https:\\/\\/key@host\\/a\"",
            "\"https:\\/\\/[redacted]@host\\/a\"",
        ),
        ("https://u:@host/a", "https://u:@host/a"),
        ("https://@host/a", "https://@host/a"),
        ("ssh://git@host/a", "ssh://git@host/a"),
        ("git+ssh://git@host/a", "git+ssh://git@host/a"),
        ("ssh://git:pw@host/a", "ssh://git:[redacted]@host/a"),
        ("git@host:a/b", "git@host:a/b"),
        ("https://host/a@b", "https://host/a@b"),
        ("https://host?x=a@b", "https://host?x=a@b"),
        ("https://host a@b", "https://host a@b"),
    ] {
        assert_eq!(Redactor::default().redact(text), expected, "{text}");
    }
}

#[test]
fn lesson_98_every_form_of_a_known_value_is_removed() {
    let value = "p@ss/w\u{f6}rd+<&>=\"x\"";
    let redactor = Redactor::new(None, [value]);
    for form in [
        "p@ss/w\u{f6}rd+<&>=\"x\"",
        "p@ss/w\u{f6}rd+<&>=\\\"x\\\"",
        "p@ss\\/w\u{f6}rd+<&>=\\\"x\\\"",
        "p@ss/w\\u00f6rd+\\u003c\\u0026\\u003e=\\\"x\\\"",
        "p%40ss%2Fw%C3%B6rd%2B%3C%26%3E%3D%22x%22",
        "p%40ss%2fw%c3%b6rd%2b%3c%26%3e%3d%22x%22",
        "cEBzcy93w7ZyZCs8Jj49Ingi",
    ] {
        let redacted = redactor.redact(&format!("a={form}, b"));
        assert_eq!(redacted, "a=[redacted], b", "{form}");
    }
}

#[test]
fn lesson_98_a_value_inside_an_encoded_text_is_removed() {
    // `printf user:the-secret-value:end | base64`, and the same with other beginnings.
    let redactor = Redactor::new(None, ["the-secret-value"]);
    for encoded in [
        "dXNlcjp0aGUtc2VjcmV0LXZhbHVlOmVuZA==",
        "dXNlMTp0aGUtc2VjcmV0LXZhbHVlOmVuZA==",
        "dToxOnRoZS1zZWNyZXQtdmFsdWU6ZW5k",
        "dTp0aGUtc2VjcmV0LXZhbHVlOmVuZA==",
    ] {
        let redacted = redactor.redact(&format!("Authorization: Basic {encoded}"));
        for part in ["c2VjcmV0", "1zZWNyZX", "NlY3JldC"] {
            assert!(!redacted.contains(part), "{redacted}");
        }
        assert!(redacted.contains(REDACTED), "{redacted}");
    }
    // `a~~~???>>>word` in both alphabets of base64.
    let redactor = Redactor::new(None, ["~~~???>>>word"]);
    for encoded in ["YX5+fj8/Pz4+PndvcmQ=", "YX5-fj8_Pz4-PndvcmQ="] {
        let redacted = redactor.redact(encoded);
        assert!(!redacted.contains("PndvcmQ"), "{redacted}");
    }
}

#[test]
fn lesson_98_lines_of_a_known_value_are_removed() {
    let value = "first line of the value\nsecond line of the value\nend";
    let redactor = Redactor::new(None, [value]);
    assert_eq!(
        redactor.redact(&format!("a\n{value}\nb")),
        "a\n[redacted]\nb"
    );
    let crlf = value.replace('\n', "\r\n");
    let prefixed = "1: first line of the value\n2: second line of the value\n3: end";
    for text in [crlf.as_str(), prefixed] {
        let redacted = redactor.redact(text);
        assert!(!redacted.contains("line of"), "{redacted}");
    }
    // A terminal breaks a long line in two.
    let long = Redactor::new(None, ["a-long-value-without-breaks"]);
    for text in [
        "x a-long-value-\nwithout-breaks y",
        "x a-long-value-  \r\n   without-breaks y",
    ] {
        assert_eq!(long.redact(text), "x [redacted] y", "{text:?}");
    }
}

#[test]
fn overlapping_occurrences_of_a_value_are_removed() {
    let redactor = Redactor::new(None, ["abcdabcdabcd"]);
    assert_eq!(redactor.redact("x abcdabcdabcdabcd y"), "x [redacted] y");
}

/// In a repetition of one of these, a search from every position to the end would take quadratic
/// time.
const HOSTILE: [&str; 10] = [
    "ghp_",
    "eyJ",
    "sk-",
    "glpat-",
    "://",
    "\u{9d}",
    "\\u001b]",
    "-----BEGIN ",
    "ab",
    "://a@",
];

#[test]
fn the_time_grows_with_the_length_alone() {
    let value = "ab".repeat(1000) + "c";
    let redactor = Redactor::new(None, [value.as_str()]);
    for piece in HOSTILE {
        let time = |length: usize, times: usize| {
            let text = piece.repeat(length / piece.len());
            let least = (0..times).map(|_| {
                let start = clock::now();
                let _redacted = redactor.redact(&text);
                clock::now().millis() - start.millis()
            });
            least.min().unwrap().max(1)
        };
        let (short, long) = (time(100_000, 3), time(1_000_000, 1));
        // A linear search takes ten times as long, a quadratic one a hundred times.
        assert!(long < short * 40, "{piece:?}: {short} ms and {long} ms");
    }
}

//! The formats of tokens and keys that must not leave the machine.

use std::ops::Range;

/// A format that begins with a fixed text.
struct Format {
    prefix: &'static str,
    /// Which characters follow; a `.` or `-` at the very end belongs to the sentence.
    body: fn(char) -> bool,
    least: usize,
    rule: Rule,
}

/// What else must hold, for prefixes that ordinary words have too.
enum Rule {
    Anywhere,
    /// At the beginning of a word, and with a digit and a capital letter.
    RandomWord,
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn dashed(c: char) -> bool {
    word(c) || c == '-'
}

fn dotted(c: char) -> bool {
    dashed(c) || c == '.'
}

fn plain(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

fn capital(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit()
}

const fn format(prefix: &'static str, body: fn(char) -> bool, least: usize) -> Format {
    Format {
        prefix,
        body,
        least,
        rule: Rule::Anywhere,
    }
}

const FORMATS: &[Format] = &[
    format("ghp_", word, 16),
    format("gho_", word, 16),
    format("ghu_", word, 16),
    format("ghs_", dotted, 16),
    format("ghr_", word, 16),
    format("github_pat_", word, 16),
    format("sk-ant-", dashed, 16),
    Format {
        prefix: "sk-",
        body: dashed,
        least: 20,
        rule: Rule::RandomWord,
    },
    format("sk_live_", plain, 16),
    format("rk_live_", plain, 16),
    format("AIza", dashed, 35),
    format("AKIA", capital, 16),
    format("ASIA", capital, 16),
    format("xoxa-", dashed, 10),
    format("xoxb-", dashed, 10),
    format("xoxe-", dashed, 10),
    format("xoxp-", dashed, 10),
    format("xoxr-", dashed, 10),
    format("xoxs-", dashed, 10),
    format("xapp-", dashed, 10),
    format("glpat-", dotted, 16),
    format("npm_", plain, 36),
    format("pypi-AgE", dashed, 40),
    format("hf_", plain, 30),
];

const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_NAME: &str = "PRIVATE KEY";
const DASHES: &str = "-----";

/// Where secrets are in a text, as positions of characters.
pub fn find_secrets(text: &[char]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if let Some(length) = private_key(rest) {
            found.push(at..at + length);
            at += length;
            continue;
        }
        let lengths = FORMATS.iter().filter_map(|it| it.length(text, at));
        if let Some(length) = lengths.chain(web_token(rest)).max() {
            found.push(at..at + length);
        }
        if let Some(password) = password(rest) {
            found.push(at + password.start..at + password.end);
        }
        at += 1;
    }
    found
}

impl Format {
    /// How many characters the secret at this position has, if there is one.
    fn length(&self, text: &[char], at: usize) -> Option<usize> {
        let rest = &text[at..];
        if !starts_with(rest, self.prefix) {
            return None;
        }
        let start = self.prefix.len();
        let mut end = start
            + rest[start..]
                .iter()
                .take_while(|it| (self.body)(**it))
                .count();
        while end > start && matches!(rest[end - 1], '.' | '-') {
            end -= 1;
        }
        let body = &rest[start..end];
        let is_random = || {
            let has = |test: fn(&char) -> bool| body.iter().any(test);
            has(char::is_ascii_digit) && has(char::is_ascii_uppercase)
        };
        let fits = match self.rule {
            Rule::Anywhere => true,
            Rule::RandomWord => is_random() && is_word_start(text, at),
        };
        (body.len() >= self.least && fits).then_some(end)
    }
}

/// Whether a word begins here: after no letter, or after the letter of an escape such as `\n`.
fn is_word_start(text: &[char], at: usize) -> bool {
    let before = |distance: usize| at.checked_sub(distance).map(|it| text[it]);
    let is_after_letter = before(1).is_some_and(char::is_alphanumeric);
    !is_after_letter || before(2) == Some('\\')
}

fn starts_with(text: &[char], prefix: &str) -> bool {
    let mut characters = text.iter();
    prefix.chars().all(|it| characters.next() == Some(&it))
}

fn find(text: &[char], wanted: &str) -> Option<usize> {
    (0..text.len()).find(|at| starts_with(&text[*at..], wanted))
}

/// A private key in PEM, with real or escaped line breaks; a key without its end is one too.
fn private_key(rest: &[char]) -> Option<usize> {
    if !starts_with(rest, KEY_BEGIN) {
        return None;
    }
    let title = &rest[KEY_BEGIN.len()..rest.len().min(KEY_BEGIN.len() + 40)];
    let title_end = find(title, DASHES)?;
    find(&title[..title_end], KEY_NAME)?;
    let start = KEY_BEGIN.len() + title_end + DASHES.len();
    let body = &rest[start..];
    let is_key =
        |c: &&char| c.is_ascii_alphanumeric() || c.is_whitespace() || "+/=\\-:,".contains(**c);
    let length = body.iter().take_while(is_key).count();
    let end = find(&body[..length], "-----END ").and_then(|end| {
        let after = &body[end + DASHES.len()..];
        Some(end + 2 * DASHES.len() + find(&after[..after.len().min(45)], DASHES)?)
    });
    Some(start + end.unwrap_or(length))
}

/// A JSON web token: three parts, of which the first two begin with `{"`.
fn web_token(rest: &[char]) -> Option<usize> {
    if !starts_with(rest, "eyJ") {
        return None;
    }
    let mut end = 0;
    for part in 0..3 {
        let length = rest[end..].iter().take_while(|it| dashed(**it)).count();
        if length < 10 || (part == 1 && !starts_with(&rest[end..], "eyJ")) {
            return None;
        }
        end += length;
        if part < 2 {
            if rest.get(end) != Some(&'.') {
                return None;
            }
            end += 1;
        }
    }
    Some(end)
}

/// The password in `://user:password@host`, as a range within `rest`.
fn password(rest: &[char]) -> Option<Range<usize>> {
    if !starts_with(rest, "://") {
        return None;
    }
    let is_part = |c: &&char| !c.is_whitespace() && !"/?#@\"'<>`\\".contains(**c);
    let length = rest[3..].iter().take_while(is_part).count();
    if rest.get(3 + length) != Some(&'@') {
        return None;
    }
    let user = &rest[3..3 + length];
    let colon = user.iter().position(|it| *it == ':')?;
    (colon + 1 < length).then(|| 3 + colon + 1..3 + length)
}

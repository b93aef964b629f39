//! The formats of tokens and keys that must not leave the machine.

use std::cell::OnceCell;
use std::ops::Range;

use super::control_sequences::starts_with;

/// A format that begins with a fixed text.
struct Format {
    prefix: &'static str,
    /// Which characters follow the prefix. A `.` or `-` at the very end belongs to the sentence,
    /// not to the secret.
    body: Body,
    least: usize,
    rule: Rule,
}

/// A further condition, for prefixes that ordinary words have too.
enum Rule {
    Anywhere,
    /// The prefix begins a word, and a digit and a capital letter follow.
    RandomWord,
}

/// Kinds of characters.
#[derive(Clone, Copy)]
enum Body {
    Word,
    Dashed,
    Dotted,
    Plain,
    Capital,
}

use Body::{Capital, Dashed, Dotted, Plain, Word};

impl Body {
    const COUNT: usize = 5;

    fn has(self, c: char) -> bool {
        match self {
            Plain => c.is_ascii_alphanumeric(),
            Word => c.is_ascii_alphanumeric() || c == '_',
            Dashed => c.is_ascii_alphanumeric() || matches!(c, '_' | '-'),
            Dotted => c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'),
            Capital => c.is_ascii_uppercase() || c.is_ascii_digit(),
        }
    }
}

/// The longest possible sequence of consecutive characters of one kind.
struct Run {
    start: usize,
    end: usize,
    /// The end without trailing dots and dashes.
    trimmed: usize,
    last_digit: Option<usize>,
    last_capital: Option<usize>,
}

/// The runs of each kind. Each kind is computed once, because a prefix can be at every position.
struct Runs<'a> {
    text: &'a [char],
    found: [OnceCell<Vec<Run>>; Body::COUNT],
}

impl<'a> Runs<'a> {
    fn new(text: &'a [char]) -> Runs<'a> {
        Runs {
            text,
            found: Default::default(),
        }
    }

    /// The run that this position is in.
    fn at(&self, body: Body, at: usize) -> Option<&Run> {
        let runs = self.found[body as usize].get_or_init(|| find_runs(self.text, body));
        let run = runs.get(runs.partition_point(|it| it.end <= at))?;
        (run.start <= at).then_some(run)
    }
}

fn find_runs(text: &[char], body: Body) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (at, c) in text.iter().enumerate() {
        if !body.has(*c) {
            continue;
        }
        if runs.last().is_none_or(|it| it.end != at) {
            runs.push(Run {
                start: at,
                end: at,
                trimmed: at,
                last_digit: None,
                last_capital: None,
            });
        }
        let Some(run) = runs.last_mut() else {
            continue;
        };
        run.end = at + 1;
        if !matches!(c, '.' | '-') {
            run.trimmed = at + 1;
        }
        if c.is_ascii_digit() {
            run.last_digit = Some(at);
        }
        if c.is_ascii_uppercase() {
            run.last_capital = Some(at);
        }
    }
    runs
}

const fn format(prefix: &'static str, body: Body, least: usize) -> Format {
    Format {
        prefix,
        body,
        least,
        rule: Rule::Anywhere,
    }
}

const FORMATS: &[Format] = &[
    format("ghp_", Word, 16),
    format("gho_", Word, 16),
    format("ghu_", Word, 16),
    format("ghs_", Dotted, 16),
    format("ghr_", Word, 16),
    format("github_pat_", Word, 16),
    format("sk-ant-", Dashed, 16),
    Format {
        prefix: "sk-",
        body: Dashed,
        least: 20,
        rule: Rule::RandomWord,
    },
    format("sk_live_", Plain, 16),
    format("rk_live_", Plain, 16),
    format("AIza", Dashed, 35),
    format("AKIA", Capital, 16),
    format("ASIA", Capital, 16),
    format("xoxa-", Dashed, 10),
    format("xoxb-", Dashed, 10),
    format("xoxe-", Dashed, 10),
    format("xoxp-", Dashed, 10),
    format("xoxr-", Dashed, 10),
    format("xoxs-", Dashed, 10),
    format("xapp-", Dashed, 10),
    format("glpat-", Dotted, 16),
    format("npm_", Plain, 36),
    format("pypi-AgE", Dashed, 40),
    format("hf_", Plain, 30),
];

const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_NAME: &str = "PRIVATE KEY";
const DASHES: &str = "-----";

/// What precedes the authority in an address, plain and as escaped in JSON.
const SLASHES: [&str; 2] = ["://", ":\\/\\/"];

/// The longest scheme that is recognised.
const MAX_SCHEME: usize = 16;

/// The ranges of characters in a text that are secrets.
pub fn find_secrets(text: &[char]) -> Vec<Range<usize>> {
    let runs = Runs::new(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            '-' => {
                if let Some(length) = private_key(&text[at..]) {
                    found.push(at..at + length);
                    at += length;
                    continue;
                }
            }
            ':' => found.extend(user_secret(text, at)),
            first if first.is_ascii_alphabetic() => {
                let formats = FORMATS.iter().filter(|it| it.prefix.starts_with(first));
                let ends = formats.filter_map(|it| it.end(&runs, at));
                let end = ends.chain(web_token_end(&runs, at)).max();
                found.extend(end.map(|end| at..end));
            }
            _ => {}
        }
        at += 1;
    }
    found
}

impl Format {
    /// Where the secret that begins at this position ends, if there is one.
    fn end(&self, runs: &Runs<'_>, at: usize) -> Option<usize> {
        if !starts_with(&runs.text[at..], self.prefix) {
            return None;
        }
        let start = at + self.prefix.len();
        let run = runs.at(self.body, start)?;
        let is_inside = |place: Option<usize>| place.is_some_and(|it| it >= start);
        let fits = match self.rule {
            Rule::Anywhere => true,
            Rule::RandomWord => {
                is_inside(run.last_digit)
                    && is_inside(run.last_capital)
                    && is_word_start(runs.text, at)
            }
        };
        (run.trimmed >= start + self.least && fits).then_some(run.trimmed)
    }
}

/// Whether a word begins here: the character before is no letter or digit, or it belongs to an
/// escape such as `\n`.
fn is_word_start(text: &[char], at: usize) -> bool {
    let before = |distance: usize| at.checked_sub(distance).map(|it| text[it]);
    let is_after_letter = before(1).is_some_and(char::is_alphanumeric);
    !is_after_letter || before(2) == Some('\\')
}

fn find(text: &[char], wanted: &str) -> Option<usize> {
    (0..text.len()).find(|at| starts_with(&text[*at..], wanted))
}

/// The length of the private key in PEM with which the text begins, with real or escaped line
/// breaks. A key without its last line counts too.
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

/// The end of a JSON web token: three parts, of which the first two are JSON in base64 and so begin
/// with `eyJ`.
fn web_token_end(runs: &Runs<'_>, at: usize) -> Option<usize> {
    let mut start = at;
    for part in 0..3 {
        if part < 2 && !starts_with(&runs.text[start..], "eyJ") {
            return None;
        }
        let end = runs.at(Dashed, start)?.end;
        if end < start + 10 {
            return None;
        }
        if part == 2 {
            return Some(end);
        }
        if runs.text.get(end) != Some(&'.') {
            return None;
        }
        start = end + 1;
    }
    None
}

/// The password in `://user:password@host`, or the user in `://user@host`, which is often a token.
/// A password may contain an `@`, so the host follows the last one.
fn user_secret(text: &[char], at: usize) -> Option<Range<usize>> {
    let slashes = SLASHES.iter().find(|it| starts_with(&text[at..], it))?;
    let start = at + slashes.len();
    let is_part = |c: &&char| !c.is_whitespace() && !"/?#\"'<>`\\".contains(**c);
    let length = text[start..].iter().take_while(is_part).count();
    let authority = &text[start..start + length];
    let end = authority.iter().rposition(|it| *it == '@')?;
    let secret = match authority[..end].iter().position(|it| *it == ':') {
        Some(colon) => colon + 1..end,
        None if is_ssh(text, at) => return None,
        None => 0..end,
    };
    (!secret.is_empty()).then(|| start + secret.start..start + secret.end)
}

/// Whether the scheme before this position is one of ssh, whose user names are not secret.
fn is_ssh(text: &[char], at: usize) -> bool {
    let before = &text[at.saturating_sub(MAX_SCHEME)..at];
    let is_scheme = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let start = before.iter().rposition(|it| !is_scheme(it));
    let scheme: String = before[start.map_or(0, |it| it + 1)..].iter().collect();
    scheme.to_lowercase().contains("ssh")
}

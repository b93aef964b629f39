//! Finds known values in a text, in each form that programs write.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::ops::Range;

/// Shorter values are not searched for: they would be found in almost any text.
pub const SHORTEST: usize = 8;

/// Minimum length of a value's line that is searched for by itself, and of a form that is searched
/// for across line breaks. Anything shorter could be part of an ordinary sentence.
pub const SHORTEST_LINE: usize = 16;

/// The forms of all values as one Aho-Corasick automaton: the time of a search does not depend on
/// how many forms there are.
#[derive(Clone, Default)]
pub struct KnownValues {
    nodes: Vec<Node>,
}

/// A prefix of at least one form.
#[derive(Clone, Default)]
struct Node {
    next: BTreeMap<char, usize>,
    /// The node of the longest proper suffix of this prefix that is also a prefix of a form.
    shorter: usize,
    /// The length of the longest form that ends here, or 0.
    length: usize,
}

impl KnownValues {
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> KnownValues {
        let values = values.into_iter().map(str::trim);
        let forms: BTreeSet<String> = values.flat_map(forms).collect();
        let mut nodes = vec![Node::default()];
        for form in &forms {
            let mut node = 0;
            for c in form.chars() {
                let new = nodes.len();
                node = *nodes[node].next.entry(c).or_insert(new);
                if node == new {
                    nodes.push(Node::default());
                }
            }
            nodes[node].length = form.chars().count();
        }
        let mut known = KnownValues { nodes };
        known.link();
        known
    }

    /// Fills in `shorter`, from short prefixes to long ones.
    fn link(&mut self) {
        let mut queue = VecDeque::from([0]);
        while let Some(node) = queue.pop_front() {
            let next: Vec<(char, usize)> = self.nodes[node].next.clone().into_iter().collect();
            for (c, child) in next {
                let shorter = match node {
                    0 => 0,
                    _ => self.step(self.nodes[node].shorter, c),
                };
                let length = self.nodes[shorter].length;
                let found = &mut self.nodes[child];
                found.shorter = shorter;
                found.length = found.length.max(length);
                queue.push_back(child);
            }
        }
    }

    fn step(&self, mut node: usize, c: char) -> usize {
        loop {
            if let Some(next) = self.nodes[node].next.get(&c) {
                return *next;
            }
            if node == 0 {
                return 0;
            }
            node = self.nodes[node].shorter;
        }
    }

    /// The ranges of characters in `text` that are a form of at least `least` characters.
    pub fn find(&self, text: impl Iterator<Item = char>, least: usize) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if self.nodes.is_empty() {
            return found;
        }
        let mut node = 0;
        for (at, c) in text.enumerate() {
            node = self.step(node, c);
            let length = self.nodes[node].length;
            if length > 0 && length >= least {
                found.push(at + 1 - length..at + 1);
            }
        }
        found
    }
}

/// A value as plain text, in JSON, in a URL and in base64; and each of its longer lines.
fn forms(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    if value.chars().count() < SHORTEST {
        return found;
    }
    found.push(value.to_owned());
    found.extend(json_forms(value));
    found.extend(url_forms(value));
    found.extend(base64_forms(value));
    let lines = value.lines().map(str::trim);
    let lines = lines.filter(|it| it.chars().count() >= SHORTEST_LINE && *it != value);
    found.extend(lines.map(str::to_owned));
    found
}

/// The forms in JSON. Some writers also escape slashes, some `<`, `>` and `&`, some everything
/// beyond ASCII.
fn json_forms(value: &str) -> Vec<String> {
    let quoted = serde_json::to_string(value).unwrap_or_default();
    let plain = quoted.get(1..quoted.len().saturating_sub(1));
    let plain = plain.unwrap_or_default();
    let escape = |text: &str, is_escaped: fn(char) -> bool| {
        let mut escaped = String::new();
        for c in text.chars() {
            if is_escaped(c) {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _never_fails = write!(escaped, "\\u{unit:04x}");
                }
            } else {
                escaped.push(c);
            }
        }
        escaped
    };
    let is_html = |c| matches!(c, '<' | '>' | '&');
    let is_foreign = |c: char| !c.is_ascii();
    vec![
        plain.to_owned(),
        plain.replace('/', "\\/"),
        escape(plain, is_html),
        escape(plain, is_foreign),
        escape(&escape(plain, is_html), is_foreign),
        escape(plain, is_foreign).replace('/', "\\/"),
    ]
}

/// The percent-encoded forms: with hexadecimal digits in upper and lower case, and with the
/// characters that some writers leave unencoded.
fn url_forms(value: &str) -> Vec<String> {
    let encode = |kept: &str| {
        let mut encoded = String::new();
        for byte in value.bytes() {
            let c = char::from(byte);
            let is_kept = c.is_ascii_alphanumeric() || "-_.~".contains(c) || kept.contains(c);
            if is_kept && c.is_ascii() {
                encoded.push(c);
            } else {
                let _never_fails = write!(encoded, "%{byte:02X}");
            }
        }
        encoded
    };
    let mut found = Vec::new();
    for kept in ["", "/", "!'()*", "/!'()*"] {
        let upper = encode(kept);
        found.push(lower_digits(&upper));
        found.push(upper.replace("%20", "+"));
        found.push(upper);
    }
    found
}

/// The digits after each `%` in lower case.
fn lower_digits(encoded: &str) -> String {
    let mut digits = 0_u8;
    let lower = encoded.chars().map(|c| {
        if c == '%' {
            digits = 2;
            return c;
        }
        let is_digit = digits > 0;
        digits = digits.saturating_sub(1);
        if is_digit { c.to_ascii_lowercase() } else { c }
    });
    lower.collect()
}

/// Base64 turns three bytes into four characters, so a value inside a longer text has one of three
/// forms. The characters at its ends that also depend on the neighbouring bytes are left out.
fn base64_forms(value: &str) -> Vec<String> {
    const STANDARD: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut found = Vec::new();
    for offset in 0..3 {
        let mut bytes = vec![0; offset];
        bytes.extend(value.bytes());
        let bits = |index: usize| {
            let bit = index * 6;
            let pair = [bytes[bit / 8], bytes.get(bit / 8 + 1).copied().unwrap_or(0)];
            let shifted = u16::from_be_bytes(pair) >> (10 - bit % 8);
            usize::from(shifted & 63)
        };
        let own = (offset * 8).div_ceil(6)..bytes.len() * 8 / 6;
        let standard = own.map(|index| char::from(STANDARD[bits(index)]));
        let standard: String = standard.collect();
        if standard.len() >= SHORTEST {
            found.push(standard.replace('+', "-").replace('/', "_"));
            found.push(standard);
        }
    }
    found
}

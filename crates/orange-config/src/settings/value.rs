//! A value of `config.toml`: read from text, shown as text.

use std::fmt;
use std::time::Duration;

use orange_engine::budget::Limit;
use serde::{Serialize, Serializer};

use crate::HostPort;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Name,
    /// A branch with `{summary}` or `{id}` in its name.
    Branch,
    /// A command line for a shell.
    Command,
    /// A path; `~/` is the user's home directory.
    Path,
    /// A number, 0 or larger.
    Count,
    /// A number and `ms`, `s`, `m` or `h`.
    Duration,
    /// A number and `KB`, `MB` or `GB`.
    Size,
    /// `true` or `false`.
    Switch,
    /// An address that begins with `http://` or `https://`.
    Url,
    /// An amount of money or tokens.
    Budget,
    /// `host/owner/name`.
    Repository,
    /// A list of names.
    Names,
    /// A list of hosts, each with a port.
    Hosts,
    /// A program and its arguments.
    Arguments,
    OneOf(&'static [&'static str]),
}

/// A value that matches its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A name, a word or a command.
    Text(String),
    Count(u32),
    Duration(Duration),
    /// A number of bytes.
    Size(u64),
    Switch(bool),
    /// An address, of which only the host is shown: the rest is often a secret.
    Url(String),
    Names(Vec<String>),
    /// A program and its arguments.
    Arguments(Vec<String>),
    /// An amount of money or tokens.
    Budget(Limit),
}

impl Value {
    pub(crate) fn hosts(hosts: &[HostPort]) -> Value {
        Value::Names(hosts.iter().map(HostPort::to_string).collect())
    }

    /// A name or a word.
    pub(crate) fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

const DURATIONS: &[(&str, u64)] = &[("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
const SIZES: &[(&str, u64)] = &[("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000)];

impl Kind {
    /// The value that a text represents, if it matches.
    pub(crate) fn read(self, text: &str) -> Option<Value> {
        match self {
            Kind::Name | Kind::Command | Kind::Path => {
                let is_name = !text.is_empty() && !text.contains(char::is_control);
                is_name.then(|| Value::text(text))
            }
            Kind::Branch => {
                let is_plain = !text.contains(|it: char| it.is_control() || it.is_whitespace());
                let is_unique = text.contains("{summary}") || text.contains("{id}");
                (is_plain && is_unique).then(|| Value::text(text))
            }
            Kind::Count => text.parse().ok().map(Value::Count),
            Kind::Duration => {
                let millis = parse_measure(text, DURATIONS)?;
                Some(Value::Duration(Duration::from_millis(millis)))
            }
            Kind::Size => parse_measure(text, SIZES).map(Value::Size),
            Kind::Switch => text.parse().ok().map(Value::Switch),
            Kind::Url => {
                let host = host(text)?;
                let is_plain = !text.contains(|it: char| it.is_control() || it.is_whitespace());
                (is_plain && !host.is_empty()).then(|| Value::Url(text.to_owned()))
            }
            Kind::Budget => text.parse().ok().map(Value::Budget),
            Kind::Repository => is_repository(text).then(|| Value::text(text)),
            // A file writes names as an array; this reads one text of that array.
            Kind::Names => {
                let is_name = !text.trim().is_empty() && !text.contains(char::is_control);
                is_name.then(|| Value::Names(vec![text.trim().to_owned()]))
            }
            Kind::Hosts => {
                let host: HostPort = text.parse().ok()?;
                Some(Value::Names(vec![host.to_string()]))
            }
            Kind::Arguments => {
                let is_hidden = |it: char| it.is_control() && !matches!(it, '\n' | '\t');
                (!text.contains(is_hidden)).then(|| Value::Names(vec![text.to_owned()]))
            }
            Kind::OneOf(words) => words.contains(&text).then(|| Value::text(text)),
        }
    }

    /// Whether `config.toml` writes a value of this kind in quotes.
    pub(crate) fn is_text(self) -> bool {
        !matches!(self, Kind::Count | Kind::Switch)
    }

    /// What the user should write.
    pub fn expected(self) -> String {
        match self {
            Kind::Name => "a name, such as \"default\"".to_owned(),
            Kind::Branch => "a branch, such as \"me/{summary}\" or \"tasks/{id}\"".to_owned(),
            Kind::Command => "a command, such as \"cargo test\"".to_owned(),
            Kind::Path => "a path, such as \"~/.tmux.conf\"".to_owned(),
            Kind::Count => "a number, 0 or larger".to_owned(),
            Kind::Duration => "a duration, such as \"500ms\", \"2s\", \"5m\" or \"1h\"".into(),
            Kind::Size => "a size, such as \"500KB\", \"10MB\" or \"1GB\"".to_owned(),
            Kind::Switch => "true or false".to_owned(),
            Kind::Url => "an address, such as \"https://example.org/hook\"".to_owned(),
            Kind::Budget => "an amount, such as \"5.00 USD\" or \"2M tokens\"".to_owned(),
            Kind::Repository => "a repository, such as \"github.com/ada/engine\"".to_owned(),
            Kind::Names => "a list of names, such as [\"one\", \"two\"]".to_owned(),
            Kind::Hosts => {
                "a list of hosts and ports, such as [\"registry.example.org:443\"]".to_owned()
            }
            Kind::Arguments => "a program and its arguments, such as [\"npm\", \"ci\"]".to_owned(),
            Kind::OneOf(words) => {
                let words: Vec<String> = words.iter().map(|it| format!("\"{it}\"")).collect();
                words.join(" or ")
            }
        }
    }
}

/// A number greater than zero, with its unit.
fn parse_measure(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|it: char| !it.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    let product = number.parse::<u64>().ok()?.checked_mul(*factor)?;
    (product > 0).then_some(product)
}

/// Whether a text is `host/owner/name`.
fn is_repository(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
    let is_name = |part: &str| part.chars().all(is_plain) && !part.trim_matches('.').is_empty();
    let parts: Vec<&str> = text.split('/').collect();
    parts.len() == 3 && parts.into_iter().all(is_name)
}

/// The host of an address.
fn host(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("https://");
    let rest = rest.or_else(|| text.strip_prefix("http://"))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // What precedes `@` is a user name and a password.
    rest[..end].rsplit('@').next()
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => formatter.write_str(text),
            Value::Count(count) => write!(formatter, "{count}"),
            Value::Duration(duration) => {
                let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
                formatter.write_str(&in_units(millis, DURATIONS))
            }
            Value::Size(bytes) => formatter.write_str(&in_units(*bytes, SIZES)),
            Value::Switch(is_on) => write!(formatter, "{is_on}"),
            Value::Url(url) => {
                let scheme = url.split(':').next().unwrap_or_default();
                write!(formatter, "{scheme}://{}/…", host(url).unwrap_or_default())
            }
            Value::Names(names) => formatter.write_str(&names.join(", ")),
            Value::Arguments(words) => write!(formatter, "{words:?}"),
            Value::Budget(limit) => limit.fmt(formatter),
        }
    }
}

/// A number in the largest unit that it is a multiple of.
fn in_units(number: u64, units: &[(&str, u64)]) -> String {
    let fits = units
        .iter()
        .find(|(_, factor)| number.is_multiple_of(*factor));
    let (unit, factor) = fits.copied().unwrap_or(("", 1));
    format!("{}{unit}", number / factor)
}

impl schemars::JsonSchema for Value {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Value".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "integer", "boolean", "array"] })
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Count(count) => serializer.serialize_u32(*count),
            Value::Switch(is_on) => serializer.serialize_bool(*is_on),
            Value::Names(names) | Value::Arguments(names) => serializer.collect_seq(names),
            other => serializer.collect_str(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_and_shown() {
        for (kind, text) in [
            (Kind::Duration, "500ms"),
            (Kind::Duration, "90s"),
            (Kind::Duration, "5m"),
            (Kind::Duration, "1h"),
            (Kind::Size, "10MB"),
            (Kind::Size, "1500KB"),
            (Kind::Budget, "5.00 USD"),
            (Kind::Budget, "2M tokens"),
        ] {
            assert_eq!(kind.read(text).unwrap().to_string(), text);
        }
        let minute = Kind::Duration.read("60s").unwrap();
        assert_eq!(minute.to_string(), "1m");
        for bad in ["", "5", "s", "0s", "-1s", "1 s", "1d", "99999999999999999h"] {
            assert_eq!(Kind::Duration.read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_repository_has_a_host_an_owner_and_a_name() {
        for good in ["github.com/ada/engine", "ghe.example.org:8443/ada/x.y_z-1"] {
            assert!(Kind::Repository.read(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "ada/engine",
            "https://github.com/ada/engine",
            "github.com/ada/..",
            "github.com//engine",
            "a/b/c/d",
            "github.com/ada/en gine",
        ] {
            assert_eq!(Kind::Repository.read(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_address_shows_no_secret() {
        let url = "https://user:pass@hooks.example.org/T0/B0/secret?key=x";
        let read = Kind::Url.read(url).unwrap();
        assert_eq!(read.to_string(), "https://hooks.example.org/…");
        for bad in ["ftp://a", "https://", "https:// a", "hooks.example.org"] {
            assert_eq!(Kind::Url.read(bad), None, "{bad}");
        }
    }
}

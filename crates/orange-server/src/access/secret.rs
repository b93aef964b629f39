//! Tokens and codes: random bits, of which a hash is stored.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// How many random bytes a secret has.
const BYTES: usize = 32;

/// What a secret is for. Its first characters say so, so that people and scanners for leaked
/// secrets recognise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// What a runner presents with every call.
    Runner,
    /// What a person's client presents with every call.
    Person,
    /// Works once, and becomes one of the others.
    Code,
}

impl SecretKind {
    const ALL: [Self; 3] = [Self::Runner, Self::Person, Self::Code];

    const fn prefix(self) -> &'static str {
        match self {
            Self::Runner => "orr_",
            Self::Person => "orp_",
            Self::Code => "orc_",
        }
    }
}

/// A token or a code, as its owner has it. It is shown once and never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    kind: SecretKind,
    text: String,
}

/// The SHA-256 of a secret: what the database has.
pub type Digest = [u8; 32];

impl Secret {
    /// Draws a secret from the system's random numbers.
    pub fn draw(kind: SecretKind) -> Result<Self, getrandom::Error> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)?;
        let digits = hexadecimal(&bytes);
        let text = format!("{}{digits}", kind.prefix());
        Ok(Self { kind, text })
    }

    /// A text of the right form; `None` for anything else, which the database is not asked about.
    pub fn parse(text: &str) -> Option<Self> {
        let mut kinds = SecretKind::ALL.into_iter();
        let kind = kinds.find(|it| text.starts_with(it.prefix()))?;
        let digits = text.strip_prefix(kind.prefix())?.as_bytes();
        let is_digit = |it: &u8| matches!(it, b'0'..=b'9' | b'a'..=b'f');
        let is_whole = digits.len() == BYTES * 2 && digits.iter().all(is_digit);
        is_whole.then(|| Self {
            kind,
            text: text.to_owned(),
        })
    }

    pub fn kind(&self) -> SecretKind {
        self.kind
    }

    /// Only for the answer that hands the secret to its owner.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// A database finds it by this. Guessing a hash byte by byte is no way to guess the secret.
    pub fn digest(&self) -> Digest {
        Sha256::digest(self.text.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}…", self.kind.prefix())
    }
}

/// Lower-case hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    use fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _written = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_as_it_was_drawn() {
        for kind in SecretKind::ALL {
            let drawn = Secret::draw(kind).unwrap();
            let read = Secret::parse(drawn.reveal()).unwrap();
            assert_eq!((read.kind(), read.digest()), (kind, drawn.digest()));
            assert_ne!(drawn, Secret::draw(kind).unwrap());
        }
    }

    #[test]
    fn other_texts_are_no_secrets() {
        let good = Secret::draw(SecretKind::Runner).unwrap();
        let good = good.reveal();
        let upper = good.to_uppercase();
        let other = good.replace("orr_", "ors_");
        let long = format!("{good}0");
        for bad in ["", "orr_", &good[..67], &long, &upper, &other, &good[4..]] {
            assert_eq!(Secret::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::draw(SecretKind::Person).unwrap();
        assert_eq!(format!("{secret:?}"), "orp_…");
    }
}

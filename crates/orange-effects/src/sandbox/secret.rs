//! A secret that proves that a connection is the agent's.

use std::hint::black_box;
use std::io;

/// How many bytes of randomness it has.
const BYTES: usize = 24;

/// A secret. It is not shown in messages.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// One that cannot be guessed.
    pub(super) fn random() -> io::Result<Self> {
        use std::fmt::Write as _;
        use std::io::Read as _;
        let mut bytes = [0; BYTES];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let mut text = String::new();
        for byte in bytes {
            let _never_fails = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    pub(super) fn of(text: String) -> Self {
        Self(text)
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Whether these are its bytes. The time that this takes does not depend on how many are right.
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let pairs = own.iter().zip(bytes);
        let difference = pairs.fold(0, |sum, (a, b)| black_box(sum | (a ^ b)));
        own.len() == bytes.len() && difference == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_secret_is_right() {
        let secret = Secret::random().unwrap();
        assert_eq!(secret.text().len(), 2 * BYTES);
        assert!(secret.is(secret.text().as_bytes()));
        let [one, other] = [Secret::of("abc".into()), Secret::of(String::new())];
        for wrong in ["", "ab", "abd", "abcd", "Abc"] {
            assert!(!one.is(wrong.as_bytes()), "{wrong}");
        }
        assert!(!other.is(b"a"));
        assert_ne!(secret.text(), Secret::random().unwrap().text());
    }
}

//! tmux's ids: `$3`, `@7`, `%12`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text that is not a tmux id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a tmux id: a session is `$3`, a window `@7`, a pane `%12`")]
pub struct IdError(String);

/// Declares an id that consists of a sign and a number.
macro_rules! id {
    ($(#[$meta:meta] $name:ident $sign:literal),+ $(,)?) => {$(
        #[$meta]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(u32);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{}{}", $sign, self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let number = text.strip_prefix($sign).filter(|number| is_number(number));
                let number = number.and_then(|number| number.parse().ok());
                number.map(Self).ok_or_else(|| IdError(text.to_owned()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    )+};
}

id! {
    /// A session.
    SessionId '$',
    /// A window.
    WindowId '@',
    /// A pane.
    PaneId '%',
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_sign_and_a_number() {
        assert_eq!("%12".parse::<PaneId>().unwrap().to_string(), "%12");
        for text in [
            "",
            "%",
            "12",
            "@12",
            "%-1",
            "%+1",
            "%1 ",
            "%99999999999",
            "%1;kill",
        ] {
            assert!(text.parse::<PaneId>().is_err(), "{text}");
        }
        assert_eq!(serde_json::to_string(&SessionId(3)).unwrap(), "\"$3\"");
        assert!(serde_json::from_str::<WindowId>("\"$3\"").is_err());
    }
}

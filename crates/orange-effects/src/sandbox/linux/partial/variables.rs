//! Variables of a program whose home is at another path.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::sandbox::description::{Description, Mount};

/// The list of folders with programs, which stay where they are.
const PATH: &str = "PATH";

/// The variables, with paths of the user's home replaced by those of the private one. A path that is
/// visible where it is stays.
pub(in crate::sandbox::linux) fn private_variables(
    description: &Description,
    variables: BTreeMap<OsString, OsString>,
) -> BTreeMap<OsString, OsString> {
    let Some(private) = &description.private_home else {
        return variables;
    };
    let private = Path::new(private.as_os_str());
    let home = Path::new(description.user_home.as_os_str());
    let is_shown = |path: &Path| {
        let mut shown = description.mounts.iter().filter_map(Mount::shown_at);
        shown.any(|mount| mount != home && path.starts_with(mount))
    };
    let replaced = |name: &OsStr, value: OsString| {
        let path = Path::new(&value);
        match path.strip_prefix(home) {
            Ok(rest) if name != PATH && !is_shown(path) => {
                if rest.as_os_str().is_empty() {
                    private.as_os_str().to_owned()
                } else {
                    private.join(rest).into_os_string()
                }
            }
            _ => value,
        }
    };
    let variables = variables.into_iter();
    variables
        .map(|(name, value)| {
            let value = replaced(&name, value);
            (name, value)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::description::Limits;
    use crate::sandbox::network::Network;

    #[test]
    fn the_home_and_what_is_derived_from_it_are_replaced() {
        let description = Description {
            bwrap: None,
            orange: "/usr/bin/orange".into(),
            user_home: "/home/ada".into(),
            private_home: Some("/o/home.claude".into()),
            temporary: None,
            copies: Vec::new(),
            mounts: vec![Mount::Writable {
                path: "/home/ada/orange/w".into(),
            }],
            limits: Limits::default(),
            hostname: "orange".into(),
            network: Network::Open,
            login: None,
            hidden_variables: Vec::new(),
        };
        for (name, value, expected) in [
            ("HOME", "/home/ada", "/o/home.claude"),
            (
                "XDG_CONFIG_HOME",
                "/home/ada/.config",
                "/o/home.claude/.config",
            ),
            ("CARGO_HOME", "/home/ada/.cargo", "/o/home.claude/.cargo"),
            ("PATH", "/home/ada/bin", "/home/ada/bin"),
            ("OUT", "/home/ada/orange/w/x", "/home/ada/orange/w/x"),
            ("OTHER", "/home/adam", "/home/adam"),
            ("LANG", "C.UTF-8", "C.UTF-8"),
        ] {
            let variables = BTreeMap::from([(name.into(), value.into())]);
            let found = private_variables(&description, variables);
            assert_eq!(found[OsStr::new(name)], expected, "{name}");
        }
    }
}

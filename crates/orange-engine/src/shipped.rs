//! The workflows that come with the program.

/// A workflow that is compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    pub name: &'static str,
    /// Its text, comments and all.
    pub source: &'static str,
}

/// Every workflow that is compiled in, the usual one first.
pub const ALL: [Shipped; 4] = [
    Shipped {
        name: "default",
        source: include_str!("../../../workflows/default.yml"),
    },
    Shipped {
        name: "respawn",
        source: include_str!("../../../workflows/respawn.yml"),
    },
    Shipped {
        name: "minimal",
        source: include_str!("../../../workflows/minimal.yml"),
    },
    Shipped {
        name: "autopilot",
        source: include_str!("../../../workflows/autopilot.yml"),
    },
];

/// The shipped workflow of this name.
pub fn named(name: &str) -> Option<&'static Shipped> {
    ALL.iter().find(|shipped| shipped.name == name)
}

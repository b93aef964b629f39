//! The workflows that come with the program.

/// A workflow that is compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    pub name: &'static str,
    /// Its text, including comments.
    pub source: &'static str,
}

/// Every workflow that is compiled in, the default one first.
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

pub fn named(name: &str) -> Option<&'static Shipped> {
    ALL.iter().find(|shipped| shipped.name == name)
}

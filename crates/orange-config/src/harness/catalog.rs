//! All harnesses, by name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use orange_engine::names::HarnessName;

use crate::{Harness, HarnessError, Home, reason};

/// The definitions that are compiled in: name and text.
const SHIPPED: &[(&str, &str)] = &[
    ("claude", include_str!("../../../../harnesses/claude.toml")),
    ("codex", include_str!("../../../../harnesses/codex.toml")),
    ("gemini", include_str!("../../../../harnesses/gemini.toml")),
    (
        "opencode",
        include_str!("../../../../harnesses/opencode.toml"),
    ),
    ("pi", include_str!("../../../../harnesses/pi.toml")),
];

/// The tested version of each shipped harness.
const VERSIONS: &str = include_str!("../../../../harnesses/versions.toml");

/// The size of the largest definition that is read.
const MAX_BYTES: u64 = 64 * 1024;

/// A definition, which is parsed when it is first needed: most commands need one of many.
#[derive(Clone, Debug)]
struct Definition {
    name: String,
    source: Source,
    parsed: OnceLock<Result<Harness, HarnessError>>,
}

#[derive(Clone, Debug)]
enum Source {
    Shipped(&'static str),
    /// A file in the home, with its text or why it cannot be read.
    User(PathBuf, Result<String, HarnessError>),
}

impl Definition {
    fn new(name: &str, source: Source) -> Self {
        Self {
            name: name.to_owned(),
            source,
            parsed: OnceLock::new(),
        }
    }

    fn harness(&self) -> Result<&Harness, &HarnessError> {
        let parse = || match &self.source {
            Source::Shipped(text) => Harness::parse(&format!("harnesses/{}.toml", self.name), text),
            Source::User(path, text) => {
                parse(path, &self.name, text.as_ref().map_err(Clone::clone)?)
            }
        };
        self.parsed.get_or_init(parse).as_ref()
    }
}

/// The shipped harnesses and the user's own. A definition of the user replaces the shipped one with
/// the same name.
///
/// A mistake in one definition does not affect the others: it is reported when that harness is
/// requested.
#[derive(Clone, Debug)]
pub struct Harnesses {
    /// Ordered by name.
    definitions: Vec<Definition>,
    folder: PathBuf,
}

impl Harnesses {
    /// Reads every definition. A home that does not exist has none of its own.
    pub fn load(home: &Home) -> Result<Self, HarnessError> {
        Self::load_with(SHIPPED, &home.harnesses())
    }

    fn load_with(
        shipped: &[(&'static str, &'static str)],
        folder: &Path,
    ) -> Result<Self, HarnessError> {
        let mut definitions = user_definitions(folder)?;
        for (name, text) in shipped {
            if !definitions.iter().any(|own| own.name == *name) {
                definitions.push(Definition::new(name, Source::Shipped(text)));
            }
        }
        definitions.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Self {
            definitions,
            folder: folder.to_owned(),
        })
    }

    /// The tested version of a shipped harness's program.
    pub fn tested_version(name: &HarnessName) -> Option<&'static str> {
        let mut lines = VERSIONS.lines();
        let package = lines.find_map(|line| {
            let value = line.strip_prefix(name.as_str())?.strip_prefix(" = \"")?;
            value.strip_suffix('"')
        });
        Some(package?.rsplit_once('@')?.1)
    }

    /// The name of every definition, valid or not.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions.iter().map(|it| it.name.as_str())
    }

    /// Every name with its harness, or with what is wrong with it.
    pub fn all(&self) -> impl Iterator<Item = (&str, Result<&Harness, &HarnessError>)> {
        let definitions = self.definitions.iter();
        definitions.map(|it| (it.name.as_str(), it.harness()))
    }

    pub fn require(&self, name: &HarnessName) -> Result<&Harness, HarnessError> {
        let mut definitions = self.definitions.iter();
        match definitions.find(|it| it.name == name.as_str()) {
            Some(definition) => definition.harness().map_err(Clone::clone),
            None => Err(HarnessError::NotFound {
                name: name.clone(),
                names: self.names().map(str::to_owned).collect(),
                folder: self.folder.clone(),
            }),
        }
    }
}

fn user_definitions(folder: &Path) -> Result<Vec<Definition>, HarnessError> {
    let unreadable = |path: &Path, error: &io::Error| HarnessError::Unreadable {
        path: path.to_owned(),
        reason: reason(error),
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| unreadable(folder, &error))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(folder, &error))?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let is_definition = path.extension().is_some_and(|ending| ending == "toml");
        // Hidden files are skipped: editors keep them next to the file they write.
        if let Some(stem) = stem.filter(|stem| is_definition && !stem.starts_with('.')) {
            let text = read(&path).map_err(|error| unreadable(&path, &error));
            found.push(Definition::new(stem, Source::User(path.clone(), text)));
        }
    }
    Ok(found)
}

fn read(path: &Path) -> io::Result<String> {
    // Only regular files are read: reading a pipe or a device could block forever.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.len() > MAX_BYTES {
        let message = format!("it has more than {MAX_BYTES} bytes");
        return Err(io::Error::other(message));
    }
    fs::read_to_string(path)
}

/// Reads a definition in the home, whose name must match its file name.
fn parse(path: &Path, stem: &str, text: &str) -> Result<Harness, HarnessError> {
    let file = path.display().to_string();
    let harness = Harness::parse(&file, text)?;
    if harness.name.as_str() == stem {
        return Ok(harness);
    }
    let is_name_line = |line: &str| line.trim_start().starts_with("name");
    let line = text.lines().position(is_name_line).unwrap_or_default() + 1;
    let name = &harness.name;
    Err(HarnessError::Invalid {
        file,
        line,
        message: format!("the file is `{stem}.toml`, but its `name` is `{name}`"),
        hint: format!("write `name = \"{stem}\"`, or rename the file to `{name}.toml`"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"a\"\nbinary = \"shipped\"\n[args]\nfull = []";

    #[test]
    fn every_shipped_definition_is_valid() {
        for (name, text) in SHIPPED {
            let harness = Harness::parse(name, text).unwrap();
            assert_eq!(harness.name.as_str(), *name);
            assert!(Harnesses::tested_version(&harness.name).is_some(), "{name}");
            assert!(
                !harness.ready.is_empty(),
                "{name} asks for nothing at first?"
            );
        }
    }

    #[test]
    fn a_users_definition_replaces_the_shipped_one() {
        let folder = tempfile::tempdir().unwrap();
        let shipped = [("a", TEXT)];
        let binary = || {
            let harnesses = Harnesses::load_with(&shipped, folder.path())?;
            let harness = harnesses.require(&HarnessName::new("a"))?;
            Ok::<String, HarnessError>(harness.binary.clone())
        };
        assert_eq!(binary().unwrap(), "shipped");
        let own = folder.path().join("a.toml");
        fs::write(&own, TEXT.replace("shipped", "own")).unwrap();
        assert_eq!(binary().unwrap(), "own");
        fs::write(&own, "name = 1").unwrap();
        assert!(
            binary().is_err(),
            "a mistake does not bring the shipped one back unseen"
        );
    }
}

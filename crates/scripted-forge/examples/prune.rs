//! Writes the pruned schemas from the packages that `.ci/forge` installs.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use scripted_forge::prune;

#[expect(clippy::print_stderr, reason = "a program for developers")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [packages] = arguments.as_slice() else {
        eprintln!("usage: prune NODE_MODULES");
        return ExitCode::from(2);
    };
    match write(Path::new(packages)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot prune `{packages}`: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(packages: &Path) -> Result<(), String> {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    for (name, text) in prune::from_packages(packages)? {
        fs::write(schema.join(name), text).map_err(|it| it.to_string())?;
    }
    Ok(())
}

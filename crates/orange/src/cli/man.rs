//! `orange man`.

use std::path::PathBuf;

use super::help;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Print or write the manual pages.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write one page per command into this existing directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub dir: Option<PathBuf>,
}

pub fn run(args: &Args, output: &mut Output) -> Result<Exit, Error> {
    let command = help::commands();
    if let Some(directory) = &args.dir {
        clap_mangen::generate_to(command, directory)?;
        return Ok(Exit::Ok);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    output.answer_exactly(&page)?;
    Ok(Exit::Ok)
}

//! `orange web pair`.

use orange_config::Environment;
use orange_driver::DeviceScope;
use orange_engine::time::Timestamp;
use orange_web::PublicUrl;
use serde::Serialize;

use super::{PORT, base_url};
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape, narrate_hint};
use crate::output::{Output, Style, Text, with_local_times};

/// Print a one-time code for a new device.
///
/// Open the URL on the device. The code is behind `#`, so that no server and no proxy sees it. It
/// works once and for 10 minutes. The page exchanges it for a token of the device, which you can
/// revoke with `orange web revoke`. A new code for the same name replaces the last one.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A name for the device, such as `phone`.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// What the device may do.
    #[arg(long, value_enum, value_name = "SCOPE", default_value_t = Scope::Read)]
    pub scope: Scope,
    /// The port that `orange web` has.
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// The address that the device uses, if a proxy of yours serves the API.
    #[arg(long, value_name = "URL", conflicts_with = "port")]
    pub public_url: Option<PublicUrl>,
}

/// What a device may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scope {
    /// Ask questions.
    Read,
    /// Also act on tasks, notes, jobs and issues, as you may.
    Act,
}

impl From<Scope> for DeviceScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Read => DeviceScope::Read,
            Scope::Act => DeviceScope::Act,
        }
    }
}

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.web.pair/1");

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    /// The name of the device.
    name: &'a str,
    scope: DeviceScope,
    /// The URL to open on the device; the code is behind `#code=`.
    url: &'a str,
    code: &'a str,
    /// When the code stops working.
    expires_at: Timestamp,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let scope = args.scope.into();
    let added = driver.web.add_code(&args.name, scope)?;
    let base = base_url(args.public_url.as_ref(), args.port);
    let url = format!("{base}/#code={}", added.code);
    if output.is_json() {
        let body = Body {
            name: &args.name,
            scope,
            url: &url,
            code: &added.code,
            expires_at: added.expires_at,
        };
        return SHAPE.print(&body, output);
    }
    output.answer(&Text::line(Style::Plain, &url))?;
    let until = with_local_times(&added.expires_at.to_string()).into_owned();
    narrate_hint(&format!("the code works once, until {until}"), output);
    Ok(Exit::Ok)
}

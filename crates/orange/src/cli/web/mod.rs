//! `orange web`: the page, its API, and the devices that use them.

mod backend;
pub(super) mod devices;
mod openapi;
pub(super) mod pair;
pub(super) mod revoke;
pub(super) mod webhook;

use std::thread;

use clap::Subcommand;
use orange_config::Environment;
use orange_web::{Call, PublicUrl, Reply, Server, ServerError};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::answer::schemas::Shape;
use super::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::{Output, Style, Text};

/// The port of the API.
const PORT: u16 = 7171;

/// Serve the web page, or manage its devices.
///
/// Serves a page for your phone and the API behind it until you stop it with Ctrl-C: on this machine
/// only, and only for devices that you have paired with `orange web pair`. Both are off unless this
/// runs. Agents cannot use them. `docs/web.md` explains how to use the page from another machine,
/// and `docs/api.md` the API.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    override_usage = "orange web [OPTIONS] [COMMAND]"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The port on 127.0.0.1; 0 chooses a free one.
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// The address under which a proxy of yours serves the page, such as
    /// `https://machine.tailnet.ts.net`.
    #[arg(long, value_name = "URL")]
    pub public_url: Option<PublicUrl>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Pair(pair::Args),
    Devices(devices::Args),
    Revoke(revoke::Args),
    Webhook(webhook::Args),
    Openapi(openapi::Args),
}

pub const SHAPE: Shape = Shape::of::<Body>("orange.web/1");

/// The shape of an event of the stream.
pub const EVENT_SHAPE: Shape = Shape::of::<orange_web::Event>(orange_web::EVENT_SHAPE);

/// The shape of the answer to a device that was paired.
pub const PAIRED_SHAPE: Shape = Shape::of::<orange_web::Pairing>(orange_web::PAIR_SHAPE);

/// Where the API is served.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "WebBody")]
struct Body {
    /// The address and the port.
    address: String,
    /// The same as a URL.
    url: String,
}

/// What the server needs from the whole program. It is passed in, so that this folder and the
/// command line do not depend on each other.
#[derive(Clone, Copy)]
pub struct Program {
    /// Runs a command without a terminal.
    pub run: fn(&Call, &Environment) -> Reply,
    /// Describes the API.
    pub describe: fn() -> Result<String, Error>,
}

pub fn run(
    args: &Args,
    program: Program,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    match &args.command {
        Some(Command::Pair(args)) => pair::run(args, environment, output),
        Some(Command::Devices(_)) => devices::run(environment, output),
        Some(Command::Revoke(args)) => revoke::run(args, environment, output),
        Some(Command::Webhook(args)) => webhook::run(args, environment, output),
        Some(Command::Openapi(_)) => openapi::run(program, output),
        None => serve(args, program, environment, output),
    }
}

fn serve(
    args: &Args,
    program: Program,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    driver.callers.require_user("serve the web API")?;
    // Fails now rather than with the first request, if other users could write the devices.
    driver.web.devices()?;
    // Commands run outside every repository, whichever one the server was started in.
    let home = driver.context.home().path().to_owned();
    let environment = environment.clone().of_server(home);
    let backend = backend::backend(program, &environment)?;
    let server = Server::bind(args.port, args.public_url.as_ref(), backend)?;
    let signals = Signals::new([SIGINT, SIGTERM]);
    let mut signals = signals.map_err(Error::not_started)?;
    let (handle, stopper) = (signals.handle(), server.stopper());
    let listener = thread::spawn(move || {
        if signals.forever().next().is_some() {
            stopper.stop();
        }
    });
    announce(&server, args.public_url.as_ref(), output)?;
    server.run();
    handle.close();
    // This does not block: closing the handle has ended the listener's wait for signals.
    let _joined = listener.join();
    Ok(Exit::Ok)
}

fn announce(
    server: &Server,
    public_url: Option<&PublicUrl>,
    output: &mut Output,
) -> Result<(), Error> {
    let address = server.address();
    let body = Body {
        address: address.to_string(),
        url: format!("http://{address}/"),
    };
    if output.is_json() {
        return SHAPE.print_line(&body, output);
    }
    let text = format!("web page on {}; stop with Ctrl-C", body.url);
    output.answer(&Text::line(Style::Plain, &text))?;
    let option = match (public_url, address.port()) {
        (Some(url), _) => format!(" --public-url {url}"),
        (None, PORT) => String::new(),
        (None, port) => format!(" --port {port}"),
    };
    let hint = format!("pair a device with `orange web pair NAME{option}`");
    super::narrate_hint(&hint, output);
    Ok(())
}

/// Where the API is served, for devices and for GitHub.
fn base_url(public_url: Option<&PublicUrl>, port: u16) -> String {
    match public_url {
        Some(url) => url.to_string(),
        None => format!("http://127.0.0.1:{port}"),
    }
}

impl From<ServerError> for Error {
    fn from(error: ServerError) -> Self {
        match &error {
            ServerError::PortTaken { .. } => Error::new(Exit::Refused, "port-taken", error)
                .hint("choose another port with `orange web --port PORT`"),
            ServerError::NotBound { .. } | ServerError::NotStarted(_) => Error::not_started(error),
        }
    }
}

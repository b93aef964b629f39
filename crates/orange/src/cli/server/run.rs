//! `orange server run`.

use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;

use orange_config::Environment;
use orange_server::{CONNECTIONS, Host, ListenAddress, Report, Settings, TlsSetting};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape, narrate_hint};
use crate::output::{Output, Style, Text};

/// How many messages wait for a slow terminal.
const REPORTS: usize = 100;

/// Serve the fleet until you stop it with Ctrl-C.
///
/// Any number of servers may use one database. A server keeps nothing itself, so it may be killed
/// at any time. Without `--tls` it listens on this machine only.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The database, such as `postgres://user@host:5432/name`.
    #[arg(long, value_name = "URL")]
    pub database: String,
    /// The address and port; `:7878` listens on all addresses.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7878")]
    pub listen: ListenAddress,
    /// Encrypt: `self` makes a certificate, two files name yours and its key.
    #[arg(long, value_names = ["CERT", "KEY"], num_args = 1..=2)]
    pub tls: Vec<PathBuf>,
}

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.server.run/1");

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "ServerRunBody")]
struct Body<'a> {
    /// The address and the port.
    address: String,
    /// The same as a URL.
    url: &'a str,
    /// The SHA-256 of the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_sha256: Option<&'a str>,
    /// A one-time code for the first admin, when there is no admin yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    admin_code: Option<&'a str>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let settings = Settings {
        database: args.database.clone(),
        connections: CONNECTIONS,
        listen: args.listen,
        tls: tls_setting(&args.tls, environment)?,
    };
    let (sender, reports) = mpsc::sync_channel(REPORTS);
    let report: Report = Arc::new(move |message: &str| {
        // Too many at once say the same, and when nothing listens any more, the server is ending.
        let _sent = sender.try_send(message.to_owned());
    });
    let host = Host::start(&settings, report)?;
    let signals = Signals::new([SIGINT, SIGTERM]);
    let mut signals = signals.map_err(Error::not_started)?;
    let (handle, stopper) = (signals.handle(), host.stopper());
    let listener = thread::spawn(move || {
        if signals.forever().next().is_some() {
            stopper.stop();
        }
    });
    announce(&host, output)?;
    let server = thread::spawn(move || host.run());
    // This ends with the server, which has the other end.
    for message in reports {
        output.narrate(&Text::line(Style::Plain, &message));
    }
    let _joined = server.join();
    handle.close();
    // This does not block: closing the handle has ended the listener's wait for signals.
    let _joined = listener.join();
    Ok(Exit::Ok)
}

fn tls_setting(words: &[PathBuf], environment: &Environment) -> Result<TlsSetting, Error> {
    match words {
        [] => Ok(TlsSetting::Off),
        [word] if word.as_os_str() == "self" => {
            let driver = driver(environment)?;
            let folder = driver.context.home().path().join("server");
            Ok(TlsSetting::SelfSigned { folder })
        }
        [certificate, key] => Ok(TlsSetting::Files {
            certificate: certificate.clone(),
            key: key.clone(),
        }),
        _ => Err(
            Error::usage("`--tls` needs `self`, or a certificate and its key")
                .hint("write `--tls self`, or `--tls CERT KEY` with two files in PEM"),
        ),
    }
}

fn announce(host: &Host, output: &mut Output) -> Result<(), Error> {
    let server = host.server();
    let scheme = if server.fingerprint().is_some() {
        "https"
    } else {
        "http"
    };
    let url = format!("{scheme}://{}", server.address());
    let body = Body {
        address: server.address().to_string(),
        url: &url,
        certificate_sha256: server.fingerprint(),
        admin_code: host.first_code().map(orange_server::access::Secret::reveal),
    };
    if output.is_json() {
        return SHAPE.print_line(&body, output);
    }
    let line = |text: &str| Text::line(Style::Plain, text);
    output.answer(&line(&format!("server on {url}; stop with Ctrl-C")))?;
    if let Some(sha) = body.certificate_sha256 {
        output.answer(&line(&format!("certificate sha256: {sha}")))?;
    }
    if let Some(code) = body.admin_code {
        output.answer(&line(&format!("admin code: {code}")))?;
        narrate_hint("the code works once and for 24 hours", output);
    }
    Ok(())
}

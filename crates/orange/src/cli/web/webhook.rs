//! `orange web webhook`.

use orange_config::Environment;
use orange_web::{PublicUrl, WEBHOOK};
use serde::Serialize;

use super::{PORT, base_url};
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape, narrate_hint};
use crate::output::{Output, Style, Text};

/// Accept webhooks of GitHub.
///
/// Prints the URL and the secret for the settings of a repository on GitHub. A webhook only makes
/// orange look at the repository sooner; nothing that it says is believed. Webhooks are off until
/// you run this.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Replace the secret; GitHub needs the new one.
    #[arg(long)]
    pub new: bool,
    /// Refuse webhooks again, and delete the secret.
    #[arg(long, conflicts_with_all = ["new", "port", "public_url"])]
    pub off: bool,
    /// The port that `orange web` has.
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// The address that GitHub uses, if a proxy of yours serves the API.
    #[arg(long, value_name = "URL", conflicts_with = "port")]
    pub public_url: Option<PublicUrl>,
}

pub const SHAPE: Shape = Shape::of::<Body>("orange.web.webhook/1");

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "WebhookBody")]
struct Body {
    /// Whether webhooks are accepted.
    is_on: bool,
    /// The URL for GitHub.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The secret for GitHub.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let web = driver(environment)?.web;
    if args.off {
        web.turn_webhooks_off()?;
        let body = Body {
            is_on: false,
            url: None,
            secret: None,
        };
        if output.is_json() {
            return SHAPE.print(&body, output);
        }
        output.answer(&Text::line(Style::Plain, "webhooks are refused"))?;
        return Ok(Exit::Ok);
    }
    let secret = web.turn_webhooks_on(args.new)?;
    let url = format!("{}{WEBHOOK}", base_url(args.public_url.as_ref(), args.port));
    if output.is_json() {
        let body = Body {
            is_on: true,
            url: Some(url),
            secret: Some(secret),
        };
        return SHAPE.print(&body, output);
    }
    let mut text = Text::new();
    for (name, value) in [("Payload URL", &url), ("Secret", &secret)] {
        text.push(Style::Bold, &format!("{name:<12}"));
        text.push(Style::Plain, value);
        text.end_line();
    }
    output.answer(&text)?;
    narrate_hint(
        "on GitHub, choose the content type `application/json`",
        output,
    );
    Ok(Exit::Ok)
}

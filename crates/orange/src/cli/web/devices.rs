//! `orange web devices`.

use orange_config::{Environment, clock};
use orange_driver::{Device, DeviceScope};
use serde::Serialize;

use crate::cli::answer::words::ago;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape, narrate_hint};
use crate::output::{Output, Style, Text};

/// List the devices that may use the web API.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.web.devices/1");

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    devices: &'a [Device],
}

pub fn run(environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let devices = driver(environment)?.web.devices()?;
    if output.is_json() {
        return SHAPE.print(&Body { devices: &devices }, output);
    }
    if devices.is_empty() {
        let text = "no device is paired";
        output.answer(&Text::line(Style::Plain, text))?;
        narrate_hint("pair one with `orange web pair NAME`", output);
        return Ok(Exit::Ok);
    }
    let now = clock::now();
    let mut text = Text::new();
    for device in &devices {
        let scope = match device.scope {
            DeviceScope::Read => "read",
            DeviceScope::Act => "act",
        };
        let (paired, seen) = (ago(now, device.created_at), ago(now, device.seen_at));
        let line = format!(": {scope}, paired {paired}, last used {seen}");
        let parts = [(Style::Bold, device.name.as_str()), (Style::Plain, &line)];
        text.push_line(&parts, 4, output.answer_width());
    }
    output.answer(&text)?;
    Ok(Exit::Ok)
}

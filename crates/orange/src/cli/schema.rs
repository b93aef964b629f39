//! `orange schema`.

use serde::Serialize;
use serde_json::{Value, json};

use super::answer::schemas::Shape;
use super::request::{permission, requests, several};
#[cfg(feature = "server")]
use super::server;
#[cfg(feature = "web")]
use super::web;
use super::{
    allow, answer, attention, budget, config, doctor, forge, harness, inbox, install, issue, job,
    log, note, project, rebuild, report, runner, sandbox, serve, task, uninstall, workflow,
    workspace,
};
use crate::cli::{Error, Exit};
use crate::output::{Output, Style, Text};

/// Print the schemas of JSON output.
///
/// The key `schema` in JSON output names its schema with a version, such as `orange.task.list/1`.
/// Pass that name to print the schema; without a name, lists all names.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The name with its version, such as `orange.task.list/1`.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

pub const SHAPE: Shape = Shape::of::<Body>("orange.schema/1");

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    /// The requested name, or all names.
    names: Vec<&'static str>,
    /// The requested schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    json_schema: Option<Value>,
}

/// Every shape, in the order in which `orange schema` lists them.
pub const ALL: &[&Shape] = &[
    &attention::CHANGE_SHAPE,
    &attention::SHAPE,
    &budget::SHAPE,
    &config::show::SHAPE,
    &doctor::SHAPE,
    &answer::error::SHAPE,
    &forge::look::SHAPE,
    &forge::status::SHAPE,
    &harness::list::SHAPE,
    &harness::unpark::SHAPE,
    &inbox::SHAPE,
    &install::SHAPE,
    &issue::SHAPE,
    &issue::list::SHAPE,
    &issue::show::SHAPE,
    &job::SHAPE,
    &job::list::SHAPE,
    &job::next::SHAPE,
    &job::remove::SHAPE,
    &note::SHAPE,
    &note::list::SHAPE,
    &log::SHAPE,
    &permission::SHAPE,
    &allow::policy::SHAPE,
    &project::add::SHAPE,
    &project::list::SHAPE,
    &project::remove::SHAPE,
    &project::show::SHAPE,
    &project::update::SHAPE,
    &rebuild::SHAPE,
    &report::SHAPE,
    &SHAPE,
    &runner::SHAPE,
    &sandbox::explain::SHAPE,
    &sandbox::port::SHAPE,
    &sandbox::r#try::SHAPE,
    &serve::SHAPE,
    #[cfg(feature = "server")]
    &server::code::SHAPE,
    #[cfg(feature = "server")]
    &server::migrate::SHAPE,
    #[cfg(feature = "server")]
    &server::run::SHAPE,
    &requests::SHAPE,
    &task::compare::SHAPE,
    &task::create::each::SHAPE,
    &task::create::from::SHAPE,
    &task::delete::SHAPE,
    &task::diff::SHAPE,
    &task::history::SHAPE,
    &task::keep::SHAPE,
    &task::list::SHAPE,
    &task::logs::SHAPE,
    &task::respawn::SHAPE,
    &task::restore::SHAPE,
    &task::restore::RESTORED_SHAPE,
    &several::SHAPE,
    &task::show::SHAPE,
    &task::merge_all::SHAPE,
    &task::path::SHAPE,
    &task::unblock::SHAPE,
    &task::wait::SHAPE,
    &task::why::SHAPE,
    &uninstall::SHAPE,
    #[cfg(feature = "web")]
    &web::SHAPE,
    #[cfg(feature = "web")]
    &web::devices::SHAPE,
    #[cfg(feature = "web")]
    &web::EVENT_SHAPE,
    #[cfg(feature = "web")]
    &web::pair::SHAPE,
    #[cfg(feature = "web")]
    &web::PAIRED_SHAPE,
    #[cfg(feature = "web")]
    &web::revoke::SHAPE,
    #[cfg(feature = "web")]
    &web::webhook::SHAPE,
    &workflow::check::SHAPE,
    &workflow::diff::SHAPE,
    &workflow::graph::SHAPE,
    &workflow::list::SHAPE,
    &workflow::new::SHAPE,
    &workflow::schema::SHAPE,
    &workflow::show::SHAPE,
    &workflow::simulate::START_SHAPE,
    &workflow::simulate::SHAPE,
    &workspace::gc::SHAPE,
    &workspace::init::SHAPE,
    &workspace::list::SHAPE,
    &workspace::remove::SHAPE,
];

pub fn run(args: &Args, output: &mut Output) -> Result<Exit, Error> {
    let found = match &args.name {
        Some(name) => {
            let found = ALL.iter().find(|shape| shape.name == name);
            Some(found.ok_or_else(|| {
                let message = format!("cannot show the schema `{name}`: there is no such schema");
                Error::new(Exit::NotFound, "schema-not-found", message)
                    .hint("run `orange schema` to see every name")
                    .details(json!({ "name": name }))
            })?)
        }
        None => None,
    };
    if output.is_json() {
        let names = found.map_or_else(
            || ALL.iter().map(|shape| shape.name).collect(),
            |shape| vec![shape.name],
        );
        let body = Body {
            names,
            json_schema: found.map(|shape| shape.schema()),
        };
        return SHAPE.print(&body, output);
    }
    let Some(shape) = found else {
        let mut text = Text::new();
        for shape in ALL {
            text.push(Style::Plain, shape.name);
            text.end_line();
        }
        output.answer(&text)?;
        return Ok(Exit::Ok);
    };
    let schema = serde_json::to_string_pretty(&shape.schema())? + "\n";
    output.answer_exactly(schema.as_bytes())?;
    Ok(Exit::Ok)
}

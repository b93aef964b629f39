//! All parts of the driver, wired once for one home.

use std::path::PathBuf;
use std::sync::Arc;

use orange_config::Environment;

use crate::DriverError;
use crate::admin::Admin;
use crate::agents::Agents;
use crate::callers::Callers;
use crate::chat::Chat;
use crate::context::{Bounds, Context, GatherPolicy};
use crate::forge::Forge;
use crate::perform::Performer;
use crate::request::Requests;
use crate::schedule::Scheduler;
use crate::steps::Steps;
use crate::views::Views;
use crate::web::Web;
use crate::workspaces::Workspaces;

/// The parts, lowest to highest; each gets the lower ones that it uses.
#[derive(Clone, Debug)]
pub struct Driver {
    pub context: Arc<Context>,
    pub callers: Callers,
    pub workspaces: Workspaces,
    pub forge: Forge,
    pub steps: Steps,
    pub agents: Agents,
    pub scheduler: Scheduler,
    pub performer: Performer,
    pub requests: Requests,
    pub views: Views,
    pub chat: Chat,
    pub admin: Admin,
    pub web: Web,
}

impl Driver {
    /// A driver for the home that the environment selects; `orange` is the path of this program.
    pub fn new(environment: &Environment, orange: PathBuf) -> Result<Driver, DriverError> {
        Ok(Driver::with_context(Context::new(environment, orange)?))
    }

    fn with_context(context: Context) -> Driver {
        let context = Arc::new(context);
        let callers = Callers::new(&context);
        let workspaces = Workspaces::new(&context, &callers);
        let forge = Forge::new(&context, &workspaces);
        let steps = Steps::new(&context, &callers, &workspaces, &forge);
        let agents = Agents::new(&context, &steps);
        let scheduler = Scheduler::new(&context, &callers, &steps);
        let performer = Performer::new(&context, &workspaces, &forge, &steps, &agents, &scheduler);
        let requests = Requests::new(
            &context,
            &callers,
            &workspaces,
            &forge,
            &steps,
            &agents,
            &performer,
        );
        let views = Views::new(
            &context,
            &workspaces,
            &steps,
            &agents,
            &scheduler,
            &performer,
        );
        let chat = Chat::new(&context, &forge, &requests, &views);
        let admin = Admin::new(
            &context,
            &callers,
            &workspaces,
            &forge,
            &steps,
            &agents,
            &requests,
        );
        let web = Web::new(&context, &callers);
        Driver {
            context,
            callers,
            workspaces,
            forge,
            steps,
            agents,
            scheduler,
            performer,
            requests,
            views,
            chat,
            admin,
            web,
        }
    }

    fn with_change(self, change: impl FnOnce(&mut Context)) -> Driver {
        let mut context = Context::clone(&self.context);
        change(&mut context);
        Driver::with_context(context)
    }

    /// Sets the directory that the command is called from.
    #[must_use]
    pub fn with_directory(self, directory: Option<PathBuf>) -> Driver {
        self.with_change(|context| context.directory = directory)
    }

    /// Sets the limits on retries and waiting.
    #[must_use]
    pub fn with_bounds(self, bounds: Bounds) -> Driver {
        self.with_change(|context| context.bounds = bounds)
    }

    /// Sets which process runs gate commands.
    #[must_use]
    pub fn with_gathering(self, gathering: GatherPolicy) -> Driver {
        self.with_change(|context| context.gathering = gathering)
    }

    /// The same driver with the user's latest variables.
    ///
    /// A long-running process would otherwise see those from the day it was started, or none at all
    /// if a service manager started it.
    #[must_use]
    pub fn with_user_variables(&self) -> Driver {
        match self.context.saved_environment() {
            Some(environment) => self
                .clone()
                .with_change(|context| context.environment = environment),
            None => self.clone(),
        }
    }
}

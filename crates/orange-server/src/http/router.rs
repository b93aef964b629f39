//! From a request to its answer: caller, limits, body, call.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::StatusCode;
use axum::routing::{MethodFilter, MethodRouter, on};
use orange_config::clock::Stopwatch;
use orange_fleet::ids::OrgId;
use tokio::time::timeout;

use crate::http::App;
use crate::http::admission::{Admitted, admit};
use crate::http::app::Input;
use crate::http::endpoints::{ENDPOINTS, Endpoint, Who};
use crate::http::limits::{CALL_TIMEOUT, MAX_WAIT};
use crate::http::refusal::{Answer, Refusal};

impl App {
    /// The routes of all endpoints.
    pub fn routes(self: &Arc<Self>) -> Router {
        let mut paths: BTreeMap<&str, MethodRouter> = BTreeMap::new();
        for endpoint in &ENDPOINTS {
            let app = Arc::clone(self);
            let handler =
                move |request: Request| async move { app.answer(endpoint, request).await };
            let Ok(method) = MethodFilter::try_from(endpoint.method.clone()) else {
                continue;
            };
            let known = paths.remove(endpoint.path).unwrap_or_default();
            paths.insert(endpoint.path, known.merge(on(method, handler)));
        }
        let mut routes = Router::new();
        for (path, methods) in paths {
            routes = routes.route(path, methods);
        }
        routes
            .fallback(|| async {
                let message = "there is no such address";
                Refusal::new(StatusCode::NOT_FOUND, "not-found", message)
                    .hint("check the address, and that the server is not older than the program")
                    .into_answer()
            })
            .method_not_allowed_fallback(|| async {
                let message = "this address does not take requests of this method";
                let status = StatusCode::METHOD_NOT_ALLOWED;
                Refusal::new(status, "method-not-allowed", message).into_answer()
            })
    }

    async fn answer(&self, endpoint: &'static Endpoint, request: Request) -> Answer {
        let stopwatch = Stopwatch::start();
        let mut org = None;
        let answered = self.try_answer(endpoint, request, &mut org);
        let answered = timeout(CALL_TIMEOUT + MAX_WAIT, answered).await;
        let answered = answered.unwrap_or_else(|_| {
            let message = "the call took too long; it may be repeated";
            Err(Refusal::busy(message))
        });
        if let Some(org) = org {
            let duration = stopwatch.elapsed();
            self.metrics.count_call(&org, endpoint.name, duration);
        }
        answered.unwrap_or_else(Refusal::into_answer)
    }

    async fn try_answer(
        &self,
        endpoint: &'static Endpoint,
        request: Request,
        org: &mut Option<OrgId>,
    ) -> Result<Answer, Refusal> {
        let (mut parts, body) = request.into_parts();
        let params = RawPathParams::from_request_parts(&mut parts, &()).await;
        // A path with bytes that are no text names nothing.
        let params = params.map_err(|_| Refusal::not_found("name"))?;
        let path = params
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let path: BTreeMap<String, String> = path.collect();
        let caller = match endpoint.who {
            Who::Anyone | Who::Code => None,
            _ => self.caller(&parts).await?,
        };
        if let Some(caller) = &caller {
            *org = Some(caller.org().clone());
            self.count(caller)?;
        }
        let named = path.get("runner").map(String::as_str);
        let admitted = admit(endpoint.who, caller, named)?;
        let query = parts.uri.query().unwrap_or_default().as_bytes();
        let query = form_urlencoded::parse(query).into_owned().collect();
        let body = self.room.read(&parts, body, endpoint.body).await?;
        let input = Input { path, query, body };
        match admitted {
            Admitted::Anyone => self.answer_anyone(endpoint.call, &input).await,
            Admitted::Runner(runner) => self.answer_runner(endpoint.call, &runner, &input).await,
            Admitted::Person(person) => self.answer_person(endpoint.call, &person, &input).await,
        }
    }
}

//! Answers requests: guard, device, operation.

use std::net::{SocketAddr, SocketAddrV4};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::header::{CONTENT_LENGTH, HeaderName, IF_MATCH};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use orange_config::clock::Stopwatch;
use serde::Deserialize;
use serde_json::{Map, json};
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::timeout;
use tower_service::Service as _;

use crate::PAIR_SHAPE;
use crate::answer::{self, Answer, Refusal};
use crate::assets;
use crate::backend::{Backend, Call, Device, Peer};
use crate::events::Streams;
use crate::guard::{self, Guard};
use crate::limits::{
    BODY_TIMEOUT, FAILURE_WINDOW, MAX_ACTS, MAX_BODY, MAX_FAILURES, MAX_READS, MAX_WEBHOOK,
    MAX_WEBHOOKS, QUEUE_TIMEOUT,
};
use crate::operations::{OPERATIONS, Operation};
use crate::parameters::{Values, not_found};
use crate::webhooks::{self, Deliveries};

/// Where a device is paired, and where GitHub delivers; the only addresses that need no token.
pub const PAIR: &str = "/api/v1/pair";
pub const WEBHOOK: &str = "/api/v1/webhooks/github";
pub const EVENTS: &str = "/api/v1/events";
pub const DESCRIPTION: &str = "/api/v1/openapi.json";

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Everything that answers requests.
#[derive(Debug)]
pub struct App {
    guard: Guard,
    backend: Arc<Backend>,
    streams: Arc<Streams>,
    reads: Semaphore,
    acts: Semaphore,
    /// How many webhooks are read at once, which are large.
    webhooks: Semaphore,
    deliveries: Deliveries,
    failures: Mutex<Failures>,
}

/// A connection, and who made it.
#[derive(Debug)]
pub struct Connection {
    pub peer: SocketAddr,
    pub own: SocketAddr,
    /// Found out by the first request that needs it.
    pub identity: OnceCell<Peer>,
}

/// How many wrong tokens and codes came in the current window.
#[derive(Debug, Default)]
struct Failures {
    window: Option<Stopwatch>,
    count: u32,
}

impl Failures {
    /// Counts one more; true if there are too many.
    fn count_one(&mut self) -> bool {
        let is_over = self.window.is_none_or(|it| it.elapsed() >= FAILURE_WINDOW);
        if is_over {
            *self = Failures {
                window: Some(Stopwatch::start()),
                count: 0,
            };
        }
        self.count = self.count.saturating_add(1);
        self.count > MAX_FAILURES
    }
}

/// The body of a pairing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PairRequest {
    code: String,
}

impl App {
    pub fn new(guard: Guard, backend: Arc<Backend>, streams: Arc<Streams>) -> Arc<App> {
        Arc::new(App {
            guard,
            backend,
            streams,
            reads: Semaphore::new(MAX_READS),
            acts: Semaphore::new(MAX_ACTS),
            webhooks: Semaphore::new(MAX_WEBHOOKS),
            deliveries: Deliveries::default(),
            failures: Mutex::default(),
        })
    }

    /// The routes, for requests that have passed the guard.
    pub fn routes(self: &Arc<Self>) -> Router {
        let mut routes = Router::new();
        for operation in OPERATIONS {
            let app = Arc::clone(self);
            let handler = move |request: Request| async move {
                let answer = app.operate(operation, request).await;
                answer.unwrap_or_else(Refusal::into_answer)
            };
            let method = if operation.is_read() {
                get(handler)
            } else {
                post(handler)
            };
            routes = routes.route(operation.path, method);
        }
        let app = Arc::clone(self);
        let stream = move |request: Request| async move {
            let (parts, _body) = request.into_parts();
            let answer = app.stream(&parts).await;
            answer.unwrap_or_else(Refusal::into_answer)
        };
        let app = Arc::clone(self);
        let describe = move || async move {
            answer::json(StatusCode::OK, app.backend.description.clone().into_bytes())
        };
        routes
            .route(EVENTS, get(stream))
            .route(DESCRIPTION, get(describe))
            .fallback(|| async { not_found().into_answer() })
            .method_not_allowed_fallback(|| async {
                let message = "this address does not take requests of this method";
                let status = StatusCode::METHOD_NOT_ALLOWED;
                Refusal::new(status, "method-not-allowed", message).into_answer()
            })
    }

    /// Answers any request.
    pub async fn handle(
        &self,
        routes: Router,
        request: Request,
        connection: &Connection,
    ) -> Response {
        let answer = self.answer(routes, request, connection).await;
        answer::with_headers(answer.unwrap_or_else(Refusal::into_answer))
    }

    async fn answer(
        &self,
        mut routes: Router,
        request: Request,
        connection: &Connection,
    ) -> Result<Answer, Refusal> {
        let (mut parts, body) = request.into_parts();
        self.guard.check(&parts)?;
        if let Some(asset) = assets::find(&parts.method, parts.uri.path(), &parts.headers) {
            return Ok(asset);
        }
        if parts.method == Method::POST && parts.uri.path() == PAIR {
            guard::check_content_type(&parts)?;
            self.check_peer(connection).await?;
            return self.pair(&parts, body).await;
        }
        if parts.method == Method::POST && parts.uri.path() == WEBHOOK {
            guard::check_content_type(&parts)?;
            self.check_peer(connection).await?;
            return self.take_webhook(&parts, body).await;
        }
        let device = self.device(&parts).await?;
        self.check_peer(connection).await?;
        guard::check_content_type(&parts)?;
        parts.extensions.insert(device);
        let answered = routes.call(Request::from_parts(parts, body)).await;
        Ok(answered.unwrap_or_else(|never| match never {}))
    }

    /// The device whose token the request has.
    async fn device(&self, parts: &Parts) -> Result<Device, Refusal> {
        let Some(token) = guard::token(&parts.headers) else {
            return Err(unauthorized());
        };
        let (backend, token) = (Arc::clone(&self.backend), token.to_owned());
        let found = tokio::task::spawn_blocking(move || (backend.device)(&token)).await;
        match found {
            Ok(Ok(Some(device))) => Ok(device),
            Ok(Ok(None)) => Err(self.count_failure(unauthorized())),
            // No device is let in by files that cannot be trusted.
            Ok(Err(_)) | Err(_) => Err(unauthorized()),
        }
    }

    /// The refusal, or that there were too many of its kind. A limit that cannot be counted is
    /// reached.
    fn count_failure(&self, refusal: Refusal) -> Refusal {
        let has_too_many = self.failures.lock().map_or(true, |mut it| it.count_one());
        if !has_too_many {
            return refusal;
        }
        let message = "there were too many wrong tokens or codes; wait a minute";
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too-many-failures", message)
    }

    /// Refuses agents: what they may do is decided by orange on the command line, where it knows
    /// which run calls.
    async fn check_peer(&self, connection: &Connection) -> Result<(), Refusal> {
        let (SocketAddr::V4(peer), SocketAddr::V4(own)) = (connection.peer, connection.own) else {
            return Err(peer_refused());
        };
        let identity = connection.identity.get_or_init(|| self.identify(peer, own));
        match identity.await {
            Peer::User | Peer::Unknown => Ok(()),
            Peer::Refused(_) => Err(peer_refused()),
        }
    }

    async fn identify(&self, peer: SocketAddrV4, own: SocketAddrV4) -> Peer {
        let backend = Arc::clone(&self.backend);
        let found = tokio::task::spawn_blocking(move || (backend.peer)(peer, own)).await;
        found.unwrap_or_else(|error| Peer::Refused(error.to_string()))
    }

    /// Exchanges a code for a token.
    async fn pair(&self, parts: &Parts, body: Body) -> Result<Answer, Refusal> {
        let wrong = || {
            let message = "the code is unknown, used or expired";
            Refusal::new(StatusCode::UNAUTHORIZED, "code-invalid", message)
                .hint("run `orange web pair NAME` for a new one")
        };
        let body = read_body(parts, body, MAX_BODY).await?;
        let Ok(PairRequest { code }) = serde_json::from_slice(&body) else {
            return Err(self.count_failure(wrong()));
        };
        let backend = Arc::clone(&self.backend);
        let paired = tokio::task::spawn_blocking(move || (backend.pair)(&code)).await;
        let Ok(Ok(Some(pairing))) = paired else {
            return Err(self.count_failure(wrong()));
        };
        let answer = json!({
            "schema": PAIR_SHAPE,
            "name": pairing.name,
            "scope": pairing.scope,
            "token": pairing.token,
        });
        Ok(answer::json(
            StatusCode::OK,
            answer.to_string().into_bytes(),
        ))
    }

    /// Takes a delivery of GitHub. What it says is only a hint; the forge is asked.
    async fn take_webhook(&self, parts: &Parts, body: Body) -> Result<Answer, Refusal> {
        let busy = || busy("too many webhooks are being read");
        let permit = timeout(QUEUE_TIMEOUT, self.webhooks.acquire()).await;
        let _permit = permit.map_err(|_| busy())?.map_err(|_| busy())?;
        let backend = Arc::clone(&self.backend);
        let secret = tokio::task::spawn_blocking(move || (backend.webhook_secret)(())).await;
        let Ok(Ok(Some(secret))) = secret else {
            return Err(self.count_failure(webhooks::unsigned()));
        };
        let body = read_body(parts, body, MAX_WEBHOOK).await?;
        webhooks::require_signed(&secret, &parts.headers, &body)
            .map_err(|refusal| self.count_failure(refusal))?;
        let url = webhooks::repository(&body)?;
        let id = webhooks::id(&parts.headers)?;
        if let Some(url) = url.filter(|_| self.deliveries.add(id)) {
            let backend = Arc::clone(&self.backend);
            let noted = tokio::task::spawn_blocking(move || (backend.hint)(&url)).await;
            if !matches!(noted, Ok(Ok(()))) {
                // GitHub delivers it again under the same id.
                self.deliveries.forget(id);
                let message = "the hint could not be noted";
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                return Err(Refusal::new(status, "system-failed", message));
            }
        }
        Ok(answer::empty())
    }

    /// Runs the command of an operation.
    async fn operate(
        &self,
        operation: &'static Operation,
        request: Request,
    ) -> Result<Answer, Refusal> {
        let (mut parts, body) = request.into_parts();
        let device = device_of(&parts)?;
        if device.scope < operation.scope {
            let message = "this device may only read";
            let refusal = Refusal::new(StatusCode::FORBIDDEN, "scope-missing", message);
            return Err(refusal.hint("pair it again with `orange web pair NAME --scope act`"));
        }
        let path = RawPathParams::from_request_parts(&mut parts, &()).await;
        let path = path.map_err(|_| not_found())?;
        let mut values = Values {
            path: path
                .iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            body: Map::new(),
            ..Values::default()
        };
        values.read_query(parts.uri.query().unwrap_or_default())?;
        if !operation.is_read() {
            values.read_body(&read_body(&parts, body, MAX_BODY).await?)?;
            values.version = version(operation, &parts)?;
        }
        let call = Call {
            words: values.words(operation)?,
        };
        self.run(operation, call).await
    }

    async fn run(&self, operation: &Operation, call: Call) -> Result<Answer, Refusal> {
        let room = if operation.is_read() {
            &self.reads
        } else {
            &self.acts
        };
        let busy = || busy("too many commands are running");
        let permit = timeout(QUEUE_TIMEOUT, room.acquire()).await;
        let _permit = permit.map_err(|_| busy())?.map_err(|_| busy())?;
        let backend = Arc::clone(&self.backend);
        let reply = tokio::task::spawn_blocking(move || (backend.call)(&call)).await;
        let reply = reply.map_err(|_| {
            let message = "the command ended unexpectedly";
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "system-failed", message)
        })?;
        Ok(answer::of_reply(reply))
    }

    async fn stream(&self, parts: &Parts) -> Result<Answer, Refusal> {
        let device = device_of(parts)?;
        let headers = &parts.headers;
        if !headers.contains_key(LAST_EVENT_ID) {
            return self.streams.answer(device.id, None).await;
        }
        let seen = guard::only(headers, &LAST_EVENT_ID).and_then(|it| it.parse().ok());
        let seen = seen.ok_or_else(|| {
            let message = "`Last-Event-ID` must be the id of an event";
            Refusal::new(StatusCode::BAD_REQUEST, "parameter-invalid", message)
        })?;
        self.streams.answer(device.id, Some(seen)).await
    }
}

fn device_of(parts: &Parts) -> Result<Device, Refusal> {
    let device = parts.extensions.get::<Device>();
    device.cloned().ok_or_else(unauthorized)
}

fn busy(message: &'static str) -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
}

fn unauthorized() -> Refusal {
    let message = "this needs the token of a paired device";
    Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
}

fn peer_refused() -> Refusal {
    let message = "agents do not use the web API";
    Refusal::new(StatusCode::FORBIDDEN, "agent-refused", message)
        .hint("an agent runs the commands, such as `orange task show`")
}

/// The version of the task that the caller saw.
fn version(operation: &Operation, parts: &Parts) -> Result<Option<u64>, Refusal> {
    if !parts.headers.contains_key(IF_MATCH) {
        if operation.needs_version {
            let message = "say which version of the task you saw, with `If-Match: \"VERSION\"`";
            let status = StatusCode::PRECONDITION_REQUIRED;
            return Err(Refusal::new(status, "version-required", message));
        }
        return Ok(None);
    }
    let given = guard::only(&parts.headers, &IF_MATCH);
    let given = given.and_then(|it| it.strip_prefix('"')?.strip_suffix('"'));
    let version = given.and_then(|it| it.parse().ok());
    let version = version.filter(|_| operation.needs_version);
    version.map(Some).ok_or_else(|| {
        let message = "`If-Match` is for steps, and has one version in quotes";
        Refusal::new(StatusCode::BAD_REQUEST, "parameter-invalid", message)
    })
}

async fn read_body(parts: &Parts, body: Body, limit: usize) -> Result<Vec<u8>, Refusal> {
    let too_large = || {
        let message = "the body is too large";
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", message)
    };
    let length = guard::only(&parts.headers, &CONTENT_LENGTH);
    let length: Option<usize> = length.and_then(|it| it.parse().ok());
    if length.is_some_and(|it| it > limit) {
        return Err(too_large());
    }
    let read = timeout(BODY_TIMEOUT, to_bytes(body, limit)).await;
    let read = read.map_err(|_| {
        let message = "the body took too long";
        Refusal::new(StatusCode::REQUEST_TIMEOUT, "body-too-slow", message)
    })?;
    Ok(read.map_err(|_| too_large())?.to_vec())
}

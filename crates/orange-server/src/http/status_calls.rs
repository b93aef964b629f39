//! What supervisors of the server ask: is it ready, and its numbers.

use axum::http::{HeaderValue, header};

use crate::access::Person;
use crate::http::App;
use crate::http::refusal::{Answer, Refusal, json_answer};

impl App {
    /// Ready when the database can be reached and has the schema of this program.
    pub(super) async fn ready(&self) -> Result<Answer, Refusal> {
        if self.waiting.is_stopped() {
            return Err(Refusal::busy("the server is stopping"));
        }
        let checked = self.database.check_schema().await;
        checked.map_err(|error| {
            self.report(&error.to_string());
            Refusal::busy("the database cannot be reached or has another schema")
                .hint("read the server's output, or run `orange server migrate`")
        })?;
        json_answer(&serde_json::json!({ "status": "ready" }))
    }

    pub(super) async fn metrics(&self, admin: &Person) -> Result<Answer, Refusal> {
        let gauges = self.database.gauges(&admin.org).await;
        let gauges = gauges.map_err(|it| self.refuse(&it))?;
        let text = self.metrics.render(&admin.org, &gauges);
        let mut answer = Answer::new(text.into());
        let kind = HeaderValue::from_static("text/plain; version=0.0.4");
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
        Ok(answer)
    }
}

//! The files that anyone may read: those of the page.
//!
//! There is no page yet, so the table is empty.

use axum::http::{HeaderValue, Method, header};
use axum::response::{IntoResponse as _, Response};

/// A fixed file.
#[derive(Debug)]
pub struct Asset {
    pub path: &'static str,
    pub content_type: &'static str,
    pub bytes: &'static [u8],
}

const ASSETS: &[Asset] = &[];

/// The answer, if the request is for one of the files.
pub fn find(method: &Method, path: &str) -> Option<Response> {
    let asset = ASSETS.iter().find(|asset| asset.path == path)?;
    let is_read = method == Method::GET || method == Method::HEAD;
    is_read.then(|| {
        let mut response = asset.bytes.into_response();
        let content_type = HeaderValue::from_static(asset.content_type);
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, content_type);
        response
    })
}

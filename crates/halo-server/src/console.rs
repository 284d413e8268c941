//! The console: one page, nothing from elsewhere, and nothing that a browser may run but what stands in it.

use crate::{
    answer::{Out, With as _, whole},
    app::Call,
    problem::Problem,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use halo_canon::Digest;
use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY},
};
use std::sync::LazyLock;

const PAGE: &str = include_str!("console/page.html");
const STYLE: &str = include_str!("console/style.css");
const SCRIPT: &str = include_str!("console/script.js");

static TEXT: LazyLock<Bytes> = LazyLock::new(|| {
    let text = PAGE
        .replace("/*style*/", STYLE)
        .replace("/*script*/", SCRIPT);
    text.into()
});

static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| STANDARD.encode(Digest::of(text.as_bytes()).as_bytes());
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
});

pub(crate) async fn page(_: Call) -> Result<Response<Out>, Problem> {
    let answer = whole(StatusCode::OK, "text/html; charset=utf-8", TEXT.clone());
    Ok(answer
        .with(CONTENT_SECURITY_POLICY, &POLICY)
        .with(REFERRER_POLICY, "no-referrer"))
}

//! The style, the script and the sign of the console: files of ours, in the binary.

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};

use super::guard::Failed;
use crate::problem::Problem;

const STYLE: &str = include_str!("assets/console.css");
const SCRIPT: &str = include_str!("assets/console.js");
const SIGN: &str = include_str!("assets/icon.svg");

pub(crate) async fn file(Path(name): Path<String>) -> Result<Response, Failed> {
    let (kind, text) = match name.as_str() {
        "console.css" => ("text/css; charset=utf-8", STYLE),
        "console.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "icon.svg" => ("image/svg+xml", SIGN),
        _ => return Err(Problem::missing("file").into()),
    };
    // Asked for again with every page: small, and never that of another version.
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, text).into_response())
}

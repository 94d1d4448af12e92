//! Style sheet, scripts and icon, embedded in the binary.

use std::sync::LazyLock;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use data_encoding::HEXLOWER;
use http::{Uri, header};
use sha2::{Digest, Sha256};

use super::page::PageError;
use super::site::Site;
use crate::App;

/// The style sheet with the configured colour of the portal.
const BRAND: &str = "brand.css";

pub(super) fn folder(site: Site) -> String {
    site.path("/assets/")
}

struct Asset {
    name: &'static str,
    kind: &'static str,
    content: &'static str,
}

const ASSETS: [Asset; 4] = [
    Asset {
        name: "inspector.css",
        kind: "text/css; charset=utf-8",
        content: include_str!("../assets/inspector.css"),
    },
    Asset {
        name: "inspector.js",
        kind: "text/javascript; charset=utf-8",
        content: include_str!("../assets/inspector.js"),
    },
    Asset {
        name: "filter_form.js",
        kind: "text/javascript; charset=utf-8",
        content: include_str!("../assets/filter_form.js"),
    },
    Asset {
        name: "icon.svg",
        kind: "image/svg+xml",
        content: include_str!("../assets/icon.svg"),
    },
];

/// Part of every asset's URL, so browsers can cache assets forever.
static VERSION: LazyLock<String> =
    LazyLock::new(|| version_of(ASSETS.iter().map(|asset| asset.content)));

fn version_of<'a>(contents: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for content in contents {
        hash.update(content);
    }
    let digest: [u8; 32] = hash.finalize().into();
    HEXLOWER.encode(digest.get(..8).unwrap_or_default())
}

pub(super) fn path(site: Site, name: &str) -> String {
    format!("{}{}-{name}", folder(site), *VERSION)
}

/// The path of the portal's own style sheet.
pub(super) fn brand_path(style: &str) -> String {
    format!("{}{}-{BRAND}", folder(Site::Portal), version_of([style]))
}

/// Needs no login: the login page uses the assets too.
pub(super) async fn get(
    State(app): State<App>,
    uri: Uri,
    named: Result<Path<String>, PathRejection>,
) -> Result<Response, PageError> {
    let style = app.portal.style.as_deref();
    if let Some(style) = style.filter(|style| brand_path(style) == uri.path()) {
        let kind = [(header::CONTENT_TYPE, "text/css; charset=utf-8")];
        return Ok((kind, style.to_owned()).into_response());
    }
    // Only this version's URL: a cache would store another version's content under it forever.
    let name = named
        .as_ref()
        .ok()
        .and_then(|Path(named)| named.split_once('-'))
        .filter(|(version, _)| *version == *VERSION);
    let asset = ASSETS
        .iter()
        .find(|asset| name.is_some_and(|(_, name)| asset.name == name));
    let asset = asset.ok_or_else(|| PageError::not_found("asset"))?;
    Ok(([(header::CONTENT_TYPE, asset.kind)], asset.content).into_response())
}

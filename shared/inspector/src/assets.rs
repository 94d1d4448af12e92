//! Style sheet, script and icon, embedded in the binary.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use data_encoding::HEXLOWER;
use http::header;
use sha2::{Digest, Sha256};

use super::page::PageError;

pub(super) const FOLDER: &str = "/inspector/assets/";

struct Asset {
    name: &'static str,
    kind: &'static str,
    content: &'static str,
}

const ASSETS: [Asset; 3] = [
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
        name: "icon.svg",
        kind: "image/svg+xml",
        content: include_str!("../assets/icon.svg"),
    },
];

/// Part of every asset's URL, so browsers can cache assets forever.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for asset in &ASSETS {
        hash.update(asset.content);
    }
    let digest: [u8; 32] = hash.finalize().into();
    HEXLOWER.encode(digest.get(..8).unwrap_or_default())
});

pub(super) fn path(name: &str) -> String {
    format!("{FOLDER}{}-{name}", *VERSION)
}

/// Needs no login: the login page uses the assets too.
pub(super) async fn get(Path(named): Path<String>) -> Result<Response, PageError> {
    // Only this version's URL: a cache would store another version's content under it forever.
    let name = named
        .split_once('-')
        .filter(|(version, _)| *version == *VERSION);
    let asset = ASSETS
        .iter()
        .find(|asset| name.is_some_and(|(_, name)| asset.name == name));
    let asset = asset.ok_or_else(|| PageError::not_found("asset"))?;
    Ok(([(header::CONTENT_TYPE, asset.kind)], asset.content).into_response())
}

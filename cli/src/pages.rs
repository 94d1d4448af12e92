//! Reads paginated lists.

use http::Method;
use reqwest::RequestBuilder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::client::{Client, read};
use crate::failure::Failure;

/// Items per request.
const PAGE: usize = 100;

/// Items as received, and the cursor of the next page.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Listing {
    pub(crate) items: Vec<Box<RawValue>>,
    #[serde(default)]
    pub(crate) next_cursor: Option<String>,
}

impl Listing {
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<Vec<T>, Failure> {
        self.items.iter().map(|item| read(item.get())).collect()
    }
}

/// Reads a whole list.
pub(crate) async fn all(client: &Client, path: &[&str]) -> Result<Listing, Failure> {
    let mut all = Listing {
        items: Vec::new(),
        next_cursor: None,
    };
    loop {
        extend(&mut all, client, client.request(Method::GET, path)?).await?;
        if all.next_cursor.is_none() {
            return Ok(all);
        }
    }
}

/// Reads up to `limit` items. A page may be short or even empty without being the last one.
pub(crate) async fn first(
    client: &Client,
    path: &[&str],
    query: &(impl Serialize + ?Sized),
    limit: usize,
) -> Result<Listing, Failure> {
    let mut all = Listing {
        items: Vec::new(),
        next_cursor: None,
    };
    while all.items.len() < limit {
        let page_size = (limit - all.items.len()).min(PAGE).to_string();
        let request = client
            .request(Method::GET, path)?
            .query(query)
            .query(&[("limit", page_size)]);
        extend(&mut all, client, request).await?;
        if all.next_cursor.is_none() {
            break;
        }
    }
    Ok(all)
}

async fn extend(
    all: &mut Listing,
    client: &Client,
    request: RequestBuilder,
) -> Result<(), Failure> {
    let request = match &all.next_cursor {
        Some(cursor) => request.query(&[("cursor", cursor)]),
        None => request,
    };
    let page: Listing = client.send(request).await?.read()?;
    if page.next_cursor.is_some() && page.next_cursor == all.next_cursor {
        return Err(Failure::NotUnderstood(
            "a page whose cursor points to itself".to_owned(),
        ));
    }
    all.items.extend(page.items);
    all.next_cursor = page.next_cursor;
    Ok(())
}

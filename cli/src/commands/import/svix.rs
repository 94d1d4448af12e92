//! Svix: applications become tenants, endpoints become webhooks.
//!
//! The shapes are those of the list API, as its OpenAPI document describes them. A file holds the same objects, nested: each
//! application with its `endpoints`, each endpoint with its `secret` and `headers`.

use std::collections::BTreeMap;

use postrider_domain::retry::{Profile, RetrySettings};
use postrider_domain::secret::{SecretRing, SigningSecret};
use postrider_domain::transfer::WebhookCopy;
use postrider_domain::webhook::WebhookDraft;
use serde::Deserialize;
use serde_json::Value;

use super::remote::{Remote, from_file, is_url};
use super::report::Report;
use super::webhook::{
    NewWebhook, chosen_tenant, fresh_secret, headers_of, id_of, instant, max_rate_of, name_of,
    status_of, tenant_of,
};
use crate::failure::Failure;
use crate::hidden::Hidden;

const TOKEN: &str = "SVIX_AUTH_TOKEN";
const PAGE: &str = "100";

/// What a file contains.
#[derive(Debug, Deserialize)]
struct Document {
    applications: Vec<Application>,
}

/// `ApplicationOut`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Application {
    id: String,
    #[serde(default)]
    uid: Option<String>,
    #[serde(default)]
    throttle_rate: Option<u64>,
    #[serde(default)]
    endpoints: Vec<Endpoint>,
}

/// `EndpointOut`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Endpoint {
    id: String,
    url: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    disabled: bool,
    /// Older servers call them `filterTypes`.
    #[serde(default)]
    filter_types: Option<Vec<String>>,
    #[serde(default)]
    event_types: Option<Vec<String>>,
    #[serde(default)]
    channels: Option<Vec<String>>,
    /// The name of the limit on older servers.
    #[serde(default)]
    rate_limit: Option<u64>,
    /// Messages per second.
    #[serde(default)]
    throttle_rate: Option<u64>,
    #[serde(default)]
    metadata: BTreeMap<String, Value>,
    #[serde(default)]
    created_at: Option<String>,
    #[serde(default)]
    secret: Option<EndpointSecret>,
    #[serde(default)]
    headers: Option<EndpointHeaders>,
}

/// `EndpointSecretOut`.
#[derive(Debug, Deserialize)]
struct EndpointSecret {
    key: Hidden,
}

/// `EndpointHeadersOut`.
#[derive(Debug, Default, Deserialize)]
struct EndpointHeaders {
    #[serde(default)]
    headers: BTreeMap<String, Hidden>,
    /// The names of headers whose values the API does not return.
    #[serde(default)]
    sensitive: Vec<String>,
}

/// A page of a list.
#[derive(Debug, Deserialize)]
struct List<T> {
    data: Vec<T>,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    iterator: Option<String>,
}

pub(super) async fn read(source: &str) -> Result<Vec<Application>, Failure> {
    if !is_url(source) {
        return from_file::<Document>(source).map(|document| document.applications);
    }
    let api = Remote::new(source, TOKEN)?;
    let mut applications: Vec<Application> = all(&api, &["api", "v1", "app"]).await?;
    for application in &mut applications {
        let path = ["api", "v1", "app", &application.id, "endpoint"];
        application.endpoints = all(&api, &path).await?;
        for endpoint in &mut application.endpoints {
            let of = |what| {
                let [root, version, app, id, kind] = path;
                [root, version, app, id, kind, &endpoint.id, what]
            };
            endpoint.secret = Some(api.get(&of("secret"), &[]).await?);
            endpoint.headers = Some(api.get(&of("headers"), &[]).await?);
        }
    }
    Ok(applications)
}

async fn all<T: serde::de::DeserializeOwned>(
    api: &Remote,
    path: &[&str],
) -> Result<Vec<T>, Failure> {
    let (mut items, mut iterator): (Vec<T>, Option<String>) = (Vec::new(), None);
    loop {
        let mut query = vec![("limit", PAGE)];
        query.extend(iterator.as_deref().map(|iterator| ("iterator", iterator)));
        let page: List<T> = api.get(path, &query).await?;
        let is_last = page.done || page.data.is_empty() || page.iterator.is_none();
        items.extend(page.data);
        if is_last {
            return Ok(items);
        }
        iterator = page.iterator;
    }
}

pub(super) fn convert(
    applications: &[Application],
    tenant: Option<&str>,
    report: &mut Report,
) -> Result<Vec<NewWebhook>, Failure> {
    let chosen = chosen_tenant(tenant, applications.len(), "applications")?;
    let mut webhooks = Vec::new();
    for application in applications {
        let tenant = match &chosen {
            Some(tenant) => tenant.clone(),
            None => tenant_of(&[application.uid.as_deref(), Some(&application.id)])?,
        };
        if application.throttle_rate.is_some_and(|rate| rate > 0) {
            report.not_carried(&application.id, "the rate limit of the application");
        }
        for endpoint in &application.endpoints {
            let name = format!("{} ({tenant})", endpoint.id);
            list_lost(endpoint, &name, report);
            let copy = copied(endpoint, tenant.clone(), &name, report)?;
            webhooks.push(NewWebhook { name, copy });
        }
    }
    Ok(webhooks)
}

fn copied(
    endpoint: &Endpoint,
    tenant: postrider_domain::ids::TenantId,
    name: &str,
    report: &mut Report,
) -> Result<WebhookCopy, Failure> {
    let own = endpoint.secret.as_ref();
    let own = own.and_then(|secret| SigningSecret::parse(secret.key.expose()).ok());
    if own.is_none() {
        let what = "the signing secret: a new one was generated, and the webhook is paused";
        report.not_carried(name, what);
    }
    let (status, reason) = status_of(|| own.is_some() && !endpoint.disabled);
    let secret = own.map_or_else(fresh_secret, Ok)?;
    let headers = endpoint.headers.iter().flat_map(|headers| &headers.headers);
    let headers = headers.map(|(name, value)| (name.as_str(), value.expose()));
    let types = endpoint.event_types.as_ref();
    let types = types.or(endpoint.filter_types.as_ref());
    let types = types.filter(|types| !types.is_empty()).cloned();
    let rate_limit = endpoint.throttle_rate.or(endpoint.rate_limit);
    Ok(WebhookCopy {
        id: id_of("svix", &endpoint.id),
        tenant,
        draft: WebhookDraft {
            name: name_of(&[endpoint.description.as_deref()], &endpoint.url),
            target_url: endpoint.url.clone(),
            event_types: types.unwrap_or_else(|| vec!["*".to_owned()]),
            headers: Some(headers_of(headers, name, report)),
            max_rate: max_rate_of((rate_limit.unwrap_or(0), 1), name, report),
            retry: Some(RetrySettings {
                profile: Profile::Standard,
                ..RetrySettings::default()
            }),
            ..WebhookDraft::default()
        },
        secrets: SecretRing::new(secret),
        status,
        reason,
        created_at: instant(endpoint.created_at.as_deref()),
    })
}

fn list_lost(endpoint: &Endpoint, name: &str, report: &mut Report) {
    if let Some(channels) = endpoint.channels.as_ref().filter(|all| !all.is_empty()) {
        let channels = channels.join(", ");
        report.not_carried(
            name,
            format!("channels ({channels}): the webhook gets events of all channels"),
        );
    }
    if !endpoint.metadata.is_empty() {
        report.not_carried(name, "metadata");
    }
    for header in endpoint.headers.iter().flat_map(|all| &all.sensitive) {
        let what = format!("the header {header}: Svix does not return its value; set it again");
        report.not_carried(name, what);
    }
}

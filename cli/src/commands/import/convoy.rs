//! Convoy: owners of endpoints become tenants, endpoints with their subscriptions become webhooks.
//!
//! The shapes are those of the list API, as its OpenAPI document describes them. A file holds the same objects:
//! `{"endpoints": […], "subscriptions": […]}`.

use std::collections::{BTreeMap, BTreeSet};

use data_encoding::BASE64;
use postrider_domain::ids::TenantId;
use postrider_domain::retry::{Profile, RetrySettings};
use postrider_domain::secret::{PREFIX, SecretRing, SigningSecret};
use postrider_domain::transfer::WebhookCopy;
use postrider_domain::webhook::{MAX_TIMEOUT_SECONDS, WebhookDraft};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::remote::{Remote, from_file, is_url};
use super::report::Report;
use super::webhook::{
    NewWebhook, chosen_tenant, fresh_secret, headers_of, id_of, instant, max_rate_of, name_of,
    status_of, tenant_of,
};
use crate::failure::Failure;
use crate::hidden::Hidden;

const TOKEN: &str = "CONVOY_API_KEY";
const PAGE: &str = "100";

#[derive(Debug, Deserialize)]
pub(super) struct Project {
    endpoints: Vec<Endpoint>,
    #[serde(default)]
    subscriptions: Vec<Subscription>,
}

/// `models.EndpointResponse`.
#[derive(Debug, Deserialize)]
struct Endpoint {
    uid: String,
    url: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    owner_id: Option<String>,
    #[serde(default)]
    project_id: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    secrets: Vec<Secret>,
    #[serde(default)]
    authentication: Option<Authentication>,
    #[serde(default)]
    http_timeout: Option<u64>,
    #[serde(default)]
    rate_limit: Option<u64>,
    /// In seconds.
    #[serde(default)]
    rate_limit_duration: Option<u64>,
    #[serde(default)]
    support_email: Option<String>,
    #[serde(default)]
    slack_webhook_url: Option<String>,
    #[serde(default)]
    teams_webhook_url: Option<String>,
    #[serde(default)]
    mtls_client_cert: Option<Value>,
    #[serde(default)]
    created_at: Option<String>,
}

/// `datastore.Secret`.
#[derive(Debug, Deserialize)]
struct Secret {
    value: Hidden,
    #[serde(default)]
    expires_at: Option<String>,
}

/// `datastore.EndpointAuthentication`.
#[derive(Debug, Deserialize)]
struct Authentication {
    #[serde(default)]
    api_key: Option<ApiKey>,
    #[serde(default)]
    basic_auth: Option<BasicAuth>,
    #[serde(default)]
    oauth2: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct ApiKey {
    header_name: String,
    header_value: Hidden,
}

#[derive(Debug, Deserialize)]
struct BasicAuth {
    username: String,
    password: Hidden,
}

/// `models.SubscriptionResponse`.
#[derive(Debug, Deserialize)]
struct Subscription {
    #[serde(default)]
    endpoint_metadata: Option<EndpointOf>,
    #[serde(default)]
    filter_config: Option<FilterConfig>,
    #[serde(default)]
    function: Option<String>,
    #[serde(default)]
    source_metadata: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct EndpointOf {
    uid: String,
}

/// `datastore.FilterConfiguration`.
#[derive(Debug, Deserialize)]
struct FilterConfig {
    #[serde(default)]
    event_types: Option<Vec<String>>,
    #[serde(default)]
    filter: Option<BTreeMap<String, Value>>,
}

/// A response: `data` with a page of `content`.
#[derive(Debug, Deserialize)]
struct Answer<T> {
    data: Paged<T>,
}

#[derive(Debug, Deserialize)]
struct Paged<T> {
    content: Vec<T>,
    #[serde(default)]
    pagination: Option<Pagination>,
}

#[derive(Debug, Deserialize)]
struct Pagination {
    #[serde(default)]
    has_next_page: bool,
    #[serde(default)]
    next_page_cursor: Option<String>,
}

/// A file, or the URL of a project such as `https://…/api/v1/projects/<id>`.
pub(super) async fn read(source: &str) -> Result<Project, Failure> {
    if !is_url(source) {
        return from_file(source);
    }
    let api = Remote::new(source, TOKEN)?;
    Ok(Project {
        endpoints: all(&api, "endpoints").await?,
        subscriptions: all(&api, "subscriptions").await?,
    })
}

async fn all<T: DeserializeOwned>(api: &Remote, list: &str) -> Result<Vec<T>, Failure> {
    let (mut items, mut cursor): (Vec<T>, Option<String>) = (Vec::new(), None);
    loop {
        let mut query = vec![("perPage", PAGE), ("direction", "next")];
        query.extend(cursor.as_deref().map(|cursor| ("next_page_cursor", cursor)));
        let Answer { data } = api.get::<Answer<T>>(&[list], &query).await?;
        items.extend(data.content);
        let next = data.pagination.filter(|page| page.has_next_page);
        match next.and_then(|page| page.next_page_cursor) {
            Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
            Some(_) | None => return Ok(items),
        }
    }
}

pub(super) fn convert(
    project: &Project,
    tenant: Option<&str>,
    report: &mut Report,
) -> Result<Vec<NewWebhook>, Failure> {
    let owners: BTreeSet<_> = project.endpoints.iter().map(|one| &one.owner_id).collect();
    let chosen = chosen_tenant(tenant, owners.len(), "owners")?;
    let mut webhooks = Vec::new();
    for endpoint in &project.endpoints {
        let owner = endpoint
            .owner_id
            .as_deref()
            .filter(|owner| !owner.is_empty());
        let tenant = match &chosen {
            Some(tenant) => tenant.clone(),
            None => tenant_of(&[owner, endpoint.project_id.as_deref(), Some("convoy")])?,
        };
        let name = format!("{} ({tenant})", endpoint.uid);
        let types = event_types(project, endpoint, &name, report);
        list_lost(endpoint, &name, report);
        let copy = copied(endpoint, tenant, types, &name, report)?;
        webhooks.push(NewWebhook { name, copy });
    }
    Ok(webhooks)
}

/// The event types of all subscriptions of an endpoint.
fn event_types(
    project: &Project,
    endpoint: &Endpoint,
    name: &str,
    report: &mut Report,
) -> Vec<String> {
    let is_its = |subscription: &&Subscription| {
        let of = subscription.endpoint_metadata.as_ref();
        of.is_some_and(|of| of.uid == endpoint.uid)
    };
    let mut types = BTreeSet::new();
    for subscription in project.subscriptions.iter().filter(is_its) {
        let config = subscription.filter_config.as_ref();
        let wanted = config.and_then(|config| config.event_types.clone());
        types.extend(wanted.unwrap_or_else(|| vec!["*".to_owned()]));
        let filters = config.and_then(|config| config.filter.as_ref());
        let is_filtering = |value: &Value| value.as_object().is_some_and(|all| !all.is_empty());
        if filters.is_some_and(|filters| filters.values().any(is_filtering)) {
            report.not_carried(name, "a filter on the body, headers, path or query");
        }
        if subscription
            .function
            .as_ref()
            .is_some_and(|code| !code.is_empty())
        {
            report.not_carried(name, "a transformation");
        }
        if subscription
            .source_metadata
            .as_ref()
            .is_some_and(|source| !source.is_null())
        {
            report.not_carried(
                name,
                "a subscription to a source: create the source and its route",
            );
        }
    }
    if types.is_empty() {
        types.insert("*".to_owned());
    }
    types.into_iter().collect()
}

fn copied(
    endpoint: &Endpoint,
    tenant: TenantId,
    event_types: Vec<String>,
    name: &str,
    report: &mut Report,
) -> Result<WebhookCopy, Failure> {
    let own = signing_secret(endpoint);
    if own.is_none() {
        let what = "the signing secret: a new one was generated, and the webhook is paused";
        report.not_carried(name, what);
    }
    let is_active = endpoint
        .status
        .as_deref()
        .is_none_or(|status| status == "active");
    let (status, reason) = status_of(|| own.is_some() && is_active);
    let secret = own.map_or_else(fresh_secret, Ok)?;
    let headers = authentication(endpoint);
    let headers = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let timeout = endpoint.http_timeout.filter(|seconds| *seconds > 0);
    let timeout = timeout.map(|seconds| {
        u32::try_from(seconds).map_or(MAX_TIMEOUT_SECONDS, |seconds| {
            seconds.min(MAX_TIMEOUT_SECONDS)
        })
    });
    let email = endpoint
        .support_email
        .clone()
        .filter(|email| !email.is_empty());
    let rate_limit = (
        endpoint.rate_limit.unwrap_or(0),
        endpoint.rate_limit_duration.unwrap_or(1),
    );
    let names = [endpoint.name.as_deref(), endpoint.description.as_deref()];
    Ok(WebhookCopy {
        id: id_of("convoy", &endpoint.uid),
        tenant,
        draft: WebhookDraft {
            name: name_of(&names, &endpoint.url),
            target_url: endpoint.url.clone(),
            event_types,
            owner_email: email,
            headers: Some(headers_of(headers, name, report)),
            timeout_seconds: timeout,
            max_rate: max_rate_of(rate_limit, name, report),
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

/// The newest secret that does not expire. Convoy uses its text as the key, and so does the result: a receiver can verify
/// the Standard Webhooks signature with the same bytes. `None` if it is too short or too long for that.
fn signing_secret(endpoint: &Endpoint) -> Option<SigningSecret> {
    let lasting = |secret: &&Secret| secret.expires_at.as_ref().is_none_or(String::is_empty);
    let secret = endpoint.secrets.iter().rev().find(lasting)?.value.expose();
    let own = SigningSecret::parse(secret);
    let wrapped = || SigningSecret::parse(&format!("{PREFIX}{}", BASE64.encode(secret.as_bytes())));
    own.or_else(|_| wrapped()).ok()
}

fn authentication(endpoint: &Endpoint) -> Vec<(String, String)> {
    let given = endpoint.authentication.as_ref();
    let api_key = given.and_then(|given| given.api_key.as_ref());
    let api_key = api_key.map(|key| {
        (
            key.header_name.clone(),
            key.header_value.expose().to_owned(),
        )
    });
    let basic = given.and_then(|given| given.basic_auth.as_ref());
    let basic = basic.map(|basic| {
        let pair = format!("{}:{}", basic.username, basic.password.expose());
        let value = format!("Basic {}", BASE64.encode(pair.as_bytes()));
        ("Authorization".to_owned(), value)
    });
    api_key.into_iter().chain(basic).collect()
}

fn list_lost(endpoint: &Endpoint, name: &str, report: &mut Report) {
    let given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    report.not_carried(
        name,
        "the header X-Convoy-Signature: the receiver has to verify webhook-signature instead, with the same secret",
    );
    if endpoint
        .http_timeout
        .is_some_and(|seconds| seconds > u64::from(MAX_TIMEOUT_SECONDS))
    {
        report.not_carried(name, format!("a timeout above {MAX_TIMEOUT_SECONDS} s"));
    }
    if given(&endpoint.slack_webhook_url) || given(&endpoint.teams_webhook_url) {
        report.not_carried(name, "notifications to Slack or Teams");
    }
    if endpoint
        .mtls_client_cert
        .as_ref()
        .is_some_and(|cert| !cert.is_null())
    {
        report.not_carried(name, "the client certificate (mTLS)");
    }
    let oauth2 = endpoint
        .authentication
        .as_ref()
        .and_then(|all| all.oauth2.as_ref());
    if oauth2.is_some_and(|oauth2| !oauth2.is_null()) {
        report.not_carried(name, "OAuth 2 authentication");
    }
}

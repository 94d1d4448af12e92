//! Links that log a customer in to the portal.

use postrider_domain::key::Scope;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::json::{Name, Whole, strict};
use crate::schema;
use crate::secret::ShownSecret;
use crate::time::ApiTime;

/// The settings of a new link.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPortalLink {
    /// The tenant that the customer sees: the caller's; another one only with a key of the tenant `default`.
    #[schema(value_type = schema::TenantName)]
    pub tenant: String,
    /// How long the link can be opened, in seconds. A session that it starts lasts 4 hours.
    #[serde(deserialize_with = "strict::<_, Whole>")]
    #[schema(value_type = schema::LinkSeconds)]
    pub expires_in_seconds: u32,
    /// URL of the portal's Back link: https, or http on loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::ReturnUrl>)]
    pub return_url: Option<String>,
    /// Access of the customer: `manage` by default, or `read`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "names",
        deserialize_with = "strict::<_, Option<Vec<Name<Scope>>>>"
    )]
    #[schema(value_type = Option<schema::LinkScopes>)]
    pub scopes: Option<Vec<Scope>>,
}

fn names<S: serde::Serializer>(scopes: &Option<Vec<Scope>>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(scopes.iter().flatten().map(|scope| scope.as_str()))
}

/// A link that was just created.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CreatedPortalLink {
    /// Logs in once. Shown only here.
    #[schema(value_type = String)]
    pub url: ShownSecret,
    pub expires_at: ApiTime,
}

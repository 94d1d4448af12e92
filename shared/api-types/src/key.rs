//! API keys. The token is shown once; its digest never.

use postrider_domain::key::{ApiKey, Scope};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::json::{Name, strict};
use crate::parameters;
use crate::schema;
use crate::secret::ShownSecret;
use crate::time::ApiTime;
use crate::word::Word;

/// The settings of a new key.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewKey)]
pub struct NewApiKey {
    /// 1 to 100 characters; surrounding whitespace is removed.
    #[schema(value_type = schema::Name)]
    pub name: String,
    /// What the key may do.
    #[serde(
        serialize_with = "names",
        deserialize_with = "strict::<_, Vec<Name<Scope>>>"
    )]
    #[schema(value_type = schema::Scopes)]
    pub scopes: Vec<Scope>,
    /// The tenant whose data it gives access to: the caller's by default; another one only with a key of the tenant
    /// `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::TenantName>)]
    pub tenant: Option<String>,
}

fn names<S: serde::Serializer>(scopes: &[Scope], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(scopes.iter().map(|scope| scope.as_str()))
}

parameters! {
    /// Whose keys to list or revoke.
    pub struct KeyParameters as "KeyParameters" {
        /// The tenant of the keys: the caller's by default; another one only with a key of the tenant `default`.
        tenant: schema::TenantName,
    }
}

/// A key, without its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Key)]
pub struct KeyView {
    #[schema(value_type = schema::KeyId)]
    pub id: String,
    pub name: String,
    #[schema(value_type = schema::Scopes)]
    pub scopes: Vec<Word<Scope>>,
    pub tenant: String,
    pub created_at: ApiTime,
    /// Noted at most every ten minutes.
    #[schema(required)]
    pub last_used_at: Option<ApiTime>,
}

impl From<ApiKey> for KeyView {
    fn from(key: ApiKey) -> Self {
        Self {
            id: key.id.to_string(),
            name: key.name,
            scopes: key.scopes.into_iter().map(Word::from).collect(),
            tenant: key.tenant.to_string(),
            created_at: ApiTime(key.created_at),
            last_used_at: key.last_used_at.map(ApiTime),
        }
    }
}

/// All keys of the tenant, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct KeyList {
    pub items: Vec<KeyView>,
    /// Always `null`: this list is not paginated.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

/// A key that was just created.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CreatedKey {
    #[serde(flatten)]
    pub key: KeyView,
    /// The key itself, shown only here.
    #[schema(value_type = String)]
    pub token: ShownSecret,
}

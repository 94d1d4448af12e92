//! Bodies that do not fit into an item: objects in a bucket, stored before the item that names them. An object whose item
//! was never written expires like any other.

use aws_lc_rs::digest::{SHA256, digest};
use aws_sdk_s3::Client;
use aws_sdk_s3::operation::get_object::GetObjectError;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::MetadataDirective;
use bytes::Bytes;
use data_encoding::HEXLOWER;
use postrider_domain::event::{Event, MAX_BODY_BYTES};
use postrider_domain::retention::Retention;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::{Error, Result};

use super::deflated::Stored;
use super::expiry::LONGER;
use crate::fault::{self, unreadable};

/// After how many days an object expires, by the first part of its key; the rules are in the template. Each gateway uses
/// the first that is long enough for its retention.
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lifecycle-mgmt.html>
pub const LIFETIMES_DAYS: [u64; 3] = [104, 390, 3700];

/// Marks the key of an object that is deflated.
const DEFLATED: &str = ".z";

/// The bucket of large bodies.
#[derive(Clone, Debug)]
pub struct BodyBucket {
    client: Client,
    name: String,
}

/// The object that holds a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) key: String,
    pub(super) expires_at: Timestamp,
}

impl BodyBucket {
    #[must_use]
    pub const fn new(client: Client, name: String) -> Self {
        Self { client, name }
    }

    /// Stores a body. Its key contains its digest: a different request with the same idempotency key does not replace it.
    pub(super) async fn store(
        &self,
        event: &Event,
        stored: Stored,
        retention: Retention,
        now: Timestamp,
    ) -> Result<Object> {
        let days = lifetime_days(retention);
        let (bytes, end) = match stored {
            Stored::Verbatim(bytes) => (bytes, ""),
            Stored::Deflated(bytes) => (bytes, DEFLATED),
        };
        let digest = HEXLOWER.encode(digest(&SHA256, &bytes).as_ref());
        let key = format!("{days}/{}/{}/{digest}{end}", event.tenant, event.id);
        let put = self.client.put_object().bucket(&self.name).key(&key);
        let put = put.body(ByteStream::from(bytes)).send().await;
        put.map_err(|error| fault::of(&error))?;
        Ok(Object {
            expires_at: now.plus(days_long(days)),
            key,
        })
    }

    /// The body; `None` if the object is gone.
    pub(super) async fn read(&self, object: &Object) -> Result<Option<Bytes>> {
        let get = self.client.get_object().bucket(&self.name).key(&object.key);
        let answer = match get.send().await {
            Ok(answer) => answer,
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(GetObjectError::is_no_such_key) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(fault::of(&error)),
        };
        let fits = |length| usize::try_from(length).is_ok_and(|length| length <= MAX_BODY_BYTES);
        if !answer.content_length().is_some_and(fits) {
            return Err(unreadable("the size of an object"));
        }
        let bytes = answer.body.collect().await;
        let bytes = bytes.map_err(|_| Error::Unavailable("aws: incomplete object".to_owned()))?;
        let bytes = bytes.into_bytes();
        if !object.key.ends_with(DEFLATED) {
            return Ok(Some(bytes));
        }
        let restored = Stored::Deflated(bytes.into()).restore(MAX_BODY_BYTES);
        let restored = restored.ok_or_else(|| unreadable("an object"))?;
        Ok(Some(restored.into()))
    }

    /// Deletes the object, wherever a changed retention may have copied it.
    pub(super) async fn delete(&self, object: &Object) -> Result<()> {
        let Some((_, name)) = object.key.split_once('/') else {
            return Err(unreadable("the key of an object"));
        };
        for days in LIFETIMES_DAYS {
            let key = format!("{days}/{name}");
            let delete = self.client.delete_object().bucket(&self.name).key(key);
            delete.send().await.map_err(|error| fault::of(&error))?;
        }
        Ok(())
    }

    /// Starts the lifetime of an object over by copying it, in general onto itself. `None` if it is gone.
    pub(super) async fn renew(
        &self,
        object: &Object,
        retention: Retention,
        now: Timestamp,
    ) -> Result<Option<Object>> {
        let Some((_, name)) = object.key.split_once('/') else {
            return Err(unreadable("the key of an object"));
        };
        let days = lifetime_days(retention);
        let key = format!("{days}/{name}");
        let copy = self.client.copy_object().bucket(&self.name).key(&key);
        let copy = copy
            .copy_source(format!("{}/{}", self.name, object.key))
            // Without a change, S3 rejects a copy of an object onto itself.
            .metadata_directive(MetadataDirective::Replace);
        match copy.send().await {
            Ok(_) => Ok(Some(Object {
                key,
                expires_at: now.plus(days_long(days)),
            })),
            Err(error)
                if error
                    .raw_response()
                    .is_some_and(|raw| raw.status().as_u16() == 404) =>
            {
                Ok(None)
            }
            Err(error) => Err(fault::of(&error)),
        }
    }
}

/// Long enough for an event that is prolonged within [`LONGER`].
fn lifetime_days(retention: Retention) -> u64 {
    let longest = retention.dead.max(retention.delivered);
    let needed = longest.plus(LONGER).plus(LONGER);
    let fits = |days: &u64| days_long(*days) >= needed;
    let [.., longest] = LIFETIMES_DAYS;
    LIFETIMES_DAYS.into_iter().find(fits).unwrap_or(longest)
}

const fn days_long(days: u64) -> Millis {
    Millis::from_seconds(days * 86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_outlast_events_of_any_retention_by_a_week() {
        for days in [1, 30, 90, 91, 365, 376, 377, 3650] {
            let retention = Retention {
                dead: days_long(days),
                ..Retention::default()
            };
            let lifetime = lifetime_days(retention);
            assert!(lifetime >= days.max(30) + 14, "{days} days: {lifetime}");
        }
        assert_eq!(lifetime_days(Retention::default()), 104);
    }
}

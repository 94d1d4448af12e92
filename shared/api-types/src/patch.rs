//! What the changes to a webhook and to a source have in common.

use postrider_domain::invalid::Invalid;
use serde::de::IgnoredAny;

/// Replaces a field, if the patch has it.
pub(crate) fn set<T>(field: &mut T, given: Option<T>) {
    if let Some(value) = given {
        *field = value;
    }
}

/// A secret is rotated, not changed: the old one stays valid for a while.
pub(crate) fn reject_secret(given: Option<IgnoredAny>, collection: &str, faults: &mut Invalid) {
    faults.require(given.is_none(), "secret", || {
        format!("cannot be changed here; POST to {collection}/{{id}}/rotate-secret instead")
    });
}

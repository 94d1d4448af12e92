//! Formats that every store writes the same way: sealed secrets, the settings of webhooks and sources, rejected requests
//! and cursors. Also the file of an export, which moves data from one store to another.
//!
//! Two rules hold for everything stored. A sealed value is bound to its item: moved to another item, it does not open.
//! Unknown fields in stored settings are ignored, so a release can be rolled back after a newer one wrote them.

mod carried;
mod cursor;
mod rejected;
mod ring;
mod source;
pub mod transfer;
mod vault;
mod webhook;

pub use carried::{seal_text, unseal_text};
pub use cursor::ListKey;
pub use rejected::{seal_request, unseal_request};
pub use source::StoredSource;
pub use vault::{KEY_BYTES, Vault};
pub use webhook::{Outline, StoredWebhook};

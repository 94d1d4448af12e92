//! What every store writes the same way, whatever it is made of.

mod carried;
mod cursor;
mod rejected;
mod ring;
mod source;
mod vault;
mod webhook;

pub use carried::{seal_text, unseal_text};
pub use cursor::ListKey;
pub use rejected::{seal_request, unseal_request};
pub use source::StoredSource;
pub use vault::{KEY_BYTES, Vault};
pub use webhook::{Outline, StoredWebhook};

//! What every store writes the same way, whatever it is made of.

mod cursor;
mod ring;
mod source;
mod vault;
mod webhook;

pub use cursor::ListKey;
pub use source::StoredSource;
pub use vault::{KEY_BYTES, Vault};
pub use webhook::{Outline, StoredWebhook};

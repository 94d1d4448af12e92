//! What every store writes the same way, whatever it is made of.

mod cursor;
mod vault;
mod webhook;

pub use cursor::ListKey;
pub use vault::{KEY_BYTES, Vault};
pub use webhook::StoredWebhook;

//! The router by `oneshot`, over a gateway on a real store.

mod deliveries;
mod document;
mod events;
mod hostile;
mod keys;
mod problems;
mod stage;
mod stream;
mod webhooks;

//! One test per scenario of `features/`.

mod adr_0040;
mod erasure;
mod event_types;
mod fairness;
mod filters;
mod health;
mod inbound;
mod inbound_asking;
mod index;
mod jitter_and_budget;
mod key_stats;
mod portal;
mod publishing;
mod shadow;
mod templates;
mod tenants;
mod uc_0268;
mod uc_0269;
mod world;

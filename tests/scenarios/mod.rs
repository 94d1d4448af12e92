//! One test per scenario of `features/`.

mod adr_0040;
mod fairness;
mod filters;
mod health;
mod inbound;
mod inbound_asking;
mod index;
mod jitter_and_budget;
mod key_stats;
mod publishing;
mod shadow;
mod uc_0268;
mod uc_0269;
mod world;

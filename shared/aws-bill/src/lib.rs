//! What the stack costs on AWS. Usage and prices are data: the usage of a delivery counted on DynamoDB Local and the usage
//! that CloudWatch reports for an account go through the same bill.
//!
//! [`delivery`] turns what was counted for some deliveries into the usage of a million, [`idle`] gives the usage of a month
//! in which nothing happens. What neither can count is in [`assumptions`].

pub mod assumptions;
pub mod bill;
pub mod delivery;
pub mod idle;
pub mod markdown;
pub mod prices;
pub mod usage;

pub use assumptions::Assumptions;
pub use bill::{Bill, Line};
pub use delivery::{Counted, Units};
pub use prices::Prices;
pub use usage::{Item, Usage, Used};

//! The version of a tenant's webhooks: which records raise it, and which leave it alone.

use proptest::prelude::*;

use super::{Model, Records};

/// The version as it was last read, and whether it has been raised since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Version {
    seen: u64,
    raised: Raised,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Raised {
    #[default]
    No,
    Perhaps,
    Yes,
}

impl Records {
    pub(super) fn raise(&mut self, raised: Raised) {
        self.version.raised = self.version.raised.max(raised);
    }
}

impl Model {
    pub(super) async fn compare_version(&mut self) -> Result<(), TestCaseError> {
        let seen = self.store().webhooks_version(&self.ours.tenant).await;
        let seen = seen.unwrap();
        let last = std::mem::take(&mut self.ours.version);
        self.ours.version.seen = seen;
        let is_right = match last.raised {
            Raised::No => seen == last.seen,
            Raised::Perhaps => seen >= last.seen,
            Raised::Yes => seen > last.seen,
        };
        prop_assert!(is_right, "version {} after {:?}", seen, last);
        Ok(())
    }
}

//! The key that the stack was made with.

use std::sync::Arc;

use postrider_adapter_aws::first_key::SecretsManagerKey;
use postrider_ports::first_key::FirstKey;

use crate::Parts;

impl Parts {
    /// The key in this entry of Secrets Manager; none where there is no AWS. Calls nobody yet.
    #[must_use]
    pub fn first_key(&self, secret: String) -> Option<Arc<dyn FirstKey>> {
        let aws = self.aws.as_ref()?;
        let client = aws_sdk_secretsmanager::Client::new(aws.config());
        let clock = Arc::clone(&self.ports.clock);
        Some(Arc::new(SecretsManagerKey::new(client, secret, clock)))
    }
}

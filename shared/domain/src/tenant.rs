//! Tenants, and what an operator limits for each.

use serde::{Deserialize, Serialize};

use crate::event::MAX_BODY_BYTES;
use crate::ids::{ErasureId, TenantId};
use crate::invalid::Invalid;
use crate::retention::Retention;
use crate::time::{Millis, Timestamp};
use crate::webhook::{MAX_NAME_CHARS, MAX_WEBHOOKS, is_name};

/// The highest `publish_rate`, in events per second.
pub const MAX_PUBLISH_RATE: u32 = 100_000;
/// The longest `retention_days`.
pub const MAX_RETENTION_DAYS: u32 = 3650;

/// What a tenant may use. `None` means that only the limits of the gateway apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantLimits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhooks: Option<u32>,
    /// Published events per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish_rate: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_body_bytes: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<u32>,
}

impl TenantLimits {
    /// Names every limit that is out of range.
    pub fn check(&self) -> Result<(), Invalid> {
        let most_webhooks = u32::try_from(MAX_WEBHOOKS).unwrap_or(u32::MAX);
        let most_bytes = u32::try_from(MAX_BODY_BYTES).unwrap_or(u32::MAX);
        let mut faults = Invalid::default();
        for (field, given, most) in [
            ("limits.webhooks", self.webhooks, most_webhooks),
            ("limits.publish_rate", self.publish_rate, MAX_PUBLISH_RATE),
            ("limits.max_body_bytes", self.max_body_bytes, most_bytes),
            (
                "limits.retention_days",
                self.retention_days,
                MAX_RETENTION_DAYS,
            ),
        ] {
            let fits = given.is_none_or(|given| (1..=most).contains(&given));
            faults.require(fits, field, || format!("must be 1 to {most}, or null"));
        }
        faults.into_result()
    }

    /// How many webhooks the tenant may have.
    #[must_use]
    pub fn max_webhooks(&self) -> usize {
        let own = self.webhooks.and_then(|own| usize::try_from(own).ok());
        own.map_or(MAX_WEBHOOKS, |own| own.min(MAX_WEBHOOKS))
    }
}

/// Since when what a tenant publishes is stored for this long, if the gateway would store it for longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantRetention {
    pub days: u32,
    pub since: Timestamp,
}

impl TenantRetention {
    /// How long something is stored that was published at `created_at`.
    #[must_use]
    pub fn shorten(self, gateway: Retention, created_at: Timestamp) -> Retention {
        if created_at < self.since {
            return gateway;
        }
        let own = Millis::from_seconds(u64::from(self.days) * 86_400);
        Retention {
            delivered: gateway.delivered.min(own),
            dead: gateway.dead.min(own),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenant {
    pub id: TenantId,
    pub name: String,
    #[serde(default)]
    pub limits: TenantLimits,
    /// Set exactly if `limits.retention_days` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<TenantRetention>,
    /// When its record was created and last changed; `None` for a tenant that only has keys or webhooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
    /// Set while the tenant is deleted: nothing is accepted for it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion: Option<Deletion>,
}

/// The deletion of a tenant, from the first moment to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deletion {
    /// Reports the progress.
    pub erasure: ErasureId,
    pub begun_at: Timestamp,
}

/// When a record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The settings of a tenant as given, unchecked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantDraft {
    pub name: String,
    pub limits: TenantLimits,
}

impl TenantDraft {
    fn check(&self) -> Result<(), Invalid> {
        let mut faults = Invalid::default();
        faults.require(is_name(self.name.trim()), "name", || {
            format!("must be 1 to {MAX_NAME_CHARS} characters, without control characters")
        });
        if let Err(more) = self.limits.check() {
            faults.extend(more);
        }
        faults.into_result()
    }
}

impl Tenant {
    /// A tenant without a record: its id is its name, and it has no limits.
    #[must_use]
    pub fn unrecorded(id: TenantId) -> Self {
        Self {
            name: id.to_string(),
            id,
            limits: TenantLimits::default(),
            retention: None,
            recorded: None,
            deletion: None,
        }
    }

    #[must_use]
    pub fn draft(&self) -> TenantDraft {
        TenantDraft {
            name: self.name.clone(),
            limits: self.limits,
        }
    }

    /// The tenant with other settings. A changed retention applies to what is published from now on.
    ///
    /// # Errors
    /// By field.
    pub fn changed(&self, draft: &TenantDraft, now: Timestamp) -> Result<Self, Invalid> {
        draft.check()?;
        let limits = draft.limits;
        let same = self
            .retention
            .filter(|known| Some(known.days) == limits.retention_days);
        let begun = || {
            let days = limits.retention_days?;
            Some(TenantRetention { days, since: now })
        };
        let created_at = self.recorded.map_or(now, |known| known.created_at);
        let updated_at = self
            .recorded
            .map_or(now, |known| now.max(known.updated_at.plus(Millis::new(1))));
        Ok(Self {
            id: self.id.clone(),
            name: draft.name.trim().to_owned(),
            limits,
            retention: same.or_else(begun),
            recorded: Some(Recorded {
                created_at,
                updated_at,
            }),
            deletion: self.deletion,
        })
    }

    /// The tenant when its deletion begins. A tenant without a record gets one, which says so.
    #[must_use]
    pub fn deleted_by(&self, deletion: Deletion) -> Self {
        let now = deletion.begun_at;
        let recorded = match self.recorded {
            Some(known) => Recorded {
                updated_at: now.max(known.updated_at.plus(Millis::new(1))),
                ..known
            },
            None => Recorded {
                created_at: now,
                updated_at: now,
            },
        };
        Self {
            recorded: Some(recorded),
            deletion: Some(deletion),
            ..self.clone()
        }
    }

    /// When its record was last changed.
    #[must_use]
    pub fn updated_at(&self) -> Option<Timestamp> {
        self.recorded.map(|known| known.updated_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

    fn later() -> Timestamp {
        NOW.plus(Millis::from_seconds(60))
    }

    fn limited(limits: TenantLimits) -> TenantDraft {
        TenantDraft {
            name: " Acme ".to_owned(),
            limits,
        }
    }

    #[test]
    fn every_limit_out_of_range_is_named() {
        let limits = TenantLimits {
            webhooks: Some(1001),
            publish_rate: Some(0),
            max_body_bytes: Some(u32::MAX),
            retention_days: Some(0),
        };
        let faults = limits.check().unwrap_err().into_fields();
        let fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "limits.webhooks",
                "limits.publish_rate",
                "limits.max_body_bytes",
                "limits.retention_days"
            ]
        );
        assert_eq!(faults[0].message, "must be 1 to 1000, or null");
    }

    #[test]
    fn each_limit_is_accepted_up_to_its_maximum() {
        let all = |webhooks, publish_rate, max_body_bytes, retention_days| TenantLimits {
            webhooks: Some(webhooks),
            publish_rate: Some(publish_rate),
            max_body_bytes: Some(max_body_bytes),
            retention_days: Some(retention_days),
        };
        let faults = |limits: TenantLimits| {
            let found = limits.check().err().map(Invalid::into_fields);
            found.map_or(0, |fields| fields.len())
        };
        assert_eq!(faults(TenantLimits::default()), 0);
        assert_eq!(faults(all(1, 1, 1, 1)), 0);
        assert_eq!(faults(all(1_000, 100_000, 4_194_304, 3_650)), 0);
        assert_eq!(faults(all(1_001, 100_001, 4_194_305, 3_651)), 4);
    }

    #[test]
    fn a_tenant_may_have_as_many_webhooks_as_its_limit_and_the_gateways_allow() {
        for (own, most) in [
            (None, MAX_WEBHOOKS),
            (Some(3), 3),
            (Some(u32::MAX), MAX_WEBHOOKS),
        ] {
            let limits = TenantLimits {
                webhooks: own,
                ..TenantLimits::default()
            };
            assert_eq!(limits.max_webhooks(), most);
        }
    }

    #[test]
    fn a_change_names_every_invalid_field() {
        let draft = TenantDraft {
            name: " ".to_owned(),
            limits: TenantLimits {
                webhooks: Some(0),
                ..TenantLimits::default()
            },
        };
        let tenant = Tenant::unrecorded("acme".parse().unwrap());
        let faults = tenant.changed(&draft, NOW).unwrap_err().into_fields();
        let fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
        assert_eq!(fields, ["name", "limits.webhooks"]);
    }

    #[test]
    fn a_deletion_is_recorded_as_a_change_even_of_a_tenant_without_a_record() {
        let deletion = Deletion {
            erasure: ErasureId::from_bytes([5; 16]),
            begun_at: later(),
        };
        let unrecorded = Tenant::unrecorded("acme".parse().unwrap());
        let recorded = |updated_at| Tenant {
            recorded: Some(Recorded {
                created_at: NOW,
                updated_at,
            }),
            ..unrecorded.clone()
        };
        let moment = Millis::new(1);
        for (tenant, created_at, updated_at) in [
            (unrecorded.clone(), later(), later()),
            (recorded(NOW), NOW, later()),
            (recorded(later()), NOW, later().plus(moment)),
        ] {
            let deleted = tenant.deleted_by(deletion);
            let expected = Tenant {
                recorded: Some(Recorded {
                    created_at,
                    updated_at,
                }),
                deletion: Some(deletion),
                ..unrecorded.clone()
            };
            assert_eq!(deleted, expected);
            assert_eq!(deleted.updated_at(), Some(updated_at));
        }
    }

    #[test]
    fn a_change_keeps_the_time_of_creation_and_is_later_than_the_last() {
        let tenant = Tenant::unrecorded("acme".parse().unwrap());
        let first = tenant.changed(&limited(TenantLimits::default()), NOW);
        let first = first.unwrap();
        assert_eq!(first.name, "Acme");
        let again = first.changed(&first.draft(), NOW).unwrap();
        assert!(again.updated_at() > first.updated_at());
        assert_eq!(again.recorded.unwrap().created_at, NOW);
    }

    #[test]
    fn a_retention_applies_from_the_change_that_set_it() {
        let days = |days| {
            limited(TenantLimits {
                retention_days: days,
                ..TenantLimits::default()
            })
        };
        let tenant = Tenant::unrecorded("acme".parse().unwrap());
        let week = tenant.changed(&days(Some(7)), NOW).unwrap();
        let renamed = week.changed(&days(Some(7)), later()).unwrap();
        assert_eq!(renamed.retention, week.retention);
        let day = renamed.changed(&days(Some(1)), later()).unwrap();
        assert_eq!(day.retention.unwrap().since, later());
        assert_eq!(day.changed(&days(None), later()).unwrap().retention, None);
    }

    #[test]
    fn only_a_shorter_retention_has_an_effect() {
        let gateway = Retention::default();
        let own = |days| TenantRetention { days, since: NOW };
        let week = Millis::from_seconds(7 * 86_400);
        let shortened = own(7).shorten(gateway, NOW);
        assert_eq!((shortened.delivered, shortened.dead), (week, week));
        assert_eq!(own(60).shorten(gateway, NOW).delivered, gateway.delivered);
        let before = NOW.minus(Millis::new(1));
        assert_eq!(own(7).shorten(gateway, before), gateway);
    }
}

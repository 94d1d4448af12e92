//! File descriptors: takes as many as the system allows, and checks that the settings get by with them.

use anyhow::bail;
use postrider_gateway::shadow;

use crate::serve::settings::Settings;

/// While an attempt resolves a name, it asks for both address families at once.
const PER_ATTEMPT: u64 = 2;
/// The store's files, the listener, standard streams, name servers, the mail server, the collector.
const OTHERS: u64 = 64;

/// Raises the limit as far as possible.
///
/// # Errors
/// If the settings could need more descriptors than there are. Otherwise it would show only under load.
pub(crate) fn ensure(settings: &Settings) -> anyhow::Result<()> {
    check(settings, raise(needed(settings)))
}

fn needed(settings: &Settings) -> u64 {
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let attempts = count(settings.worker.total).saturating_add(count(shadow::MAX_AT_ONCE));
    attempts
        .saturating_mul(PER_ATTEMPT)
        .saturating_add(count(settings.limits.connections))
        .saturating_add(OTHERS)
}

fn check(settings: &Settings, available: Option<u64>) -> anyhow::Result<()> {
    let needed = needed(settings);
    match available {
        Some(available) if available < needed => bail!(
            "the settings need up to {needed} file descriptors, but this process may open only {available}: \
             raise its limit (`ulimit -n`, or LimitNOFILE= of a systemd unit), or lower POSTRIDER_CONCURRENCY ({}) \
             or POSTRIDER_CONNECTIONS ({})",
            settings.worker.total,
            settings.limits.connections
        ),
        Some(_) | None => Ok(()),
    }
}

/// Raises the soft limit to the hard one, or to `needed` if the system does not allow that. Returns the limit that then
/// applies; `None` if there is none.
#[cfg(unix)]
fn raise(needed: u64) -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    for wanted in [maximum, Some(needed)] {
        if wanted.is_some_and(|wanted| current.is_none_or(|current| current >= wanted)) {
            continue;
        }
        let raised = Rlimit {
            current: wanted,
            maximum,
        };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            return wanted;
        }
    }
    current
}

#[cfg(not(unix))]
fn raise(_: u64) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        let given = |name: &str| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Settings::read(given).unwrap()
    }

    #[test]
    fn the_defaults_fit_into_the_usual_limits() {
        let defaults = settings(&[]);
        assert_eq!(needed(&defaults), 2 * (1024 + 8) + 512 + 64);
        assert!(check(&defaults, Some(4096)).is_ok());
        assert!(check(&defaults, None).is_ok());
    }

    #[test]
    fn too_few_descriptors_are_named_with_the_settings_that_need_them() {
        let many = settings(&[
            ("POSTRIDER_CONCURRENCY", "5000"),
            ("POSTRIDER_CONNECTIONS", "700"),
        ]);
        let message = check(&many, Some(4096)).unwrap_err().to_string();
        for part in ["10780", "4096", "POSTRIDER_CONCURRENCY (5000)", "(700)"] {
            assert!(message.contains(part), "{part} in {message}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_limit_is_raised_as_far_as_possible() {
        use rustix::process::{Resource, getrlimit};
        let raised = raise(64);
        let now = getrlimit(Resource::Nofile);
        assert_eq!(now.current, raised);
        assert!(now.maximum.is_none() || now.current == now.maximum);
    }
}

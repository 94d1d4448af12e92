//! Diagnoses of rejected requests.

use postrider_domain::diagnosis::{Finding, diagnose};

use super::Outcome;
use super::requests::Arrival;

/// Diagnoses the request that an input describes, for a source that had the signer's secret earlier, and for the one that
/// has it.
///
/// # Panics
/// When there is no finding, a finding reveals a secret, or an old secret is not recognised.
pub fn try_diagnosis(input: &[u8]) -> Outcome {
    let Some(arrival) = Arrival::of(input) else {
        return Outcome::Nothing;
    };
    let (scene, now) = (arrival.scene, arrival.now);
    let by_former = diagnose(&arrival.inbound, &scene.former, now);
    let by_known = diagnose(&arrival.inbound, &scene.known, now);
    for findings in [&by_former, &by_known] {
        assert!(!findings.is_empty());
        let said: String = findings
            .iter()
            .map(|finding| format!("{finding} {finding:?} "))
            .collect();
        let secret = scene.signer.secret.expose();
        assert!(!said.contains(secret), "{}: {said}", scene.scheme.name);
    }
    let name = scene.scheme.name;
    if arrival.is_accepted() {
        assert!(
            by_former.contains(&Finding::OldSecret),
            "{name}: {by_former:?}"
        );
        assert_eq!(by_known, [Finding::Matches], "{name}");
        Outcome::Accepted
    } else {
        assert!(
            !by_known.contains(&Finding::Matches),
            "{name}: {by_known:?}"
        );
        Outcome::Rejected
    }
}

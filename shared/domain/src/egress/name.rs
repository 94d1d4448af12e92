//! Which host names may be resolved at all.

use super::Blocked;

/// Suffixes that never belong to a public receiver: RFC 6761, RFC 6762, RFC 8375 and ICANN's reserved `internal`.
const LOCAL_SUFFIXES: [&str; 4] = ["localhost", "local", "internal", "home.arpa"];

/// Expects a name as the URL parser returns it: lowercase ASCII.
pub(super) fn check(name: &str) -> Result<(), Blocked> {
    // A name with a trailing dot is the same host and must not bypass the rules.
    let name = name.strip_suffix('.').unwrap_or(name);
    if let Some(suffix) = LOCAL_SUFFIXES
        .into_iter()
        .find(|suffix| is_under(name, suffix))
    {
        return Err(Blocked::LocalName {
            name: name.to_owned(),
            suffix,
        });
    }
    if name.len() > 253 || !name.split('.').all(is_label) {
        return Err(Blocked::BadName);
    }
    if !name.contains('.') {
        return Err(Blocked::SingleLabel {
            name: name.to_owned(),
        });
    }
    Ok(())
}

fn is_under(name: &str, suffix: &str) -> bool {
    name.strip_suffix(suffix)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn is_label(label: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=63).contains(&label.len()) && label.bytes().all(allowed)
}

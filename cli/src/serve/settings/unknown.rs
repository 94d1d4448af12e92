//! Warns of settings that are not read, which are usually misspelt.

use super::table::ALL;
use crate::edge;

const PREFIX: &str = "POSTRIDER_";
/// The settings of the other commands.
const OF_COMMANDS: [&str; 5] = [
    "POSTRIDER_URL",
    "POSTRIDER_TOKEN",
    "POSTRIDER_SOURCE_SECRET",
    "POSTRIDER_PASSPHRASE",
    "POSTRIDER_STACK",
];
/// A name with more differences is not a misspelling.
const MAX_DISTANCE: usize = 4;

pub(crate) fn warn() {
    for name in edge::variables(PREFIX) {
        if let Some(advice) = advice(&name) {
            tracing::warn!(
                event = "settings.unknown",
                setting = name,
                "{name} is not a setting and is ignored{advice}"
            );
        }
    }
}

/// None for a setting; otherwise the end of the warning.
fn advice(name: &str) -> Option<String> {
    let settings = ALL.iter().map(|setting| setting.row().name);
    let known: Vec<_> = settings.chain(OF_COMMANDS).collect();
    if known.contains(&name) {
        return None;
    }
    let nearest = known
        .into_iter()
        .min_by_key(|known| distance(name, known))?;
    Some(if distance(name, nearest) <= MAX_DISTANCE {
        format!("; did you mean {nearest}?")
    } else {
        "; see docs/configuration.md".to_owned()
    })
}

/// How many characters have to be inserted, deleted or replaced (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let first: Vec<usize> = (0..=other.len()).collect();
    let last = one.bytes().fold(first, |above, a| {
        let mut left = above.first().map_or(0, |cell| cell + 1);
        let mut row = vec![left];
        let diagonal_and_up = above.iter().zip(above.iter().skip(1));
        for ((diagonal, up), b) in diagonal_and_up.zip(other.bytes()) {
            let replaced = diagonal + usize::from(a != b);
            left = replaced.min(up + 1).min(left + 1);
            row.push(left);
        }
        row
    });
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_setting_gets_the_right_name() {
        let advice = |name| advice(name);
        assert_eq!(advice("POSTRIDER_LISTEN"), None);
        assert_eq!(advice("POSTRIDER_TOKEN"), None);
        assert_eq!(
            advice("POSTRIDER_EGRES_ALOW").as_deref(),
            Some("; did you mean POSTRIDER_EGRESS_ALLOW?")
        );
        assert_eq!(
            advice("POSTRIDER_SOMETHING_ELSE_ENTIRELY").as_deref(),
            Some("; see docs/configuration.md")
        );
    }
}

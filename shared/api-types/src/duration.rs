//! Durations as people write them: `90s`, `15m`, `1h30m`, `7d`.

use postrider_domain::time::Millis;

/// Reads a duration: one or more numbers, each with the unit ms, s, m, h, d or w.
#[must_use]
pub fn parse(text: &str) -> Option<Millis> {
    let mut total: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (count, after) = rest.split_at_checked(digits)?;
        let letters = after.bytes().take_while(u8::is_ascii_lowercase).count();
        let (unit, after) = after.split_at_checked(letters)?;
        let part = count.parse::<u64>().ok()?.checked_mul(millis_of(unit)?)?;
        total = total.checked_add(part)?;
        rest = after;
    }
    (!text.is_empty()).then(|| Millis::new(total))
}

fn millis_of(unit: &str) -> Option<u64> {
    Some(match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        let millis = |text: &str| parse(text).map(Millis::get);
        assert_eq!(millis("90s"), Some(90_000));
        assert_eq!(millis("250ms"), Some(250));
        assert_eq!(millis("1h30m"), Some(5_400_000));
        assert_eq!(millis("7d"), Some(604_800_000));
        assert_eq!(millis("1w"), millis("7d"));
        assert_eq!(millis("0s"), Some(0));
        for bad in [
            "",
            "h",
            "5",
            "5x",
            "5 m",
            "-5m",
            "+5m",
            "1.5h",
            "5H",
            "ä",
            "5ä",
            "１h",
            " 1h",
            "99999999999999999999d",
            "18446744073709551615w",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}

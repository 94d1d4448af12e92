//! The first attempt of a delivery that it delivered, as text in the delivery's own row: most deliveries have no other, and a
//! row in a table of its own would cost a third of the write.

use postrider_domain::attempt::Attempt;
use postrider_domain::outcome::Timings;
use postrider_domain::time::Timestamp;

/// The attempt as numbers separated by spaces, `-` for none. `None` if it has to go into the table of attempts: it is not the
/// first, or it failed.
pub(super) fn to_text(attempt: &Attempt) -> Option<String> {
    let Attempt {
        number: 1,
        version,
        at,
        status_code: Some(status_code),
        error: None,
        kind: None,
        phase: None,
        timings,
        response_body: None,
    } = attempt
    else {
        return None;
    };
    let Timings {
        dns_ms,
        connect_ms,
        tls_ms,
        first_byte_ms,
        body_ms,
        total_ms,
    } = *timings;
    let mut text = format!("{version} {} {status_code} {total_ms}", at.as_millis());
    for part in [dns_ms, connect_ms, tls_ms, first_byte_ms, body_ms] {
        text.push(' ');
        match part {
            Some(ms) => text.push_str(&ms.to_string()),
            None => text.push('-'),
        }
    }
    Some(text)
}

/// The opposite of [`to_text`].
pub(super) fn from_text(text: &str) -> Option<Attempt> {
    let mut parts = text.split(' ');
    let (version, at) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let (status_code, total_ms) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let mut part = || match parts.next()? {
        "-" => Some(None),
        ms => ms.parse().ok().map(Some),
    };
    let timings = Timings {
        dns_ms: part()?,
        connect_ms: part()?,
        tls_ms: part()?,
        first_byte_ms: part()?,
        body_ms: part()?,
        total_ms,
    };
    Some(Attempt {
        number: 1,
        version,
        at: Timestamp::from_millis(at),
        status_code: Some(status_code),
        error: None,
        kind: None,
        phase: None,
        timings,
        response_body: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivered() -> Attempt {
        Attempt {
            number: 1,
            version: 3,
            at: Timestamp::from_millis(1_700_000_000_123),
            status_code: Some(204),
            error: None,
            kind: None,
            phase: None,
            timings: Timings {
                dns_ms: None,
                connect_ms: Some(0),
                tls_ms: None,
                first_byte_ms: Some(12),
                body_ms: Some(1),
                total_ms: 14,
            },
            response_body: None,
        }
    }

    #[test]
    fn a_first_attempt_is_read_as_it_was_written() {
        let text = to_text(&delivered()).unwrap();
        assert_eq!(text, "3 1700000000123 204 14 - 0 - 12 1");
        assert_eq!(from_text(&text), Some(delivered()));
        assert_eq!(from_text("3 x"), None);
    }

    #[test]
    fn an_attempt_that_failed_or_is_not_the_first_goes_into_the_table() {
        let second = Attempt {
            number: 2,
            ..delivered()
        };
        let failed = Attempt {
            error: Some("HTTP status 500".to_owned()),
            response_body: Some(String::new()),
            ..delivered()
        };
        assert_eq!((to_text(&second), to_text(&failed)), (None, None));
    }
}

//! The last attempts of a row, a few bytes each, on the row itself: a delivery that succeeds at once needs no further
//! item. Each attempt has its own attribute, so writing one does not require reading the others.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::attempt::Attempt;
use postrider_domain::outcome::Timings;
use postrider_domain::time::Timestamp;

use super::item::Item;

/// How many attempts a row keeps.
pub(super) const KEPT: u32 = 20;

/// The longest time that is stored exactly, about 35 minutes: three bytes.
const LONGEST_MS: u32 = (1 << 21) - 1;

/// The attribute of an attempt; it replaces the attempt twenty before it.
pub(super) fn slot(number: u32) -> String {
    format!("a{}", number % KEPT)
}

/// An attempt without its texts: at most 32 bytes, provided that a row is written fewer than 2²⁸ times and attempted
/// fewer than 2¹⁴ times.
pub(super) fn pack(attempt: &Attempt) -> AttributeValue {
    let phases = phases(&attempt.timings);
    let mut said = attempt.status_code.unwrap_or(0) & 0x3ff;
    for (place, phase) in phases.iter().enumerate() {
        said |= u16::from(phase.is_some()) << (10 + place);
    }
    let mut bytes = Vec::with_capacity(32);
    bytes.extend(said.to_be_bytes());
    write(&mut bytes, attempt.version);
    write(&mut bytes, u64::from(attempt.number));
    write(&mut bytes, attempt.at.as_millis().unsigned_abs());
    write_ms(&mut bytes, attempt.timings.total_ms);
    phases
        .into_iter()
        .flatten()
        .for_each(|phase| write_ms(&mut bytes, phase));
    AttributeValue::B(Blob::new(bytes))
}

/// The attempts that a row keeps, oldest first, without their texts.
pub(super) fn unpack_all(item: &Item) -> Option<Vec<Attempt>> {
    let kept = (0..KEPT).filter_map(|number| item.get(&slot(number)));
    let mut attempts = kept
        .map(|value| unpack(value.as_b().ok()?.as_ref()))
        .collect::<Option<Vec<_>>>()?;
    attempts.sort_by_key(|attempt| attempt.number);
    Some(attempts)
}

fn unpack(bytes: &[u8]) -> Option<Attempt> {
    let (said, mut rest) = bytes.split_first_chunk::<2>()?;
    let said = u16::from_be_bytes(*said);
    let version = read(&mut rest)?;
    let number = u32::try_from(read(&mut rest)?).ok()?;
    let at = Timestamp::from_millis(i64::try_from(read(&mut rest)?).ok()?);
    let total_ms = read_ms(&mut rest)?;
    let mut phases = [None; 5];
    for (place, phase) in phases.iter_mut().enumerate() {
        if said & (1 << (10 + place)) != 0 {
            *phase = Some(read_ms(&mut rest)?);
        }
    }
    let [dns_ms, connect_ms, tls_ms, first_byte_ms, body_ms] = phases;
    let status = said & 0x3ff;
    Some(Attempt {
        number,
        version,
        at,
        status_code: (status != 0).then_some(status),
        error: None,
        kind: None,
        phase: None,
        timings: Timings {
            dns_ms,
            connect_ms,
            tls_ms,
            first_byte_ms,
            body_ms,
            total_ms,
        },
        response_body: None,
    })
}

const fn phases(timings: &Timings) -> [Option<u32>; 5] {
    [
        timings.dns_ms,
        timings.connect_ms,
        timings.tls_ms,
        timings.first_byte_ms,
        timings.body_ms,
    ]
}

fn write_ms(to: &mut Vec<u8>, ms: u32) {
    write(to, u64::from(ms.min(LONGEST_MS)));
}

fn read_ms(from: &mut &[u8]) -> Option<u32> {
    u32::try_from(read(from)?).ok()
}

/// Seven bits per byte, lowest first; the highest bit says that more follow.
fn write(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    to.push((number & 0x7f) as u8);
}

fn read(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms() -> impl Strategy<Value = u32> {
        0..=LONGEST_MS
    }

    prop_compose! {
        fn attempt()(
            number in 1..1_u32 << 14, version in 0..1_u64 << 28, at in 0..1_i64 << 42,
            status_code in proptest::option::of(100..1000_u16), total_ms in ms(),
            phases in proptest::array::uniform5(proptest::option::of(ms())),
        ) -> Attempt {
            let [dns_ms, connect_ms, tls_ms, first_byte_ms, body_ms] = phases;
            let timings = Timings { dns_ms, connect_ms, tls_ms, first_byte_ms, body_ms, total_ms };
            let at = Timestamp::from_millis(at);
            Attempt { number, version, at, status_code, error: None, kind: None, phase: None, timings, response_body: None }
        }
    }

    proptest! {
        #[test]
        fn an_attempt_comes_back_from_at_most_32_bytes(attempt in attempt()) {
            let packed = pack(&attempt);
            prop_assert!(packed.as_b().unwrap().as_ref().len() <= 32);
            let item = Item::from([(slot(attempt.number), packed)]);
            prop_assert_eq!(unpack_all(&item), Some(vec![attempt]));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = unpack(&bytes);
        }
    }

    #[test]
    fn the_last_twenty_are_kept_in_order() {
        let mut item = Item::new();
        for number in 1..=47_u32 {
            let attempt = Attempt {
                number,
                version: u64::from(number) * 2,
                at: Timestamp::ZERO,
                status_code: None,
                error: None,
                kind: None,
                phase: None,
                timings: Timings::default(),
                response_body: None,
            };
            item.insert(slot(number), pack(&attempt));
        }
        let numbers = unpack_all(&item).unwrap();
        let numbers: Vec<_> = numbers.iter().map(|one| one.number).collect();
        assert_eq!(numbers, (28..=47).collect::<Vec<_>>());
    }
}

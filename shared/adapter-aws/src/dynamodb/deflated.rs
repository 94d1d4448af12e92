//! Bytes in an item, deflated if that makes them smaller: an item is billed by its size. They come back exactly.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use postrider_ports::Result;

use super::item::Item;
use crate::fault::unreadable;

/// Higher levels take several times as long and save less than a hundredth.
const LEVEL: u8 = 6;

/// Bytes as they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Verbatim(Vec<u8>),
    Deflated(Vec<u8>),
}

impl Stored {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let deflated = compress_to_vec(bytes, LEVEL);
        if deflated.len() < bytes.len() {
            Self::Deflated(deflated)
        } else {
            Self::Verbatim(bytes.to_vec())
        }
    }

    pub(super) const fn len(&self) -> usize {
        match self {
            Self::Verbatim(bytes) | Self::Deflated(bytes) => bytes.len(),
        }
    }

    /// The original bytes. `None` if they cannot be inflated, or only to more than `limit`.
    pub(super) fn restore(self, limit: usize) -> Option<Vec<u8>> {
        match self {
            Self::Verbatim(bytes) => Some(bytes),
            Self::Deflated(bytes) => decompress_to_vec_with_limit(&bytes, limit).ok(),
        }
    }

    /// Adds the bytes as the attribute `name`, or `<name>_z` if they are deflated; nothing if there are none.
    pub(super) fn put(self, item: &mut Item, name: &str) {
        if self.len() == 0 {
            return;
        }
        let (name, bytes) = match self {
            Self::Verbatim(bytes) => (name.to_owned(), bytes),
            Self::Deflated(bytes) => (deflated(name), bytes),
        };
        item.insert(name, AttributeValue::B(Blob::new(bytes)));
    }

    /// Removes what [`put`](Self::put) added, if it did.
    pub(super) fn take(item: &mut Item, name: &str) -> Option<Self> {
        let mut bytes = |name: &str| match item.remove(name) {
            Some(AttributeValue::B(blob)) => Some(blob.into_inner()),
            Some(_) | None => None,
        };
        let verbatim = bytes(name).map(Self::Verbatim);
        verbatim.or_else(|| bytes(&deflated(name)).map(Self::Deflated))
    }
}

/// Takes an attribute and restores it; empty if there is none.
pub(super) fn take_restored(item: &mut Item, name: &str, limit: usize) -> Result<Vec<u8>> {
    let restored = Stored::take(item, name).map(|stored| stored.restore(limit));
    restored
        .unwrap_or_else(|| Some(Vec::new()))
        .ok_or_else(|| unreadable(name))
}

/// The attributes that may hold the bytes.
pub(super) fn names(name: &str) -> [String; 2] {
    [name.to_owned(), deflated(name)]
}

fn deflated(name: &str) -> String {
    format!("{name}_z")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 1 << 20;

    fn there_and_back(bytes: &[u8]) -> (usize, Vec<u8>) {
        let stored = Stored::of(bytes);
        let len = stored.len();
        let mut item = Item::new();
        stored.put(&mut item, "body");
        let back = take_restored(&mut item, "body", LIMIT).unwrap();
        assert!(item.is_empty());
        (len, back)
    }

    fn runs() -> impl Strategy<Value = Vec<u8>> {
        let run = (any::<u8>(), 1..600_usize).prop_map(|(byte, count)| vec![byte; count]);
        proptest::collection::vec(run, 0..20).prop_map(|runs| runs.concat())
    }

    proptest! {
        #[test]
        fn any_bytes_come_back_and_never_grow(bytes: Vec<u8>) {
            let (len, back) = there_and_back(&bytes);
            prop_assert!(len <= bytes.len());
            prop_assert_eq!(back, bytes);
        }

        #[test]
        fn bytes_that_deflate_well_come_back(bytes in runs()) {
            let (len, back) = there_and_back(&bytes);
            prop_assert!(len <= bytes.len());
            prop_assert_eq!(back, bytes);
        }

        #[test]
        fn bytes_that_are_deflated_already_come_back(bytes in runs()) {
            let bytes = compress_to_vec(&bytes, LEVEL);
            prop_assert_eq!(there_and_back(&bytes).1, bytes);
        }

        #[test]
        fn no_bytes_make_it_panic_or_exceed_the_limit(bytes: Vec<u8>) {
            let restored = Stored::Deflated(bytes).restore(1000);
            prop_assert!(restored.is_none_or(|restored| restored.len() <= 1000));
        }
    }

    #[test]
    fn a_text_takes_less_and_an_empty_one_nothing() {
        let text = r#"{"id":1,"state":"open"},"#.repeat(50);
        assert!(there_and_back(text.as_bytes()).0 < text.len() / 10);
        assert_eq!(there_and_back(b""), (0, Vec::new()));
    }

    #[test]
    fn a_bomb_is_not_inflated() {
        let bomb = Stored::of(&vec![0; LIMIT + 1]);
        assert!(bomb.len() < LIMIT / 500);
        assert_eq!(bomb.clone().restore(LIMIT), None);
        assert!(bomb.restore(LIMIT + 1).is_some());
    }
}

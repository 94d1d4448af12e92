//! Binds a cursor to the list that it belongs to.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::BASE64URL_NOPAD;
use postrider_domain::ids::TenantId;
use postrider_ports::history::{Cursor, Filter};
use postrider_ports::{Error, Result};

const LIST_BYTES: usize = 8;

/// Identifies a list by its query: a cursor of another tenant, filter or range is rejected.
#[derive(Clone, Copy, Debug)]
pub struct ListKey([u8; LIST_BYTES]);

impl ListKey {
    #[must_use]
    pub fn of(asked: &str) -> Self {
        let mut key = [0; LIST_BYTES];
        let digest = digest(&SHA256, asked.as_bytes());
        for (byte, from) in key.iter_mut().zip(digest.as_ref()) {
            *byte = *from;
        }
        Self(key)
    }

    pub fn of_deliveries(tenant: &TenantId, filter: &Filter) -> Result<Self> {
        let filter =
            serde_json::to_string(filter).map_err(|error| Error::Broken(error.to_string()))?;
        Ok(Self::of(&format!("{tenant} {filter}")))
    }

    /// The cursor for a position in this list.
    #[must_use]
    pub fn cursor(self, place: &[u8]) -> Cursor {
        Cursor(BASE64URL_NOPAD.encode(&[self.0.as_slice(), place].concat()))
    }

    /// The position of a cursor of this list.
    ///
    /// # Errors
    /// [`Error::InvalidCursor`] for any other cursor.
    pub fn place(self, cursor: &Cursor) -> Result<Vec<u8>> {
        let bytes = BASE64URL_NOPAD
            .decode(cursor.0.as_bytes())
            .map_err(|_| Error::InvalidCursor)?;
        match bytes.split_first_chunk::<LIST_BYTES>() {
            Some((list, place)) if *list == self.0 => Ok(place.to_vec()),
            Some(_) | None => Err(Error::InvalidCursor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::delivery::Status;

    #[test]
    fn a_cursor_gives_its_place_back_to_its_own_list() {
        let tenant = TenantId::default();
        let key = ListKey::of_deliveries(&tenant, &Filter::default()).unwrap();
        let cursor = key.cursor(b"here");
        assert_eq!(key.place(&cursor).unwrap(), b"here");
        let failed = Filter {
            status: Some(Status::Failed),
            ..Filter::default()
        };
        let others = [
            ListKey::of_deliveries(&tenant, &failed).unwrap(),
            ListKey::of_deliveries(&"other".parse().unwrap(), &Filter::default()).unwrap(),
        ];
        for other in others {
            assert_eq!(other.place(&cursor), Err(Error::InvalidCursor));
        }
    }

    #[test]
    fn garbage_is_not_a_cursor() {
        let key = ListKey::of("list");
        let whole = key.cursor(&[255; 16]).0;
        for text in ["", "x", "!!!", "ä", &whole[1..]] {
            assert_eq!(
                key.place(&Cursor(text.to_owned())),
                Err(Error::InvalidCursor),
                "{text}"
            );
        }
    }
}

//! Where a page ended, as an opaque text.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::BASE64URL_NOPAD;
use postrider_domain::ids::TenantId;
use postrider_ports::history::{Cursor, Filter};

use super::codec;
use super::fault::Fault;
use postrider_ports::Error;

const LIST_BYTES: usize = 8;

/// The last row that a page examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) created_at: i64,
    pub(super) at: i64,
}

impl Position {
    /// Before the newest row there can be.
    pub(super) const START: Self = Self {
        created_at: i64::MAX,
        at: i64::MAX,
    };
}

/// Which list a cursor belongs to: that of another tenant or filter does not take it.
#[derive(Clone, Copy)]
pub(super) struct ListKey([u8; LIST_BYTES]);

impl ListKey {
    pub(super) fn of(tenant: &TenantId, filter: &Filter) -> Result<Self, Fault> {
        let said = format!("{tenant} {}", codec::to_json(filter)?);
        let mut key = [0; LIST_BYTES];
        for (byte, from) in key
            .iter_mut()
            .zip(digest(&SHA256, said.as_bytes()).as_ref())
        {
            *byte = *from;
        }
        Ok(Self(key))
    }

    pub(super) fn cursor(self, position: Position) -> Cursor {
        let bytes = [
            self.0.as_slice(),
            &position.created_at.to_be_bytes(),
            &position.at.to_be_bytes(),
        ]
        .concat();
        Cursor(BASE64URL_NOPAD.encode(&bytes))
    }

    pub(super) fn position(self, cursor: &Cursor) -> Result<Position, Error> {
        let bytes = BASE64URL_NOPAD
            .decode(cursor.0.as_bytes())
            .map_err(|_| Error::InvalidCursor)?;
        let (list, rest) = bytes
            .split_first_chunk::<LIST_BYTES>()
            .ok_or(Error::InvalidCursor)?;
        let (created_at, at) = rest.split_first_chunk::<8>().ok_or(Error::InvalidCursor)?;
        let at: [u8; 8] = at.try_into().map_err(|_| Error::InvalidCursor)?;
        if *list != self.0 {
            return Err(Error::InvalidCursor);
        }
        Ok(Position {
            created_at: i64::from_be_bytes(*created_at),
            at: i64::from_be_bytes(at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_gives_its_position_back_to_its_own_list() {
        let tenant = TenantId::default();
        let key = ListKey::of(&tenant, &Filter::default()).unwrap();
        let position = Position {
            created_at: 1_771_668_000_000,
            at: 42,
        };
        let cursor = key.cursor(position);
        assert_eq!(key.position(&cursor), Ok(position));
        let failed = Filter {
            status: Some(postrider_domain::delivery::Status::Failed),
            ..Filter::default()
        };
        assert_eq!(
            ListKey::of(&tenant, &failed).unwrap().position(&cursor),
            Err(Error::InvalidCursor)
        );
        let other: TenantId = "other".parse().unwrap();
        assert_eq!(
            ListKey::of(&other, &Filter::default())
                .unwrap()
                .position(&cursor),
            Err(Error::InvalidCursor)
        );
    }

    #[test]
    fn garbage_is_no_cursor() {
        let key = ListKey::of(&TenantId::default(), &Filter::default()).unwrap();
        let whole = key.cursor(Position::START).0;
        for text in ["", "x", "!!!", "ä", &whole[1..], &format!("{whole}AAAA")] {
            assert_eq!(
                key.position(&Cursor(text.to_owned())),
                Err(Error::InvalidCursor),
                "{text}"
            );
        }
    }
}

//! The end of a page as an opaque text.

use postrider_ports::history::Cursor;
use postrider_ports::{Error, Result};
use postrider_store_format::ListKey;

/// The last row that a page examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) created_at: i64,
    pub(super) at: i64,
}

impl Position {
    /// Before the newest possible row.
    pub(super) const START: Self = Self {
        created_at: i64::MAX,
        at: i64::MAX,
    };

    /// The cursor for this position, valid only in the list it was created for.
    pub(super) fn cursor(self, list: ListKey) -> Cursor {
        list.cursor(&[self.created_at.to_be_bytes(), self.at.to_be_bytes()].concat())
    }

    pub(super) fn read(list: ListKey, cursor: &Cursor) -> Result<Self> {
        let bytes = list.place(cursor)?;
        let (created_at, at) = bytes.split_first_chunk::<8>().ok_or(Error::InvalidCursor)?;
        let at: [u8; 8] = at.try_into().map_err(|_| Error::InvalidCursor)?;
        Ok(Self {
            created_at: i64::from_be_bytes(*created_at),
            at: i64::from_be_bytes(at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_as_its_position() {
        let list = ListKey::of("list");
        let position = Position {
            created_at: 1_771_668_000_000,
            at: 42,
        };
        assert_eq!(Position::read(list, &position.cursor(list)), Ok(position));
    }

    #[test]
    fn a_cursor_of_another_length_is_invalid() {
        let list = ListKey::of("list");
        for length in [0, 15, 17] {
            let cursor = list.cursor(&vec![0; length]);
            assert_eq!(Position::read(list, &cursor), Err(Error::InvalidCursor));
        }
    }
}

//! The first and last line of an export, and the lines at which it can be resumed.

use std::num::NonZeroU32;

use data_encoding::{BASE64, HEXLOWER};
use postrider_domain::time::Timestamp;
use postrider_ports::{Error, Result};
use serde::{Deserialize, Serialize};

use super::key::{SALT_BYTES, TransferKey};

/// The version of the format that this release writes and reads.
pub const VERSION: u32 = 1;

pub const LINE_HEADER: &str = "postrider-export";
pub const LINE_CURSOR: &str = "cursor";
pub const LINE_END: &str = "end";

/// As OWASP recommends for PBKDF2-HMAC-SHA256.
const ROUNDS: NonZeroU32 = NonZeroU32::new(600_000).expect("not zero");
/// A file from elsewhere must not keep this machine busy for minutes.
const MAX_ROUNDS: u32 = 20_000_000;

const DERIVATION: &str = "pbkdf2-hmac-sha256";

/// What a line is.
#[derive(Debug, Deserialize)]
pub struct KindOnly {
    pub kind: String,
}

/// How the key follows from the passphrase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyDerivation {
    pub name: String,
    pub rounds: NonZeroU32,
    /// Hexadecimal.
    pub salt: String,
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub kind: String,
    pub version: u32,
    /// When the export started, in milliseconds since the epoch.
    pub created_at: Timestamp,
    /// The release that wrote it.
    pub postrider: String,
    /// `none`, `open` or `all`.
    pub deliveries: String,
    pub key: KeyDerivation,
    /// A known text, sealed, to recognise a wrong passphrase.
    pub check: String,
}

/// Everything before this line is complete; the export continues at the cursor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorLine {
    pub kind: String,
    pub cursor: String,
}

/// The last line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub kind: String,
    /// How many records the file has.
    pub records: u64,
}

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    #[error("line 1 is not the first line of a Postrider export")]
    NotAnExport,
    #[error(
        "line 1: version {0} is newer than this release understands ({VERSION}); upgrade first"
    )]
    Newer(u32),
    #[error("line 1: key: not a derivation that this release knows")]
    UnknownDerivation,
    #[error("the passphrase is wrong")]
    WrongPassphrase,
}

impl Header {
    /// A header for this passphrase, with the key that it leads to.
    pub fn new(
        passphrase: &str,
        salt: [u8; SALT_BYTES],
        deliveries: &str,
        now: Timestamp,
    ) -> Result<(Self, TransferKey)> {
        let key = TransferKey::derive(passphrase, &salt, ROUNDS);
        let check = key
            .vault()?
            .seal(DERIVATION.as_bytes(), LINE_HEADER.as_bytes())?;
        let header = Self {
            kind: LINE_HEADER.to_owned(),
            version: VERSION,
            created_at: now,
            postrider: env!("CARGO_PKG_VERSION").to_owned(),
            deliveries: deliveries.to_owned(),
            key: KeyDerivation {
                name: DERIVATION.to_owned(),
                rounds: ROUNDS,
                salt: HEXLOWER.encode(&salt),
            },
            check: BASE64.encode(&check),
        };
        Ok((header, key))
    }

    /// Reads the first line.
    pub fn read(line: &str) -> std::result::Result<Self, HeaderError> {
        #[derive(Deserialize)]
        struct Versioned {
            kind: String,
            version: u32,
        }
        let versioned: Versioned =
            serde_json::from_str(line).map_err(|_| HeaderError::NotAnExport)?;
        if versioned.kind != LINE_HEADER {
            return Err(HeaderError::NotAnExport);
        }
        if versioned.version > VERSION {
            return Err(HeaderError::Newer(versioned.version));
        }
        serde_json::from_str(line).map_err(|_| HeaderError::NotAnExport)
    }

    /// The key, if this is the passphrase that the file was sealed with.
    pub fn unlock(&self, passphrase: &str) -> std::result::Result<TransferKey, HeaderError> {
        let KeyDerivation { name, rounds, salt } = &self.key;
        let salt = HEXLOWER.decode(salt.as_bytes()).ok();
        let salt = salt.and_then(|salt| <[u8; SALT_BYTES]>::try_from(salt).ok());
        let salt = salt.filter(|_| name == DERIVATION && rounds.get() <= MAX_ROUNDS);
        let salt = salt.ok_or(HeaderError::UnknownDerivation)?;
        let key = TransferKey::derive(passphrase, &salt, *rounds);
        let opens = |key: &TransferKey| -> Result<bool> {
            let check = BASE64.decode(self.check.as_bytes());
            let check = check.map_err(|error| Error::Broken(error.to_string()))?;
            let text = key.vault()?.unseal(DERIVATION.as_bytes(), &check)?;
            Ok(*text == LINE_HEADER.as_bytes())
        };
        if opens(&key).unwrap_or(false) {
            Ok(key)
        } else {
            Err(HeaderError::WrongPassphrase)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> (Header, TransferKey) {
        let now = Timestamp::from_millis(1_771_668_000_000);
        Header::new("correct horse", [7; SALT_BYTES], "open", now).unwrap()
    }

    #[test]
    fn only_the_right_passphrase_unlocks_a_file() {
        let (header, key) = header();
        let line = serde_json::to_string(&header).unwrap();
        let read = Header::read(&line).unwrap();
        assert_eq!(read, header);
        assert_eq!(read.unlock("correct horse").unwrap().to_hex(), key.to_hex());
        let wrong = read.unlock("battery staple").unwrap_err();
        assert_eq!(wrong, HeaderError::WrongPassphrase);
    }

    #[test]
    fn a_newer_version_is_refused_and_anything_else_is_not_an_export() {
        let (header, _) = header();
        let mut line = serde_json::to_value(header).unwrap();
        line["version"] = 2.into();
        line["key"] = "something new".into();
        assert_eq!(Header::read(&line.to_string()), Err(HeaderError::Newer(2)));
        for text in ["", "{}", "[]", r#"{"kind":"webhook","version":1}"#] {
            assert_eq!(Header::read(text), Err(HeaderError::NotAnExport), "{text}");
        }
    }

    #[test]
    fn a_file_cannot_keep_a_machine_busy_with_its_key() {
        let (mut header, _) = header();
        header.key.rounds = NonZeroU32::MAX;
        let refused = header.unlock("correct horse").unwrap_err();
        assert_eq!(refused, HeaderError::UnknownDerivation);
    }
}

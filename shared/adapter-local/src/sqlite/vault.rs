//! Encryption of what must not be readable in the file: AES-256-GCM under a key file beside the database.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use postrider_ports::Error;
use rusqlite::{Connection, OptionalExtension};
use zeroize::Zeroizing;

use super::fault::Fault;

const KEY_FILE: &str = "secret.key";
const KEY_BYTES: usize = 32;
const CHECK: &[u8] = b"postrider vault";

/// Seals and opens values. A sealed value is the nonce, then the ciphertext with its tag.
pub(super) struct Vault {
    key: RandomizedNonceKey,
}

impl Vault {
    /// The vault of the store in `dir`. A database that holds sealed values needs the key they were sealed with; an
    /// empty one gets a fresh key. `db` must be in a write transaction if it is empty.
    pub(super) fn open(dir: &Path, db: &Connection) -> Result<Self, Fault> {
        let path = dir.join(KEY_FILE);
        let check: Option<Vec<u8>> = db
            .query_row("SELECT sealed FROM vault", [], |row| row.get(0))
            .optional()?;
        let vault = Self::with_key(&*read_or_make(&path, check.is_none())?)?;
        match check {
            Some(sealed) => {
                vault.unseal(CHECK, &sealed).map_err(|_| misfit(&path))?;
            }
            None => {
                db.execute(
                    "INSERT INTO vault (sealed) VALUES (?1)",
                    [vault.seal(CHECK, CHECK)?],
                )?;
            }
        }
        Ok(vault)
    }

    fn with_key(key: &[u8; KEY_BYTES]) -> Result<Self, Fault> {
        let key = RandomizedNonceKey::new(&AES_256_GCM, key)
            .map_err(|_| broken("the key was refused"))?;
        Ok(Self { key })
    }

    /// Seals a value for the item that `about` names; it opens for no other.
    pub(super) fn seal(&self, about: &[u8], value: &[u8]) -> Result<Vec<u8>, Fault> {
        let mut sealed = Zeroizing::new(value.to_vec());
        let nonce = self
            .key
            .seal_in_place_append_tag(Aad::from(about), &mut *sealed)
            .map_err(|_| broken("a value could not be encrypted"))?;
        Ok([nonce.as_ref().as_slice(), &sealed].concat())
    }

    /// Opens what was sealed for the item that `about` names.
    pub(super) fn unseal(&self, about: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Fault> {
        let unfit = || {
            broken(
                "a stored secret cannot be decrypted: it was changed, or secret.key is not its key",
            )
        };
        let (nonce, ciphertext) = sealed.split_at_checked(NONCE_LEN).ok_or_else(unfit)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| unfit())?;
        let mut value = Zeroizing::new(ciphertext.to_vec());
        let length = self
            .key
            .open_in_place(nonce, Aad::from(about), &mut value)
            .map_err(|_| unfit())?
            .len();
        value.truncate(length);
        Ok(value)
    }
}

fn broken(what: &str) -> Fault {
    Fault::Port(Error::Broken(what.to_owned()))
}

fn misfit(path: &Path) -> Fault {
    broken(&format!(
        "{} is not the key this database was encrypted with; restore the right one",
        path.display()
    ))
}

fn read_or_make(path: &Path, may_make: bool) -> Result<Zeroizing<[u8; KEY_BYTES]>, Fault> {
    match read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && may_make => {
            make(path).map_err(|error| Fault::io("cannot write", path, &error))?;
            read(path).map_err(|error| Fault::io("cannot read", path, &error))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Err(broken(&format!(
            "{} is missing, and the database holds secrets encrypted with it; restore it from where it was backed up",
            path.display()
        ))),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::UnexpectedEof | ErrorKind::InvalidData
            ) =>
        {
            Err(misfit(path))
        }
        Err(error) => Err(Fault::io("cannot read", path, &error)),
        Ok(key) => Ok(key),
    }
}

fn read(path: &Path) -> std::io::Result<Zeroizing<[u8; KEY_BYTES]>> {
    let mut file = File::open(path)?;
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    file.read_exact(&mut *key)?;
    if file.metadata()?.len() == KEY_BYTES as u64 {
        Ok(key)
    } else {
        Err(ErrorKind::InvalidData.into())
    }
}

/// Writes a fresh key and has it on disk before anything is sealed with it. Linked into place, so that the file is
/// whole or not there, and of two processes that start at once one wins.
fn make(path: &Path) -> std::io::Result<()> {
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    super::random(&mut *key)?;
    let draft = PathBuf::from(format!("{}.{}", path.display(), std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    super::private(&mut options);
    let mut file = options.open(&draft)?;
    file.write_all(&*key)?;
    file.sync_all()?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => path
            .parent()
            .map_or(Ok(()), |dir| File::open(dir)?.sync_all()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_value_opens_for_its_item_alone() {
        let vault = Vault::with_key(&[7; 32]).unwrap();
        let sealed = vault.seal(b"tenant/a", b"secret").unwrap();
        assert_eq!(
            vault.unseal(b"tenant/a", &sealed).unwrap().as_slice(),
            b"secret"
        );
        assert!(vault.unseal(b"tenant/b", &sealed).is_err());
        assert!(
            Vault::with_key(&[8; 32])
                .unwrap()
                .unseal(b"tenant/a", &sealed)
                .is_err()
        );
    }

    #[test]
    fn a_changed_or_cut_value_is_refused() {
        let vault = Vault::with_key(&[7; 32]).unwrap();
        let sealed = vault.seal(b"x", b"secret").unwrap();
        for n in 0..sealed.len() {
            assert!(vault.unseal(b"x", &sealed[..n]).is_err());
            let mut flipped = sealed.clone();
            flipped[n] ^= 1;
            assert!(vault.unseal(b"x", &flipped).is_err());
        }
    }

    #[test]
    fn the_same_value_never_looks_the_same() {
        let vault = Vault::with_key(&[7; 32]).unwrap();
        assert_ne!(
            vault.seal(b"x", b"secret").unwrap(),
            vault.seal(b"x", b"secret").unwrap()
        );
    }
}

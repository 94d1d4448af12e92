//! The key that seals secrets in the database: a separate file in the same directory.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use postrider_ports::Error;
use postrider_store_format::{KEY_BYTES, Vault};
use rusqlite::{Connection, OptionalExtension};
use zeroize::Zeroizing;

use super::fault::Fault;

pub(crate) const KEY_FILE: &str = "secret.key";
const CHECK: &[u8] = b"postrider vault";

/// The vault of the store in `dir`. A database with sealed values needs the key they were sealed with; an empty one
/// gets a new key. `db` must be in a write transaction if it is empty.
pub(super) fn open(dir: &Path, db: &Connection) -> Result<Vault, Fault> {
    let path = dir.join(KEY_FILE);
    let check: Option<Vec<u8>> = db
        .query_row("SELECT sealed FROM vault", [], |row| row.get(0))
        .optional()?;
    let vault = Vault::with_key(&*read_or_create(&path, check.is_none())?)?;
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

/// Checks that the key in `dir` is the one that the secrets in `db` were sealed with.
pub(crate) fn check_key(dir: &Path, db: &Connection) -> Result<(), Fault> {
    open(dir, db).map(drop)
}

fn broken(what: &str) -> Fault {
    Fault::Port(Error::Broken(what.to_owned()))
}

fn misfit(path: &Path) -> Fault {
    broken(&format!(
        "{} is not the key this database was encrypted with; restore the right key file",
        path.display()
    ))
}

fn read_or_create(path: &Path, may_create: bool) -> Result<Zeroizing<[u8; KEY_BYTES]>, Fault> {
    match read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && may_create => {
            create(path).map_err(|error| Fault::io("cannot write", path, &error))?;
            read(path).map_err(|error| Fault::io("cannot read", path, &error))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Err(broken(&format!(
            "{} is missing, and the database holds secrets encrypted with it; restore it from a backup",
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

/// Writes a new key and syncs it to disk before anything is sealed with it. Linked into place, so the file is complete
/// or absent, and of two processes that start at once one wins.
fn create(path: &Path) -> std::io::Result<()> {
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
        _ => super::sync_name(path),
    }
}

//! The file of an export: written line by line, and continued after its last complete page.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use postrider_api_types::transfer::{ExportPageView, SealingKey};
use postrider_domain::transfer::MovedDeliveries;
use postrider_store_format::transfer::{
    CursorLine, End, Header, KindOnly, LINE_CURSOR, LINE_END, SALT_BYTES, TransferKey,
};
use serde::Serialize;

use crate::commands::passphrase::PassphraseArgs;
use crate::edge;
use crate::failure::Failure;

pub(super) struct ExportFile {
    file: BufWriter<File>,
    key: TransferKey,
    records: u64,
}

impl ExportFile {
    pub(super) fn create(
        path: &Path,
        deliveries: MovedDeliveries,
        passphrase: PassphraseArgs,
    ) -> Result<Self, Failure> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        if path.exists() {
            return Err(exists(path));
        }
        let passphrase = passphrase.choose()?;
        let seed = edge::seed()?;
        let mut salt = [0; SALT_BYTES];
        salt.iter_mut().zip(seed).for_each(|(to, from)| *to = from);
        let header = Header::new(passphrase.expose(), salt, deliveries.as_str(), edge::now());
        let (header, key) = header.map_err(|error| Failure::of_files(&error))?;
        let file = options.open(path).map_err(|error| {
            if error.kind() == std::io::ErrorKind::AlreadyExists {
                exists(path)
            } else {
                cannot_write(path, &error)
            }
        })?;
        let mut created = Self {
            file: BufWriter::new(file),
            key,
            records: 0,
        };
        created.line(&header)?;
        created.file.flush()?;
        Ok(created)
    }

    /// Opens an interrupted export and removes what came after its last complete page. Returns where to continue.
    pub(super) fn resume(
        path: &Path,
        deliveries: MovedDeliveries,
        passphrase: PassphraseArgs,
    ) -> Result<(Self, String), Failure> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(|error| cannot_write(path, &error))?;
        let mut lines = BufReader::new(file);
        let found = Found::read(path, &mut lines)?;
        if found.header.deliveries != deliveries.as_str() {
            return Err(Failure::Input(format!(
                "{} was started with --deliveries {}",
                path.display(),
                found.header.deliveries
            )));
        }
        let Some((cursor, length, records)) = found.complete else {
            return Err(Failure::Input(format!(
                "{} has no complete page yet: delete it and export again",
                path.display()
            )));
        };
        let key = found.header.unlock(passphrase.read()?.expose());
        let key = key.map_err(|error| Failure::Input(error.to_string()))?;
        let mut file = lines.into_inner();
        file.set_len(length)?;
        file.seek(SeekFrom::End(0))?;
        let resumed = Self {
            file: BufWriter::new(file),
            key,
            records,
        };
        Ok((resumed, cursor))
    }

    pub(super) fn key(&self) -> SealingKey {
        self.key.to_hex().to_string().into()
    }

    pub(super) const fn records(&self) -> u64 {
        self.records
    }

    /// Adds a page, and the cursor at which the next one starts.
    pub(super) fn append(&mut self, page: &ExportPageView) -> Result<(), Failure> {
        for record in &page.records {
            self.line(record)?;
        }
        self.records += page.records.len() as u64;
        if let Some(cursor) = &page.next_cursor {
            self.line(&CursorLine {
                kind: LINE_CURSOR.to_owned(),
                cursor: cursor.clone(),
            })?;
        }
        Ok(self.file.flush()?)
    }

    /// Writes the last line and returns how many records the file has.
    pub(super) fn finish(&mut self) -> Result<u64, Failure> {
        self.line(&End {
            kind: LINE_END.to_owned(),
            records: self.records,
        })?;
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        Ok(self.records)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.file, value).map_err(std::io::Error::from)?;
        Ok(self.file.write_all(b"\n")?)
    }
}

/// What an interrupted export contains.
struct Found {
    header: Header,
    /// The last cursor, the length of the file up to and including its line, and how many records precede it.
    complete: Option<(String, u64, u64)>,
}

impl Found {
    fn read(path: &Path, lines: &mut impl BufRead) -> Result<Self, Failure> {
        let unfit =
            |error: &dyn std::fmt::Display| Failure::Input(format!("{}: {error}", path.display()));
        let mut line = String::new();
        let mut length = lines.read_line(&mut line)? as u64;
        let header = Header::read(&line).map_err(|error| unfit(&error))?;
        let (mut complete, mut records) = (None, 0);
        loop {
            line.clear();
            let read = lines.read_line(&mut line)?;
            // An interrupted write leaves part of a line.
            if read == 0 || !line.ends_with('\n') {
                break;
            }
            length += read as u64;
            let Ok(KindOnly { kind }) = serde_json::from_str(&line) else {
                break;
            };
            match kind.as_str() {
                LINE_END => return Err(unfit(&"the export is complete")),
                LINE_CURSOR => {
                    let CursorLine { cursor, .. } =
                        serde_json::from_str(&line).map_err(|error| unfit(&error))?;
                    complete = Some((cursor, length, records));
                }
                _ => records += 1,
            }
        }
        Ok(Self { header, complete })
    }
}

fn exists(path: &Path) -> Failure {
    Failure::Input(format!(
        "{} exists: choose another name, or continue it with --resume",
        path.display()
    ))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Input(format!("cannot write {}: {error}", path.display()))
}

//! Reads the file of an export line by line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use postrider_store_format::transfer::{End, Header, LINE_CURSOR, LINE_END};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::batch::Batches;
use super::report::Report;
use crate::commands::passphrase::PassphraseArgs;
use crate::failure::Failure;

/// Longer than the last line of any export.
const LAST_LINE_BYTES: u64 = 4096;
/// Longer than any record.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// What messages about a line name.
#[derive(Deserialize)]
struct Named {
    kind: String,
    #[serde(default)]
    id: Option<String>,
    /// What an event type has instead of an id.
    #[serde(default)]
    name: Option<String>,
}

pub(super) async fn import(
    path: &str,
    passphrase: PassphraseArgs,
    batches: &Batches<'_>,
    report: &mut Report,
) -> Result<(), Failure> {
    let unfit = |error: &dyn std::fmt::Display| Failure::Input(format!("{path}: {error}"));
    let mut file = File::open(path).map_err(|error| unfit(&error))?;
    let expected = end_of(&mut file).map_err(|error| unfit(&error))?;
    let mut lines = Lines {
        from: BufReader::new(file),
        number: 0,
    };
    let first = lines.next().map_err(|error| unfit(&error))?;
    let header = Header::read(&first.unwrap_or_default()).map_err(|error| unfit(&error))?;
    let Some(End {
        records: expected, ..
    }) = expected
    else {
        return Err(unfit(
            &"is incomplete: its last line is missing. Continue it with `postrider export --resume`",
        ));
    };
    let key = header.unlock(passphrase.read()?.expose());
    let key = key.map_err(|error| unfit(&error))?;
    let (mut batch, mut records) = (batches.begin(&key), 0);
    while let Some(line) = lines.next().map_err(|error| unfit(&error))? {
        let at = format!("line {}", lines.number);
        let named: Named =
            serde_json::from_str(&line).map_err(|error| unfit(&format!("{at}: {error}")))?;
        if named.kind == LINE_CURSOR || named.kind == LINE_END {
            continue;
        }
        let id = named.id.or(named.name).unwrap_or_default();
        let name = format!("{at}: {} {id}", named.kind);
        let record = RawValue::from_string(line.trim_end().to_owned());
        let record = record.map_err(|error| unfit(&format!("{at}: {error}")))?;
        records += 1;
        batch.add(name, record, report).await?;
    }
    batch.send(report).await?;
    if records == expected {
        return Ok(());
    }
    Err(unfit(&format!(
        "has {records} records, but its last line says {expected}"
    )))
}

/// The last line, if the file is complete.
fn end_of(file: &mut File) -> std::io::Result<Option<End>> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_LINE_BYTES)))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    file.seek(SeekFrom::Start(0))?;
    let tail = String::from_utf8_lossy(&tail);
    let last = tail.trim_end().rsplit('\n').next().unwrap_or_default();
    Ok(serde_json::from_str::<End>(last)
        .ok()
        .filter(|end| end.kind == LINE_END))
}

struct Lines {
    from: BufReader<File>,
    number: u64,
}

impl Lines {
    fn next(&mut self) -> std::io::Result<Option<String>> {
        let mut line = String::new();
        let mut limited = self.from.by_ref().take(MAX_LINE_BYTES);
        if limited.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(line))
    }
}

//! What an import did, and what it could not do.

use postrider_api_types::Word;
use postrider_api_types::transfer::{ImportResult, ImportedRecordView};
use serde::Serialize;

use crate::failure::{Ending, Failure};
use crate::output::{Output, Tone, plural, printable};

/// How many problems are kept for `--json`; the others are only counted.
const KEPT: usize = 1000;

pub(super) struct Report {
    out: Output,
    written: Written,
}

#[derive(Default, Serialize)]
struct Written {
    created: u64,
    unchanged: u64,
    replaced: u64,
    conflicts: u64,
    rejected: u64,
    problems: Vec<Trouble>,
    /// What another service had and this gateway does not.
    not_carried_over: Vec<NotCarried>,
}

#[derive(Serialize)]
struct Trouble {
    /// Where the record is: a line of the file, or an endpoint.
    record: String,
    result: String,
    detail: String,
}

#[derive(Serialize)]
struct NotCarried {
    record: String,
    what: String,
}

impl Report {
    pub(super) fn new(out: Output) -> Self {
        Self {
            out,
            written: Written::default(),
        }
    }

    /// Counts the result of a record; a problem is shown at once.
    pub(super) fn add(&mut self, record: &str, imported: &ImportedRecordView) {
        let written = &mut self.written;
        match imported.result {
            Word::Known(ImportResult::Created) => written.created += 1,
            Word::Known(ImportResult::Unchanged) => written.unchanged += 1,
            Word::Known(ImportResult::Replaced) => written.replaced += 1,
            Word::Known(ImportResult::Conflict) => {
                written.conflicts += 1;
                self.problem(record, imported);
            }
            Word::Known(ImportResult::Rejected) | Word::Unknown(_) => {
                written.rejected += 1;
                self.problem(record, imported);
            }
        }
    }

    /// Something that another service has and that is lost.
    pub(super) fn not_carried(&mut self, record: &str, what: impl Into<String>) {
        self.written.not_carried_over.push(NotCarried {
            record: record.to_owned(),
            what: what.into(),
        });
    }

    fn problem(&mut self, record: &str, imported: &ImportedRecordView) {
        let fields = imported.errors.iter();
        let fields: Vec<_> = fields
            .map(|error| format!("{}: {}", error.field, error.message))
            .collect();
        let detail = if fields.is_empty() {
            imported.detail.clone().unwrap_or_default()
        } else {
            fields.join("; ")
        };
        let text = format!("{record}: {} ({detail})", imported.result);
        self.out
            .note(self.out.paint_error(Tone::Warning, printable(&text)));
        if self.written.problems.len() < KEPT {
            self.written.problems.push(Trouble {
                record: record.to_owned(),
                result: imported.result.to_string(),
                detail,
            });
        }
    }

    /// Shows what was done before the import stopped.
    pub(super) fn stopped(&self) {
        self.out.note(format!("Stopped. {}", self.sums()));
        if self.has_written() {
            self.out
                .note("Run the same command again: what is already there is left alone.");
        }
    }

    pub(super) fn show(self) -> Result<Ending, Failure> {
        let written = &self.written;
        let ending = Ending::of(written.conflicts == 0 && written.rejected == 0);
        if self.out.wants_json() {
            self.out.value(written)?;
            return Ok(ending);
        }
        self.out.line(self.sums())?;
        if written.conflicts > 0 {
            self.out
                .note("Conflicts were left as they are; --replace replaces them.");
        }
        if !written.not_carried_over.is_empty() {
            self.out.line("\nNot carried over:")?;
            for lost in &written.not_carried_over {
                let text = format!("  {}: {}", lost.record, lost.what);
                self.out.line(printable(&text))?;
            }
        }
        Ok(ending)
    }

    const fn has_written(&self) -> bool {
        self.written.created + self.written.replaced > 0
    }

    fn sums(&self) -> String {
        let Written {
            created,
            unchanged,
            replaced,
            conflicts,
            rejected,
            ..
        } = &self.written;
        format!(
            "{created} created, {unchanged} unchanged, {replaced} replaced, {}, {rejected} rejected.",
            plural(*conflicts, "conflict")
        )
    }
}

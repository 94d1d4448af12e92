//! Results of the commands that check something: `doctor` and `aws check`.

use serde::Serialize;
use serde_json::json;

use crate::failure::{Ending, Failure};
use crate::output::{Output, Tone, printable_line};

const MAX_DETAIL_CHARS: usize = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Finding {
    Good,
    Doubtful,
    Bad,
    /// It could not be checked.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) finding: Finding,
    pub(crate) detail: String,
    pub(crate) advice: Option<String>,
}

impl Check {
    pub(crate) fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self {
            name,
            finding: Finding::Good,
            detail: detail.into(),
            advice: None,
        }
    }

    pub(crate) fn doubtful(
        name: &'static str,
        detail: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            name,
            finding: Finding::Doubtful,
            detail: detail.into(),
            advice: Some(advice.into()),
        }
    }

    pub(crate) fn bad(
        name: &'static str,
        detail: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            name,
            finding: Finding::Bad,
            detail: detail.into(),
            advice: Some(advice.into()),
        }
    }

    pub(crate) fn unknown(name: &'static str, detail: impl Into<String>) -> Self {
        Self {
            name,
            finding: Finding::Unknown,
            detail: detail.into(),
            advice: None,
        }
    }

    fn show(&self, width: usize, out: Output) -> String {
        let mark = match self.finding {
            Finding::Good => out.paint(Tone::Good, "✓"),
            Finding::Doubtful => out.paint(Tone::Warning, "!"),
            Finding::Bad => out.paint(Tone::Bad, "✗"),
            Finding::Unknown => out.paint(Tone::Faint, "?"),
        };
        let indent = width + 4;
        let advice = self
            .advice
            .as_deref()
            .map(|advice| format!("\n{:indent$}→ {advice}", ""))
            .unwrap_or_default();
        let detail = printable_line(&self.detail, MAX_DETAIL_CHARS);
        format!("{mark} {:width$}  {detail}{advice}", self.name)
    }
}

/// Prints the checks. Unsuccessful if one of them is bad.
pub(crate) fn report(checks: &[Check], out: Output) -> Result<Ending, Failure> {
    if out.wants_json() {
        out.value(&json!({ "checks": checks }))?;
    } else {
        let width = checks.iter().map(|check| check.name.len()).max();
        let lines = checks
            .iter()
            .map(|check| check.show(width.unwrap_or(0), out));
        out.line(lines.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Ending::of(
        checks.iter().all(|check| check.finding != Finding::Bad),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    #[test]
    fn advice_is_indented_below_its_check() {
        let out = Output::new(Format::People, true);
        let check = Check::bad("stack", "failed", "look at it");
        assert_eq!(
            check.show(9, out),
            "✗ stack      failed\n             → look at it"
        );
        assert_eq!(Check::unknown("x", "denied").show(1, out), "? x  denied");
    }
}

//! A table of cases, each with its bar and what was found.

use std::fmt::Write as _;

pub struct Row {
    /// For `--only`.
    pub name: &'static str,
    pub case: &'static str,
    pub bar: &'static str,
    /// What it was without flow control, and how that is known.
    pub before: &'static str,
    pub run: fn() -> Found,
}

pub struct Found {
    pub figures: Vec<Figure>,
    /// More than figures can say; without figures, what shows the case instead.
    pub text: String,
}

/// One figure, as the range over several runs.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Of which runs, such as "50/s, embedded".
    pub of: String,
    pub name: &'static str,
    pub least: f64,
    pub most: f64,
    pub unit: &'static str,
    pub bar: Option<Bar>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    AtMost(f64),
    AtLeast(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Met,
    Missed,
    /// There is nothing to compare.
    None,
}

impl Figure {
    pub fn new(of: impl Into<String>, name: &'static str, value: f64, unit: &'static str) -> Self {
        Self {
            of: of.into(),
            name,
            least: value,
            most: value,
            unit,
            bar: None,
        }
    }

    #[must_use]
    pub fn at_most(self, most: f64) -> Self {
        Self {
            bar: Some(Bar::AtMost(most)),
            ..self
        }
    }

    #[must_use]
    pub fn at_least(self, least: f64) -> Self {
        Self {
            bar: Some(Bar::AtLeast(least)),
            ..self
        }
    }

    /// The range of both.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            ..self
        }
    }

    pub fn verdict(&self) -> Verdict {
        let is_met = match self.bar {
            Some(Bar::AtMost(most)) => self.most <= most,
            Some(Bar::AtLeast(least)) => self.least >= least,
            None => return Verdict::None,
        };
        if is_met {
            Verdict::Met
        } else {
            Verdict::Missed
        }
    }

    /// Such as "longest wait 0–120 ms (at most 2000)".
    #[must_use]
    pub fn text(&self) -> String {
        let digits = usize::from(self.most.abs() < 10.0 && self.most.fract() != 0.0);
        let [least, most] = [self.least, self.most].map(|value| format!("{value:.digits$}"));
        let range = if least == most {
            least
        } else {
            format!("{least}–{most}")
        };
        let mut text = format!("{} {range}", self.name);
        if !self.unit.is_empty() {
            let _ = write!(text, " {}", self.unit);
        }
        match self.bar {
            Some(Bar::AtMost(most)) => {
                let _ = write!(text, " (at most {most})");
            }
            Some(Bar::AtLeast(least)) => {
                let _ = write!(text, " (at least {least})");
            }
            None => {}
        }
        if self.verdict() == Verdict::Missed {
            text.push_str(" MISSED");
        }
        text
    }
}

impl From<Vec<Figure>> for Found {
    fn from(figures: Vec<Figure>) -> Self {
        Self {
            figures,
            text: String::new(),
        }
    }
}

impl Found {
    /// The case is not simulated.
    #[must_use]
    pub fn elsewhere(how: &str) -> Self {
        Self {
            figures: Vec::new(),
            text: how.to_owned(),
        }
    }

    pub fn verdict(&self) -> Verdict {
        let verdicts = || self.figures.iter().map(Figure::verdict);
        if verdicts().any(|verdict| verdict == Verdict::Missed) {
            Verdict::Missed
        } else if verdicts().any(|verdict| verdict == Verdict::Met) {
            Verdict::Met
        } else {
            Verdict::None
        }
    }

    /// One line for all figures of the same runs, and the text.
    #[must_use]
    pub fn details(&self) -> Vec<String> {
        let groups = self.figures.chunk_by(|one, next| one.of == next.of);
        let lines = groups.map(|group| format!("{}: {}", group[0].of, texts(group)));
        lines
            .chain(self.text.lines().map(ToOwned::to_owned))
            .collect()
    }

    /// The figures that have a bar, over all runs.
    #[must_use]
    pub fn summary(&self) -> String {
        if self.figures.is_empty() {
            return self.text.clone();
        }
        let mut merged: Vec<Figure> = Vec::new();
        for figure in self.figures.iter().filter(|figure| figure.bar.is_some()) {
            let same = |other: &&mut Figure| other.name == figure.name && other.bar == figure.bar;
            match merged.iter_mut().find(same) {
                Some(known) => *known = known.clone().and(figure),
                None => merged.push(figure.clone()),
            }
        }
        texts(&merged)
    }
}

impl Verdict {
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "MISSED",
            Self::None => "–",
        }
    }
}

impl Row {
    /// The head of the table of [`Row::line`].
    pub const HEAD: &str = "| case | bar | before | after | |\n|---|---|---|---|---|";

    #[must_use]
    pub fn line(&self, found: &Found) -> String {
        let Self {
            case, bar, before, ..
        } = self;
        let (after, verdict) = (found.summary(), found.verdict().text());
        format!("| {case} | {bar} | {before} | {after} | {verdict} |")
    }
}

fn texts(figures: &[Figure]) -> String {
    let texts: Vec<_> = figures.iter().map(Figure::text).collect();
    texts.join("; ")
}

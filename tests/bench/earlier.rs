//! The results of earlier runs, to say what changed.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

/// How many earlier values of each result are kept.
const KEPT: usize = 6;
/// With fewer earlier values their range says little, so a change must be larger than this share.
const FEW: usize = 3;
const LARGE: f64 = 0.15;
/// How far beyond the range of earlier values a new one must be.
const MARGIN: f64 = 0.03;

/// The values of each result in earlier runs, oldest first, by part and name.
#[derive(Default)]
pub(crate) struct Earlier {
    values: HashMap<(String, String), Vec<f64>>,
    figures: Vec<Value>,
}

impl Earlier {
    /// Reads a file that an earlier run wrote; nothing if there is none.
    pub(crate) fn read(file: &Path) -> Self {
        let document = std::fs::read(file)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let figures = document.as_ref().and_then(|all| all["figures"].as_array());
        let values = figures.into_iter().flatten().filter_map(|figure| {
            let text = |name: &str| Some(figure[name].as_str()?.to_owned());
            let earlier = figure["earlier"].as_array().into_iter().flatten();
            let mut values: Vec<f64> = earlier.filter_map(Value::as_f64).collect();
            values.push(figure["value"].as_f64()?);
            Some(((text("of")?, text("name")?), values))
        });
        Self {
            values: values.collect(),
            figures: figures.cloned().unwrap_or_default(),
        }
    }

    /// The results of parts that this run did not measure.
    pub(crate) fn others<'a>(
        &'a self,
        is_measured: impl Fn(&str) -> bool + 'a,
    ) -> impl Iterator<Item = &'a Value> {
        let is_other =
            move |figure: &&Value| figure["of"].as_str().is_some_and(|of| !is_measured(of));
        self.figures.iter().filter(is_other)
    }

    /// The earlier values of a result, at most as many as are kept.
    pub(crate) fn of(&self, of: &str, name: &str) -> &[f64] {
        let values = self.values.get(&(of.to_owned(), name.to_owned()));
        let values = values.map_or(&[][..], Vec::as_slice);
        &values[values.len().saturating_sub(KEPT)..]
    }

    /// The change from the last value, if the new one is beyond the spread of the earlier ones.
    pub(crate) fn change(&self, of: &str, name: &str, value: f64) -> Option<f64> {
        let earlier = self.of(of, name);
        let last = *earlier.last()?;
        let change = value / last - 1.0;
        let is_beyond = if earlier.len() < FEW {
            change.abs() > LARGE
        } else {
            let least = earlier.iter().copied().fold(f64::INFINITY, f64::min);
            let most = earlier.iter().copied().fold(0.0, f64::max);
            value < least * (1.0 - MARGIN) || value > most * (1.0 + MARGIN)
        };
        (is_beyond && change.is_finite()).then_some(change)
    }
}

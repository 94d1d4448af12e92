//! A setting, declared once: the reader and the documentation use the same declaration.

use std::fmt::Display;
use std::str::FromStr;

use super::Reader;

/// The name of a setting, the values that it accepts, and what it means.
#[derive(Clone, Copy, Debug)]
pub struct Setting<V> {
    pub name: &'static str,
    pub values: V,
    /// In Markdown.
    pub meaning: &'static str,
}

/// The documentation of a setting, in Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingRow {
    pub name: &'static str,
    pub default: String,
    pub values: String,
    pub meaning: String,
}

/// A setting with any kind of values.
pub trait Documented {
    fn row(&self) -> SettingRow;
}

impl<V: Values> Documented for Setting<V> {
    fn row(&self) -> SettingRow {
        SettingRow {
            name: self.name,
            default: self.values.default(),
            values: self.values.form(),
            meaning: [self.meaning, &self.values.note()].concat(),
        }
    }
}

/// What the documentation says about a kind of values.
pub trait Values {
    fn default(&self) -> String;

    fn form(&self) -> String;

    /// Follows the meaning.
    fn note(&self) -> String {
        String::new()
    }
}

/// A whole number in this range, both ends included.
#[derive(Clone, Copy, Debug)]
pub struct WholeNumber<T> {
    pub min: T,
    pub max: T,
    pub default: T,
}

impl<T: Display> Values for WholeNumber<T> {
    fn default(&self) -> String {
        self.default.to_string()
    }

    fn form(&self) -> String {
        format!("{} to {}", self.min, self.max)
    }
}

impl<T: FromStr + PartialOrd + Display + Copy> Setting<WholeNumber<T>> {
    pub fn read(&self, reader: &mut Reader<'_>) -> T {
        let WholeNumber { min, max, default } = self.values;
        reader.number(self.name, min, max, default)
    }
}

/// As [`WholeNumber`], for a setting with two names that may be unset.
#[derive(Clone, Copy, Debug)]
pub struct AliasedNumber<T> {
    pub min: T,
    pub max: T,
    /// What applies if it is unset.
    pub unset: &'static str,
    pub alias: &'static str,
}

impl<T: Display> Values for AliasedNumber<T> {
    fn default(&self) -> String {
        self.unset.to_owned()
    }

    fn form(&self) -> String {
        format!("{} to {}", self.min, self.max)
    }

    fn note(&self) -> String {
        format!(
            " Also read as `{}`; setting both to different values is an error.",
            self.alias
        )
    }
}

impl<T: FromStr + PartialOrd + Display + Copy> Setting<AliasedNumber<T>> {
    pub fn read(&self, reader: &mut Reader<'_>) -> Option<T> {
        let AliasedNumber {
            min, max, alias, ..
        } = self.values;
        let (name, text) = reader.either(self.name, alias)?;
        reader.parse_number(name, &text, min, max)
    }
}

/// A text without a default, to be checked by the code that uses it.
#[derive(Clone, Copy, Debug)]
pub struct OptionalText {
    pub form: &'static str,
    /// What applies if it is unset.
    pub unset: &'static str,
}

impl Values for OptionalText {
    fn default(&self) -> String {
        self.unset.to_owned()
    }

    fn form(&self) -> String {
        self.form.to_owned()
    }
}

impl Setting<OptionalText> {
    #[must_use]
    pub fn read(&self, reader: &Reader<'_>) -> Option<String> {
        reader.text(self.name)
    }
}

/// A text with a default, to be checked by the code that uses it.
#[derive(Clone, Copy, Debug)]
pub struct DefaultText {
    pub form: &'static str,
    pub default: &'static str,
}

impl Values for DefaultText {
    fn default(&self) -> String {
        self.default.to_owned()
    }

    fn form(&self) -> String {
        self.form.to_owned()
    }
}

impl Setting<DefaultText> {
    #[must_use]
    pub fn read(&self, reader: &Reader<'_>) -> String {
        let text = reader.text(self.name);
        text.unwrap_or_else(|| self.values.default.to_owned())
    }
}

/// `true` or `false`, which is the default.
#[derive(Clone, Copy, Debug)]
pub struct Switch;

impl Values for Switch {
    fn default(&self) -> String {
        "false".to_owned()
    }

    fn form(&self) -> String {
        "true or false".to_owned()
    }
}

impl Setting<Switch> {
    pub fn read(&self, reader: &mut Reader<'_>) -> bool {
        reader.flag(self.name)
    }
}

/// A comma-separated list.
#[derive(Clone, Copy, Debug)]
pub struct CommaList {
    pub items: &'static str,
    /// What applies if it is unset.
    pub unset: &'static str,
}

impl Values for CommaList {
    fn default(&self) -> String {
        self.unset.to_owned()
    }

    fn form(&self) -> String {
        format!("comma-separated {}", self.items)
    }
}

impl Setting<CommaList> {
    pub fn read<T: FromStr>(&self, reader: &mut Reader<'_>) -> Vec<T> {
        let form = format!("a comma-separated list of {}", self.values.items);
        reader.list(self.name, &form)
    }
}

/// A text that can also be given as an argument of the command.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentText {
    /// Without its hyphens.
    pub flag: &'static str,
    pub form: &'static str,
    pub default: &'static str,
}

impl Values for ArgumentText {
    fn default(&self) -> String {
        self.default.to_owned()
    }

    fn form(&self) -> String {
        self.form.to_owned()
    }

    fn note(&self) -> String {
        format!(" Also set by `--{}`.", self.flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Setting<WholeNumber<u16>> = Setting {
        name: "LIMIT",
        values: WholeNumber {
            min: 1,
            max: 9,
            default: 3,
        },
        meaning: "The limit.",
    };

    fn limit(given: &str) -> Result<u16, Vec<String>> {
        let lookup = |_: &str| Some(given.to_owned());
        let mut reader = Reader::new(&lookup);
        let limit = LIMIT.read(&mut reader);
        reader.finish().map(|()| limit).map_err(|bad| bad.0)
    }

    #[test]
    fn what_is_documented_is_what_is_enforced() {
        let row = LIMIT.row();
        assert_eq!(limit("").unwrap().to_string(), row.default);
        assert_eq!((limit("1"), limit("9")), (Ok(1), Ok(9)));
        let faults = limit("10").unwrap_err();
        assert!(faults[0].contains(&row.values), "{faults:?}");
    }
}

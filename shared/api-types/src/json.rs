//! How inputs are read from JSON: strictly, with errors that name the field and its limit.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Unexpected, Visitor};

use crate::word::Vocabulary;

/// Names and values of headers.
pub type Headers = BTreeMap<String, String>;

/// A form that is read strictly, and the plain value it stands for.
pub trait Strict {
    type Value;

    fn value(self) -> Self::Value;
}

impl<T: Strict> Strict for Option<T> {
    type Value = Option<T::Value>;

    fn value(self) -> Self::Value {
        self.map(Strict::value)
    }
}

impl<T: Strict> Strict for Vec<T> {
    type Value = Vec<T::Value>;

    fn value(self) -> Self::Value {
        self.into_iter().map(Strict::value).collect()
    }
}

/// Reads a field by way of its strict form, such as `strict::<_, Option<Whole>>`.
///
/// # Errors
/// When the field does not have that form.
pub fn strict<'de, D, T>(from: D) -> Result<T::Value, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Strict,
{
    T::deserialize(from).map(Strict::value)
}

/// As [`strict`], and distinguishes a field that is absent from one that is `null`.
///
/// # Errors
/// When the field does not have that form.
pub fn present_strict<'de, D, T>(from: D) -> Result<Option<T::Value>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Strict,
{
    strict::<D, T>(from).map(Some)
}

/// Distinguishes a field that is absent from one that is `null`.
///
/// # Errors
/// When the field cannot be read.
pub fn present<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(from).map(Some)
}

/// A struct written as an object: serde would also accept an array of its fields in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Object<T>(pub T);

impl<T> Strict for Object<T> {
    type Value = T;

    fn value(self) -> T {
        self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AsObject<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for AsObject<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        from.deserialize_map(AsObject(PhantomData))
    }
}

/// A whole number. A number out of range is read as the largest possible one, so that the field's own check rejects it
/// and names the limit.
#[derive(Clone, Copy, Debug)]
pub struct Whole(pub u32);

impl Strict for Whole {
    type Value = u32;

    fn value(self) -> u32 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AsWhole;
        impl Visitor<'_> for AsWhole {
            type Value = Whole;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Whole, E> {
                Ok(Whole(u32::try_from(number).unwrap_or(u32::MAX)))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Whole, E> {
                Ok(Whole(u32::try_from(number).unwrap_or(u32::MAX)))
            }

            // `5.0` is a whole number, in JSON Schema as well; serde_json reads `-0` this way, too.
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Whole, E> {
                if number.fract() != 0.0 {
                    return Err(E::invalid_value(Unexpected::Float(number), &self));
                }
                let digits = (number + 0.0).to_string();
                Ok(Whole(digits.parse().unwrap_or(u32::MAX)))
            }
        }
        from.deserialize_u64(AsWhole)
    }
}

/// One of the names of an enum.
#[derive(Clone, Copy, Debug)]
pub struct Name<T>(pub T);

impl<T> Strict for Name<T> {
    type Value = T;

    fn value(self) -> T {
        self.0
    }
}

impl<'de, T: Vocabulary> Deserialize<'de> for Name<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AsName<T>(PhantomData<T>);
        impl<T: Vocabulary> Visitor<'_> for AsName<T> {
            type Value = Name<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Name<T>, E> {
                let found = T::from_name(text).map(Name);
                found.ok_or_else(|| {
                    let names: Vec<_> = T::names().map(|name| format!("`{name}`")).collect();
                    let expected = match names.as_slice() {
                        [one, other] => format!("{one} or {other}"),
                        several => format!("one of {}", several.join(", ")),
                    };
                    E::custom(format_args!("unknown name, expected {expected}"))
                })
            }
        }
        from.deserialize_str(AsName(PhantomData))
    }
}

/// Headers, each named once.
pub struct UniqueHeaders(Headers);

impl Strict for UniqueHeaders {
    type Value = Headers;

    fn value(self) -> Headers {
        self.0
    }
}

impl<'de> Deserialize<'de> for UniqueHeaders {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Unique;
        impl<'de> Visitor<'de> for Unique {
            type Value = UniqueHeaders;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueHeaders, A::Error> {
                let mut headers = Headers::new();
                while let Some((name, value)) = map.next_entry()? {
                    if headers.insert(name, value).is_some() {
                        return Err(de::Error::custom("names a header twice"));
                    }
                }
                Ok(UniqueHeaders(headers))
            }
        }
        from.deserialize_map(Unique)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_may_have_a_decimal_point() {
        let read = |text: &str| serde_json::from_str::<Whole>(text).ok().map(Strict::value);
        for text in ["5", "5.0", "0.5e1"] {
            assert_eq!(read(text), Some(5), "{text}");
        }
        for text in ["0", "-0", "-0.0"] {
            assert_eq!(read(text), Some(0), "{text}");
        }
        for text in ["5.5", "-0.1", "\"5\"", "true"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_out_of_range_is_read_as_the_largest_so_that_its_limit_is_named() {
        for text in ["4294967296", "-1", "-1.0", "1e300", "-1e300"] {
            let Whole(number) = serde_json::from_str(text).unwrap();
            assert_eq!(number, u32::MAX, "{text}");
        }
    }
}

//! JSON in which no object has a field twice. Of two conditions for a field, a filter would silently drop the first.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::json::Strict;

pub struct UniqueJson(Value);

impl Strict for UniqueJson {
    type Value = Value;

    fn value(self) -> Value {
        self.0
    }
}

impl<'de> Deserialize<'de> for UniqueJson {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Unique).map(Self)
    }
}

struct Unique;

impl<'de> Visitor<'de> for Unique {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(UniqueJson(item)) = list.next_element()? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some((name, UniqueJson(value))) = map.next_entry::<String, _>()? {
            if fields.insert(name, value).is_some() {
                return Err(A::Error::custom("names a field twice"));
            }
        }
        Ok(fields.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_may_be_named_once_per_object() {
        let read = |text: &str| serde_json::from_str(text).map(UniqueJson::value).ok();
        let text = r#"{"a": [1, -2, 0.5, null, true, {"b": "x"}], "b": {}}"#;
        let expected = json!({"a": [1, -2, 0.5, null, true, {"b": "x"}], "b": {}});
        assert_eq!(read(text), Some(expected));
        assert_eq!(read(r#"{"a": 1, "b": [{"a": 1, "a": 2}]}"#), None);
    }
}

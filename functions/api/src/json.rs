//! Strict JSON: an error names its field and does not repeat what the caller wrote.

use std::borrow::Cow;

use postrider_api_types::json::Object;
use postrider_domain::invalid::Invalid;
use serde::de::{Deserialize, IgnoredAny};

/// Reads a document. Only an invalid one is read again, to find the path of the error.
pub(crate) fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Invalid> {
    try_parse(bytes).map_err(|error| explain::<T>(bytes, &error))
}

/// As [`parse`], for a caller that tries another type next.
pub(crate) fn try_parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> serde_json::Result<T> {
    serde_json::from_slice(bytes).map(|Object(value)| value)
}

fn explain<'a, T: Deserialize<'a>>(bytes: &'a [u8], error: &serde_json::Error) -> Invalid {
    if serde_json::from_slice::<IgnoredAny>(bytes).is_err() {
        return Invalid::field("body", format!("is not valid JSON: {error}"));
    }
    let mut document = serde_json::Deserializer::from_slice(bytes);
    let path = match serde_path_to_error::deserialize::<_, Object<T>>(&mut document) {
        Err(fault) => fault.path().to_string(),
        Ok(_) => ".".to_owned(),
    };
    let place = format!(" at line {} column {}", error.line(), error.column());
    let said = error.to_string();
    let fault = Fault::read(said.strip_suffix(&place).unwrap_or(&said));
    Invalid::field(fault.field_at(&path), fault.message)
}

/// An error of serde, in words for the caller.
struct Fault<'a> {
    /// The field, if the path ends at the object that should contain it once.
    name: Option<&'a str>,
    message: Cow<'static, str>,
}

impl<'a> Fault<'a> {
    fn read(said: &'a str) -> Self {
        for (prefix, message) in [
            ("missing field `", "is missing"),
            ("duplicate field `", "is given twice"),
        ] {
            if let Some(name) = said.strip_prefix(prefix) {
                return Self {
                    name: Some(name.trim_end_matches('`')),
                    message: message.into(),
                };
            }
        }
        let message = match said.rsplit_once(", expected ") {
            Some((found, known)) if found.starts_with("unknown field `") => {
                format!("is not known; expected {known}").into()
            }
            Some((_, expected)) => format!("must be {}", plain(expected)).into(),
            None if said.contains("unicode") => "must be valid UTF-8".into(),
            None => said.to_owned().into(),
        };
        Self {
            name: None,
            message,
        }
    }

    fn field_at(&self, path: &str) -> String {
        match self.name {
            None if path == "." => "body".to_owned(),
            None => path.to_owned(),
            Some(name) if path == "." => name.to_owned(),
            Some(name) => format!("{path}.{name}"),
        }
    }
}

fn plain(expected: &str) -> &str {
    match expected {
        "a sequence" => "an array",
        words => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_api_types::json::{Name, Whole, present, strict};
    use postrider_domain::retry::Redirects;
    use serde_json::value::RawValue;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "read only for their errors")]
    struct Outer<'a> {
        name: String,
        #[serde(default, deserialize_with = "strict::<_, Option<Whole>>")]
        count: Option<u32>,
        #[serde(default)]
        flag: bool,
        #[serde(default)]
        inner: Option<Object<Inner>>,
        #[serde(default)]
        list: Vec<Object<Inner>>,
        #[serde(borrow, default, deserialize_with = "present")]
        raw: Option<&'a RawValue>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "read only for their errors")]
    struct Inner {
        #[serde(deserialize_with = "strict::<_, Name<Redirects>>")]
        redirects: Redirects,
    }

    fn fault(document: &[u8]) -> (String, String) {
        let fault = parse::<Outer<'_>>(document).unwrap_err().into_fields();
        (fault[0].field.clone(), fault[0].message.clone())
    }

    #[test]
    fn a_fault_is_named_by_its_field() {
        let cases: [(&str, &str, &str); 18] = [
            (r#"{"nam":1}"#, "nam", "is not known"),
            (
                r#"{"name":"a","inner":{"redirect":"failure"}}"#,
                "inner.redirect",
                "is not known",
            ),
            (
                r#"{"name":"a","list":[{"redirects":"failure"},{"x":1}]}"#,
                "list[1].x",
                "is not known",
            ),
            (
                r#"{"name":"a","raw":{"x":[1]},"y`, z":1}"#,
                "y`, z",
                "is not known",
            ),
            (
                r#"{"name":"a","inner":{}}"#,
                "inner.redirects",
                "is missing",
            ),
            (r"{}", "name", "is missing"),
            (r#"{"name":"a","name":"b"}"#, "name", "is given twice"),
            (r#"{"name":"a","raw":1,"raw":2}"#, "raw", "is given twice"),
            (r#"{"name":null}"#, "name", "must be a string"),
            (r#"{"name":"a","flag":"yes"}"#, "flag", "must be a boolean"),
            (
                r#"{"name":"a","count":1.5}"#,
                "count",
                "must be a whole number",
            ),
            (r#"{"name":"a","inner":[]}"#, "inner", "must be an object"),
            (r#"{"name":"a","list":{}}"#, "list", "must be an array"),
            (
                r#"{"name":"a","inner":{"redirects":"green"}}"#,
                "inner.redirects",
                "must be `delivered` or `failure`",
            ),
            (
                r#"{"name":"a","inner":{"redirects":5}}"#,
                "inner.redirects",
                "must be a string",
            ),
            ("[]", "body", "must be an object"),
            (r#"["a"]"#, "body", "must be an object"),
            (
                r#"{"name":"a","inner":["red"]}"#,
                "inner",
                "must be an object",
            ),
        ];
        for (document, field, message) in cases {
            let (found, said) = fault(document.as_bytes());
            assert_eq!(found, field, "{document}: {said}");
            assert!(said.starts_with(message), "{document}: {said}");
        }
    }

    #[test]
    fn what_is_not_json_says_where() {
        for document in [
            "",
            "{",
            r#"{"name":"a",}"#,
            r#"{"name":'a'}"#,
            "{} {}",
            "\u{feff}{}",
        ] {
            let (field, said) = fault(document.as_bytes());
            assert_eq!(field, "body", "{document}");
            assert!(
                said.starts_with("is not valid JSON: ") && said.contains("line 1"),
                "{said}"
            );
        }
    }

    #[test]
    fn what_is_not_utf8_is_named_by_its_field() {
        let (field, said) = fault(b"{\"name\":\"\xff\xfe\"}");
        assert_eq!(
            (field.as_str(), said.as_str()),
            ("name", "must be valid UTF-8")
        );
        let (field, _) = fault(b"{\"name\":\"a\",\"raw\":\"\xff\"}");
        assert_eq!(field, "raw");
    }

    #[test]
    fn a_fault_does_not_show_the_value() {
        for document in [
            r#"{"name":"a","flag":"whsec_canary"}"#,
            r#"{"name":"a","inner":{"redirects":"whsec_canary"}}"#,
            r#"{"name":"a","inner":"whsec_canary, expected nothing"}"#,
            r#"{"name":"a","count":"whsec_canary"}"#,
        ] {
            let (_, said) = fault(document.as_bytes());
            assert!(!said.contains("canary"), "{said}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_left_to_the_check_of_their_field() {
        for (text, number) in [
            ("-1", u32::MAX),
            ("4294967296", u32::MAX),
            ("0", 0),
            ("7", 7),
        ] {
            let document = format!(r#"{{"name":"a","count":{text}}}"#);
            let outer: Outer<'_> = parse(document.as_bytes()).unwrap();
            assert_eq!(outer.count.unwrap(), number, "{text}");
        }
    }

    #[test]
    fn a_document_of_great_depth_is_refused() {
        let document = format!(r#"{{"name":{}"#, "[".repeat(10_000));
        assert_eq!(fault(document.as_bytes()).0, "body");
    }
}

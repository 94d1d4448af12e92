//! Places in a request as users write them: `header:<name>`, `body:<JSON pointer>` or `form:<field>`.

use http::HeaderName;

use super::{At, Field, Text};

/// The longest name of a header or form field that a place may have.
pub const MAX_NAME_BYTES: usize = 100;
/// The longest JSON pointer of a place.
pub const MAX_POINTER_BYTES: usize = 200;
/// The maximum number of places in which one value is looked for.
pub const MAX_PLACES: usize = 4;

pub(super) fn header_name(text: &str) -> Result<Text, String> {
    let name: Option<HeaderName> = text.parse().ok().filter(|_| text.len() <= MAX_NAME_BYTES);
    let name = name.map(|name| Text::Owned(name.as_str().to_owned()));
    name.ok_or_else(|| format!("must be a header name of 1 to {MAX_NAME_BYTES} characters"))
}

pub(super) fn place(text: &str) -> Result<Field, String> {
    let at = match text.split_once(':') {
        Some(("header", name)) => At::Header(header_name(name)?),
        Some(("body", pointer))
            if pointer.starts_with('/') && pointer.len() <= MAX_POINTER_BYTES =>
        {
            At::Body(Text::Owned(pointer.to_owned()))
        }
        Some(("form", name)) if (1..=MAX_NAME_BYTES).contains(&name.len()) => {
            At::Form(Text::Owned(name.to_owned()))
        }
        _ => {
            return Err(format!(
                "must be `header:<name>`, `body:/<JSON pointer>` (at most {MAX_POINTER_BYTES} characters) or `form:<field>` (at most {MAX_NAME_BYTES} characters)"
            ));
        }
    };
    Ok(Field {
        at,
        separator: None,
        prefix: Text::Borrowed(""),
    })
}

pub(super) fn places(texts: &[String]) -> Result<Vec<Field>, String> {
    if texts.len() > MAX_PLACES {
        return Err(format!("must be at most {MAX_PLACES} places"));
    }
    texts.iter().map(|text| place(text)).collect()
}

pub(super) fn write_place(field: &Field) -> String {
    let (kind, name) = match &field.at {
        At::Header(name) | At::Numbered(name) => ("header", name),
        At::Body(pointer) => ("body", pointer),
        At::Form(name) => ("form", name),
    };
    format!("{kind}:{name}")
}

pub(super) fn name_of(field: &Field) -> String {
    match &field.at {
        At::Header(name) | At::Numbered(name) | At::Body(name) | At::Form(name) => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_pointers_and_their_number_are_limited() {
        let is_place =
            |kind: &str, chars: usize| place(&format!("{kind}{}", "x".repeat(chars))).is_ok();
        for (kind, least, most) in [("header:", 1, 100), ("form:", 1, 100), ("body:/", 0, 199)] {
            assert!(is_place(kind, least) && is_place(kind, most), "{kind}");
            assert!(!is_place(kind, most + 1), "{kind}");
        }
        assert!(!is_place("header:", 0) && !is_place("form:", 0));
        let many = |count| places(&vec!["body:/type".to_owned(); count]);
        assert_eq!(many(4).unwrap().len(), 4);
        assert!(many(5).is_err());
    }
}

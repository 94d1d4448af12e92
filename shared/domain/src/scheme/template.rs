//! What is signed, as users write it: `{timestamp}.{body}`.

use super::{Part, Text, UrlForm};

pub const MAX_TEMPLATE_BYTES: usize = 200;

const NAMES: &str = "{timestamp}, {id}, {method}, {url}, {body} and {form}";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TemplateError {
    #[error("must be 1 to {MAX_TEMPLATE_BYTES} printable ASCII characters")]
    Size,
    #[error("may contain {NAMES}; other names in braces and unpaired braces are not allowed")]
    Unknown,
    #[error("must contain {{body}} or {{form}}, because an unsigned body can be forged")]
    Uncovered,
    #[error("must have a separator after {{id}}, such as `{{id}}.{{body}}`")]
    Unbounded,
}

pub(super) fn parse(template: &str) -> Result<Vec<Part>, TemplateError> {
    let is_printable = template.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if !(1..=MAX_TEMPLATE_BYTES).contains(&template.len()) || !is_printable {
        return Err(TemplateError::Size);
    }
    let mut parts = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        let literal = rest.find('{').unwrap_or(rest.len());
        let (text, remaining) = rest.split_at(literal);
        if text.contains('}') {
            return Err(TemplateError::Unknown);
        }
        if !text.is_empty() {
            parts.push(Part::Text(Text::Owned(text.to_owned())));
        }
        rest = remaining;
        if let Some(named) = remaining.strip_prefix('{') {
            let (name, after) = named.split_once('}').ok_or(TemplateError::Unknown)?;
            parts.push(part(name).ok_or(TemplateError::Unknown)?);
            rest = after;
        }
    }
    check(&parts)?;
    Ok(parts)
}

fn check(parts: &[Part]) -> Result<(), TemplateError> {
    if !parts
        .iter()
        .any(|part| matches!(part, Part::Body | Part::SortedForm))
    {
        return Err(TemplateError::Uncovered);
    }
    let mut pairs = parts.iter().zip(parts.iter().skip(1));
    if pairs.any(|(part, next)| *part == Part::Id && !matches!(next, Part::Text(_))) {
        return Err(TemplateError::Unbounded);
    }
    Ok(())
}

fn part(name: &str) -> Option<Part> {
    Some(match name {
        "timestamp" => Part::Time,
        "id" => Part::Id,
        "method" => Part::Method,
        "url" => Part::Url(UrlForm::AsGiven),
        "body" => Part::Body,
        "form" => Part::SortedForm,
        _ => return None,
    })
}

pub(super) fn write(parts: &[Part]) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) => text.as_ref(),
        Part::Time => "{timestamp}",
        Part::Id => "{id}",
        Part::Method => "{method}",
        Part::Url(_) => "{url}",
        Part::Body => "{body}",
        Part::SortedForm => "{form}",
        Part::HashedBody => "",
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_template_is_parsed_as_it_is_written() {
        for good in [
            "{body}",
            "v0:{timestamp}:{body}",
            "{id}.{timestamp}.{body}",
            "{method}{url}{form}",
            "{body}{id}",
        ] {
            assert_eq!(write(&parse(good).unwrap()), good);
        }
    }

    #[test]
    fn an_invalid_template_is_rejected_with_its_reason() {
        let long = format!("{}{{body}}", "x".repeat(MAX_TEMPLATE_BYTES));
        for (bad, reason) in [
            ("", TemplateError::Size),
            (long.as_str(), TemplateError::Size),
            ("{body}\n", TemplateError::Size),
            ("{bodies}", TemplateError::Unknown),
            ("{body", TemplateError::Unknown),
            ("}{body}", TemplateError::Unknown),
            ("{timestamp}.{url}", TemplateError::Uncovered),
            ("{id}{body}", TemplateError::Unbounded),
        ] {
            assert_eq!(parse(bad), Err(reason), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_template_causes_a_panic(text in ".{0,60}") {
            let _ = parse(&text);
        }
    }
}

//! Bodies for display.

use crate::output::printable;

/// A body for display: JSON indented, other text unchanged, anything else by its size; truncated to `max` characters.
pub(crate) fn pretty_body(body: &[u8], max: usize) -> String {
    let Ok(text) = std::str::from_utf8(body) else {
        return format!("({} bytes of binary data)", body.len());
    };
    let indented = indented_json(text);
    let text = printable(indented.as_deref().unwrap_or(text));
    match text.char_indices().nth(max) {
        Some((end, _)) => {
            let shown = text.get(..end).unwrap_or_default();
            format!("{shown}\n… ({} bytes in total)", body.len())
        }
        None => text,
    }
}

/// Indents without reparsing numbers or sorting keys, so the output has exactly the tokens that were sent.
fn indented_json(text: &str) -> Option<String> {
    serde_json::from_str::<&serde_json::value::RawValue>(text).ok()?;
    let mut shown = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut tokens = text.chars().peekable();
    let line_break = |shown: &mut String, depth: usize| {
        shown.push('\n');
        shown.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(c) = tokens.next() {
        if in_string {
            shown.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            ' ' | '\n' | '\r' | '\t' => {}
            '{' | '[' => {
                shown.push(c);
                while tokens.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = tokens.next_if(|next| matches!(next, '}' | ']')) {
                    shown.push(end);
                } else {
                    depth += 1;
                    line_break(&mut shown, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line_break(&mut shown, depth);
                shown.push(c);
            }
            ',' => {
                shown.push(c);
                line_break(&mut shown, depth);
            }
            ':' => shown.push_str(": "),
            '"' => {
                in_string = true;
                shown.push(c);
            }
            c => shown.push(c),
        }
    }
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_token_by_token() {
        let body = br#" {"b":1.0e2,"a":[1, 2],"s":"x\"{,:}\\","e":{ },"n":[]} "#;
        let expected = "{\n  \"b\": 1.0e2,\n  \"a\": [\n    1,\n    2\n  ],\n  \"s\": \"x\\\"{,:}\\\\\",\n  \"e\": {},\n  \"n\": []\n}";
        assert_eq!(pretty_body(body, 1000), expected);
    }

    #[test]
    fn long_bodies_are_truncated_and_binary_data_is_not_shown() {
        assert_eq!(pretty_body(b"hello", 1000), "hello");
        assert_eq!(
            pretty_body("ääää".as_bytes(), 2),
            "ää\n… (8 bytes in total)"
        );
        assert_eq!(pretty_body(&[0xff, 0xfe], 10), "(2 bytes of binary data)");
    }
}

//! JSON, indented for people.

/// Indents JSON without parsing numbers or sorting keys: the output has exactly the tokens that were sent. `None` for a
/// text that is not JSON.
#[must_use]
pub fn indented(text: &str) -> Option<String> {
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
        let body = r#" {"b":1.0e2,"a":[1, 2],"s":"x\"{,:}\\","e":{ },"n":[]} "#;
        let expected = "{\n  \"b\": 1.0e2,\n  \"a\": [\n    1,\n    2\n  ],\n  \"s\": \"x\\\"{,:}\\\\\",\n  \"e\": {},\n  \"n\": []\n}";
        assert_eq!(indented(body).as_deref(), Some(expected));
        let json = r#"{"n":[1.10, 2e400 ,{}],"e":[ ]}"#;
        let expected = "{\n  \"n\": [\n    1.10,\n    2e400,\n    {}\n  ],\n  \"e\": []\n}";
        assert_eq!(indented(json).as_deref(), Some(expected));
        for plain in ["1", "\"text\"", "null", "[]"] {
            assert_eq!(indented(plain).as_deref(), Some(plain));
        }
        assert_eq!(indented("hello"), None);
    }
}

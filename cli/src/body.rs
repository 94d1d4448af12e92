//! Bodies for display.

use postrider_api_types::pretty;

use crate::output::printable;

/// A body for display: JSON indented, other text unchanged, anything else by its size; truncated to `max` characters.
pub(crate) fn pretty_body(body: &[u8], max: usize) -> String {
    let Ok(text) = std::str::from_utf8(body) else {
        return format!("({} bytes of binary data)", body.len());
    };
    let indented = pretty::indented(text);
    let text = printable(indented.as_deref().unwrap_or(text));
    match text.char_indices().nth(max) {
        Some((end, _)) => {
            let shown = text.get(..end).unwrap_or_default();
            format!("{shown}\n… ({} bytes in total)", body.len())
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

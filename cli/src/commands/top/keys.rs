//! Parses key presses from the bytes of a terminal.

use std::io::Read;

use tokio::sync::mpsc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Enter,
    Escape,
    /// Ctrl-C, which a terminal in raw mode sends like any other key.
    Interrupt,
}

/// Every key from now on. The reading thread ends with the process, because a read from a terminal cannot be cancelled.
pub(super) fn listen() -> mpsc::UnboundedReceiver<Key> {
    let (sender, keys) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 64];
        while let Ok(count @ 1..) = std::io::stdin().lock().read(&mut buffer) {
            for key in parse(buffer.get(..count).unwrap_or_default()) {
                if sender.send(key).is_err() {
                    return;
                }
            }
        }
    });
    keys
}

/// Unknown keys are ignored.
fn parse(mut bytes: &[u8]) -> Vec<Key> {
    const SEQUENCES: [(&[u8], Key); 6] = [
        (b"\x1b[A", Key::Up),
        (b"\x1bOA", Key::Up),
        (b"\x1b[B", Key::Down),
        (b"\x1bOB", Key::Down),
        (b"\x1b[5~", Key::PageUp),
        (b"\x1b[6~", Key::PageDown),
    ];
    let mut keys = Vec::new();
    while let Some((first, rest)) = bytes.split_first() {
        let known = SEQUENCES.into_iter().find_map(|(sequence, key)| {
            let rest = bytes.strip_prefix(sequence)?;
            Some((key, rest))
        });
        if let Some((key, rest)) = known {
            keys.push(key);
            bytes = rest;
            continue;
        }
        bytes = rest;
        match first {
            // An unknown sequence: ignore all of it.
            b'\x1b' if !rest.is_empty() => return keys,
            b'\x1b' => keys.push(Key::Escape),
            b'\x03' => keys.push(Key::Interrupt),
            b'\r' | b'\n' => keys.push(Key::Enter),
            b'\x7f' => keys.push(Key::Escape),
            b' '..=b'~' => keys.push(Key::Char(char::from(*first))),
            _ => {}
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_parsed_as_terminals_send_them() {
        use Key::{Char, Down, Enter, Escape, Interrupt, PageDown, Up};
        assert_eq!(parse(b"jk\r"), [Char('j'), Char('k'), Enter]);
        assert_eq!(parse(b"\x1b[A\x1bOB\x1b[6~"), [Up, Down, PageDown]);
        assert_eq!(parse(b"\x1b"), [Escape]);
        assert_eq!(parse(b"\x1b[1;5D"), [], "an unknown sequence");
        assert_eq!(parse(b"\x03\x00\xff"), [Interrupt]);
    }
}

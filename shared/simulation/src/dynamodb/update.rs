//! Update expressions.

use serde_json::Value;

use super::tokens::{Token, Tokens};
use super::value::{self, TableItem};

/// The item after an update; `None` if an operand has the wrong type.
pub(crate) fn updated(text: &str, request: &Value, mut item: TableItem) -> Option<TableItem> {
    let mut tokens = Tokens::of(text, request);
    while tokens.peek().is_some() {
        let Token::Word(clause) = tokens.take() else {
            tokens.unexpected()
        };
        loop {
            let name = tokens.name();
            match clause.as_str() {
                "SET" => {
                    tokens.expect("=");
                    item.insert(name, tokens.value().clone());
                }
                "ADD" => {
                    let sum = value::add(item.get(&name), tokens.value())?;
                    item.insert(name, sum);
                }
                "REMOVE" => {
                    item.remove(&name);
                }
                _ => tokens.unexpected(),
            }
            if !tokens.takes_symbol(",") {
                break;
            }
        }
    }
    Some(item)
}

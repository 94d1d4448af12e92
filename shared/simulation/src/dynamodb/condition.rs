//! Conditions on items.
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html>

use std::cmp::Ordering;

use serde_json::Value;

use super::tokens::{Token, Tokens};
use super::value::{self, TableItem};

/// Whether the condition of a request holds for an item; a missing item is an empty one.
pub(crate) fn holds(text: &str, request: &Value, item: &TableItem) -> bool {
    let mut tokens = Tokens::of(text, request);
    let holds = rest_holds(&mut tokens, item);
    if tokens.peek().is_some() {
        tokens.unexpected();
    }
    holds
}

/// The same, for what is left of an expression.
pub(crate) fn rest_holds(tokens: &mut Tokens<'_>, item: &TableItem) -> bool {
    any(tokens, item)
}

fn any(tokens: &mut Tokens<'_>, item: &TableItem) -> bool {
    let mut holds = all(tokens, item);
    while tokens.takes_word("OR") {
        // Both sides have to be read.
        let more = all(tokens, item);
        holds = holds || more;
    }
    holds
}

fn all(tokens: &mut Tokens<'_>, item: &TableItem) -> bool {
    let mut holds = one(tokens, item);
    while tokens.takes_word("AND") {
        let more = one(tokens, item);
        holds = holds && more;
    }
    holds
}

fn one(tokens: &mut Tokens<'_>, item: &TableItem) -> bool {
    if tokens.takes_word("NOT") {
        return !one(tokens, item);
    }
    if tokens.takes_symbol("(") {
        let holds = any(tokens, item);
        tokens.expect(")");
        return holds;
    }
    match tokens.peek() {
        Some(Token::Word(function)) => {
            let function = function.clone();
            tokens.take();
            called(&function, tokens, item)
        }
        Some(Token::Name(_) | Token::Value(_) | Token::Symbol(_)) | None => compared(tokens, item),
    }
}

fn called(function: &str, tokens: &mut Tokens<'_>, item: &TableItem) -> bool {
    tokens.expect("(");
    let name = tokens.name();
    let attribute = item.get(&name);
    let holds = match function {
        "attribute_exists" => attribute.is_some(),
        "attribute_not_exists" => attribute.is_none(),
        "begins_with" => {
            tokens.expect(",");
            let prefix = tokens.value();
            attribute.is_some_and(|value| value::begins_with(value, prefix))
        }
        _ => tokens.unexpected(),
    };
    tokens.expect(")");
    holds
}

fn compared(tokens: &mut Tokens<'_>, item: &TableItem) -> bool {
    let name = tokens.name();
    let attribute = item.get(&name);
    let order = |other: &Value| attribute.and_then(|value| value::compare(value, other));
    match tokens.take() {
        Token::Word(word) if word == "BETWEEN" => {
            let from = tokens.value();
            if !tokens.takes_word("AND") {
                tokens.unexpected();
            }
            let to = tokens.value();
            order(from).is_some_and(Ordering::is_ge) && order(to).is_some_and(Ordering::is_le)
        }
        Token::Word(word) if word == "IN" => {
            tokens.expect("(");
            let mut found = false;
            loop {
                found |= order(tokens.value()) == Some(Ordering::Equal);
                if tokens.takes_symbol(")") {
                    return found;
                }
                tokens.expect(",");
            }
        }
        Token::Symbol(symbol) => {
            let order = order(tokens.value());
            match symbol {
                "=" => order == Some(Ordering::Equal),
                // Also true for an attribute that is missing or has another type.
                "<>" => order != Some(Ordering::Equal),
                "<" => order.is_some_and(Ordering::is_lt),
                "<=" => order.is_some_and(Ordering::is_le),
                ">" => order.is_some_and(Ordering::is_gt),
                ">=" => order.is_some_and(Ordering::is_ge),
                _ => tokens.unexpected(),
            }
        }
        Token::Word(_) | Token::Name(_) | Token::Value(_) => tokens.unexpected(),
    }
}

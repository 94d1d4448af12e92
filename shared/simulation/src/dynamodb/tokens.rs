//! Expressions as tokens, with the names and values that their placeholders stand for.

use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// `#name`, resolved.
    Name(String),
    /// `:value`.
    Value(String),
    Word(String),
    Symbol(&'static str),
}

const SYMBOLS: [&str; 10] = ["<>", "<=", ">=", "=", "<", ">", "(", ")", ",", "+"];

/// A request's expression.
pub(crate) struct Tokens<'a> {
    tokens: Vec<Token>,
    at: usize,
    values: Option<&'a Map<String, Value>>,
    text: &'a str,
}

impl<'a> Tokens<'a> {
    pub(crate) fn of(text: &'a str, request: &'a Value) -> Self {
        let names = request["ExpressionAttributeNames"].as_object();
        let mut tokens = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (token, length) = next(rest, names).unwrap_or_else(|| panic!("expression: {text}"));
            tokens.push(token);
            rest = rest[length..].trim_start();
        }
        Self {
            tokens,
            at: 0,
            values: request["ExpressionAttributeValues"].as_object(),
            text,
        }
    }

    pub(crate) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    pub(crate) fn take(&mut self) -> Token {
        let token = self.peek().cloned();
        self.at += 1;
        token.unwrap_or_else(|| self.unexpected())
    }

    /// Takes the next token if it is this one.
    pub(crate) fn takes(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn takes_symbol(&mut self, symbol: &'static str) -> bool {
        self.takes(&Token::Symbol(symbol))
    }

    pub(crate) fn takes_word(&mut self, word: &str) -> bool {
        self.takes(&Token::Word(word.to_owned()))
    }

    pub(crate) fn expect(&mut self, symbol: &'static str) {
        if !self.takes_symbol(symbol) {
            self.unexpected();
        }
    }

    pub(crate) fn name(&mut self) -> String {
        match self.take() {
            Token::Name(name) => name,
            Token::Value(_) | Token::Word(_) | Token::Symbol(_) => self.unexpected(),
        }
    }

    pub(crate) fn value(&mut self) -> &'a Value {
        let Token::Value(name) = self.take() else {
            self.unexpected()
        };
        let value = self.values.and_then(|values| values.get(&name));
        value.unwrap_or_else(|| self.unexpected())
    }

    pub(crate) fn unexpected(&self) -> ! {
        panic!("not understood at token {}: {}", self.at, self.text)
    }
}

fn next(text: &str, names: Option<&Map<String, Value>>) -> Option<(Token, usize)> {
    if let Some(symbol) = SYMBOLS.iter().find(|symbol| text.starts_with(**symbol)) {
        return Some((Token::Symbol(symbol), symbol.len()));
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text[1..]
        .find(|c| !is_part(c))
        .map_or(text.len(), |end| end + 1);
    let word = &text[..end];
    let token = match text.chars().next()? {
        '#' => Token::Name(names?.get(word)?.as_str()?.to_owned()),
        ':' => Token::Value(word.to_owned()),
        first if is_part(first) => Token::Word(word.to_owned()),
        _ => return None,
    };
    Some((token, end))
}

//! How a hostile caller can change a JSON document that is valid.

use arbitrary::Arbitrary;
use serde_json::{Map, Value, json};

/// More edits of one document would only make an input slow.
pub(super) const MAX_EDITS: usize = 12;
/// Longer than everything that has a limit of its own.
const MAX_REPEATED: u16 = 8000;
/// With all edits far deeper than any text that is read, but not too deep for the stack of a test.
const MAX_WRAPPED: u8 = 64;

/// One change. Places are counted from the root, each before what is in it, and start over at the end.
#[derive(Arbitrary, Debug)]
pub(super) enum JsonEdit<'a> {
    Replace(u16, Leaf<'a>),
    Remove(u16),
    Add(u16, Text<'a>, Leaf<'a>),
    Copy { from: u16, to: u16 },
    AddToText(u16, Text<'a>),
    Cut(u16, u8),
    Nudge(u16, i8),
    Wrap(u16, u8),
}

#[derive(Arbitrary, Debug)]
pub(super) enum Leaf<'a> {
    Null,
    Bool(bool),
    Whole(i64),
    Small(u8),
    Float(f64),
    Text(Text<'a>),
    Array,
    Object,
    Json(&'a str),
}

/// A text of the fuzzer, or one of those that mean something.
#[derive(Arbitrary, Debug)]
pub(super) enum Text<'a> {
    Word(u8),
    Name(u8),
    Free(&'a str),
    Repeated(u8, u16),
}

/// The texts that mean something.
#[derive(Default)]
pub(super) struct Vocabulary {
    /// Names of fields and parameters.
    pub(super) names: Vec<String>,
    /// Values.
    pub(super) words: Vec<String>,
}

impl Vocabulary {
    pub(super) fn text(&self, text: &Text<'_>) -> String {
        let pick = |from: &[String], n: u8| {
            let at = usize::from(n).checked_rem(from.len()).unwrap_or_default();
            from.get(at).cloned().unwrap_or_default()
        };
        match *text {
            Text::Word(n) => pick(&self.words, n),
            Text::Name(n) => pick(&self.names, n),
            Text::Free(text) => text.to_owned(),
            Text::Repeated(byte, count) => {
                let count = count % MAX_REPEATED;
                char::from(byte).to_string().repeat(count.into())
            }
        }
    }

    /// Adds the names of all fields in a document.
    pub(super) fn learn(&mut self, document: &Value) {
        match document {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if !self.names.contains(name) {
                        self.names.push(name.clone());
                    }
                    self.learn(value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn leaf(&self, leaf: &Leaf<'_>) -> Value {
        match *leaf {
            Leaf::Null => Value::Null,
            Leaf::Bool(value) => value.into(),
            Leaf::Whole(value) => value.into(),
            Leaf::Small(value) => value.into(),
            Leaf::Float(value) => value.into(),
            Leaf::Text(ref text) => self.text(text).into(),
            Leaf::Array => json!([]),
            Leaf::Object => json!({}),
            Leaf::Json(text) => serde_json::from_str(text).unwrap_or_default(),
        }
    }

    pub(super) fn edit(&self, document: &mut Value, edit: &JsonEdit<'_>) {
        match *edit {
            JsonEdit::Replace(at, ref leaf) => *place(document, at) = self.leaf(leaf),
            JsonEdit::Remove(at) => remove(document, at),
            JsonEdit::Add(at, ref name, ref leaf) => {
                let (name, value) = (self.text(name), self.leaf(leaf));
                add(place(document, at), name, value);
            }
            JsonEdit::Copy { from, to } => {
                let copy = place(document, from).clone();
                // Otherwise a few copies of the root into itself would fill the memory.
                if size(&copy) < 200 {
                    *place(document, to) = copy;
                }
            }
            JsonEdit::AddToText(at, ref more) => {
                if let Value::String(text) = place(document, at) {
                    text.push_str(&self.text(more));
                }
            }
            JsonEdit::Cut(at, length) => {
                if let Value::String(text) = place(document, at) {
                    text.truncate(text.floor_char_boundary(length.into()));
                }
            }
            JsonEdit::Nudge(at, by) => {
                let place = place(document, at);
                if let Some(number) = place.as_i64() {
                    *place = number.saturating_add(by.into()).into();
                }
            }
            JsonEdit::Wrap(at, depth) => {
                let place = place(document, at);
                for _ in 0..depth % MAX_WRAPPED {
                    *place = json!([place.take()]);
                }
            }
        }
    }
}

fn add(place: &mut Value, name: String, value: Value) {
    match place {
        Value::Object(fields) => {
            fields.insert(name, value);
        }
        Value::Array(items) => items.push(value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            *place = Map::from_iter([(name, value)]).into();
        }
    }
}

fn size(value: &Value) -> usize {
    1 + parts(value).map(size).sum::<usize>()
}

fn parts(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Object(fields) => Box::new(fields.values()),
        Value::Array(items) => Box::new(items.iter()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Box::new(std::iter::empty())
        }
    }
}

fn parts_mut(value: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match value {
        Value::Object(fields) => Box::new(fields.values_mut()),
        Value::Array(items) => Box::new(items.iter_mut()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Box::new(std::iter::empty())
        }
    }
}

fn place(document: &mut Value, at: u16) -> &mut Value {
    let at = usize::from(at) % size(document);
    nth(document, at)
}

fn nth(value: &mut Value, at: usize) -> &mut Value {
    let Some(mut left) = at.checked_sub(1) else {
        return value;
    };
    for part in parts_mut(value) {
        let size = size(part);
        if left < size {
            return nth(part, left);
        }
        left -= size;
    }
    unreachable!("a place is within its document")
}

/// Removes a field or an item; of the root, everything.
fn remove(document: &mut Value, at: u16) {
    let at = usize::from(at) % size(document);
    if at == 0 {
        *document = Value::Null;
    } else {
        remove_nth(document, at - 1);
    }
}

fn remove_nth(value: &mut Value, mut left: usize) {
    let mut found = None;
    for (n, part) in parts_mut(value).enumerate() {
        let size = size(part);
        if left == 0 {
            found = Some(n);
            break;
        }
        if left < size {
            return remove_nth(part, left - 1);
        }
        left -= size;
    }
    match (value, found) {
        (Value::Object(fields), Some(n)) => {
            if let Some(name) = fields.keys().nth(n).cloned() {
                fields.remove(&name);
            }
        }
        (Value::Array(items), Some(n)) => {
            items.remove(n);
        }
        _ => {}
    }
}

//! From JSON to rules. Reports what is wrong with the schema, and where.

mod keywords;

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::pattern::Pattern;
use super::rule::{Node, NodeId, Rule};
use super::{DIALECT, MAX_FAULTS, MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH, Schema, escaped};
use crate::invalid::Invalid;

pub(super) fn compile(field: &str, source: &Value) -> Result<Schema, Invalid> {
    let whole = |message: String| Invalid::field(field, message);
    check_whole(source).map_err(whole)?;
    let mut compiler = Compiler {
        source,
        nodes: Vec::new(),
        by_pointer: BTreeMap::new(),
        anchors: BTreeMap::new(),
        references: Vec::new(),
        patterns: BTreeMap::new(),
        tracks: false,
        errors: Vec::new(),
    };
    let root = compiler.node("", source);
    compiler.resolve();
    compiler.find_circles();
    let mut invalid = Invalid::default();
    for (pointer, message) in compiler.errors {
        let place = if pointer.is_empty() {
            "at its root".to_owned()
        } else {
            format!("at {pointer}")
        };
        invalid.add(field, format!("{place}: {message}"));
    }
    invalid.into_result()?;
    debug_assert_eq!(root, NodeId(0), "evaluation begins there");
    Ok(Schema {
        nodes: compiler.nodes,
        tracks: compiler.tracks,
    })
}

/// What bounds all that follows.
fn check_whole(source: &Value) -> Result<(), String> {
    if !source.is_object() && !source.is_boolean() {
        return Err("must be a JSON Schema: an object, `true` or `false`".to_owned());
    }
    if source.to_string().len() > MAX_SCHEMA_BYTES {
        return Err(format!("must be at most {MAX_SCHEMA_BYTES} bytes"));
    }
    if is_deeper(source, MAX_SCHEMA_DEPTH) {
        return Err(format!(
            "must be nested at most {MAX_SCHEMA_DEPTH} levels deep"
        ));
    }
    match source.get("$schema") {
        Some(dialect) if dialect.as_str().map(|it| it.trim_end_matches('#')) != Some(DIALECT) => {
            Err(format!("must be of the dialect {DIALECT}"))
        }
        Some(_) | None => Ok(()),
    }
}

fn is_deeper(part: &Value, levels: usize) -> bool {
    let deeper = |part: &Value| match levels.checked_sub(1) {
        Some(levels) => is_deeper(part, levels),
        None => true,
    };
    match part {
        Value::Object(fields) => fields.values().any(deeper),
        Value::Array(items) => items.iter().any(deeper),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

struct Compiler<'a> {
    source: &'a Value,
    nodes: Vec<Node>,
    by_pointer: BTreeMap<String, NodeId>,
    anchors: BTreeMap<String, NodeId>,
    /// Not resolved yet.
    references: Vec<Reference>,
    /// By their source, so that one that is used often is compiled once.
    patterns: BTreeMap<String, Pattern>,
    tracks: bool,
    errors: Vec<(String, String)>,
}

struct Reference {
    from: NodeId,
    /// Of the `$ref` itself.
    pointer: String,
    target: String,
}

impl<'a> Compiler<'a> {
    fn error(&mut self, pointer: &str, message: impl Into<String>) {
        if self.errors.len() < MAX_FAULTS {
            self.errors.push((pointer.to_owned(), message.into()));
        }
    }

    /// The node for the schema at this place; compiled once.
    fn node(&mut self, pointer: &str, schema: &'a Value) -> NodeId {
        if let Some(known) = self.by_pointer.get(pointer) {
            return *known;
        }
        let id = NodeId(self.nodes.len());
        self.nodes.push(Node::Anything);
        self.by_pointer.insert(pointer.to_owned(), id);
        let node = match schema {
            Value::Bool(true) => Node::Anything,
            Value::Bool(false) => Node::Nothing,
            Value::Object(fields) => {
                let rules = self.rules(id, pointer, fields);
                if rules.is_empty() {
                    Node::Anything
                } else {
                    Node::Rules(rules)
                }
            }
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                self.error(pointer, "must be a schema: an object, `true` or `false`");
                Node::Anything
            }
        };
        self.set(id, node);
        id
    }

    fn set(&mut self, id: NodeId, node: Node) {
        if let Some(slot) = self.nodes.get_mut(id.0) {
            *slot = node;
        }
    }

    /// A reference may lead to a part that no keyword leads to, which may have references of its own.
    fn resolve(&mut self) {
        let mut by_anchor = Vec::new();
        while let Some(reference) = self.references.pop() {
            if reference.target.is_empty() || reference.target.starts_with('/') {
                let found = self.follow(&reference.target);
                self.link(&reference, found);
            } else {
                by_anchor.push(reference);
            }
        }
        for reference in by_anchor {
            let found = self.anchors.get(&reference.target).copied();
            self.link(&reference, found);
        }
    }

    fn link(&mut self, reference: &Reference, found: Option<NodeId>) {
        let Some(target) = found else {
            self.error(
                &reference.pointer,
                "refers to a part of the schema that is not there",
            );
            return;
        };
        match self.nodes.get_mut(reference.from.0) {
            // Checked first, so that a fault names what the reference leads to.
            Some(Node::Rules(rules)) => rules.insert(0, Rule::Ref(target)),
            Some(node) => *node = Node::Rules(vec![Rule::Ref(target)]),
            None => {}
        }
    }

    fn follow(&mut self, target: &str) -> Option<NodeId> {
        let (mut part, mut pointer) = (self.source, String::new());
        for step in target.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            part = match part {
                Value::Object(fields) => fields.get(&step)?,
                Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
            };
            pointer.push('/');
            pointer.push_str(&escaped(&step));
        }
        Some(self.node(&pointer, part))
    }

    /// Notes a `$ref`; it is resolved when everything else is known.
    fn refer(&mut self, from: NodeId, pointer: String, target: &Value) {
        let Some(target) = target.as_str().and_then(|it| it.strip_prefix('#')) else {
            let message = "the schema may refer only to itself: a `$ref` must begin with `#`";
            self.error(&pointer, message);
            return;
        };
        match percent_decode_str(target).decode_utf8() {
            Ok(target) => self.references.push(Reference {
                from,
                pointer,
                target: target.into_owned(),
            }),
            Err(_) => self.error(&pointer, "is not a valid reference"),
        }
    }

    /// Finds parts that lead back to themselves without going deeper into the payload.
    fn find_circles(&mut self) {
        let pointers: BTreeMap<NodeId, String> = self
            .by_pointer
            .iter()
            .map(|(pointer, id)| (*id, pointer.clone()))
            .collect();
        let mut states = vec![Visit::Not; self.nodes.len()];
        for start in 0..self.nodes.len() {
            // An explicit stack: a chain of references may be as long as the schema.
            let mut stack = vec![(NodeId(start), false)];
            while let Some((id, is_done)) = stack.pop() {
                let Some(state) = states.get_mut(id.0) else {
                    continue;
                };
                if is_done {
                    *state = Visit::Done;
                    continue;
                }
                match state {
                    Visit::Done => continue,
                    Visit::UnderWay => {
                        let pointer = pointers.get(&id).cloned().unwrap_or_default();
                        let message = "refers to itself without descending into the payload, so validation would never end";
                        self.error(&pointer, message);
                        return;
                    }
                    Visit::Not => *state = Visit::UnderWay,
                }
                stack.push((id, true));
                if let Some(Node::Rules(rules)) = self.nodes.get(id.0) {
                    let next = rules.iter().flat_map(Rule::in_place);
                    let open = next
                        .filter(|next| !matches!(states.get(next.0), Some(Visit::Done)))
                        .map(|next| (next, false));
                    stack.extend(open);
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Visit {
    Not,
    UnderWay,
    Done,
}

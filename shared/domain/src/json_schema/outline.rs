//! The fields that a schema describes, as a list for people. It leaves out what a list cannot show, such as conditions.

use serde_json::Value;

/// How deep objects and arrays are followed.
const MAX_LEVELS: usize = 5;
const MAX_FIELDS: usize = 200;
/// How many parts of the schema are looked at.
const MAX_PARTS: usize = 1000;
/// How many references may lead to one another.
const MAX_HOPS: usize = 8;
const MAX_DESCRIPTION_CHARS: usize = 300;

/// A field of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaField {
    /// Such as `customer.addresses[].city`.
    pub path: String,
    /// Such as `string` or `array of objects`; empty if anything goes.
    pub kind: String,
    pub is_required: bool,
    pub description: Option<String>,
}

/// The fields of payloads that this schema describes, in the order of their names; required ones first.
#[must_use]
pub fn outline(schema: &Value) -> Vec<SchemaField> {
    let mut outline = Outline {
        root: schema,
        fields: Vec::new(),
        parts_left: MAX_PARTS,
    };
    outline.parts(schema, "", 0);
    outline.fields
}

struct Outline<'a> {
    root: &'a Value,
    fields: Vec<SchemaField>,
    parts_left: usize,
}

impl<'a> Outline<'a> {
    /// Adds the fields of a schema and of all that apply together with it.
    fn parts(&mut self, schema: &'a Value, path: &str, level: usize) {
        if level > MAX_LEVELS || self.parts_left == 0 {
            return;
        }
        self.parts_left -= 1;
        let schema = self.resolved(schema);
        self.properties(schema, path, level);
        if let Some(items) = schema.get("items").filter(|_| path.is_empty()) {
            self.parts(items, "[]", level + 1);
        }
        let together = schema.get("allOf").and_then(Value::as_array);
        for part in together.into_iter().flatten() {
            self.parts(part, path, level + 1);
        }
    }

    fn properties(&mut self, schema: &'a Value, path: &str, level: usize) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return;
        };
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
        let mut properties: Vec<(&String, &Value)> = properties.iter().collect();
        properties.sort_by_key(|(name, _)| !is_required(name));
        for (name, part) in properties {
            if self.fields.len() >= MAX_FIELDS {
                return;
            }
            let part = self.resolved(part);
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            // An array is followed to its items, which may be arrays.
            let (mut inner, mut inner_path) = (part, path.clone());
            for _ in 0..MAX_LEVELS {
                let Some(items) = inner.get("items") else {
                    break;
                };
                inner = self.resolved(items);
                inner_path.push_str("[]");
            }
            self.fields.push(SchemaField {
                kind: self.kind(part),
                is_required: is_required(name),
                description: description(part),
                path,
            });
            self.parts(inner, &inner_path, level + 1);
        }
    }

    /// What a reference leads to.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        for _ in 0..MAX_HOPS {
            let target = schema.get("$ref").and_then(Value::as_str);
            let target = target.and_then(|target| target.strip_prefix('#'));
            match target.and_then(|pointer| self.root.pointer(pointer)) {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }

    fn kind(&self, schema: &'a Value) -> String {
        let values = match (schema.get("const"), schema.get("enum")) {
            (Some(value), _) => Some(value.to_string()),
            (None, Some(Value::Array(values))) => {
                let texts: Vec<String> = values.iter().map(Value::to_string).collect();
                Some(texts.join(", "))
            }
            (None, _) => None,
        };
        if let Some(values) = values.filter(|text| text.chars().count() <= 80) {
            return values;
        }
        let name = match schema.get("type") {
            Some(Value::String(one)) => one.clone(),
            Some(Value::Array(several)) => {
                let names: Vec<&str> = several.iter().filter_map(Value::as_str).collect();
                names.join(" or ")
            }
            _ => String::new(),
        };
        let items = schema.get("items").map(|items| self.resolved(items));
        let of_items = items.and_then(|items| items.get("type")?.as_str());
        match (name.as_str(), of_items) {
            ("array", Some(item)) => format!("array of {item}s"),
            _ => match schema.get("format").and_then(Value::as_str) {
                Some(format) => format!("{name} ({format})").trim_start().to_owned(),
                None => name,
            },
        }
    }
}

fn description(schema: &Value) -> Option<String> {
    let text = schema.get("description").or_else(|| schema.get("title"))?;
    let text = text.as_str()?.trim();
    let cut = text.char_indices().nth(MAX_DESCRIPTION_CHARS);
    let text = match cut {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    };
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(schema: &Value) -> Vec<String> {
        let fields = outline(schema).into_iter();
        fields
            .map(|field| {
                let mark = if field.is_required { "!" } else { "" };
                format!("{}{mark}: {}", field.path, field.kind)
            })
            .collect()
    }

    #[test]
    fn fields_are_listed_through_references_arrays_and_parts() {
        let schema = json!({
            "required": ["lines"],
            "properties": {
                "at": {"type": "string", "format": "date-time"},
                "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
                "state": {"enum": ["open", "paid"]}
            },
            "allOf": [{"properties": {"note": {"type": ["string", "null"]}}}],
            "$defs": {"line": {"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}, "more": {"$ref": "#/$defs/line"}}}}
        });
        let found = lines(&schema);
        assert_eq!(
            found[..2],
            ["lines!: array of objects", "lines[].sku!: string"]
        );
        for line in [
            "lines[].more: object",
            "lines[].more.sku!: string",
            "at: string (date-time)",
            "state: \"open\", \"paid\"",
            "note: string or null",
        ] {
            assert!(found.iter().any(|it| it == line), "{line}: {found:#?}");
        }
    }

    #[test]
    fn fields_are_listed_six_levels_deep() {
        let nested = (0..9).fold(
            json!({"type": "string"}),
            |inner, _| json!({"properties": {"a": inner}}),
        );
        let expected: Vec<String> = (1..=6)
            .map(|n| format!("{}: ", vec!["a"; n].join(".")))
            .collect();
        assert_eq!(lines(&nested), expected);
        let list = lines(&json!({"items": nested}));
        assert_eq!(list.len(), 5, "the items are a level of their own");
        assert_eq!(list[1], "[].a.a: ");
        let parts = (0..9).fold(json!({}), |inner, n| {
            let name = n.to_string();
            json!({"properties": {name: true}, "allOf": [inner]})
        });
        assert_eq!(lines(&parts), ["8: ", "7: ", "6: ", "5: ", "4: ", "3: "]);
    }

    #[test]
    fn a_field_is_described_by_its_description_or_title_as_far_as_a_list_has_room() {
        let described = |field: Value| {
            let mut fields = outline(&json!({"properties": {"a": field}}));
            fields.remove(0).description
        };
        assert_eq!(
            described(json!({"description": " Paid \n", "title": "t"})).as_deref(),
            Some("Paid")
        );
        assert_eq!(
            described(json!({"title": "Total"})).as_deref(),
            Some("Total")
        );
        for none in [json!({}), json!({"description": " "}), json!({"title": 1})] {
            assert_eq!(described(none.clone()), None, "{none}");
        }
        let longest = "ü".repeat(MAX_DESCRIPTION_CHARS);
        assert_eq!(described(json!({"title": longest})), Some(longest.clone()));
        let cut = described(json!({"title": format!("{longest}ü")}));
        assert_eq!(cut, Some(format!("{longest}…")));
    }

    #[test]
    fn a_schema_that_leads_in_circles_has_an_end() {
        let properties: serde_json::Map<String, Value> = (0..50)
            .map(|n| (n.to_string(), json!({"$ref": "#"})))
            .collect();
        assert_eq!(lines(&json!({"properties": properties})).len(), MAX_FIELDS);
        assert_eq!(lines(&json!({"$ref": "#"})).len(), 0);
        let parts = json!({"allOf": vec![json!({"$ref": "#"}); 500]});
        assert_eq!(lines(&parts).len(), 0);
        let lists = json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}});
        assert_eq!(lines(&lists), ["a: "]);
    }
}

//! Event types from the section `webhooks` of an OpenAPI 3.1 document.

use serde_json::{Map, Value, json};

use super::{CatalogueDraft, Lifecycle, MAX_EXAMPLES};

const COMPONENTS: &str = "#/components/schemas/";
const METHODS: [&str; 3] = ["post", "put", "patch"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error("is not an OpenAPI 3.1 document: `openapi` must begin with `3.1`")]
    OtherVersion,
    #[error("has no section `webhooks`")]
    NoWebhooks,
}

/// The name and the entry of every webhook in the document, in its order.
///
/// # Errors
/// The document is not one of OpenAPI 3.1, or has no webhooks.
pub fn import(document: &Value) -> Result<Vec<(String, CatalogueDraft)>, ImportError> {
    let version = document.get("openapi").and_then(Value::as_str);
    if !version.is_some_and(|version| version.starts_with("3.1")) {
        return Err(ImportError::OtherVersion);
    }
    let webhooks = document.get("webhooks").and_then(Value::as_object);
    let webhooks = webhooks.ok_or(ImportError::NoWebhooks)?;
    let drafts = webhooks.iter().map(|(name, item)| {
        let operation = METHODS.iter().find_map(|method| item.get(method));
        (name.clone(), draft(document, item, operation))
    });
    Ok(drafts.collect())
}

fn draft(document: &Value, item: &Value, operation: Option<&Value>) -> CatalogueDraft {
    let field = |name: &str| {
        let of_operation = operation.and_then(|operation| operation.get(name));
        of_operation.or_else(|| item.get(name))
    };
    let text = |name: &str| field(name).and_then(Value::as_str).map(str::to_owned);
    let body = operation.and_then(|operation| operation.pointer("/requestBody/content"));
    let media = body.and_then(Value::as_object).and_then(json_media);
    let is_deprecated = field("deprecated").and_then(Value::as_bool) == Some(true);
    CatalogueDraft {
        description: text("description").or_else(|| text("summary")),
        group: field("tags")
            .and_then(|tags| tags.get(0)?.as_str())
            .map(str::to_owned),
        schema: media
            .and_then(|media| media.get("schema"))
            .map(|schema| self_contained(document, schema)),
        examples: media.map(examples).unwrap_or_default(),
        lifecycle: if is_deprecated {
            Lifecycle::Deprecated
        } else {
            Lifecycle::Current
        },
    }
}

fn json_media(content: &Map<String, Value>) -> Option<&Value> {
    let is_json = |name: &str| name.starts_with("application/json") || name.contains("+json");
    let mut media = content.iter();
    media
        .find(|(name, _)| is_json(name))
        .map(|(_, media)| media)
}

fn examples(media: &Value) -> Vec<Value> {
    let one = media.get("example").cloned();
    let named = media.get("examples").and_then(Value::as_object);
    let named = named
        .into_iter()
        .flat_map(Map::values)
        .filter_map(|example| example.get("value").cloned());
    one.into_iter().chain(named).take(MAX_EXAMPLES).collect()
}

/// The schema with the components that it uses, so that it refers only to itself.
fn self_contained(document: &Value, schema: &Value) -> Value {
    let mut used = Vec::new();
    let mut whole = rewritten(schema, &mut used);
    let mut definitions = Map::new();
    while let Some(name) = used.pop() {
        if definitions.contains_key(&name) {
            continue;
        }
        let components = document.pointer("/components/schemas");
        let component = components.and_then(|all| all.get(&name));
        let component = component.cloned().unwrap_or(Value::Bool(true));
        // Inserted first: a component may refer to itself.
        definitions.insert(name.clone(), Value::Null);
        let component = rewritten(&component, &mut used);
        definitions.insert(name, component);
    }
    if !definitions.is_empty() {
        if !whole.is_object() {
            whole = json!({"allOf": [whole]});
        }
        if let Some(fields) = whole.as_object_mut() {
            fields.insert("$defs".to_owned(), definitions.into());
        }
    }
    whole
}

/// The same schema, with references to components as references to definitions. Notes the names of those components.
fn rewritten(schema: &Value, used: &mut Vec<String>) -> Value {
    match schema {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let component = value.as_str().and_then(|it| it.strip_prefix(COMPONENTS));
                match component {
                    Some(component) if name == "$ref" => {
                        let top = component.split('/').next().unwrap_or(component);
                        used.push(top.replace("~1", "/").replace("~0", "~"));
                        (name.clone(), Value::from(format!("#/$defs/{component}")))
                    }
                    Some(_) | None => (name.clone(), rewritten(value, used)),
                }
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(|item| rewritten(item, used)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

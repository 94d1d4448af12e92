//! The operations of the service.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::View;
use super::condition;
use super::keys::Key;
use super::query;
use super::stream::ItemChange;
use super::table::{Table, TableSchema};
use super::update;
use super::value::TableItem;

/// The most keys of one BatchGetItem.
const MAX_KEYS: usize = 100;

/// All tables.
pub struct Database {
    tables: BTreeMap<String, Table>,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub status: u16,
    pub body: Value,
}

/// Why a write was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rejected {
    ConditionalCheckFailed,
    Validation,
}

/// A write that may go ahead.
struct Write {
    table: String,
    key: Key,
    after: Option<TableItem>,
}

impl Reply {
    const fn ok(body: Value) -> Self {
        Self { status: 200, body }
    }

    /// A request that was rejected for now.
    #[must_use]
    pub fn throttled(operation: &str) -> Self {
        if operation != "TransactWriteItems" {
            return Self::error(400, "ThrottlingException");
        }
        let mut reply = Self::error(400, "TransactionCanceledException");
        reply.body["CancellationReasons"] = json!([{ "Code": "TransactionConflict" }]);
        reply
    }

    fn error(status: u16, code: &str) -> Self {
        let kind = format!("com.amazonaws.dynamodb.v20120810#{code}");
        let body = json!({ "__type": kind, "message": "simulated" });
        Self { status, body }
    }
}

impl From<Rejected> for Reply {
    fn from(rejected: Rejected) -> Self {
        let code = match rejected {
            Rejected::ConditionalCheckFailed => "ConditionalCheckFailedException",
            Rejected::Validation => "ValidationException",
        };
        Self::error(400, code)
    }
}

impl Database {
    #[must_use]
    pub fn new(tables: Vec<TableSchema>) -> Self {
        let tables = tables.into_iter();
        Self {
            tables: tables
                .map(|schema| (schema.name.clone(), Table::new(schema)))
                .collect(),
        }
    }

    /// Carries out one request.
    ///
    /// # Panics
    /// If the operation or an expression is unknown.
    pub fn handle(&mut self, operation: &str, request: &Value, view: &mut dyn View) -> Reply {
        match operation {
            "GetItem" => self.get(request, view),
            "BatchGetItem" => self.batch_get(request, view),
            "PutItem" | "UpdateItem" | "DeleteItem" => self.write(operation, request, view),
            "TransactWriteItems" => self.transact(request, view),
            "Query" => Reply::ok(query::query(self.table(request), request, view)),
            unknown => panic!("an unknown operation: {unknown}"),
        }
    }

    /// Deletes what has expired, and returns when the next item is deleted.
    pub fn expire(&mut self, view: &mut dyn View) -> Option<i64> {
        let tables = self.tables.values_mut();
        tables.filter_map(|table| table.expire(view)).min()
    }

    /// The changes of a table since the last call.
    pub fn take_changes(&mut self, table: &str) -> Vec<ItemChange> {
        self.named(table).take_changes()
    }

    /// Everything that is stored in a table.
    pub fn items(&self, table: &str) -> impl Iterator<Item = &TableItem> {
        self.tables[table].items.values()
    }

    #[must_use]
    pub fn item(&self, table: &str, pk: &str, sk: &str) -> Option<&TableItem> {
        let (pk, sk) = (pk.to_owned(), sk.to_owned());
        self.tables[table].items.get(&Key { pk, sk })
    }

    fn named(&mut self, name: &str) -> &mut Table {
        let table = self.tables.get_mut(name);
        table.unwrap_or_else(|| panic!("an unknown table: {name}"))
    }

    fn table(&mut self, request: &Value) -> &mut Table {
        self.named(request["TableName"].as_str().expect("a table"))
    }

    fn get(&mut self, request: &Value, view: &mut dyn View) -> Reply {
        let key = Key::of_value(&request["Key"]);
        let is_strong = request["ConsistentRead"] == json!(true);
        let table = self.table(request);
        let item = if is_strong {
            table.items.get(&key).cloned()
        } else {
            table.eventual(&key, view)
        };
        Reply::ok(item.map_or_else(|| json!({}), |item| json!({ "Item": item })))
    }

    fn batch_get(&mut self, request: &Value, view: &mut dyn View) -> Reply {
        let (mut responses, mut unprocessed) = (BTreeMap::new(), BTreeMap::new());
        let wanted = request["RequestItems"].as_object().expect("tables");
        for (name, wanted) in wanted {
            let keys = wanted["Keys"].as_array().expect("keys");
            let count = keys.len();
            let keys: BTreeSet<Key> = keys.iter().map(Key::of_value).collect();
            if keys.len() < count || count > MAX_KEYS {
                return Rejected::Validation.into();
            }
            let is_strong = wanted["ConsistentRead"] == json!(true);
            let processed = view.page_limit().unwrap_or(MAX_KEYS);
            let table = self.named(name);
            let found = keys.iter().take(processed);
            let found = found.filter_map(|key| match is_strong {
                true => table.items.get(key).cloned(),
                false => table.eventual(key, view),
            });
            let found: Vec<_> = found.map(Value::Object).collect();
            responses.insert(name, found);
            let left: Vec<_> = keys.iter().skip(processed).map(Key::item).collect();
            if !left.is_empty() {
                unprocessed.insert(name, json!({ "Keys": left, "ConsistentRead": is_strong }));
            }
        }
        Reply::ok(json!({ "Responses": responses, "UnprocessedKeys": unprocessed }))
    }

    fn write(&mut self, operation: &str, request: &Value, view: &mut dyn View) -> Reply {
        let write = match self.check(operation, request) {
            Ok(write) => write,
            Err(rejected) => return rejected.into(),
        };
        let after = write.after.clone();
        self.carry_out(write, view);
        match after {
            Some(item) if request["ReturnValues"] == json!("ALL_NEW") => {
                Reply::ok(json!({ "Attributes": item }))
            }
            Some(_) | None => Reply::ok(json!({})),
        }
    }

    fn carry_out(&mut self, write: Write, view: &mut dyn View) {
        let Write { table, key, after } = write;
        self.named(&table).write(key, after, view);
    }

    /// What a write does, if it may.
    fn check(&self, operation: &str, request: &Value) -> Result<Write, Rejected> {
        let name = request["TableName"].as_str().expect("a table");
        let key = match operation {
            "PutItem" => Key::of_value(&request["Item"]),
            _ => Key::of_value(&request["Key"]),
        };
        let (stored, missing) = (self.tables[name].items.get(&key), TableItem::new());
        let holds = |text| condition::holds(text, request, stored.unwrap_or(&missing));
        if !request["ConditionExpression"].as_str().is_none_or(holds) {
            return Err(Rejected::ConditionalCheckFailed);
        }
        let after = match operation {
            "PutItem" => request["Item"].as_object().cloned(),
            "UpdateItem" => {
                let item = stored.cloned().unwrap_or_else(|| key.item());
                let text = request["UpdateExpression"].as_str().expect("an update");
                Some(update::updated(text, request, item).ok_or(Rejected::Validation)?)
            }
            _ => None,
        };
        if after.as_ref().is_some_and(Table::is_too_large) {
            return Err(Rejected::Validation);
        }
        Ok(Write {
            table: name.to_owned(),
            key,
            after,
        })
    }

    /// All writes or none.
    fn transact(&mut self, request: &Value, view: &mut dyn View) -> Reply {
        let steps = request["TransactItems"].as_array().expect("steps");
        let checked = steps.iter().map(|step| {
            let (verb, request) = step
                .as_object()
                .and_then(|step| step.iter().next())
                .expect("a step");
            self.check(&format!("{verb}Item"), request)
        });
        let checked: Vec<_> = checked.collect();
        if checked.iter().any(Result::is_err) {
            let reason = |checked: &Result<Write, Rejected>| match checked {
                Ok(_) => json!({ "Code": "None" }),
                Err(Rejected::ConditionalCheckFailed) => {
                    json!({ "Code": "ConditionalCheckFailed" })
                }
                Err(Rejected::Validation) => json!({ "Code": "ValidationError" }),
            };
            let mut reply = Reply::error(400, "TransactionCanceledException");
            reply.body["CancellationReasons"] = checked.iter().map(reason).collect();
            return reply;
        }
        for write in checked.into_iter().flatten() {
            self.carry_out(write, view);
        }
        Reply::ok(json!({}))
    }
}

//! Plays what Lambda does between a DynamoDB stream and a function, which no emulator does: shards, filters, batches, partial
//! failures, bisecting, record age, repetition, and an order that holds for each key only.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use async_trait::async_trait;
use postrider_domain::time::{Millis, Timestamp};
use serde_json::{Value, json};

/// A function that is invoked with batches of records.
#[async_trait]
pub trait StreamFunction: Send + Sync {
    /// Returns the sequence numbers of the records that failed; `Err` if the invocation failed.
    async fn handle(&self, event: Value) -> Result<Vec<String>, String>;
}

/// The event source mapping of a function, as the template declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    patterns: Vec<Value>,
    batch_size: usize,
    bisects: bool,
    max_tries: Option<usize>,
    max_age: Option<Millis>,
}

impl Mapping {
    /// Reads the mapping of a function from the text of the template.
    ///
    /// # Panics
    /// If the function has none.
    #[must_use]
    pub fn of(template: &str, function: &str) -> Self {
        let head = format!("  {function}:\n");
        let at = template.find(&head).expect("the function is declared");
        let rest = &template[at + head.len()..];
        // Until the next resource.
        let lines: Vec<_> = rest
            .lines()
            .take_while(|line| !line.starts_with("  ") || line.starts_with("   "))
            .map(str::trim)
            .collect();
        let setting = |name: &str| -> Option<i64> {
            let found = lines.iter().find_map(|line| line.strip_prefix(name));
            found.map(|value| value.trim().parse().expect("a number"))
        };
        let limited = |name| setting(name).and_then(|value| u64::try_from(value).ok());
        let patterns = lines.iter().filter(|line| line.starts_with("{\""));
        let patterns: Vec<Value> = patterns
            .map(|line| serde_json::from_str(line).expect("a pattern"))
            .collect();
        assert!(!patterns.is_empty(), "{function} has filter patterns");
        Self {
            patterns,
            batch_size: usize::try_from(setting("BatchSize:").unwrap_or(100)).expect("positive"),
            bisects: lines.contains(&"BisectBatchOnFunctionError: true"),
            max_tries: limited("MaximumRetryAttempts:")
                .map(|tries| usize::try_from(tries).expect("small") + 1),
            max_age: limited("MaximumRecordAgeInSeconds:").map(Millis::from_seconds),
        }
    }

    /// Whether a record passes one of the filters.
    #[must_use]
    pub fn wants(&self, record: &Value) -> bool {
        self.patterns.iter().any(|pattern| matches(pattern, record))
    }
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html>
fn matches(pattern: &Value, value: &Value) -> bool {
    match pattern {
        Value::Object(fields) => fields.iter().all(|(name, pattern)| {
            let field = value.get(name);
            field.is_some_and(|field| matches(pattern, field))
        }),
        Value::Array(rules) => rules.iter().any(|rule| match rule.get("prefix") {
            Some(prefix) => {
                let (prefix, text) = (prefix.as_str(), value.as_str());
                prefix.is_some_and(|prefix| text.is_some_and(|text| text.starts_with(prefix)))
            }
            None => rule == value,
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            panic!("not a pattern: {pattern}")
        }
    }
}

/// What goes wrong between the stream and the function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unrest {
    /// Draws the rest; 0 for none of it.
    pub seed: u64,
    /// Whether batches that are done are delivered again, as after a lost checkpoint.
    pub repeats: bool,
}

/// A reader of the stream: its position in each shard, and the records that it gave up.
pub struct StreamReader {
    mapping: Mapping,
    shards: BTreeMap<u64, VecDeque<Pending>>,
    unrest: Unrest,
    drawn: u64,
    /// Records that went to the failure destination.
    pub abandoned: Vec<Value>,
}

struct Pending {
    record: Value,
    tries: usize,
}

impl StreamReader {
    /// A reader of a stream with this many shards, at its beginning.
    #[must_use]
    pub fn new(mapping: Mapping, shards: u64, unrest: Unrest) -> Self {
        Self {
            mapping,
            shards: (0..shards).map(|shard| (shard, VecDeque::new())).collect(),
            unrest,
            drawn: 0,
            abandoned: Vec::new(),
        }
    }

    /// Adds records that were written to the table, in order.
    pub fn add(&mut self, records: &[Value]) {
        let shards = self.shards.len() as u64;
        for record in records.iter().filter(|record| self.mapping.wants(record)) {
            let shard = hash(&record["dynamodb"]["Keys"]["pk"].to_string()) % shards;
            let pending = Pending {
                record: record.clone(),
                tries: 0,
            };
            self.shards.entry(shard).or_default().push_back(pending);
        }
    }

    /// Delivers everything, shard by shard in turn, until nothing is left.
    ///
    /// # Panics
    /// If that takes very long: a batch fails again and again.
    pub async fn deliver_all(&mut self, function: &dyn StreamFunction, now: Timestamp) {
        for _ in 0..100_000 {
            let left: Vec<_> = self.left();
            if left.is_empty() {
                return;
            }
            let shard = left[self.draw(left.len())];
            self.deliver(shard, function, now).await;
        }
        panic!("a batch is delivered for ever");
    }

    fn left(&self) -> Vec<u64> {
        let left = self
            .shards
            .iter()
            .filter(|(_, records)| !records.is_empty());
        left.map(|(shard, _)| *shard).collect()
    }

    /// Delivers the next batch of a shard.
    async fn deliver(&mut self, shard: u64, function: &dyn StreamFunction, now: Timestamp) {
        self.abandon_old(shard, now);
        let size = match self.unrest.seed {
            0 => self.mapping.batch_size,
            // A window may end at any time.
            _ => 1 + self.draw(self.mapping.batch_size.min(20)),
        };
        self.reorder(shard);
        let left = self.shards.get_mut(&shard).expect("a shard");
        let mut batch: Vec<_> = left.drain(..size.min(left.len())).collect();
        batch.sort_by_key(|one| number(&one.record));
        self.invoke(shard, batch, function).await;
    }

    /// Invokes the function with a batch, and puts back what has to come again.
    async fn invoke(&mut self, shard: u64, mut batch: Vec<Pending>, function: &dyn StreamFunction) {
        if batch.is_empty() {
            return;
        }
        let records: Vec<_> = batch.iter().map(|one| one.record.clone()).collect();
        let event = json!({ "Records": records });
        let from = match function.handle(event.clone()).await {
            Ok(failed) if failed.is_empty() => {
                if self.unrest.repeats && self.draw(3) == 0 {
                    // Nothing is done with the answer: the records count as delivered.
                    let _ = function.handle(event).await;
                }
                return;
            }
            // The stream goes on at the lowest sequence number that failed.
            Ok(failed) => {
                let is_failed = |one: &Pending| failed.contains(&sequence(&one.record));
                let lowest = batch.iter().filter(|one| is_failed(one));
                let lowest = lowest.map(|one| number(&one.record)).min();
                let lowest = lowest.expect("a failed record is one of the batch");
                let first = |one: &Pending| number(&one.record) >= lowest;
                batch.iter().position(first).unwrap_or(0)
            }
            Err(_) => 0,
        };
        let mut again: Vec<_> = batch.drain(from..).collect();
        for one in &mut again {
            one.tries += 1;
        }
        let is_over = |one: &Pending| self.mapping.max_tries.is_some_and(|max| one.tries >= max);
        if self.mapping.bisects && again.len() > 1 {
            let second = again.split_off(again.len() / 2);
            self.put_back(shard, second);
            Box::pin(self.invoke(shard, again, function)).await;
        } else if again.iter().any(is_over) {
            self.abandoned
                .extend(again.into_iter().map(|one| one.record));
        } else {
            self.put_back(shard, again);
        }
    }

    fn put_back(&mut self, shard: u64, records: Vec<Pending>) {
        let left = self.shards.entry(shard).or_default();
        for record in records.into_iter().rev() {
            left.push_front(record);
        }
    }

    fn abandon_old(&mut self, shard: u64, now: Timestamp) {
        let Some(max_age) = self.mapping.max_age else {
            return;
        };
        let left = self.shards.entry(shard).or_default();
        while let Some(first) = left.front()
            && now.since(written_at(&first.record)) > max_age
        {
            let old = left.pop_front().map(|one| one.record);
            self.abandoned.extend(old);
        }
    }

    /// Lets records of different keys overtake each other, as with several batches of a shard at once. Those of one batch
    /// are in order.
    fn reorder(&mut self, shard: u64) {
        if self.unrest.seed == 0 {
            return;
        }
        let count = self.shards.get(&shard).map_or(0, VecDeque::len);
        for _ in 0..count {
            let at = self.draw(count.max(2) - 1);
            let left = self.shards.entry(shard).or_default();
            let [one, other] = [at, at + 1].map(|at| left.get(at).map(|one| key(&one.record)));
            if one.is_some() && other.is_some() && one != other {
                left.swap(at, at + 1);
            }
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        if self.unrest.seed == 0 {
            return 0;
        }
        self.drawn += 1;
        let drawn = hash(&(self.unrest.seed, self.drawn));
        usize::try_from(drawn % below.max(1) as u64).expect("small")
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn key(record: &Value) -> String {
    record["dynamodb"]["Keys"].to_string()
}

fn sequence(record: &Value) -> String {
    let number = record["dynamodb"]["SequenceNumber"].as_str();
    number.expect("a sequence number").to_owned()
}

/// In an order in which texts of digits can be compared.
fn number(record: &Value) -> (usize, String) {
    let sequence = sequence(record);
    (sequence.len(), sequence)
}

fn written_at(record: &Value) -> Timestamp {
    let seconds = record["dynamodb"]["ApproximateCreationDateTime"].as_f64();
    #[expect(clippy::cast_possible_truncation, reason = "a date")]
    let ms = (seconds.expect("a time") * 1000.0) as i64;
    Timestamp::from_millis(ms)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const TEMPLATE: &str = r##"
  OtherFunction:
    Properties:
      BatchSize: 7
  TestFunction:
    Properties:
      Events:
        Changes:
          Properties:
            BatchSize: 4
            BisectBatchOnFunctionError: true
            MaximumRetryAttempts: 2
            MaximumRecordAgeInSeconds: 60
            FilterCriteria:
              Filters:
                - Pattern: >-
                    {"eventName":["INSERT"],"dynamodb":{"Keys":{"sk":{"S":[{"prefix":"row#"}]}}}}
  NextFunction:
    Properties:
      BatchSize: 9
"##;

    fn record(n: u64, sk: &str) -> Value {
        json!({"eventName": "INSERT", "dynamodb": {
            "ApproximateCreationDateTime": n,
            "Keys": {"pk": {"S": "a"}, "sk": {"S": sk}},
            "SequenceNumber": n.to_string(),
        }})
    }

    /// Fails for the records with these sequence numbers, or as a whole if one of them is in the batch.
    #[derive(Default)]
    struct Function {
        failing: Vec<String>,
        breaking: Vec<String>,
        batches: Mutex<Vec<Vec<String>>>,
    }

    #[async_trait]
    impl StreamFunction for Function {
        async fn handle(&self, event: Value) -> Result<Vec<String>, String> {
            let records = event["Records"].as_array().unwrap();
            let numbers: Vec<_> = records.iter().map(sequence).collect();
            self.batches.lock().unwrap().push(numbers.clone());
            if numbers.iter().any(|one| self.breaking.contains(one)) {
                return Err("broken".to_owned());
            }
            let failed = numbers.into_iter().filter(|one| self.failing.contains(one));
            Ok(failed.collect())
        }
    }

    async fn delivered(function: &Function, now: u64) -> StreamReader {
        let mapping = Mapping::of(TEMPLATE, "TestFunction");
        let mut reader = StreamReader::new(mapping, 1, Unrest::default());
        let mut records: Vec<_> = (1..=6).map(|n| record(n, "row#1")).collect();
        records.push(record(7, "other"));
        reader.add(&records);
        let now = Timestamp::ZERO.plus(Millis::from_seconds(now));
        reader.deliver_all(function, now).await;
        reader
    }

    fn numbers(records: &[Value]) -> Vec<String> {
        records.iter().map(sequence).collect()
    }

    #[tokio::test]
    async fn batches_have_the_declared_size_and_only_what_passes_the_filter() {
        let function = Function::default();
        assert!(delivered(&function, 1).await.abandoned.is_empty());
        let batches = function.batches.into_inner().unwrap();
        assert_eq!(batches, [vec!["1", "2", "3", "4"], vec!["5", "6"]]);
    }

    #[tokio::test]
    async fn a_failed_record_and_all_after_it_come_again_until_it_is_given_up() {
        let function = Function {
            failing: vec!["3".to_owned()],
            ..Function::default()
        };
        let reader = delivered(&function, 1).await;
        assert_eq!(numbers(&reader.abandoned), ["3"]);
        let batches = function.batches.into_inner().unwrap();
        assert_eq!(batches[1], ["3"], "the batch was halved");
        assert!(batches.iter().flatten().filter(|one| *one == "1").count() == 1);
        assert!(batches.iter().any(|batch| batch.contains(&"6".to_owned())));
    }

    #[tokio::test]
    async fn a_batch_that_breaks_the_function_is_halved_until_its_cause_is_alone() {
        let function = Function {
            breaking: vec!["2".to_owned()],
            ..Function::default()
        };
        let reader = delivered(&function, 1).await;
        assert_eq!(numbers(&reader.abandoned), ["2"]);
    }

    #[tokio::test]
    async fn records_that_are_too_old_are_given_up() {
        let reader = delivered(&Function::default(), 64).await;
        assert_eq!(numbers(&reader.abandoned), ["1", "2", "3"]);
    }

    #[tokio::test]
    async fn unrest_loses_nothing_and_keeps_the_order_of_each_key() {
        for seed in 1..50 {
            let unrest = Unrest {
                seed,
                repeats: true,
            };
            let mapping = Mapping::of(TEMPLATE, "TestFunction");
            let mut reader = StreamReader::new(mapping, 3, unrest);
            let records: Vec<_> = (1..=40)
                .map(|n| record(n, &format!("row#{}", n % 5)))
                .collect();
            reader.add(&records);
            let function = Function::default();
            reader.deliver_all(&function, Timestamp::ZERO).await;
            let batches = function.batches.into_inner().unwrap();
            for key in 0..5 {
                let mut first: Vec<u64> = Vec::new();
                for one in batches.iter().flatten() {
                    let n: u64 = one.parse().unwrap();
                    if n % 5 == key && !first.contains(&n) {
                        first.push(n);
                    }
                }
                assert_eq!(first.len(), 8, "seed {seed}");
                assert!(first.is_sorted(), "seed {seed}: {first:?}");
            }
        }
    }
}

//! What a custom scheme signs, as a pattern.

use postrider_domain::scheme::MAX_TEMPLATE_BYTES;
use utoipa::openapi::schema::Object;

use super::{at_most, text};

/// What a template may sign besides the body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signing {
    pub timestamp: bool,
    pub id: bool,
}

/// A template that signs exactly this.
#[must_use]
pub fn signed_template(signing: Signing) -> Object {
    at_most(text(&exactly(signing)), MAX_TEMPLATE_BYTES)
}

const TEXT: &str = "[ -z|~]";
const BODY: &str = r"\{(?:body|form)\}";
const TIME: &str = r"\{timestamp\}";

/// Any number of names and texts. Text follows an id.
fn parts_of(signing: Signing) -> String {
    let time = if signing.timestamp { "timestamp|" } else { "" };
    let id = if signing.id {
        format!(r"|\{{id\}}{TEXT}")
    } else {
        String::new()
    };
    format!(r"(?:{TEXT}|\{{(?:{time}method|url|body|form)\}}{id})*")
}

/// The body is always signed.
pub(super) fn general() -> String {
    let parts = parts_of(Signing {
        timestamp: true,
        id: true,
    });
    format!(r"^{parts}{BODY}{parts}(?:\{{id\}})?$")
}

/// As [`general`], with what must be signed in any order, and nothing else.
fn exactly(signing: Signing) -> String {
    let parts = parts_of(signing);
    let mut required = vec![BODY.to_owned()];
    if signing.timestamp {
        required.push(TIME.to_owned());
    }
    if !signing.id {
        return format!("^{parts}(?:{}){parts}$", in_any_order(&required, &parts));
    }
    let id_last = in_any_order(&required, &parts);
    required.push(format!(r"\{{id\}}{TEXT}"));
    let id_anywhere = in_any_order(&required, &parts);
    format!(r"^{parts}(?:(?:{id_last}){parts}\{{id\}}|(?:{id_anywhere}){parts}(?:\{{id\}})?)$")
}

fn in_any_order(required: &[String], between: &str) -> String {
    let orders: Vec<String> = permutations(required)
        .iter()
        .map(|order| order.join(between))
        .collect();
    orders.join("|")
}

fn permutations(of: &[String]) -> Vec<Vec<String>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (n, first) in of.iter().enumerate() {
        let mut others = of.to_vec();
        others.remove(n);
        for mut order in permutations(&others) {
            order.insert(0, first.clone());
            all.push(order);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use postrider_domain::scheme::CustomDraft;
    use proptest::prelude::*;

    use super::super::tests::like;
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_template_that_the_document_allows_is_accepted(text in like(&general())) {
            prop_assume!(text.len() <= MAX_TEMPLATE_BYTES);
            let custom = signing(&text, Signing {
                timestamp: text.contains("{timestamp}"),
                id: text.contains("{id}"),
            });
            prop_assert!(custom.clone().check().is_ok(), "{custom:?}");
        }

        #[test]
        fn a_template_signs_what_the_document_says(
            (text, of) in (any::<bool>(), any::<bool>()).prop_flat_map(|(timestamp, id)| {
                let of = Signing { timestamp, id };
                (like(&exactly(of)), Just(of))
            })
        ) {
            prop_assume!(text.len() <= MAX_TEMPLATE_BYTES);
            let custom = signing(&text, of);
            prop_assert!(custom.clone().check().is_ok(), "{custom:?}");
        }
    }

    /// A scheme with this template, and with the places of what it signs.
    fn signing(template: &str, of: Signing) -> CustomDraft {
        let place = |is_signed: bool| is_signed.then(|| "header:x-at".to_owned());
        CustomDraft {
            header: "x-signature".to_owned(),
            timestamp: place(of.timestamp),
            id: place(of.id),
            signed: Some(template.to_owned()),
            ..CustomDraft::default()
        }
    }
}

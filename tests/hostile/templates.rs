//! Templates of webhooks, and the payloads they are rendered for.

use arbitrary::{Result, Unstructured};
use postrider_domain::template::{
    EventFacts, Facts, MAX_RENDERED_BYTES, MAX_RENDERED_QUERY_BYTES, TemplateDraft, WebhookFacts,
};

use super::Outcome;

/// Words and signs that mean something in a template.
const PARTS: [&str; 54] = [
    "{{ payload.a }}",
    "{{ payload.b | tojson }}",
    "\"{{ payload.a }}\"",
    "{% for x in payload.b %}",
    "{% endfor %}",
    "{% if x %}",
    "{% elif payload %}",
    "{% else %}",
    "{% endif %}",
    "{% set x = payload %}",
    "{% set x = x ~ x %}",
    "{% set x = [x, x] %}",
    "{{ x }}",
    "{%",
    "%}",
    "{{",
    "}}",
    "{#",
    "#}",
    "payload",
    "event.type",
    "webhook",
    "loop.index",
    "x",
    " in ",
    " not ",
    "range(99)",
    " | join(x)",
    " | replace('a', x)",
    " | truncate(5)",
    " | sort",
    " | items",
    " | default",
    " | int",
    " is defined",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "\\",
    "~",
    "+",
    "*",
    "**",
    "==",
    " ",
    "\n",
    "9",
    "'a'",
];

fn text(input: &mut Unstructured<'_>) -> Result<String> {
    let count = input.int_in_range(0..=40_u8)?;
    let mut text = String::new();
    for _ in 0..count {
        if input.ratio(1_u8, 20)? {
            text.push_str(input.arbitrary()?);
        } else {
            text.push_str(input.choose(&PARTS)?);
        }
    }
    Ok(text)
}

fn draft(input: &mut Unstructured<'_>) -> Result<TemplateDraft> {
    let is_json: bool = input.arbitrary()?;
    let has_query: bool = input.arbitrary()?;
    let wrapped = |body: String| format!("{{\"a\": {body}}}");
    let body = text(input)?;
    Ok(TemplateDraft {
        body: if is_json { wrapped(body) } else { body },
        content_type: (!is_json).then(|| "text/plain".to_owned()),
        query: if has_query { Some(text(input)?) } else { None },
    })
}

fn facts(input: &mut Unstructured<'_>) -> Result<Facts> {
    Ok(Facts {
        event: EventFacts {
            id: "evt_1".to_owned(),
            event_type: input.arbitrary::<&str>()?.to_owned(),
            session_id: None,
            created_at: "2026-02-21T10:00:00Z".to_owned(),
        },
        webhook: WebhookFacts {
            id: "wh_1".to_owned(),
            name: input.arbitrary::<&str>()?.to_owned(),
        },
    })
}

/// Renders a template for a payload, which may be anything.
///
/// # Panics
/// When a limit is exceeded, or JSON is rendered that is not valid.
pub fn try_template(input: &[u8]) -> Outcome {
    let mut input = Unstructured::new(input);
    let (Ok(draft), Ok(facts)) = (draft(&mut input), facts(&mut input)) else {
        return Outcome::Nothing;
    };
    let is_json = draft.content_type.is_none();
    let Ok(template) = draft.check("template") else {
        return Outcome::Rejected;
    };
    let payloads = [
        br#"{"a": "te\"xt", "b": [1, null, {"c": "\u00e9"}]}"#.as_slice(),
        input.take_rest(),
    ];
    for payload in payloads {
        let Ok(rendered) = template.render(payload, &facts) else {
            continue;
        };
        assert!(rendered.body.len() <= MAX_RENDERED_BYTES);
        let query = rendered.query.unwrap_or_default();
        assert!(query.len() <= MAX_RENDERED_QUERY_BYTES);
        if is_json {
            let parsed = serde_json::from_slice::<serde::de::IgnoredAny>(&rendered.body);
            assert!(
                parsed.is_ok(),
                "{}",
                String::from_utf8_lossy(&rendered.body)
            );
        }
    }
    Outcome::Accepted
}

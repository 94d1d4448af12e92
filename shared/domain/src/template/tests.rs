use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

pub(super) fn facts() -> Facts {
    Facts {
        event: EventFacts {
            id: "evt_1".to_owned(),
            event_type: "order.paid".to_owned(),
            session_id: None,
            created_at: "2026-02-21T10:00:00.000Z".to_owned(),
        },
        webhook: WebhookFacts {
            id: "whk_1".to_owned(),
            name: "Orders \"EU\"".to_owned(),
        },
    }
}

pub(super) fn draft(body: &str) -> TemplateDraft {
    TemplateDraft {
        body: body.to_owned(),
        ..TemplateDraft::default()
    }
}

fn rendered(body: &str, content_type: &str, payload: &Value) -> Result<String, RenderError> {
    let draft = TemplateDraft {
        content_type: Some(content_type.to_owned()),
        ..draft(body)
    };
    let template = draft.check("template").unwrap();
    let rendered = template.render(payload.to_string().as_bytes(), &facts())?;
    Ok(String::from_utf8(rendered.body.to_vec()).unwrap())
}

fn as_text(body: &str, payload: &Value) -> String {
    rendered(body, "text/plain", payload).unwrap()
}

fn as_json(body: &str, payload: &Value) -> Value {
    let text = rendered(body, "application/json", payload).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn failure(body: &str, payload: &Value) -> (Option<usize>, String) {
    let error = rendered(body, "text/plain", payload).unwrap_err();
    (error.line, error.reason)
}

fn refused(body: &str) -> String {
    let errors = draft(body).check("template").unwrap_err().into_fields();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].field, "template.body");
    errors[0].message.clone()
}

#[test]
fn a_template_sees_payload_event_and_webhook() {
    let body = "{{ payload.id }} {{ event.id }} {{ event.type }} {{ event.session_id }}|{{ event.created_at }} {{ webhook.id }} {{ webhook.name }}";
    assert_eq!(
        as_text(body, &json!({"id": 7})),
        "7 evt_1 order.paid |2026-02-21T10:00:00.000Z whk_1 Orders \"EU\""
    );
}

#[test]
fn a_json_template_writes_values_outside_quotes_and_escaped_text_inside() {
    let payload =
        json!({"name": "\"}, {\"evil\": 1", "total": 12.5, "tags": ["a", "b"], "none": null});
    let body = r#"{"a": {{ payload.name }}, "b": "Hi {{ payload.name }}!", "c": {{ payload.total }}, "d": "{{ payload.total }} \" {{ payload.tags }}",
      "e": {{ payload.tags | tojson }}, "f": "{{ payload.tags | tojson }}", "g": {{ payload.missing }}, "h": "{{ payload.none }}", "i": {{ "Order " ~ payload.total }}}"#;
    let name = "\"}, {\"evil\": 1";
    let expected = json!({
        "a": name, "b": format!("Hi {name}!"), "c": 12.5, "d": "12.5 \" [\"a\",\"b\"]",
        "e": ["a", "b"], "f": "[\"a\",\"b\"]", "g": null, "h": "", "i": "Order 12.5",
    });
    assert_eq!(as_json(body, &payload), expected);
}

#[test]
fn a_body_that_is_not_valid_json_is_an_error_under_a_json_type() {
    let error = rendered(
        "{\"a\": {{ payload.a }}",
        "application/vnd.api+json",
        &json!({"a": 1}),
    );
    let reason = error.unwrap_err().reason;
    assert!(
        reason.starts_with("the output is not valid JSON: EOF"),
        "{reason}"
    );
    assert_eq!(
        as_text("{\"a\": {{ payload.a }}", &json!({"a": 1})),
        "{\"a\": 1"
    );
}

#[test]
fn statements_and_filters_work_as_in_jinja() {
    let payload = json!({"items": [{"n": "pen", "q": 2}, {"n": "ink", "q": 0}], "paid": true, "by": {"b": 1, "a": 2}});
    for (body, expected) in [
        (
            "{% for i in payload.items if i.q %}{{ loop.index }}:{{ i.n }}{% else %}none{% endfor %}",
            "1:pen",
        ),
        (
            "{% for k, v in payload.by | items %}{{ k }}={{ v }};{% endfor %}",
            "a=2;b=1;",
        ),
        (
            "{% if payload.paid and not payload.lost %}yes{% elif 1 %}x{% else %}no{% endif %}",
            "yes",
        ),
        (
            "{% set a = 1 + 2 * 3 %}{{ a }} {{ a // 2 }} {{ a % 2 }} {{ -a }} {{ 2 ** 3 }}",
            "7 3 1 -7 8",
        ),
        (
            "{% with x = payload.items[0] %}{{ x.n | upper }}{% endwith %}",
            "PEN",
        ),
        (
            "{{ payload.items | length }} {{ (payload.items | first).n }} {{ (payload.items | last)['n'] }}",
            "2 pen ink",
        ),
        (
            "{{ payload.x | default('-') }} {{ '' | default('e', true) }} {{ 3 | default(1) }}",
            "- e 3",
        ),
        (
            "{{ '' | default('e') }}{{ 0 | default('e', false) }} {{ 3 | default('e', true) }}",
            "0 3",
        ),
        (
            "{{ 'b,a' | split(',') | sort | join('+') }} {{ [3, 1] | reverse | join }}",
            "a+b 13",
        ),
        (
            "{{ ' x ' | trim }}{{ 'a b' | title }} {{ 'aXa' | replace('a', 'bb') | lower }}",
            "xA B bbxbb",
        ),
        (
            "{{ 'abcdef' | truncate(4) }} {{ 'abcd' | truncate(4) }}",
            "abc… abcd",
        ),
        (
            "{{ 2.567 | round(1) }} {{ '12' | int }} {{ 3.9 | int }} {{ '1.5' | float }} {{ -2 | abs }}",
            "2.6 12 3 1.5 2",
        ),
        (
            "{{ 'n' in 'pen' }} {{ 1 < 2 < 3 }} {{ 'a' == 'a' }} {{ payload.x is defined }} {{ payload.by is mapping }}",
            "true true true false true",
        ),
        (
            "{{ range(3) | join(',') }} {{ range(1, 3) | join(',') }} {{ 'y' if payload.paid else 'n' }}",
            "0,1,2 1,2 y",
        ),
        (
            "{# gone #}{{ {'a': [1, none]} | tojson }}{{ 5 | string ~ true }}",
            "{\"a\":[1,null]}5true",
        ),
    ] {
        assert_eq!(as_text(body, &payload), expected, "{body}");
    }
}

#[test]
fn an_error_names_its_line_and_nothing_of_the_payload() {
    let payload = json!({"secret": "s3cr3t", "list": ["s3cr3t"]});
    for (body, line, part) in [
        ("a\n{{ payload.a.b }}", 2, "undefined"),
        ("{{ payload.secret * 3 }}", 1, "needs numbers"),
        ("{{ payload.secret - 1 }}", 1, "needs numbers"),
        ("{{ payload.list + payload.list }}", 1, "numbers and texts"),
        ("\n\n{{ payload.secret | int }}", 3, "needs a number"),
        ("{% for x in 5 %}{% endfor %}", 1, "not iterable"),
        ("{{ payload.secret | items }}", 1, "needs an object"),
        ("{{ payload.secret + 1 }}", 1, "unsupported types"),
    ] {
        let (found, reason) = failure(body, &payload);
        assert_eq!(found, Some(line), "{body}: {reason}");
        assert!(reason.contains(part), "{body}: {reason}");
        assert!(!reason.contains("s3cr3t"), "{reason}");
    }
}

#[test]
fn a_payload_that_is_not_json_cannot_be_rendered() {
    let template = draft("{}").check("template").unwrap();
    for payload in ["", "hello", "{\"a\":", "\u{feff}{}"] {
        let error = template.render(payload.as_bytes(), &facts()).unwrap_err();
        assert_eq!(error.to_string(), "the payload is not JSON", "{payload}");
    }
    assert!(template.render(b"5", &facts()).is_ok());
}

#[test]
fn what_does_not_compile_is_refused_with_its_line() {
    for (body, expected) in [
        ("a\n{% if %}", "line 2: "),
        ("{{ payload.a", "line 1: "),
        ("{{ x | shout }}", "line 1: the filter `shout` is unknown"),
        ("{{ x is odd }}", "line 1: the test `odd` is unknown"),
        ("{{ x | safe }}", "line 1: the filter `safe` is unknown"),
        ("{{ x | _weigh }}", "line 1: the filter `_weigh` is unknown"),
        (
            "\n{% set x %}a{% endset %}",
            "line 2: `set` blocks are not available",
        ),
        (
            "{% set x.y = 1 %}",
            "line 1: only a name can be assigned to",
        ),
        (
            "{% filter upper %}a{% endfilter %}",
            "line 1: `filter` blocks are not available",
        ),
        (
            "{% autoescape false %}{% endautoescape %}",
            "line 1: `autoescape` is not available",
        ),
        (
            "{% for x in y recursive %}{{ loop(x) }}{% endfor %}",
            "line 1: recursive loops are not available",
        ),
        (
            "{{ namespace() }}",
            "line 1: functions other than `range` are not available",
        ),
        ("{{ payload.a.b() }}", "line 1: methods are not available"),
        ("{{ payload.a[1:2] }}", "line 1: slices are not available"),
        ("{{ range(*x) }}", "line 1: `*` and `**` before arguments"),
        ("{% include 'x' %}", "line 1: "),
        ("{% macro m() %}{% endmacro %}", "line 1: "),
        ("{% extends 'x' %}", "line 1: "),
    ] {
        let message = refused(body);
        assert!(message.starts_with(expected), "{body}: {message}");
    }
}

#[test]
fn the_parts_of_a_template_are_checked_together() {
    let bad = TemplateDraft {
        body: "  ".to_owned(),
        content_type: Some("text/plain\n".to_owned()),
        query: Some("{{".to_owned()),
    };
    let errors = bad.check("template").unwrap_err().into_fields();
    let fields: Vec<_> = errors.into_iter().map(|error| error.field).collect();
    assert_eq!(
        fields,
        ["template.content_type", "template.body", "template.query"]
    );
    assert_eq!(
        refused(&"x".repeat(MAX_TEMPLATE_BYTES + 1)),
        "must be at most 16384 bytes"
    );
    assert!(
        draft(&"x".repeat(MAX_TEMPLATE_BYTES))
            .check("template")
            .is_ok()
    );
}

#[test]
fn a_query_is_percent_encoded() {
    let query = |source: &str| {
        let draft = TemplateDraft {
            query: Some(source.to_owned()),
            ..draft("{}")
        };
        let template = draft.check("template").unwrap();
        let payload = br#"{"a": "x&y=1 #\u00e9/?", "long": "x"}"#;
        template.render(payload, &facts()).map(|it| it.query)
    };
    let encoded = query(" a={{ payload.a }}&t={{ event.type }}\n").unwrap();
    assert_eq!(
        encoded.unwrap(),
        "a=x%26y%3D1%20%23%C3%A9%2F%3F&t=order.paid"
    );
    assert_eq!(query("{{ payload.none }}"), Ok(None));
    assert!(query("{% for i in range(5000) %}x{% endfor %}").is_err());
}

#[test]
fn a_query_may_be_as_long_as_the_limit_before_and_after_rendering() {
    let check = |query: String| {
        let draft = TemplateDraft {
            query: Some(query),
            ..draft("{}")
        };
        draft.check("template")
    };
    assert!(check("x".repeat(2048)).is_ok());
    let errors = check("x".repeat(2049)).unwrap_err().into_fields();
    assert_eq!(errors[0].message, "must be at most 2048 bytes");
    let rendered = |length: usize| {
        let query = format!("{{% for i in range({length}) %}}x{{% endfor %}}");
        check(query).unwrap().render(b"{}", &facts())
    };
    assert_eq!(rendered(2048).unwrap().query, Some("x".repeat(2048)));
    assert!(rendered(2049).is_err());
}

#[test]
fn an_error_names_the_part_of_the_template_and_its_field() {
    let failure = |body: &str, query: &str| {
        let draft = TemplateDraft {
            query: Some(query.to_owned()),
            ..draft(body)
        };
        let template = draft.check("template").unwrap();
        template.render(b"{}", &facts()).unwrap_err()
    };
    let undefined = "a field of an undefined value is used";
    for (body, query, part, text, field, message) in [
        (
            "{{ payload.a.b }}",
            "",
            TemplatePart::Body,
            "line 1: ",
            "template.body",
            "line 1: ",
        ),
        (
            "{}",
            "\n{{ payload.a.b }}",
            TemplatePart::Query,
            "query, line 2: ",
            "template.query",
            "line 2: ",
        ),
    ] {
        let error = failure(body, query);
        assert_eq!(error.part, part);
        assert_eq!(error.to_string(), format!("{text}{undefined}"));
        let errors = error.into_invalid("template").into_fields();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].field, field);
        assert_eq!(errors[0].message, format!("{message}{undefined}"));
    }
}

#[test]
fn a_checked_template_still_says_what_was_submitted() {
    let submitted = TemplateDraft {
        body: "a {{ payload }}".to_owned(),
        content_type: Some("text/plain".to_owned()),
        query: Some("b={{ event.id }}".to_owned()),
    };
    let template = submitted.clone().check("template").unwrap();
    assert_eq!(template.body(), "a {{ payload }}");
    assert_eq!(template.content_type().as_str(), "text/plain");
    assert_eq!(template.query(), Some("b={{ event.id }}"));
    assert_eq!(TemplateDraft::from(template), submitted);
    let without = draft("a").check("template").unwrap();
    assert_eq!(without.query(), None);
}

#[test]
fn a_range_may_have_as_many_numbers_as_the_limit() {
    let longest = "{{ range(10000) | length }} {{ range(-1, 9999) | length }}";
    assert_eq!(as_text(longest, &json!(null)), "10000 10000");
    for body in ["{{ range(10001) }}", "{{ range(-1, 10000) }}"] {
        let (_, reason) = failure(body, &json!(null));
        assert_eq!(reason, "`range` may count at most 10000 numbers");
    }
}

#[test]
fn values_of_a_form_cannot_add_fields() {
    let payload = json!({"note": "a b&channel=all+\u{e9}", "list": ["x&y"]});
    for content_type in [
        "application/x-www-form-urlencoded",
        "Application/X-WWW-Form-URLencoded; charset=utf-8",
    ] {
        let body = "text={{ payload.note }}&list={{ payload.list | tojson }}&to=ops";
        assert_eq!(
            rendered(body, content_type, &payload).unwrap(),
            "text=a%20b%26channel%3Dall%2B%C3%A9&list=%5B%22x%26y%22%5D&to=ops"
        );
    }
}

#[test]
fn presets_render_any_payload() {
    for preset in Preset::ALL {
        assert_eq!(preset.as_str().parse(), Ok(preset));
        let template = preset.draft().check("template").unwrap();
        let long = json!({"text": "\"<!channel>&".repeat(5000)}).to_string();
        for payload in ["{}", "null", "[1]", "\"a\\\"b\"", long.as_str()] {
            let rendered = template.render(payload.as_bytes(), &facts()).unwrap();
            let body: Value = serde_json::from_slice(&rendered.body).unwrap();
            assert!(body.is_object());
            let text = body.to_string();
            assert!(
                text.contains("order.paid") && !text.contains("<!channel>")
                    || preset != Preset::Slack
            );
        }
    }
    assert!("irc".parse::<Preset>().is_err());
    let titles = Preset::ALL.map(Preset::title);
    assert_eq!(titles, ["Slack", "Discord", "Microsoft Teams"]);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 4.0)),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(".{0,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_value_breaks_out_of_its_place_in_json(value in any_json()) {
        let payload = json!({"v": value});
        let body = r#"{"value": {{ payload.v }}, "text": "<{{ payload.v }}>", "json": {{ payload.v | tojson }}}"#;
        let found = as_json(body, &payload);
        prop_assert_eq!(&found["value"], &payload["v"]);
        prop_assert_eq!(&found["json"], &payload["v"]);
        prop_assert_eq!(found.as_object().unwrap().len(), 3);
        let text = found["text"].as_str().unwrap();
        prop_assert!(text.starts_with('<') && text.ends_with('>'));
    }
}

//! Templates that would run for long or fill the memory end at a limit.

use proptest::prelude::*;
use serde_json::json;

use super::tests::{draft, facts};
use super::*;

fn outcome(body: &str, payload: &[u8]) -> String {
    let draft = TemplateDraft {
        content_type: Some("text/plain".to_owned()),
        ..draft(body)
    };
    match draft.check("template") {
        Err(errors) => errors.to_string(),
        Ok(template) => match template.render(payload, &facts()) {
            Err(error) => error.to_string(),
            Ok(rendered) => {
                assert!(rendered.body.len() <= MAX_RENDERED_BYTES);
                String::new()
            }
        },
    }
}

const STEPS: &str = "takes more than 100000 steps";
const WORK: &str = "processes more than 16 MiB";
const OUTPUT: &str = "larger than 262144 bytes";

#[test]
fn every_way_to_run_for_long_or_to_fill_the_memory_ends_at_a_limit() {
    let doubled = |line: &str| format!("{{% set x = payload.s %}}{}", line.repeat(60));
    let nested = |open: &str, close: &str| {
        let depth = 40;
        format!("{}{}", open.repeat(depth), close.repeat(depth))
    };
    let big =
        json!({"s": "x".repeat(1000), "long": "y".repeat(900_000), "list": vec!["z"; 50_000]});
    let big = big.to_string();
    let cases = [
        (
            "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"
                .to_owned(),
            STEPS,
        ),
        (
            "{% for a in range(9999) %}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{% endfor %}"
                .to_owned(),
            OUTPUT,
        ),
        (
            "{% for a in range(9999) %}{{ payload.s }}{% endfor %}".to_owned(),
            OUTPUT,
        ),
        (
            "{{ range(99999999999) }}".to_owned(),
            "at most 10000 numbers",
        ),
        (
            "{{ range(-9223372036854775807, 9223372036854775807) }}".to_owned(),
            "at most 10000 numbers",
        ),
        ("{{ 'x' * 100000000 }}".to_owned(), "needs numbers"),
        ("{{ [1] * 100000000 }}".to_owned(), "needs numbers"),
        ("{{ 9 ** 9 ** 9 ** 9 }}".to_owned(), "line 1"),
        (doubled("{% set x = x ~ x %}"), WORK),
        (doubled("{% set x = x + x %}"), WORK),
        (doubled("{% set x = [x, x] %}") + "{{ x }}", WORK),
        (
            doubled("{% set x = {'a': x, 'b': x} %}") + "{{ x == x }}",
            WORK,
        ),
        (doubled("{% set x = [x, x] | join %}"), WORK),
        (
            doubled("{% set x = x | replace('x', 'xxxxxxxxxxxxxxxxxxxx') %}"),
            WORK,
        ),
        (
            "{{ payload.long | replace('y', payload.long) }}".to_owned(),
            WORK,
        ),
        ("{{ payload.list | join(payload.long) }}".to_owned(), WORK),
        (
            format!("{{{{ {}payload.long }}}}", "payload.long ~ ".repeat(30)),
            WORK,
        ),
        (
            "{% for a in range(9999) %}{% if payload == payload %}{% endif %}{% endfor %}"
                .to_owned(),
            WORK,
        ),
        (
            "{% for a in range(9999) %}{% if payload.long[899999] %}{% endif %}{% endfor %}"
                .to_owned(),
            WORK,
        ),
        (
            "{% for a in range(9999) %}{% if 'q' in payload.long %}{% endif %}{% endfor %}"
                .to_owned(),
            WORK,
        ),
        (
            "{% for a in range(9999) %}{% set y = payload.list | sort %}{% endfor %}".to_owned(),
            WORK,
        ),
        (
            format!(
                "{{% set x = 1 %}}{}{{{{ x }}}}",
                "{% set x = [x] %}".repeat(400)
            ),
            "levels deep",
        ),
        (nested("{% for a in range(50) %}", "{% endfor %}"), STEPS),
        (
            format!("{{{{ {}1 }}}}", "-".repeat(16_000)),
            "tokens in one tag",
        ),
        (
            format!("{{{{ 1{} }}}}", "+1".repeat(8_000)),
            "tokens in one tag",
        ),
        (
            format!("{{{{ {}1{} }}}}", "(".repeat(8_000), ")".repeat(8_000)),
            "tokens in one tag",
        ),
        (
            format!("{}{}", "{% if 1 %}".repeat(160), "{% endif %}".repeat(160)),
            "recursion",
        ),
        (
            format!("{{% if 1 %}}{}{{% endif %}}", "{% elif 1 %}".repeat(1_300)),
            "`elif`",
        ),
        ("{{".repeat(8_000), "line 1"),
        ("{% raw %}{{".repeat(1_000), "line 1"),
    ];
    for (body, expected) in cases {
        let found = outcome(&body, big.as_bytes());
        let start = body.get(..80).unwrap_or(&body);
        assert!(found.contains(expected), "{start}: {found:?}");
    }
}

#[test]
fn the_largest_templates_that_are_allowed_can_be_compiled() {
    let elifs = format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(50));
    let operators = format!("{{{{ 1{} }}}}", "+1".repeat(99));
    let ifs = format!("{{{{ {}1 }}}}", "1 if 0 else ".repeat(45));
    let filters = format!("{{{{ 1{} }}}}", "|abs".repeat(95));
    let nested = format!(
        "{}{operators}{}",
        "{% if 1 %}".repeat(140),
        "{% endif %}".repeat(140)
    );
    for body in [elifs, operators, ifs, filters, nested] {
        assert_eq!(outcome(&body, b"{}"), "");
    }
    let elifs = format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(51));
    let operators = format!("{{{{ -1{} }}}}", "+1".repeat(99));
    for (body, expected) in [
        (elifs, "more than 50 times `elif`"),
        (operators, "more than 200 tokens in one tag"),
    ] {
        let found = outcome(&body, b"{}");
        assert!(found.contains(expected), "{found}");
    }
}

/// Words that mean something to the engine.
const WORDS: [&str; 40] = [
    "{{", "}}", "{%", "%}", "for", "in", "if", "else", "elif", "endif", "endfor", "set", "with",
    "endwith", "x", "y", "payload", "loop", ".", "s", "[", "]", "(", ")", "{", "}", ":", ",", "|",
    "join", "replace", "range", "~", "+", "*", "==", "=", "9999", "'a'", "not",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_sequence_of_words_panics(picked in proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 0..60)) {
        outcome(&picked.join(" "), br#"{"s": "text"}"#);
    }

    #[test]
    fn no_text_panics(body in ".{0,200}", payload in ".{0,40}") {
        outcome(&body, payload.as_bytes());
    }
}

//! The examples of Amazon's documentation: "Comparison operators for use in event patterns", "Creating event patterns" and the
//! README of Event Ruler, the library that EventBridge runs.

use serde_json::{Value, json};

use super::{Payload, PayloadFilter};

fn check(filter: Value, payload: &Value, expected: bool) {
    let filter = PayloadFilter::compile("filter", filter).unwrap();
    let matched = filter.matches(&Payload::from(payload));
    assert_eq!(matched, expected, "{} on {payload}", filter.source());
}

fn instance_event() -> Value {
    json!({
        "version": "0",
        "id": "ddddd4-aaaa-7777-4444-345dd43cc333",
        "detail-type": "EC2 Instance State-change Notification",
        "source": "aws.ec2",
        "account": "012345679012",
        "time": "2017-10-02T16:24:49Z",
        "region": "us-east-1",
        "resources": ["arn:aws:ec2:us-east-1:123456789012:instance/i-000000aaaaaa00000"],
        "detail": {
            "c-count": 5,
            "d-count": 3,
            "x-limit": 301.8,
            "source-ip": "10.0.0.33",
            "instance-id": "i-000000aaaaaa00000",
            "state": "running",
        },
    })
}

#[test]
fn the_examples_of_event_ruler_match_its_sample_event() {
    let event = instance_event();
    let detail = |below: Value| json!({ "detail": below });
    for filter in [
        json!({
            "detail-type": ["EC2 Instance State-change Notification"],
            "resources": ["arn:aws:ec2:us-east-1:123456789012:instance/i-000000aaaaaa00000"],
            "detail": {"state": ["initializing", "running"]},
        }),
        json!({"time": [{"prefix": "2017-10-02"}]}),
        json!({"source": [{"prefix": {"equals-ignore-case": "AWS"}}]}),
        json!({"source": [{"suffix": "ec2"}]}),
        json!({"source": [{"suffix": {"equals-ignore-case": "EC2"}}]}),
        json!({"source": [{"equals-ignore-case": "AWS.EC2"}]}),
        json!({"source": [{"wildcard": "a*ec2"}]}),
        detail(json!({"state": [{"anything-but": "initializing"}]})),
        detail(json!({"x-limit": [{"anything-but": 123}]})),
        detail(json!({"state": [{"anything-but": ["stopped", "overloaded"]}]})),
        detail(json!({"x-limit": [{"anything-but": [100, 200, 300]}]})),
        detail(json!({"state": [{"anything-but": {"prefix": "init"}}]})),
        detail(json!({"state": [{"anything-but": {"prefix": ["init", "error"]}}]})),
        detail(json!({"instance-id": [{"anything-but": {"suffix": "1234"}}]})),
        detail(json!({"instance-id": [{"anything-but": {"suffix": ["1234", "6789"]}}]})),
        detail(json!({"state": [{"anything-but": {"equals-ignore-case": "Stopped"}}]})),
        detail(
            json!({"state": [{"anything-but": {"equals-ignore-case": ["Stopped", "OverLoaded"]}}]}),
        ),
        detail(json!({"state": [{"anything-but": {"wildcard": "*/bin/*.jar"}}]})),
        detail(
            json!({"state": [{"anything-but": {"wildcard": ["*/bin/*.jar", "*/bin/*.class"]}}]}),
        ),
        detail(json!({
            "c-count": [{"numeric": [">", 0, "<=", 5]}],
            "d-count": [{"numeric": ["<", 10]}],
            "x-limit": [{"numeric": ["=", 3.018e2]}],
        })),
        detail(json!({"source-ip": [{"cidr": "10.0.0.0/24"}]})),
        detail(json!({"c-count": [{"exists": true}]})),
        json!({
            "time": [{"prefix": "2017-10-02"}],
            "detail": {
                "state": [{"anything-but": "initializing"}],
                "c-count": [{"numeric": [">", 0, "<=", 5]}],
                "d-count": [{"numeric": ["<", 10]}],
                "x-limit": [{"anything-but": [100, 200, 300]}],
                "source-ip": [{"cidr": "10.0.0.0/8"}],
            },
        }),
    ] {
        check(filter, &event, true);
    }
    for filter in [
        detail(json!({"state": [{"anything-but": "running"}]})),
        detail(json!({"state": [{"anything-but": {"prefix": "run"}}]})),
        detail(json!({"state": [{"anything-but": {"suffix": "ing"}}]})),
        detail(json!({"state": [{"anything-but": {"equals-ignore-case": "RUNNING"}}]})),
        detail(json!({"state": [{"anything-but": {"wildcard": "r*g"}}]})),
        detail(json!({"c-count": [{"numeric": [">", 5]}]})),
        detail(json!({"source-ip": [{"cidr": "10.0.1.0/24"}]})),
        detail(json!({"c-count": [{"exists": false}]})),
        json!({"source": ["aws.s3"]}),
    ] {
        check(filter, &event, false);
    }
}

#[test]
fn exists_is_about_values_not_about_objects() {
    let absent = json!({"detail": {"c-count": [{"exists": false}]}});
    check(
        absent.clone(),
        &json!({"detail": {"state": "running"}}),
        true,
    );
    check(
        absent.clone(),
        &json!({"detail": {"c-count": {"c1": 100}}}),
        true,
    );
    check(absent.clone(), &json!({"other": 1}), true);
    check(absent, &json!({"detail": {"c-count": null}}), false);
    let present = json!({"detail": {"state": [{"exists": true}]}});
    check(present.clone(), &json!({"detail": {"state": ""}}), true);
    check(present, &json!({"detail": {"state": {}}}), false);
}

#[test]
fn null_and_empty_strings_are_values() {
    let event = json!({
        "eventVersion": "3.05", "responseElements": null, "eventName": "", "requestParameters": {"keyId": ["a", ""]},
    });
    check(json!({"responseElements": [null]}), &event, true);
    check(json!({"responseElements": [""]}), &event, false);
    check(json!({"eventName": [""]}), &event, true);
    check(json!({"eventName": [null]}), &event, false);
    check(json!({"requestParameters": {"keyId": [""]}}), &event, true);
    check(json!({"missing": [null]}), &event, false);
}

#[test]
fn an_array_matches_if_any_element_does() {
    let event = json!({"resources": ["arn:1", "arn:2"], "levels": [1, [2, 3]]});
    check(json!({"resources": ["arn:2", "arn:3"]}), &event, true);
    check(json!({"resources": ["arn:3"]}), &event, false);
    check(
        json!({"resources": [{"anything-but": "arn:1"}]}),
        &event,
        true,
    );
    check(json!({"levels": [3]}), &event, true);
    let employees = json!({"employees": [
        [{"firstName": "John", "lastName": "Doe"}, {"firstName": "Anna", "lastName": "Smith"}],
        [{"firstName": "Peter", "lastName": "Jones"}],
    ]});
    check(
        json!({"employees": {"firstName": ["Anna"]}}),
        &employees,
        true,
    );
    let both = json!({"employees": {"firstName": ["Anna"], "lastName": ["Jones"]}});
    check(both, &employees, false);
}

#[test]
fn one_alternative_of_or_is_enough() {
    let plain = json!({
        "source": ["aws.cloudwatch"],
        "$or": [
            {"metricName": ["CPUUtilization", "ReadLatency"]},
            {"namespace": ["AWS/EC2", "AWS/ES"]},
        ],
    });
    check(
        plain.clone(),
        &json!({"source": "aws.cloudwatch", "namespace": "AWS/ES"}),
        true,
    );
    check(
        plain.clone(),
        &json!({"source": "aws.cloudwatch", "namespace": "AWS/S3"}),
        false,
    );
    check(
        plain,
        &json!({"source": "aws.ec2", "namespace": "AWS/ES"}),
        false,
    );

    let parallel = json!({
        "$or": [{"metricName": ["CPUUtilization"]}, {"namespace": ["AWS/EC2"]}],
        "detail": {"$or": [{"source": ["aws.cloudwatch"]}, {"detail-type": ["Alarm"]}]},
    });
    let event = json!({"namespace": "AWS/EC2", "detail": {"detail-type": "Alarm"}});
    check(parallel.clone(), &event, true);
    check(
        parallel,
        &json!({"namespace": "AWS/EC2", "detail": {}}),
        false,
    );

    let nested = json!({
        "source": ["aws.cloudwatch"],
        "$or": [
            {"metricName": ["CPUUtilization", "ReadLatency"]},
            {
                "metricType": ["MetricType"],
                "namespace": ["AWS/EC2", "AWS/ES"],
                "$or": [{"metricId": [1234]}, {"spaceId": [1000]}],
            },
            {"scope": ["Service"]},
        ],
    });
    let event = |id: i64| json!({"source": "aws.cloudwatch", "metricType": "MetricType", "namespace": "AWS/ES", "spaceId": id});
    check(nested.clone(), &event(1000), true);
    check(nested.clone(), &event(1001), false);
    check(
        nested,
        &json!({"source": "aws.cloudwatch", "scope": "Service"}),
        true,
    );
}

#[test]
fn the_documented_operators_match_as_documented() {
    let cases = [
        (
            json!({"Location": ["New York"], "Day": ["Monday"]}),
            json!({"Location": "New York", "Day": "Monday"}),
            true,
        ),
        (
            json!({"Location": ["New York"], "Day": ["Monday"]}),
            json!({"Location": "New York", "Day": "Friday"}),
            false,
        ),
        (
            json!({"Region": [{"anything-but": {"prefix": "us-"}}]}),
            json!({"Region": "eu-west-1"}),
            true,
        ),
        (
            json!({"Region": [{"anything-but": {"prefix": "us-"}}]}),
            json!({"Region": "us-east-1"}),
            false,
        ),
        (
            json!({"FileName": [{"anything-but": {"suffix": ".png"}}]}),
            json!({"FileName": "a.jpg"}),
            true,
        ),
        (
            json!({"FilePath": [{"anything-but": {"wildcard": "*/lib/*"}}]}),
            json!({"FilePath": "/usr/lib/x"}),
            false,
        ),
        (
            json!({"service": [{"prefix": {"equals-ignore-case": "eventb"}}]}),
            json!({"service": "EventBridge"}),
            true,
        ),
        (
            json!({"service": [{"suffix": {"equals-ignore-case": "tbridge"}}]}),
            json!({"service": "EVENTBRIDGE"}),
            true,
        ),
        (json!({"LastName": [""]}), json!({"LastName": ""}), true),
        (
            json!({"Name": [{"equals-ignore-case": "alice"}]}),
            json!({"Name": "Alice"}),
            true,
        ),
        (
            json!({"ProductName": [{"exists": true}]}),
            json!({"ProductName": "x"}),
            true,
        ),
        (
            json!({"ProductName": [{"exists": false}]}),
            json!({"Other": "x"}),
            true,
        ),
        (
            json!({"SourceIpAddress": [{"cidr": "10.0.0.0/24"}]}),
            json!({"SourceIpAddress": "10.0.0.255"}),
            true,
        ),
        (
            json!({"SourceIpAddress": [{"cidr": "2001:db8::/32"}]}),
            json!({"SourceIpAddress": "2001:db8::1"}),
            true,
        ),
        (
            json!({"SourceIpAddress": [{"cidr": "10.0.0.0/24"}]}),
            json!({"SourceIpAddress": "not an address"}),
            false,
        ),
        (
            json!({"Price": [{"numeric": ["=", 100]}]}),
            json!({"Price": 1e2}),
            true,
        ),
        (
            json!({"Price": [{"numeric": [">", 10, "<=", 20]}]}),
            json!({"Price": 10}),
            false,
        ),
        (
            json!({"Price": [{"numeric": [">", 10, "<=", 20]}]}),
            json!({"Price": 20}),
            true,
        ),
        (
            json!({"Price": [{"numeric": [">", 10]}]}),
            json!({"Price": "11"}),
            false,
        ),
        (
            json!({"PaymentType": ["Cash", "Credit"]}),
            json!({"PaymentType": "Credit"}),
            true,
        ),
        (
            json!({"$or": [{"Location": ["New York"]}, {"Day": ["Monday"]}]}),
            json!({"Day": "Monday"}),
            true,
        ),
        (
            json!({"FileName": [{"wildcard": "dir/*.png"}]}),
            json!({"FileName": "dir/a/b.png"}),
            true,
        ),
        (
            json!({"FileName": [{"wildcard": "dir/\\*.png"}]}),
            json!({"FileName": "dir/a.png"}),
            false,
        ),
        (json!({"UserID": [null]}), json!({"UserID": null}), true),
    ];
    for (filter, payload, expected) in cases {
        check(filter, &payload, expected);
    }
}

#[test]
fn what_event_ruler_rejects_is_rejected() {
    for filter in [
        json!([]),
        json!("text"),
        json!({}),
        json!({"a": {}}),
        json!({"a": []}),
        json!({"a": "b"}),
        json!({"a": [[1]]}),
        json!({"a": [{}]}),
        json!({"a": [{"prefix": 5}]}),
        json!({"a": [{"prefix": "a", "suffix": "b"}]}),
        json!({"a": [{"regexp": "b"}]}),
        json!({"a": [{"exists": "yes"}]}),
        json!({"a": [{"numeric": []}]}),
        json!({"a": [{"numeric": [">", "0"]}]}),
        json!({"a": [{"numeric": ["!", 0]}]}),
        json!({"a": [{"numeric": ["<", 0, ">", 5]}]}),
        json!({"a": [{"numeric": [">", 5, "<", 5]}]}),
        json!({"a": [{"numeric": [">", 5, "<", 6, "<", 7]}]}),
        json!({"a": [{"cidr": "10.0.0.0"}]}),
        json!({"a": [{"cidr": "10.0.0.0/33"}]}),
        json!({"a": [{"anything-but": []}]}),
        json!({"a": [{"anything-but": {"cidr": "10.0.0.0/8"}}]}),
        json!({"a": [{"anything-but": {"prefix": ""}}]}),
        json!({"a": [{"anything-but": {"prefix": [1]}}]}),
        json!({"a": [{"wildcard": "a**b"}]}),
        json!({"a": [{"wildcard": "a\\b"}]}),
        json!({"$or": [{"a": [1]}]}),
        json!({"$or": {"a": [1]}}),
        json!({"$or": [{"a": [1]}, 5]}),
    ] {
        let compiled = PayloadFilter::compile("filter", filter.clone());
        assert!(compiled.is_err(), "{filter}");
    }
}

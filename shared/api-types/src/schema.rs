//! The permitted values, for the OpenAPI document. Limits come from the constants that the checks use; a test passes
//! values that the patterns allow to the checks.

mod template;

pub use template::{Signing, signed_template};

use postrider_domain::delivery::Status;
use postrider_domain::egress::MAX_URL_CHARS;
use postrider_domain::event::{MAX_BODY_BYTES, MAX_LABEL_BYTES};
use postrider_domain::headers::{self, MAX_HEADERS};
use postrider_domain::ids::{
    DeliveryId as Delivery, ErasureId as Erasure, EventId as Event, JobId as Job, KeyId as Key,
    RejectedId as Rejected, SourceId as Source, WebhookId as Webhook,
};
use postrider_domain::pattern::MAX_TYPE_BYTES;
use postrider_domain::portal::{MAX_LINK_SECONDS, MAX_RETURN_URL_CHARS, MIN_LINK_SECONDS};
use postrider_domain::scheme::{
    self, MAX_NAME_BYTES, MAX_PLACES, MAX_POINTER_BYTES, MAX_PREFIX_BYTES, MAX_TEMPLATE_BYTES,
    MAX_WINDOW_SECONDS, Scheme,
};
use postrider_domain::secret::MAX_SHARED_BYTES;
use postrider_domain::shadow;
use postrider_domain::source::{MAX_PUBLIC_URL_CHARS, MAX_ROUTES};
use postrider_domain::template as body_template;
use postrider_domain::tenant::{MAX_PUBLISH_RATE, MAX_RETENTION_DAYS};
use postrider_domain::webhook::{
    FASTEST_MAX_RATE, LARGEST_MAX_IN_FLIGHT, MAX_EMAIL_BYTES, MAX_NAME_CHARS, MAX_PATTERNS,
    MAX_RETRY_RATE, MAX_TIMEOUT_SECONDS, MAX_WEBHOOKS,
};
use postrider_domain::{
    delivery, diagnosis, event_catalogue, flow, health, inbound, key, key_stats, notification,
    outcome, transfer,
};
use postrider_ports::jobs;
use utoipa::openapi::schema::{
    AdditionalProperties, Array, ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema,
    SchemaFormat, SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::delivery::{MAX_CURSOR_BYTES, MAX_PAGE};
use crate::erasure;
use crate::filter::FilterParameters;
use crate::rejected::MAX_LIST;
use crate::word::Vocabulary;

/// Declares named schemas. Fields refer to them by `value_type`, so that their own description stays.
macro_rules! schemas {
    ($vis:vis $($name:ident $(of $item:ty)? => $schema:expr;)+) => {$(
        #[doc = concat!("The schema `", stringify!($name), "`.")]
        #[derive(Clone, Copy, Debug)]
        $vis struct $name;

        impl ::utoipa::PartialSchema for $name {
            fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::schema::Schema> {
                ::utoipa::openapi::schema::Schema::from($schema).into()
            }
        }

        impl ::utoipa::ToSchema for $name {
            fn name() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed(stringify!($name))
            }

            $(fn schemas(
                schemas: &mut Vec<(
                    String,
                    ::utoipa::openapi::RefOr<::utoipa::openapi::schema::Schema>,
                )>,
            ) {
                schemas.push((
                    <$item as ::utoipa::ToSchema>::name().into(),
                    <$item as ::utoipa::PartialSchema>::schema(),
                ));
                <$item as ::utoipa::ToSchema>::schemas(schemas);
            })?
        }
    )+};
}
pub(crate) use schemas;

schemas! { pub
    BodyChange => words::<diagnosis::BodyChange>();
    Comparison => words::<key_stats::Comparison>();
    DeadCause => words::<delivery::DeadCause>();
    DeliveryStatus => words::<delivery::Status>();
    ImportResult => words::<crate::transfer::ImportResult>();
    MovedDeliveries => words::<transfer::MovedDeliveries>();
    NotificationKind => words::<notification::NotificationKind>();
    StreamEventKind => one_of(stream_event_kinds());
    Phase => words::<outcome::Phase>();
    ProblemCode => words::<crate::problem::Code>();
    RejectionReason => words::<inbound::Rejection>();
    RetryFilter => retry_filter();
    ErasureKind => one_of(erasure::KINDS);
    ErasurePhase => one_of(erasure::PHASES);
    ErasureState => one_of(erasure::STATES);
    RetryState => words::<jobs::JobState>();
    SchemeName => one_of(Scheme::names());
    Scope => words::<key::Scope>();
    ShadowAspect => words::<shadow::Aspect>();
    ShadowResult => words::<shadow::Likeness>();
    UrlChange => words::<diagnosis::UrlChange>();
    WaitingFor => words::<flow::WaitingFor>();
    WebhookStatus => words::<health::WebhookStatus>();

    SecretForm => one_of(scheme::KeyForm::names());
    SignatureDigest => one_of(scheme::Digest::names());
    SignatureEncoding => one_of(scheme::Encoding::names());
    SignatureSeparator => one_of([",", ";", " "]);
    TimeFormat => one_of(scheme::TimeForm::names());

    AnyJson => any_json();
    BodyPlace => text(&format!("^(?:{})$", body_or_form()));
    Base64 => text(&format!("^(?:{B64}{{4}})*(?:{B64}[AQgw]==|{B64}{{2}}[AEIMQUYcgkosw048]=)?$"));
    Cursor => sized(1, MAX_CURSOR_BYTES);
    Day => date();
    EmailAddress => at_most(text(&email()), MAX_EMAIL_BYTES);
    EventPattern => at_most(text(&event_pattern()), MAX_TYPE_BYTES);
    EventPatterns of EventPattern => list::<EventPattern>(1, MAX_PATTERNS);
    EventType => at_most(text(&event_type()), MAX_TYPE_BYTES);
    EventTypeDescription => at_most(string().build(), event_catalogue::MAX_DESCRIPTION_CHARS);
    EventTypeExamples of AnyJson => list::<AnyJson>(0, event_catalogue::MAX_EXAMPLES);
    EventTypeGroup => at_most(text(&format!("^[^{CONTROL}]*$")), event_catalogue::MAX_GROUP_CHARS);
    JsonSchema => json_schema();
    HeaderName => text(&format!("^{TOKEN}{{1,{MAX_NAME_BYTES}}}$"));
    HeaderValues => header_values();
    PayloadFilter => payload_filter();
    LinkScope => one_of(["read", "manage"]);
    LinkScopes of LinkScope => list::<LinkScope>(1, 2);
    LinkSeconds => whole(seconds(MIN_LINK_SECONDS), seconds(MAX_LINK_SECONDS));
    Label => at_most(text(LABEL), MAX_LABEL_BYTES);
    Name => text(&name());
    PageLimit => whole(1, limit(MAX_PAGE));
    PublicUrl => url(MAX_PUBLIC_URL_CHARS);
    ReturnUrl => url(MAX_RETURN_URL_CHARS);
    RejectedLimit => whole(1, limit(MAX_LIST));
    RetryRate => whole(1, MAX_RETRY_RATE);
    MaxInFlight => whole(1, LARGEST_MAX_IN_FLIGHT);
    MaxRate => whole(1, FASTEST_MAX_RATE);
    Routes of crate::source::NewRoute => list::<crate::source::NewRoute>(0, MAX_ROUTES);
    Scopes of Scope => list::<Scope>(1, key::Scope::ALL.len());
    ShadowTimeout => whole(1, shadow::MAX_TIMEOUT_SECONDS);
    SharedSecret => sized(1, MAX_SHARED_BYTES);
    SignaturePrefix => at_most(text("^[!-~]*$"), MAX_PREFIX_BYTES);
    SignedTemplate => at_most(text(&template::general()), MAX_TEMPLATE_BYTES);
    SigningSecret => text(&signing_secret());
    TargetUrl => url(MAX_URL_CHARS);
    TenantName => text("^[a-z0-9_-]{1,64}$");
    WebhookLimit => whole(1, limit(MAX_WEBHOOKS));
    PublishRate => whole(1, MAX_PUBLISH_RATE);
    BodyLimit => whole(1, limit(MAX_BODY_BYTES));
    RetentionDays => whole(1, MAX_RETENTION_DAYS);
    TransferKey => text("^[0-9a-f]{64}$");
    TemplateBody => sized(1, body_template::MAX_TEMPLATE_BYTES);
    TemplateQuery => at_most(string().build(), body_template::MAX_QUERY_TEMPLATE_BYTES);
    Timeout => whole(1, MAX_TIMEOUT_SECONDS);
    ValuePlaces of ValuePlace => list::<ValuePlace>(0, MAX_PLACES);
    StreamPosition => text(&format!("^[0-9]{{1,{MAX_POSITION_DIGITS}}}$"));
    ValuePlace => text(&value_place());
    Window => text(WINDOW);
    WindowSeconds => whole(1, MAX_WINDOW_SECONDS);

    DeliveryId => id(Delivery::PREFIX, 51, "aq");
    ErasureId => id(Erasure::PREFIX, 25, LAST_OF_16);
    EventId => id(Event::PREFIX, 25, LAST_OF_16);
    JobId => id(Job::PREFIX, 25, LAST_OF_16);
    KeyId => id(Key::PREFIX, 25, LAST_OF_16);
    RejectedId => id(Rejected::PREFIX, 25, LAST_OF_16);
    SourceId => id(Source::PREFIX, 25, LAST_OF_16);
    WebhookId => id(Webhook::PREFIX, 25, LAST_OF_16);
}

/// 1 hour to 31 days, in minutes, hours, days or weeks; or in hours and minutes, or days and hours.
const WINDOW: &str = "^(?:\
    (?:[6-9][0-9]|[1-9][0-9]{2,3}|[1-3][0-9]{4}|4[0-3][0-9]{3}|44[0-5][0-9]{2}|446[0-3][0-9]|44640)m\
    |(?:[1-9][0-9]?|[1-6][0-9]{2}|7[0-3][0-9]|74[0-4])h\
    |(?:[1-9][0-9]?|[1-6][0-9]{2}|7[0-3][0-9]|74[0-3])h[1-5]?[0-9]m\
    |(?:[1-9]|[12][0-9]|3[01])d\
    |(?:[1-9]|[12][0-9]|30)d(?:1?[0-9]|2[0-3])h\
    |[1-4]w)$";
/// Every position of a stream fits.
pub const MAX_POSITION_DIGITS: usize = 18;
const B64: &str = "[A-Za-z0-9+/]";
/// 16 bytes are 25 letters of base32 and three bits more.
const LAST_OF_16: &str = "aeimquy4";
const LABEL: &str = "^[!-~](?:[ -~]*[!-~])?$";
/// Whitespace as Unicode and Rust define it.
const SPACE: &str = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";
const CONTROL: &str = r"\x00-\x1f\x7f-\x9f";

/// One of the names of an enum.
#[must_use]
pub fn words<T: Vocabulary>() -> Object {
    one_of(T::names())
}

/// The types of notifications, and `gap`, which stands for missing ones.
fn stream_event_kinds() -> impl Iterator<Item = &'static str> {
    notification::NotificationKind::names().chain(["gap"])
}

/// One of these strings.
pub fn one_of<'a>(choices: impl IntoIterator<Item = &'a str>) -> Object {
    string().enum_values(Some(choices)).build()
}

/// Any JSON.
#[must_use]
pub fn any_json() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::AnyValue)
        .build()
}

/// A JSON Schema, which this names instead of describing it.
fn json_schema() -> Object {
    let types = [Type::Object, Type::Boolean];
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter(types))
        .build()
}

/// The filter of a bulk retry, which is only for deliveries that failed.
fn retry_filter() -> Schema {
    let RefOr::T(Schema::Object(mut filter)) = FilterParameters::schema() else {
        return Schema::default();
    };
    let statuses = [Status::Dead, Status::Failed].map(Status::as_str);
    let status = OneOfBuilder::new()
        .item(ObjectBuilder::new().schema_type(SchemaType::new(Type::Null)))
        .item(one_of(statuses))
        .description(Some("Deliveries in this status; `dead` by default."));
    filter
        .properties
        .insert("status".to_owned(), Schema::from(status).into());
    filter.into()
}

/// A property with this description, of this schema or `null`.
#[must_use]
pub fn described_or_null<T: PartialSchema>(description: &str) -> Schema {
    let one_of = OneOfBuilder::new()
        .item(ObjectBuilder::new().schema_type(SchemaType::new(Type::Null)))
        .item(T::schema())
        .description(Some(description));
    one_of.into()
}

fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::new(Type::String))
}

fn text(pattern: &str) -> Object {
    string().pattern(Some(pattern)).build()
}

fn date() -> Object {
    let format = SchemaFormat::Custom("date".to_owned());
    string().format(Some(format)).build()
}

fn at_most(mut object: Object, max: usize) -> Object {
    object.max_length = Some(max);
    object
}

fn sized(min: usize, max: usize) -> Object {
    string().min_length(Some(min)).max_length(Some(max)).build()
}

/// A whole number in this range, both ends included.
#[must_use]
pub fn whole(min: u32, max: u32) -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::Integer))
        .minimum(Some(f64::from(min)))
        .maximum(Some(f64::from(max)))
        .build()
}

fn limit(items: usize) -> u32 {
    u32::try_from(items).unwrap_or(u32::MAX)
}

fn seconds(seconds: u64) -> u32 {
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

/// A list of values with this schema.
#[must_use]
pub fn list<T: ToSchema>(min: usize, max: usize) -> Array {
    ArrayBuilder::new()
        .items(Ref::from_schema_name(T::name()))
        .min_items((min > 0).then_some(min))
        .max_items(Some(max))
        .build()
}

fn url(max: usize) -> Object {
    string()
        .format(Some(SchemaFormat::Custom("uri".to_owned())))
        .pattern(Some("^https?://"))
        .max_length(Some(max))
        .build()
}

/// An id has one spelling: the bits after its last byte are zero.
fn id(prefix: &str, letters: usize, last: &str) -> Object {
    text(&format!("^{prefix}[a-z2-7]{{{letters}}}[{last}]$"))
}

/// Whitespace around a name is removed before it is checked.
fn name() -> String {
    let edge = format!("[^{SPACE}{CONTROL}]");
    let inner = MAX_NAME_CHARS - 2;
    format!("^[{SPACE}]*{edge}(?:[^{CONTROL}]{{0,{inner}}}{edge})?[{SPACE}]*$")
}

fn email() -> String {
    let user = format!("[^<>,;{SPACE}{CONTROL}]");
    let host = format!("[^@<>,;{SPACE}{CONTROL}]");
    let edge = format!("[^@.<>,;{SPACE}{CONTROL}]");
    format!("^{user}+@{edge}(?:{host}*{edge})?$")
}

/// Visible ASCII without `*` and `.`.
const SEGMENT: &str = "[!-)+-\\-/-~]+";

fn event_type() -> String {
    format!("^{SEGMENT}(?:\\.{SEGMENT})*$")
}

fn event_pattern() -> String {
    let segment = format!("(?:\\*|{SEGMENT})");
    format!("^(?:{segment}\\.)*(?:{segment}|\\*\\*)$")
}

fn signing_secret() -> String {
    let whole = format!("(?:{B64}{{4}}){{8,21}}");
    let one_more = format!("(?:{B64}{{4}}){{8,21}}{B64}[AQgw]==");
    let two_more = format!("(?:{B64}{{4}}){{8,20}}{B64}{{2}}[AEIMQUYcgkosw048]=");
    format!("^whsec_(?:{whole}|{one_more}|{two_more})$")
}

fn header_values() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::Object))
        .property_names(Some(Schema::from(text(&header_name()))))
        .additional_properties(Some(AdditionalProperties::from(RefOr::from(Schema::from(
            text("^[\\t -~]*$"),
        )))))
        .max_properties(Some(MAX_HEADERS))
        .build()
}

/// Which operators there are is up to the language, which this names instead of repeating it.
fn payload_filter() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::Object))
        .min_properties(Some(1))
        .build()
}

const TOKEN: &str = "[!#$%&'*+.^_`|~0-9A-Za-z-]";

fn value_place() -> String {
    let header = format!("header:{TOKEN}{{1,{MAX_NAME_BYTES}}}");
    format!("^(?:{header}|{})$", body_or_form())
}

/// The places that every signature covers.
fn body_or_form() -> String {
    let body = format!("body:/[^\\x00]{{0,{}}}", MAX_POINTER_BYTES - 1);
    let form = format!("form:[^\\x00]{{1,{MAX_NAME_BYTES}}}");
    format!("{body}|{form}")
}

/// A header name that the gateway does not set itself, in upper or lower case.
fn header_name() -> String {
    let reserved = headers::RESERVED.iter().map(|name| any_case(name) + "$");
    let prefixes = headers::RESERVED_PREFIXES.iter().map(|name| any_case(name));
    let taken: Vec<String> = reserved.chain(prefixes).collect();
    let taken = taken.join("|");
    format!("^(?!{taken}){TOKEN}+$")
}

fn any_case(name: &str) -> String {
    let letter = |c: char| match c {
        'a'..='z' => format!("[{c}{}]", c.to_ascii_uppercase()),
        other => other.to_string(),
    };
    name.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::egress::Rules;
    use postrider_domain::event;
    use postrider_domain::pattern;
    use postrider_domain::secret;
    use postrider_domain::webhook::{WebhookDraft, is_name};
    use proptest::prelude::*;
    use proptest::string::string_regex;

    /// What a pattern allows, without its anchors.
    pub(super) fn like(pattern: &str) -> impl Strategy<Value = String> + use<> {
        let inner = pattern.trim_start_matches('^').trim_end_matches('$');
        string_regex(inner).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_name_that_the_document_allows_is_accepted(text in like(&name())) {
            prop_assert!(is_name(text.trim()), "{text:?}");
        }

        #[test]
        fn a_label_that_the_document_allows_is_accepted(text in like(LABEL)) {
            prop_assume!(text.len() <= MAX_LABEL_BYTES);
            prop_assert!(text.parse::<event::Label>().is_ok(), "{text:?}");
        }

        #[test]
        fn an_event_type_that_the_document_allows_is_accepted(text in like(&event_type())) {
            prop_assume!(text.len() <= MAX_TYPE_BYTES);
            prop_assert!(text.parse::<pattern::EventType>().is_ok(), "{text:?}");
        }

        #[test]
        fn a_pattern_that_the_document_allows_is_accepted(text in like(&event_pattern())) {
            prop_assume!(text.len() <= MAX_TYPE_BYTES);
            prop_assert!(text.parse::<pattern::Pattern>().is_ok(), "{text:?}");
        }

        #[test]
        fn a_secret_that_the_document_allows_is_accepted(text in like(&signing_secret())) {
            prop_assert!(secret::SigningSecret::parse(&text).is_ok(), "{text:?}");
        }

        #[test]
        fn an_address_that_the_document_allows_is_accepted(text in like(&email())) {
            prop_assume!(text.len() <= MAX_EMAIL_BYTES);
            let draft = WebhookDraft { owner_email: Some(text), ..draft() };
            prop_assert!(draft.clone().check(&Rules::default()).is_ok(), "{draft:?}");
        }

        #[test]
        fn a_window_that_the_document_allows_is_an_hour_to_a_month(text in like(WINDOW)) {
            let span = crate::duration::parse(&text).map(|span| span.get() / 1000);
            prop_assert!(span.is_some_and(|span| (3600..=31 * 86_400).contains(&span)), "{text}");
        }

        #[test]
        fn an_id_that_the_document_allows_is_accepted(
            webhook in like("wh_[a-z2-7]{25}[aeimquy4]"),
            delivery in like("dlv_[a-z2-7]{51}[aq]"),
        ) {
            prop_assert!(webhook.parse::<Webhook>().is_ok(), "{webhook}");
            prop_assert!(delivery.parse::<Delivery>().is_ok(), "{delivery}");
        }
    }

    fn draft() -> WebhookDraft {
        WebhookDraft {
            name: "n".to_owned(),
            target_url: "https://example.com/".to_owned(),
            event_types: vec!["*".to_owned()],
            ..WebhookDraft::default()
        }
    }
}

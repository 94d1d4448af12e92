//! Every endpoint of the API. One line declares both the route and its documentation.

use axum::Router;
use axum::routing::MethodRouter;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::deliveries::shadow;
use crate::events::stored;
use crate::sources::rejected;
use crate::{
    Api, deliveries, erasures, event_types, events, filters, health, keys, metrics, openapi,
    portal_links, retries, sources, stats, stream, templates, tenants, transfer, usage, webhooks,
};

/// Builds routes and documentation separately: a starting function does not need the latter. A test compares the two.
macro_rules! endpoints {
    ($($path:literal => $($method:ident $module:ident::$handler:ident),+;)+) => {
        pub(crate) fn router() -> Router<Api> {
            Router::new()$(.route($path, MethodRouter::new()$(.$method($module::$handler))+))+
        }

        pub(crate) fn document() -> utoipa::openapi::OpenApi {
            let mut document = OpenApiRouter::<Api>::with_openapi(openapi::Document::openapi())
                $(.routes(routes!($($module::$handler),+)))+
                .into_openapi();
            openapi::state_relations(&mut document);
            document
        }
    };
}

endpoints! {
    "/" => get health::index;
    "/healthz" => get health::healthz;
    "/livez" => get health::livez;
    "/openapi.json" => get openapi::openapi_json;
    "/metrics" => get metrics::get;
    "/v1/stats" => get stats::get;
    "/v1/events" => post events::publish;
    "/v1/events/{id}" => get stored::get, delete erasures::erase_event;
    "/v1/events/{id}/deliveries" => post stored::deliver;
    "/v1/event-types" => get event_types::list;
    "/v1/event-types/{name}" => get event_types::get, put event_types::put, delete event_types::delete;
    "/v1/filters/test" => post filters::test;
    "/v1/templates/presets" => get templates::presets;
    "/v1/templates/test" => post templates::test;
    "/v1/webhooks" => post webhooks::create, get webhooks::list;
    "/v1/webhooks/{id}" => get webhooks::get, patch webhooks::patch, delete webhooks::delete;
    "/v1/webhooks/{id}/rotate-secret" => post webhooks::rotate_secret;
    "/v1/webhooks/{id}/pause" => post webhooks::pause;
    "/v1/webhooks/{id}/resume" => post webhooks::resume;
    "/v1/webhooks/{id}/test" => post webhooks::test;
    "/v1/sources" => post sources::create, get sources::list;
    "/v1/sources/{id}" => get sources::get, patch sources::patch, delete sources::delete;
    "/v1/sources/{id}/rotate-secret" => post sources::rotate_secret;
    "/v1/sources/{id}/routes" => get sources::get_routes, put sources::put_routes;
    "/v1/sources/{id}/refused" => get rejected::list;
    "/v1/sources/{id}/refused/{refused_id}" => get rejected::get;
    "/v1/deliveries" => get deliveries::list;
    "/v1/deliveries/{id}" => get deliveries::get;
    "/v1/deliveries/{id}/retry" => post deliveries::retry;
    "/v1/deliveries/{id}/shadow" => post shadow::send;
    "/v1/retries" => post retries::begin;
    "/v1/retries/{id}" => get retries::get, delete retries::cancel;
    "/v1/sessions/{id}" => delete erasures::erase_session;
    "/v1/erasures" => get erasures::list;
    "/v1/erasures/{id}" => get erasures::get;
    "/v1/keys" => post keys::create, get keys::list;
    "/v1/keys/{id}" => delete keys::revoke;
    "/v1/tenants" => post tenants::create, get tenants::list;
    "/v1/tenants/{id}" => get tenants::get, patch tenants::patch, delete tenants::delete;
    "/v1/tenants/{id}/usage" => get usage::of_tenant;
    "/v1/usage" => get usage::own;
    "/v1/portal-links" => post portal_links::create;
    "/v1/stream" => get stream::listen;
    "/v1/export" => post transfer::export;
    "/v1/import" => post transfer::import;
}

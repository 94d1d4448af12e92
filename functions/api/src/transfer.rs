//! Exports and imports. Only for keys of the tenant `default`: both cross tenants.

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use postrider_api_types::problem::InvalidField;
use postrider_api_types::transfer::{
    ExportPageView, ExportRequest, ImportRequest, ImportResult, ImportResultsView,
    ImportedRecordView, MAX_RECORDS, SealingKey,
};
use postrider_domain::invalid::Invalid;
use postrider_gateway::error::{Conflict, GatewayError};
use postrider_gateway::settings::MAX_BATCH_BYTES;
use postrider_gateway::transfer::{
    ExportWish, Exported, ImportOutcome, OnConflict, Pausing, Position,
};
use postrider_gateway::webhooks::draft_of;
use postrider_store_format::Vault;
use postrider_store_format::transfer::{
    EVENT, EVENT_TYPE, EventRecord, EventTypeRecord, KEY, KeyRecord, KindOnly, SOURCE,
    SourceRecord, TENANT, TenantRecord, TransferKey, WEBHOOK, WebhookRecord,
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::auth::{Caller, Manage};
use crate::extract::Document;
use crate::openapi::{DocumentProblems, Problems};
use crate::problem::{Code, Problem};
use crate::{Api, body, json};

/// Export webhooks, sources, API keys, event types and deliveries of all tenants, page by page
///
/// Needs a key of the tenant `default`. Secrets, header values and digests of API keys are sealed with the given key; payloads
/// are not. `postrider export` writes the records to a file.
#[utoipa::path(
    post, path = "/v1/export", operation_id = "export", tag = "transfer", security(("token" = ["manage"])),
    request_body = ExportRequest,
    responses((status = 200, description = "A page of records.", body = ExportPageView), DocumentProblems, Problems)
)]
pub(crate) async fn export(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Document(given): Document<ExportRequest>,
) -> Result<Json<ExportPageView>, Problem> {
    caller.require_operator("export and import")?;
    let mut faults = Invalid::default();
    let vault = take_vault(&given.key, &mut faults);
    let at = given
        .cursor
        .map(|cursor| faults.take("cursor", cursor.parse::<Position>()));
    faults.into_result()?;
    let vault = vault.ok_or_else(unusable_key)??;
    let wish = ExportWish {
        deliveries: given.deliveries,
        pausing: if given.pause_webhooks {
            Pausing::Pause
        } else {
            Pausing::No
        },
    };
    let page = api.gateway.transfer.export(wish, at.flatten()).await?;
    let records = page.items.iter().map(|item| record(&vault, item));
    let records = records.collect::<Result<Vec<_>, _>>()?;
    tracing::info!(
        event = "transfer.exported",
        key_id = %caller.key().id,
        records = records.len(),
        "a page was exported"
    );
    Ok(Json(ExportPageView {
        records,
        next_cursor: page.next.map(|next| next.to_string()),
        in_flight: page.waits,
    }))
}

/// Import records of an export
///
/// Needs a key of the tenant `default`. Each record gets a result of its own. Importing a record again changes nothing. What
/// exists and differs is reported as a conflict, unless `replace` is set.
#[utoipa::path(
    post, path = "/v1/import", operation_id = "import", tag = "transfer", security(("token" = ["manage"])),
    request_body = ImportRequest,
    responses(
        (status = 200, description = "The result of each record.", body = ImportResultsView),
        DocumentProblems,
        Problems,
    )
)]
pub(crate) async fn import(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Records(given): Records,
) -> Result<Json<ImportResultsView>, Problem> {
    caller.require_operator("export and import")?;
    let mut faults = Invalid::default();
    let vault = take_vault(&given.key, &mut faults);
    let count = given.records.len();
    faults.require((1..=MAX_RECORDS).contains(&count), "records", || {
        format!("must be 1 to {MAX_RECORDS} records")
    });
    for (n, record) in given.records.iter().enumerate() {
        let is_object = record.get().starts_with('{');
        faults.require(is_object, &format!("records[{n}]"), || {
            "must be an object".to_owned()
        });
    }
    faults.into_result()?;
    let vault = vault.ok_or_else(unusable_key)??;
    let on_conflict = if given.replace {
        OnConflict::Replace
    } else {
        OnConflict::Keep
    };
    let mut results = Vec::with_capacity(count);
    for record in &given.records {
        let imported = import_one(&api, &vault, record, on_conflict).await;
        results.push(result(imported)?);
    }
    tracing::info!(
        event = "transfer.imported",
        key_id = %caller.key().id,
        records = count,
        "records were imported"
    );
    Ok(Json(ImportResultsView { results }))
}

/// A document as large as a batch of events.
pub(crate) struct Records(ImportRequest);

impl FromRequest<Api> for Records {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &Api) -> Result<Self, Problem> {
        let bytes = body::read_json(request, MAX_BATCH_BYTES).await?;
        Ok(Self(json::parse(&bytes)?))
    }
}

fn take_vault(
    key: &SealingKey,
    faults: &mut Invalid,
) -> Option<Result<Vault, postrider_ports::Error>> {
    let key = TransferKey::from_hex(key.expose());
    let key = key.ok_or("must be 64 hexadecimal digits, in lower case");
    faults.take("key", key).map(|key| key.vault())
}

fn unusable_key() -> Problem {
    Problem::new(Code::Internal, "the key cannot be used")
}

fn record(vault: &Vault, item: &Exported) -> Result<Box<RawValue>, postrider_ports::Error> {
    fn raw(record: &impl Serialize) -> Result<Box<RawValue>, postrider_ports::Error> {
        let raw = serde_json::value::to_raw_value(record);
        raw.map_err(|error| postrider_ports::Error::Broken(error.to_string()))
    }
    match item {
        Exported::Webhook(webhook) => {
            let draft = draft_of(&webhook.settings);
            raw(&WebhookRecord::of(vault, webhook, draft)?)
        }
        Exported::Source(source) => raw(&SourceRecord::of(vault, source)?),
        Exported::Key(key) => raw(&KeyRecord::of(vault, key)?),
        Exported::Tenant(tenant) => raw(&TenantRecord::from(tenant)),
        Exported::EventType(tenant, entry) => raw(&EventTypeRecord::of(tenant, entry)),
        Exported::Event(moved) => raw(&EventRecord::from(moved)),
    }
}

async fn import_one(
    api: &Api,
    vault: &Vault,
    record: &RawValue,
    on_conflict: OnConflict,
) -> Result<ImportOutcome, GatewayError> {
    let bytes = record.get().as_bytes();
    let transfer = &api.gateway.transfer;
    let kind = serde_json::from_slice::<KindOnly>(bytes).map(|line| line.kind);
    match kind.as_deref() {
        Ok(WEBHOOK) => {
            let copy = json::parse::<WebhookRecord>(bytes)?.open(vault)?;
            transfer.import_webhook(copy, on_conflict).await
        }
        Ok(SOURCE) => {
            let copy = json::parse::<SourceRecord>(bytes)?.open(vault)?;
            transfer.import_source(copy, on_conflict).await
        }
        Ok(KEY) => {
            let key = json::parse::<KeyRecord>(bytes)?.open(vault)?;
            transfer.import_key(key, on_conflict).await
        }
        Ok(TENANT) => {
            let (id, draft) = json::parse::<TenantRecord>(bytes)?.open();
            transfer.import_tenant(&id, &draft, on_conflict).await
        }
        Ok(EVENT_TYPE) => {
            let (tenant, name, draft) = json::parse::<EventTypeRecord>(bytes)?.open();
            let imported = transfer.import_event_type(&tenant, name, draft, on_conflict);
            imported.await
        }
        Ok(EVENT) => {
            let moved = json::parse::<EventRecord>(bytes)?.open()?;
            transfer.import_event(moved).await
        }
        Ok(_) | Err(_) => {
            let message = "must be one of webhook, source, key, tenant, event_type, event";
            Err(Invalid::field("kind", message).into())
        }
    }
}

/// A record that is invalid or does not fit is a result; a store that fails ends the call.
fn result(imported: Result<ImportOutcome, GatewayError>) -> Result<ImportedRecordView, Problem> {
    let view = |result: ImportResult, detail, errors| ImportedRecordView {
        result: result.into(),
        detail,
        errors,
    };
    let done = |result| Ok(view(result, None, Vec::new()));
    match imported {
        Ok(ImportOutcome::Created) => done(ImportResult::Created),
        Ok(ImportOutcome::Unchanged) => done(ImportResult::Unchanged),
        Ok(ImportOutcome::Replaced) => done(ImportResult::Replaced),
        Ok(ImportOutcome::Conflict(clash)) => Ok(view(
            ImportResult::Conflict,
            Some(clash.to_string()),
            Vec::new(),
        )),
        Err(GatewayError::Invalid(invalid)) => {
            let detail = "the record is invalid".to_owned();
            let fields = invalid.into_fields().into_iter();
            let errors = fields.map(|error| InvalidField {
                field: error.field,
                pointer: error.pointer,
                message: error.message,
            });
            Ok(view(ImportResult::Rejected, Some(detail), errors.collect()))
        }
        Err(
            error @ (GatewayError::TooMany { .. }
            | GatewayError::Limited(_)
            | GatewayError::Conflict(Conflict::TenantDeleted)),
        ) => {
            let detail = Some(error.to_string());
            Ok(view(ImportResult::Rejected, detail, Vec::new()))
        }
        Err(error) => Err(error.into()),
    }
}

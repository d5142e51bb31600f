//! Resources: what discovery shows, and what the program behind the server adds.

use haft_core::content::Document;
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use super::handler::Handler;
use super::{discovery, extra};

pub(super) fn list(handler: &Handler) -> Vec<Resource> {
    let seat = &handler.seat;
    let own = handler.door.mcp.resources.iter().flat_map(|one| one.list(&seat.caller));
    discovery::list(seat).into_iter().chain(own).map(shown).collect()
}

fn shown(one: extra::Resource) -> Resource {
    let shown = Resource::new(one.uri, one.name).with_description(one.description);
    shown.with_mime_type(one.mime_type)
}

pub(super) fn templates(handler: &Handler) -> Vec<ResourceTemplate> {
    let own = handler.door.mcp.resources.iter();
    let own = own.flat_map(|one| one.templates(&handler.seat.caller));
    let shown = |one: extra::Resource| {
        let shown = ResourceTemplate::new(one.uri, one.name).with_description(one.description);
        shown.with_mime_type(one.mime_type)
    };
    discovery::templates().into_iter().chain(own).map(shown).collect()
}

/// Whether there may be something to read under an address: what a program has under its templates, it
/// says only when that is read.
pub(super) fn may_be_read(handler: &Handler, uri: &str) -> bool {
    let (door, caller) = (&handler.door, &handler.seat.caller);
    let fits = |template: &str| {
        let beginning = template.split_once('{').map_or(template, |(beginning, _)| beginning);
        uri.starts_with(beginning)
    };
    discovery::read(door, &handler.seat, uri).is_some()
        || door.mcp.resources.iter().any(|own| {
            own.list(caller).iter().any(|one| one.uri == uri)
                || own.templates(caller).iter().any(|one| fits(&one.uri))
        })
}

/// What is read under an address.
pub(super) async fn documents(handler: &Handler, uri: &str) -> Option<Vec<Document>> {
    if let Some(found) = discovery::read(&handler.door, &handler.seat, uri) {
        return Some(vec![Document::text(uri, discovery::JSON, found.to_string())]);
    }
    for resources in &handler.door.mcp.resources {
        if let Some(found) = resources.read(&handler.seat.caller, uri).await {
            return Some(found);
        }
    }
    None
}

pub(super) async fn read(handler: &Handler, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let Some(found) = documents(handler, uri).await else { return Err(missing(uri)) };
    let contents = found.iter().filter_map(|one| serde_json::from_value(json!(one)).ok());
    Ok(ReadResourceResult::new(contents.collect::<Vec<ResourceContents>>()))
}

pub(super) fn missing(uri: &str) -> ErrorData {
    let data = json!({ "uri": uri });
    ErrorData::resource_not_found("there is no such resource", Some(data))
}

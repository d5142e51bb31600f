//! Resources: what discovery shows, and what the program behind the server adds.

use std::collections::HashSet;

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

/// Leaves the addresses under which there may be something to read: what a program has under its
/// templates, it says only when that is read.
pub(super) fn keep_readable(handler: &Handler, uris: &mut Vec<String>) {
    let (door, caller) = (&handler.door, &handler.seat.caller);
    let own = &door.mcp.resources;
    let known: HashSet<String> =
        own.iter().flat_map(|one| one.list(caller)).map(|one| one.uri).collect();
    let templates: Vec<_> = own.iter().flat_map(|one| one.templates(caller)).collect();
    let fits = |uri: &str, template: &str| {
        template.split('{').next().is_some_and(|beginning| uri.starts_with(beginning))
    };
    uris.retain(|uri| {
        discovery::is_there(door, &handler.seat, uri)
            || known.contains(uri)
            || templates.iter().any(|template| fits(uri, &template.uri))
    });
}

/// Whether there is something to read under an address.
pub(super) async fn can_be_read(handler: &Handler, uri: &str) -> bool {
    discovery::is_there(&handler.door, &handler.seat, uri)
        || documents(handler, uri).await.is_some()
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

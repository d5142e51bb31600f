//! What every route may answer, added to the OpenAPI document once instead of to each.

use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, ResponseBuilder};

/// Before anything reads the request.
const ALWAYS: [(&str, &str); 3] = [
    ("400", "The request cannot be read."),
    ("403", "For another host, from another origin, or not for this role."),
    ("503", "As much work as is taken at once; wait and send it again."),
];

/// Once it is known whose it is, where there are several tenants.
const OF_A_TENANT: (&str, &str) =
    ("429", "As much work as is taken of the tenant at once; wait and send it again.");

/// While its body is read.
const WITH_BODY: [(&str, &str); 3] = [
    ("408", "The body did not arrive in time."),
    ("413", "The body is too large."),
    ("415", "The body is not JSON."),
];

/// Adds what is common to all routes to what each says of its own.
pub(crate) fn complete(api: &mut OpenApi) {
    for item in api.paths.paths.values_mut() {
        for operation in operations(item) {
            let body: &[_] = if operation.request_body.is_some() { &WITH_BODY } else { &[] };
            // Clients of others' APIs are told what goes wrong in the shape that they read.
            let chat = operation.tags.iter().flatten().any(|tag| tag == "chat");
            let theirs = chat && operation.request_body.is_some();
            // Whoever asks how the server does is always told.
            let keyed = operation.tags.iter().flatten().all(|tag| tag != "health");
            let shared = keyed.then_some(&OF_A_TENANT);
            for (status, description) in ALWAYS.iter().chain(shared).chain(body) {
                let known = operation.responses.responses.entry((*status).to_owned());
                let answer = known.or_insert_with(|| {
                    RefOr::T(ResponseBuilder::new().description(*description).build())
                });
                if let RefOr::T(response) = answer {
                    let problem = || RefOr::T(Content::new(Some(Ref::from_schema_name("Problem"))));
                    let content = &mut response.content;
                    content.entry("application/problem+json".into()).or_insert_with(problem);
                    if theirs {
                        let error =
                            || RefOr::T(Content::new(Some(Ref::from_schema_name("ChatError"))));
                        content.entry("application/json".into()).or_insert_with(error);
                    }
                }
            }
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().filter_map(Option::as_mut)
}

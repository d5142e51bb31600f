//! The data model both ways.

use haft_adm::{FunctionCall, FunctionName};
use haft_core::outcome::Meta;
use haft_core::{Envelope, ErrorKind, ToolError};
use haft_wire::tools::adm;
use serde_json::json;

#[test]
fn a_call_comes_in_without_an_id() {
    let call = FunctionCall::parse(r#"{"name": "set_lamp", "args": {"on": true}}"#).unwrap();
    let call = adm::call(call, 2);
    assert_eq!((call.id, call.name.as_str(), call.position), (None, "set_lamp", 2));
    assert_eq!(call.arguments, r#"{"on":true}"#);
}

#[test]
fn an_outcome_goes_out_as_content_or_as_an_error_of_the_model() {
    let name: FunctionName = "set_lamp".parse().unwrap();
    let meta = Meta::default();
    let good =
        Envelope { result: Ok(json!({"on": true})), intents: Vec::new(), meta: meta.clone() };
    let said = serde_json::to_value(adm::result(name.clone(), &good).unwrap()).unwrap();
    assert_eq!(said, json!({"name": "set_lamp", "status": "SUCCESS", "content": {"on": true}}));
    for kind in ErrorKind::ALL {
        let error = ToolError::new(*kind, "it did not work");
        let bad = Envelope { result: Err(error), intents: Vec::new(), meta: meta.clone() };
        let said = serde_json::to_value(adm::result(name.clone(), &bad).unwrap()).unwrap();
        assert_eq!(said["status"], "ERROR");
        assert_eq!(said["error"]["type"], kind.in_adm_words().as_str(), "{kind}");
        let message = said["error"]["message"].as_str().unwrap();
        assert_eq!(message, format!("it did not work; {}", kind.suggestion()));
    }
}

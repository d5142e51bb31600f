//! Function declarations of the ALTAR data model.

use haft_adm::{FunctionDeclaration, Tool};
use haft_core::Digest;
use haft_core::contract::OriginKind;
use serde_json::Value;

use super::draft::{Read, assemble};
use super::log::Log;
use super::plain::Plain;
use super::report::Part;
use super::{Import, ImportError, read};

/// Imports an ADM tool, or a list of them; each function declaration becomes a tool of its own.
///
/// # Errors
///
/// If the text as a whole cannot be read. A tool or a declaration that breaks the data model's
/// rules is an entry of the report.
pub fn adm(text: &str) -> Result<Import, ImportError> {
    read::check_size(text)?;
    let document =
        read::json(text).map_err(|why| ImportError::Unreadable { format: "JSON", why })?;
    let tools = match document {
        Value::Array(tools) => tools,
        Value::Object(_) => vec![document],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Err(ImportError::NotDefinitions { expected: "an ADM tool or a list of them" });
        }
    };
    let read = tools.iter().enumerate().flat_map(|(index, tool)| read_tool(tool, index));
    Ok(assemble(read.collect()))
}

/// The declarations of a tool; those of a tool that breaks a rule are read one by one, so that one
/// of them does not hide the others.
fn read_tool(tool: &Value, index: usize) -> Vec<Read> {
    let declarations = tool.get("function_declarations").and_then(Value::as_array);
    let declarations = declarations.map(Vec::as_slice).unwrap_or_default();
    let errors = Tool::from_value(tool.clone()).err();
    let mut read: Vec<Read> = declarations.iter().map(read_declaration).collect();
    if let Some(errors) = errors
        && read.iter().all(|read| read.draft.is_ok())
    {
        let what = format!("the tool breaks a rule of its own: {errors}");
        let digest = Digest::of_json(tool);
        read.push(Read::refused(format!("#{index}"), digest, Part::Definition, "", what));
    }
    read
}

fn read_declaration(declaration: &Value) -> Read {
    let digest = Digest::of_json(declaration);
    let name = declaration.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    match FunctionDeclaration::from_value(declaration.clone()) {
        Ok(function) => {
            let plain = Plain {
                kind: OriginKind::Adm,
                name,
                digest,
                description: function.description(),
                parameters: declaration.get("parameters"),
                output: None,
                log: Log::new(Part::Definition),
            };
            plain.read()
        }
        Err(errors) => Read::refused(name, digest, Part::Definition, "", errors.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lamp() -> Value {
        json!({
            "name": "set_lamp", "description": "Turns a lamp on.",
            "parameters": {"type": "OBJECT", "properties": {"on": {"type": "BOOLEAN"}}, "required": ["on"]}
        })
    }

    #[test]
    fn a_declaration_becomes_a_tool() {
        let import = adm(&json!({"function_declarations": [lamp()]}).to_string()).unwrap();
        let contract: Value =
            serde_json::from_str(import.tools[0].file("schema.json").unwrap()).unwrap();
        assert_eq!(
            contract["parameters"],
            json!({
                "type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"],
                "additionalProperties": false
            })
        );
        assert_eq!(contract["origin"]["kind"], "adm");
        let restored = super::super::restore(&contract["parameters"], &import.report.entries);
        assert_eq!(restored.as_ref(), lamp().get("parameters"));
    }

    #[test]
    fn what_is_exported_can_be_imported() {
        let import = adm(&json!([{"function_declarations": [lamp()]}]).to_string()).unwrap();
        let contract = serde_json::from_str(import.tools[0].file("schema.json").unwrap()).unwrap();
        let registry = crate::export::tests::registry([contract]);
        let rendering =
            haft_wire::render(haft_wire::Dialect::Adm, Default::default(), &registry.tools);
        assert_eq!(rendering.report, []);
        let again = adm(&rendering.tools.to_string()).unwrap();
        assert_eq!(again.report.summary().errors, 0);
        assert_eq!(again.tools[0].folder, "imported-set-lamp");
    }

    #[test]
    fn one_broken_declaration_does_not_hide_the_others() {
        let broken = json!({"name": "2 bad", "description": "", "parameters": {"type": "STRING"}});
        let import = adm(&json!({"function_declarations": [broken, lamp()]}).to_string()).unwrap();
        assert_eq!(import.tools.len(), 1);
        assert_eq!(import.report.summary().errors, 1);
        let open = json!({"function_declarations": [lamp()], "command": "x"});
        assert_eq!(adm(&open.to_string()).unwrap().report.summary().errors, 1);
        assert!(adm("[").is_err() && adm("7").is_err());
    }
}

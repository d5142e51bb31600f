//! Writing schemas: what is absent stays absent, properties keep their order.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Form, Schema};

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_map(None)?;
        fields.serialize_entry("type", &self.schema_type())?;
        entry(&mut fields, "description", self.description.as_ref())?;
        match &self.form {
            Form::String { allowed } => entry(&mut fields, "enum", allowed.as_ref())?,
            Form::Number | Form::Integer | Form::Boolean => {}
            Form::Array { items } => fields.serialize_entry("items", items)?,
            Form::Object { properties, required } => {
                entry(&mut fields, "properties", properties.as_ref())?;
                entry(&mut fields, "required", required.as_ref())?;
            }
        }
        fields.end()
    }
}

fn entry<M: SerializeMap>(
    fields: &mut M,
    field: &'static str,
    value: Option<&impl Serialize>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| fields.serialize_entry(field, value))
}

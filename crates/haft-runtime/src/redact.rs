//! stub
use serde_json::Value;
#[derive(Clone)]
pub struct DigestKey;
impl DigestKey {
    pub fn from_secret(_: &[u8; 32]) -> Self {
        DigestKey
    }
}
pub struct View;
impl View {
    pub fn compile(_: &[String]) -> Result<Self, String> {
        Ok(View)
    }
    pub fn of(&self, v: &Value) -> Value {
        v.clone()
    }
    pub fn of_arguments(&self, v: &Value, _: &DigestKey) -> Value {
        v.clone()
    }
}
#[derive(Default)]
pub struct Scrubber;
impl Scrubber {
    pub fn scrub(&self, v: Value) -> Result<Value, String> {
        Ok(v)
    }
    pub fn text(&self, t: &str) -> String {
        t.into()
    }
}
pub fn clean_text(t: &str, _: usize) -> String {
    t.into()
}

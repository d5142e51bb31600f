//! What an effect would have answered, by a probe or a person who found out: what undoes it may need that.

use haft_core::ledger::EffectRecord;
use haft_core::validator;
use haft_core::{ErrorKind, ToolError};
use serde_json::Value;

use crate::path::written_size;
use crate::runtime::Runtime;

impl Runtime {
    /// An answer that may be kept and shown: one that fits the contract which the effect was caused under, as far
    /// as that is known still, with no secret in it.
    ///
    /// # Errors
    ///
    /// It does not fit, is too large, or cannot be made safe to show.
    pub(super) async fn found_out(
        &self,
        effect: &EffectRecord,
        mut answer: Value,
    ) -> Result<Value, ToolError> {
        let refused = |why: String| {
            Err(ToolError::new(ErrorKind::InvalidArguments, why)
                .suggest("give what the tool would have answered, or leave it out"))
        };
        let tool = self.tool_behind(&effect.effect).await;
        let contract = tool.as_ref().map(|tool| &tool.contract);
        let most = contract.and_then(|contract| contract.limits.max_result_bytes);
        let most = most.unwrap_or(self.inner.settings.default_result_bytes);
        let size = written_size(&answer);
        if size > most {
            return refused(format!(
                "the answer has {size} bytes, more than the {most} that are allowed"
            ));
        }
        if let Some(schema) = contract.and_then(|contract| contract.output.as_ref())
            && let Ok(schema) = validator::compile(schema)
        {
            if let Some(why) = schema.too_much(&answer) {
                return refused(format!("the answer is too long to be checked: {why}"));
            }
            let wrong = validator::errors(&schema, &answer).into_iter().take(5);
            let told = |(at, why): (String, String)| match at.as_str() {
                "" => why,
                at => format!("{at}: {why}"),
            };
            let wrong: Vec<String> = wrong.map(told).collect();
            if !wrong.is_empty() {
                let wrong = wrong.join("; ");
                return refused(format!("the answer does not fit the tool's contract: {wrong}"));
            }
        }
        match self.inner.sieve(&effect.effect.tenant, None).value(&mut answer) {
            Ok(_) => Ok(answer),
            Err(_) => refused("the answer cannot be made safe to show".to_owned()),
        }
    }
}

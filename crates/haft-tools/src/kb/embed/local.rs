//! A model in a folder, run in this process: BERT sentence models as their authors publish them
//! (`config.json`, `tokenizer.json`, `model.safetensors`; `1_Pooling/config.json` says how the tokens
//! of a text become one vector).

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use haft_core::Digest;
use tokenizers::{Encoding, PaddingParams, Tokenizer, TruncationParams};

use super::{Embed, Purpose, normal};
use crate::kb::base::KbError;

/// Texts at once. More are not faster on a processor and take more memory.
const BATCH: usize = 16;
/// What is read of a text where the model does not say.
const TOKENS: usize = 256;

/// The files of a model.
const FILES: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];

/// A model of one's own, loaded when it is first needed.
pub struct Local {
    folder: PathBuf,
    loaded: OnceLock<Result<Loaded, String>>,
}

struct Loaded {
    name: String,
    model: BertModel,
    tokenizer: Tokenizer,
    pooling: Pooling,
}

/// How what a model says about each token becomes one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pooling {
    /// The mean over all tokens.
    Mean,
    /// What it says about the first one.
    First,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Local {
    /// The model of a folder.
    ///
    /// # Errors
    ///
    /// A file is missing.
    pub fn new(folder: &Path) -> Result<Self, String> {
        match FILES.iter().find(|name| !folder.join(name).is_file()) {
            Some(missing) => Err(format!(
                "`{}` has no `{missing}`; a model's folder holds {}",
                folder.display(),
                FILES.map(|name| format!("`{name}`")).join(", ")
            )),
            None => Ok(Self { folder: folder.to_owned(), loaded: OnceLock::new() }),
        }
    }

    fn loaded(&self) -> Result<&Loaded, String> {
        self.loaded.get_or_init(|| Loaded::read(&self.folder)).as_ref().map_err(Clone::clone)
    }
}

impl Loaded {
    fn read(folder: &Path) -> Result<Self, String> {
        let file = |name: &str| {
            fs::read(folder.join(name))
                .map_err(|why| format!("`{}`: {why}", folder.join(name).display()))
        };
        let wrong =
            |what: &str, why: &dyn fmt::Display| format!("`{}`: {what}: {why}", folder.display());
        let settings = file("config.json")?;
        is_bert(&settings).map_err(|why| wrong("config.json", &why))?;
        let config: Config =
            serde_json::from_slice(&settings).map_err(|why| wrong("config.json", &why))?;
        let pooling = pooling(folder).map_err(|why| wrong("1_Pooling/config.json", &why))?;
        let weights = file("model.safetensors")?;
        // What is compared must come from the same weights, put together in the same way.
        let name = format!("local {} {pooling:?}", Digest::of_bytes(&weights).short());
        let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)
            .map_err(|why| wrong("model.safetensors", &why))?;
        let model = BertModel::load(weights, &config)
            .map_err(|why| wrong("no model that can be run", &why))?;
        let mut tokenizer = Tokenizer::from_bytes(file("tokenizer.json")?)
            .map_err(|why| wrong("tokenizer.json", &why))?;
        let most = longest(folder).unwrap_or(TOKENS).min(config.max_position_embeddings);
        let cut = TruncationParams { max_length: most, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(cut)).map_err(|why| wrong("tokenizer.json", &why))?;
        tokenizer.with_padding(Some(PaddingParams::default()));
        Ok(Self { name, model, tokenizer, pooling })
    }

    fn batch(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, String> {
        let encoded =
            self.tokenizer.encode_batch(texts.to_vec(), true).map_err(|why| why.to_string())?;
        let pooled = self.pooled(&encoded).map_err(|why| why.to_string())?;
        let vectors = pooled.to_vec2::<f32>().map_err(|why| why.to_string())?;
        let vectors: Option<Vec<Vec<f32>>> = vectors.into_iter().map(normal).collect();
        vectors.ok_or_else(|| "a text has no vector".to_owned())
    }

    /// One row a text.
    fn pooled(&self, encoded: &[Encoding]) -> candle_core::Result<Tensor> {
        let rows = |part: fn(&Encoding) -> &[u32]| {
            let rows: Vec<Vec<u32>> = encoded.iter().map(|one| part(one).to_vec()).collect();
            Tensor::new(rows, &Device::Cpu)
        };
        let (ids, kinds, mask) = (
            rows(Encoding::get_ids)?,
            rows(Encoding::get_type_ids)?,
            rows(Encoding::get_attention_mask)?,
        );
        let said = self.model.forward(&ids, &kinds, Some(&mask))?;
        if self.pooling == Pooling::First {
            return said.narrow(1, 0, 1)?.squeeze(1)?.contiguous();
        }
        // Padding says nothing.
        let mask = mask.to_dtype(DType::F32)?.unsqueeze(2)?;
        let sum = said.broadcast_mul(&mask)?.sum(1)?;
        sum.broadcast_div(&mask.sum(1)?)
    }
}

/// Others have the same files and other insides; run as what they are not, they would say nonsense.
fn is_bert(settings: &[u8]) -> Result<(), String> {
    let settings: serde_json::Value =
        serde_json::from_slice(settings).map_err(|why| why.to_string())?;
    match settings.get("model_type").and_then(serde_json::Value::as_str) {
        None | Some("bert") => Ok(()),
        Some(other) => Err(format!(
            "a model of the type `{}` cannot be run here, only `bert` can; serve it behind an endpoint \
             and name that with `url` and `model`",
            other.escape_debug()
        )),
    }
}

/// What its authors say about pooling; the mean where they say nothing.
fn pooling(folder: &Path) -> Result<Pooling, String> {
    let Ok(text) = fs::read(folder.join("1_Pooling").join("config.json")) else {
        return Ok(Pooling::Mean);
    };
    let settings: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&text).map_err(|why| why.to_string())?;
    let mut chosen = settings
        .iter()
        .filter(|(name, value)| name.starts_with("pooling_mode_") && value.as_bool() == Some(true))
        .map(|(name, _)| name.as_str());
    match (chosen.next(), chosen.next()) {
        (Some("pooling_mode_mean_tokens") | None, None) => Ok(Pooling::Mean),
        (Some("pooling_mode_cls_token"), None) => Ok(Pooling::First),
        (_, _) => Err("only the mean of the tokens and the first one are known here".to_owned()),
    }
}

/// How many tokens its authors let it read.
fn longest(folder: &Path) -> Option<usize> {
    let text = fs::read(folder.join("sentence_bert_config.json")).ok()?;
    let settings: serde_json::Value = serde_json::from_slice(&text).ok()?;
    usize::try_from(settings.get("max_seq_length")?.as_u64()?).ok()
}

impl Embed for Local {
    fn name(&self) -> String {
        self.loaded().map_or_else(|_| "local, not loaded".to_owned(), |loaded| loaded.name.clone())
    }

    fn embed(&self, texts: &[String], _: Purpose) -> Result<Vec<Vec<f32>>, KbError> {
        let loaded = self.loaded().map_err(KbError::Model)?;
        // Texts of one length together: a batch is as long as its longest.
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|place| texts.get(*place).map_or(0, String::len));
        let mut vectors: Vec<Vec<f32>> = vec![Vec::new(); texts.len()];
        for places in order.chunks(BATCH) {
            let batch: Vec<String> =
                places.iter().filter_map(|place| texts.get(*place).cloned()).collect();
            let made = loaded.batch(&batch).map_err(KbError::Model)?;
            for (place, vector) in places.iter().zip(made) {
                if let Some(slot) = vectors.get_mut(*place) {
                    *slot = vector;
                }
            }
        }
        Ok(vectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_run_is_said_before_it_is_run() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Local::new(folder.path()).unwrap_err();
        assert!(
            missing.contains("`config.json`, `tokenizer.json`, `model.safetensors`"),
            "{missing}"
        );
        assert!(is_bert(b"{\"model_type\": \"xlm-roberta\"}").unwrap_err().contains("`url`"));
        assert_eq!(is_bert(b"{\"model_type\": \"bert\"}"), Ok(()));
        fs::write(folder.path().join("config.json"), "{").unwrap();
        fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
        fs::write(folder.path().join("model.safetensors"), "").unwrap();
        let broken = Local::new(folder.path()).unwrap();
        let error = broken.embed(&["x".to_owned()], Purpose::Search).unwrap_err().to_string();
        assert!(error.contains("config.json"), "{error}");
    }

    #[test]
    fn pooling_is_what_the_authors_say() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(pooling(folder.path()), Ok(Pooling::Mean));
        fs::create_dir(folder.path().join("1_Pooling")).unwrap();
        let check = |text: &str, expected: Option<Pooling>| {
            fs::write(folder.path().join("1_Pooling/config.json"), text).unwrap();
            assert_eq!(pooling(folder.path()).ok(), expected, "{text}");
        };
        check("{\"pooling_mode_mean_tokens\": true}", Some(Pooling::Mean));
        check("{\"pooling_mode_cls_token\": true}", Some(Pooling::First));
        check("{\"pooling_mode_max_tokens\": true}", None);
        check("{\"pooling_mode_cls_token\": true, \"pooling_mode_mean_tokens\": true}", None);
        check("[", None);
    }
}

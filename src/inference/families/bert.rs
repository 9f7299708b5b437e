//! BERT: MiniLM, BGE, E5 and their kin, computed by our own [`crate::inference::bert`].

use super::EncoderFamily;
use crate::inference::bert::{Bert, BertConfig};
use crate::inference::encoder::Encoder;
use crate::inference::weights::Weights;
use crate::interfaces::ModelError;

/// Its entry in the table.
pub static FAMILY: EncoderFamily = EncoderFamily {
    name: "bert",
    classes: &["BertModel", "BertForMaskedLM"],
    shape: |config| Ok(BertConfig::from_json(config)?.shape()),
    load: |config, weights| {
        let config = BertConfig::from_json(config).map_err(|reason| weights.bad(reason))?;
        Ok(Box::new(Bert::load(weights, config)?))
    },
    load_gguf: Some(from_gguf),
};

fn from_gguf(weights: &Weights) -> Result<Box<dyn Encoder>, ModelError> {
    let rows = |name: &str| weights.dims(name).and_then(|dims| dims.first().copied()).unwrap_or(0);
    let (n_words, n_types) = (rows("token_embd.weight"), rows("token_types.weight"));
    let config = BertConfig::from_gguf(weights.metadata(), n_words, n_types)
        .map_err(|reason| weights.bad(reason))?;
    Ok(Box::new(Bert::load(weights, config)?))
}

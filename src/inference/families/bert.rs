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
    read: |config| {
        let config = BertConfig::from_json(config)?;
        Ok(Box::new(|weights| Ok(Box::new(Bert::load(weights, weights, config)?))))
    },
    load_gguf: Some(from_gguf),
};

fn from_gguf(weights: &Weights) -> Result<Box<dyn Encoder>, ModelError> {
    let config = BertConfig::from_gguf(weights, weights).map_err(|reason| weights.bad(reason))?;
    Ok(Box::new(Bert::load(weights, weights, config)?))
}

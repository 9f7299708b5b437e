//! Decoding token by token.

use super::Tokenizer;

/// Turns a stream of tokens into a stream of valid UTF-8.
#[derive(Debug, Default)]
pub struct DecodeStream {
    pending: Vec<u8>,
}

impl DecodeStream {
    /// The text that is complete with this token; often empty inside a character.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: u32) -> String {
        self.pending.extend_from_slice(tokenizer.token_bytes(id));
        let mut text = String::new();
        loop {
            match str::from_utf8(&self.pending) {
                Ok(valid) => {
                    text.push_str(valid);
                    self.pending.clear();
                    return text;
                }
                Err(error) => {
                    let (valid, rest) = self.pending.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    let Some(n_bad) = error.error_len() else {
                        self.pending = rest.to_vec();
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.pending = rest[n_bad..].to_vec();
                }
            }
        }
    }

    /// What is left at the end: U+FFFD if a character was cut off.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

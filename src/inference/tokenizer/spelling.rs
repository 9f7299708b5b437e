//! How a vocabulary spells bytes.

/// How a token's text in the vocabulary stands for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// GPT-2's alphabet: one printable character per byte.
    ByteLevel,
    /// SentencePiece: `▁` is a space, `<0x0A>` a byte.
    SpaceMark,
    /// BERT: `##` continues a word, everything else begins one.
    WordPiece,
    Plain,
}

impl Spelling {
    /// The bytes that a token of the vocabulary stands for.
    pub fn bytes(self, piece: &str) -> Vec<u8> {
        match self {
            Self::ByteLevel => {
                let bytes: Option<Vec<u8>> = piece.chars().map(byte_of).collect();
                bytes.unwrap_or_else(|| piece.as_bytes().to_vec())
            }
            Self::SpaceMark => {
                let byte = piece.strip_prefix("<0x").and_then(|p| p.strip_suffix('>'));
                if let Some(Ok(byte)) = byte.map(|hex| u8::from_str_radix(hex, 16)) {
                    return vec![byte];
                }
                piece.replace('▁', " ").into_bytes()
            }
            Self::WordPiece => match piece.strip_prefix("##") {
                Some(rest) => rest.as_bytes().to_vec(),
                None => format!(" {piece}").into_bytes(),
            },
            Self::Plain => piece.as_bytes().to_vec(),
        }
    }
}

/// GPT-2's alphabet, read backwards: printable Latin-1 stands for itself, the 68 other bytes follow
/// from U+0100 in order.
pub fn byte_of(c: char) -> Option<u8> {
    let code = u8::try_from(u32::from(c)).ok();
    match code.filter(|&b| stands_for_itself(b)) {
        Some(byte) => Some(byte),
        None => OTHERS.get((c as usize).checked_sub(0x100)?).copied(),
    }
}

const fn stands_for_itself(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff)
}

/// The bytes that do not stand for themselves.
static OTHERS: [u8; 68] = {
    let (mut others, mut n, mut byte) = ([0; 68], 0, 0);
    while n < others.len() {
        if !stands_for_itself(byte) {
            others[n] = byte;
            n += 1;
        }
        byte = byte.wrapping_add(1);
    }
    others
};

//! The code that the devices of a sync share, and what it seals: no carrier can read a piece, change it, or give it out as
//! another one.
//!
//! A sealed piece is `inglsync`, the format (1 byte), the length of the whole (4, big-endian), a nonce (24), and what
//! XChaCha20-Poly1305 makes of the text, which line breaks fill up to a multiple of 256 bytes. The sync, the device and the
//! piece's number are authenticated with it.

use std::fmt;
use std::str::FromStr;

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use hkdf::Hkdf;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zeroize::{Zeroize as _, Zeroizing};

use super::DeviceId;

const MAGIC: &[u8; 8] = b"inglsync";
const FORMAT: u8 = 1;
const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;
/// What stands before the nonce.
const HEAD_BYTES: usize = MAGIC.len() + 1 + 4;
/// A piece's length tells roughly how much was written, no more.
const PADDED_TO: usize = 256;
/// No device writes a longer piece, so none is read. Only one with a very long message is longer than 256 KiB.
pub const PIECE_BYTES_MAX: usize = 256 << 20;

/// Crockford's base32: no I, L, O or U.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// 128 bits, and 12 to find slips by.
const N_DIGITS: usize = 28;
const GROUP: usize = 4;

/// The secret of a sync: whoever has it reads and writes what its devices share.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Code([u8; 16]);

/// Why a text is no code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    #[error("no code has the character `{found}` (in group {group})")]
    Character { found: char, group: usize },
    #[error("a code has {N_DIGITS} letters and digits, this one {found}")]
    Length { found: usize },
    #[error("a letter or digit of the code is wrong, or two have changed places")]
    Slip,
}

impl Code {
    /// A new one.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut code = Self([0; 16]);
        getrandom::fill(&mut code.0)?;
        Ok(code)
    }

    /// As people read and type it: seven groups of four.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(N_DIGITS + N_DIGITS / GROUP));
        let bits = Zeroizing::new(self.with_check());
        for i in 0..N_DIGITS {
            if i > 0 && i.is_multiple_of(GROUP) {
                text.push('-');
            }
            let pair = u16::from_be_bytes([bits[5 * i / 8], bits[5 * i / 8 + 1]]);
            let five = pair >> (11 - 5 * i % 8) & 31;
            text.push(DIGITS[usize::from(five)].into());
        }
        text
    }

    /// The code, then the 12 bits of its check, then zeros.
    fn with_check(&self) -> [u8; 18] {
        let hash =
            Sha256::new().chain_update("inglenook sync code").chain_update(self.0).finalize();
        let mut bits = [0; 18];
        bits[..16].copy_from_slice(&self.0);
        bits[16..].copy_from_slice(&[hash[0], hash[1] & 0xf0]);
        bits
    }
}

impl FromStr for Code {
    type Err = CodeError;

    fn from_str(text: &str) -> Result<Self, CodeError> {
        let mut bits = Zeroizing::new([0_u8; 18]);
        let mut n = 0;
        for c in text.chars().filter(|c| !c.is_whitespace() && *c != '-') {
            // As they are misread.
            let digit = match c.to_ascii_uppercase() {
                'O' => b'0',
                'I' | 'L' => b'1',
                upper => u8::try_from(upper).unwrap_or(b'?'),
            };
            let Some(five) = DIGITS.iter().position(|d| *d == digit) else {
                return Err(CodeError::Character { found: c, group: n / GROUP + 1 });
            };
            if n < N_DIGITS {
                let pair = (five as u16) << (11 - 5 * n % 8);
                bits[5 * n / 8] |= pair.to_be_bytes()[0];
                bits[5 * n / 8 + 1] |= pair.to_be_bytes()[1];
            }
            n += 1;
        }
        if n != N_DIGITS {
            return Err(CodeError::Length { found: n });
        }
        let mut code = Self([0; 16]);
        code.0.copy_from_slice(&bits[..16]);
        if code.with_check() == *bits { Ok(code) } else { Err(CodeError::Slip) }
    }
}

impl TryFrom<String> for Code {
    type Error = CodeError;

    fn try_from(text: String) -> Result<Self, CodeError> {
        Zeroizing::new(text).parse()
    }
}

impl From<Code> for String {
    fn from(code: Code) -> Self {
        std::mem::take(&mut *code.to_text())
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(…)")
    }
}

/// Which sync it is: no secret, but part of the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncId(String);

impl SyncId {
    /// A new one.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }
}

/// Why a piece can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error("it has not arrived as a whole")]
    NotWhole,
    #[error("a newer inglenook wrote it")]
    Newer,
    #[error("it was not written with this sync's code, or was changed since")]
    Foreign,
    #[error("the system has no randomness")]
    NoRandomness(#[from] getrandom::Error),
}

/// Seals and opens the pieces of one sync.
pub struct Seal {
    cipher: XChaCha20Poly1305,
    sync: SyncId,
}

impl Seal {
    pub fn new(code: &Code, sync: &SyncId) -> Self {
        let mut key = Zeroizing::new([0_u8; 32]);
        // Only a key of more than 8,160 bytes would be refused.
        let _ = Hkdf::<Sha256>::new(Some(sync.0.as_bytes()), &code.0)
            .expand(b"inglenook sync 1: pieces", &mut *key);
        Self { cipher: XChaCha20Poly1305::new((&*key).into()), sync: sync.clone() }
    }

    /// `None` instead of a device and number: what the carrier holds of the sync itself.
    fn bound(&self, of: Option<(DeviceId, u64)>) -> Vec<u8> {
        let of = of.map_or_else(|| "sync".into(), |(device, piece)| format!("{device}\n{piece}"));
        format!("inglenook sync {FORMAT}\n{}\n{of}", self.sync.0).into_bytes()
    }

    /// # Errors
    /// If the system has no randomness.
    pub fn seal(
        &self,
        of: Option<(DeviceId, u64)>,
        mut text: Vec<u8>,
    ) -> Result<Vec<u8>, SealError> {
        text.resize(text.len().next_multiple_of(PADDED_TO), b'\n');
        let length = HEAD_BYTES + NONCE_BYTES + text.len() + TAG_BYTES;
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce)?;
        let payload = Payload { msg: &text, aad: &self.bound(of) };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload);
        text.zeroize();
        let mut piece = Vec::with_capacity(length);
        piece.extend_from_slice(MAGIC);
        piece.push(FORMAT);
        piece.extend_from_slice(&(length as u32).to_be_bytes());
        piece.extend_from_slice(&nonce);
        // Only a text of more than 256 GiB is refused.
        piece.extend(sealed.map_err(|_| SealError::Foreign)?);
        Ok(piece)
    }

    /// # Errors
    /// If the piece is none, not whole, of another sync, or another than it is said to be.
    pub fn open(&self, of: Option<(DeviceId, u64)>, piece: &[u8]) -> Result<Vec<u8>, SealError> {
        let head = piece.first_chunk::<HEAD_BYTES>().ok_or(SealError::NotWhole)?;
        let (magic, rest) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            // A file system may show a file that is on its way as zeros.
            let is_empty = piece.iter().all(|byte| *byte == 0);
            return Err(if is_empty { SealError::NotWhole } else { SealError::Foreign });
        }
        if rest[0] != FORMAT {
            return Err(SealError::Newer);
        }
        let length = rest[1..].iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        if piece.len() < length {
            return Err(SealError::NotWhole);
        }
        let sealed = piece[HEAD_BYTES..].split_first_chunk::<NONCE_BYTES>();
        let Some((nonce, sealed)) = sealed.filter(|_| piece.len() == length) else {
            return Err(SealError::Foreign);
        };
        let payload = Payload { msg: sealed, aad: &self.bound(of) };
        let opened = self.cipher.decrypt(&XNonce::from(*nonce), payload);
        opened.map_err(|_| SealError::Foreign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: DeviceId = DeviceId([7; 8]);

    fn seal() -> Seal {
        Seal::new(&Code([1; 16]), &SyncId("a".into()))
    }

    #[test]
    fn a_code_is_read_as_it_is_shown_and_as_people_type_it() {
        for _ in 0..100 {
            let code = Code::random().unwrap();
            let text = code.to_text();
            assert_eq!(text.len(), 34);
            assert_eq!(text.parse(), Ok(code.clone()));
            let typed = text.to_lowercase().replace('-', " ").replace('0', "o").replace('1', "l");
            assert_eq!(typed.parse(), Ok(code));
        }
        assert_eq!(*Code([0xff; 16]).to_text(), "ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZX5X");
    }

    #[test]
    fn slips_of_the_pen_are_found_and_named() {
        let text = Code([0x5a; 16]).to_text();
        let without = |n: usize| text.chars().take(n).collect::<String>();
        assert_eq!(without(30).parse::<Code>(), Err(CodeError::Length { found: 24 }));
        assert_eq!("".parse::<Code>(), Err(CodeError::Length { found: 0 }));
        let odd = format!("{}U{}", &text[..6], &text[7..]);
        assert_eq!(odd.parse::<Code>(), Err(CodeError::Character { found: 'U', group: 2 }));
        let odd = format!("{}ß{}", &text[..6], &text[7..]);
        assert_eq!(odd.parse::<Code>(), Err(CodeError::Character { found: 'ß', group: 2 }));
        let (mut found, mut tried) = (0, 0);
        for at in (0..text.len()).filter(|at| text.as_bytes()[*at] != b'-') {
            for digit in DIGITS.iter().filter(|digit| **digit != text.as_bytes()[at]) {
                let mut typed = text.as_bytes().to_vec();
                typed[at] = *digit;
                let read = String::from_utf8(typed).unwrap().parse::<Code>();
                found += usize::from(read == Err(CodeError::Slip));
                tried += 1;
            }
        }
        assert!(tried - found <= 3, "{found} of {tried}");
    }

    #[test]
    fn a_piece_opens_only_as_what_it_is() {
        let seal = seal();
        let of = Some((DEVICE, 1));
        let piece = seal.seal(of, b"hello\n".to_vec()).unwrap();
        assert_eq!(piece.len(), HEAD_BYTES + NONCE_BYTES + PADDED_TO + TAG_BYTES);
        let opened = seal.open(of, &piece).unwrap();
        assert_eq!(opened.trim_ascii_end(), b"hello");
        assert_ne!(seal.seal(of, b"hello\n".to_vec()).unwrap(), piece, "a nonce is used once");
        for other in [Some((DEVICE, 2)), Some((DeviceId([8; 8]), 1)), None] {
            assert!(matches!(seal.open(other, &piece), Err(SealError::Foreign)));
        }
        for other in [
            Seal::new(&Code([2; 16]), &SyncId("a".into())),
            Seal::new(&Code([1; 16]), &SyncId("b".into())),
        ] {
            assert!(matches!(other.open(of, &piece), Err(SealError::Foreign)));
        }
        for at in [0, HEAD_BYTES, HEAD_BYTES + NONCE_BYTES, piece.len() - 1] {
            let mut changed = piece.clone();
            changed[at] ^= 1;
            assert!(matches!(seal.open(of, &changed), Err(SealError::Foreign)), "byte {at}");
        }
        let mut longer = piece.clone();
        longer.push(0);
        assert!(matches!(seal.open(of, &longer), Err(SealError::Foreign)));
        for arrived in [&[][..], &piece[..5], &piece[..piece.len() - 1], &[0; 500]] {
            assert!(matches!(seal.open(of, arrived), Err(SealError::NotWhole)));
        }
    }

    #[test]
    fn nothing_of_the_text_is_seen_in_a_piece() {
        let piece = seal().seal(None, b"I live in Lund.".repeat(40)).unwrap();
        assert!(!piece.windows(4).any(|bytes| bytes == b"Lund"));
    }
}

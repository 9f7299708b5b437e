//! A vocabulary as a tree of bytes, so that a grammar looks at what tokens have in common once.
//!
//! Words make up most of a vocabulary, and where a grammar takes free text it takes nearly all of them: those
//! are kept apart, in sets by length, and taken or left as a whole. (llguidance's slices have the same purpose.)

use super::tokenizer::Tokenizer;

/// Words of more characters than this are looked at one by one.
pub const WORD_CHARS_MAX: usize = 32;

/// A set of token ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSet(Vec<u64>);

impl TokenSet {
    pub fn empty(n_ids: usize) -> Self {
        Self(vec![0; n_ids.div_ceil(64)])
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    pub fn insert(&mut self, id: u32) {
        if let Some(word) = self.0.get_mut(id as usize / 64) {
            *word |= 1 << (id % 64);
        }
    }

    pub fn contains(&self, id: u32) -> bool {
        self.0.get(id as usize / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    pub fn add(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    /// Makes the logits of all others impossible.
    pub fn keep(&self, logits: &mut [f32]) {
        let words = self.0.iter().chain(std::iter::repeat(&0));
        for (logits, &word) in logits.chunks_mut(64).zip(words) {
            for (bit, logit) in logits.iter_mut().enumerate() {
                if word >> bit & 1 == 0 {
                    *logit = f32::NEG_INFINITY;
                }
            }
        }
    }
}

/// Words of one length: complete characters, no control character, no `"`, no `\`.
#[derive(Debug)]
pub struct Words {
    /// Those that begin with no space, with one, and with several.
    pub by_spaces: [TokenSet; 3],
}

/// A node of a tree in depth-first order.
#[derive(Debug, Clone, Copy)]
struct Node {
    byte: u8,
    /// 1 below the root.
    depth: u8,
    /// [`NO_TOKEN`] inside a token.
    token: u32,
    /// The next node that is not below this one.
    end: u32,
}

const NO_TOKEN: u32 = u32::MAX;
/// Longer tokens (runs of a hundred spaces) are never offered to a grammar: a depth has to fit a byte.
const TOKEN_BYTES_MAX: usize = 255;

/// Tokens as a tree of their bytes.
#[derive(Debug, Default)]
pub struct Tree(Vec<Node>);

impl Tree {
    /// `tokens` in the order of their bytes.
    fn new(tokens: &[(&[u8], u32)]) -> Self {
        let mut nodes: Vec<Node> = Vec::new();
        // The nodes from the root to the last one.
        let mut path: Vec<usize> = Vec::new();
        let mut last: &[u8] = &[];
        for &(bytes, token) in tokens {
            let mut common = bytes.iter().zip(last).take_while(|(a, b)| a == b).count();
            if common == bytes.len() {
                // The same bytes again: a node of its own beside the first.
                common -= 1;
            }
            for at in path.drain(common..) {
                nodes[at].end = nodes.len() as u32;
            }
            for (depth, &byte) in bytes.iter().enumerate().skip(common) {
                path.push(nodes.len());
                nodes.push(Node { byte, depth: depth as u8 + 1, token: NO_TOKEN, end: 0 });
            }
            if let Some(node) = nodes.last_mut() {
                node.token = token;
            }
            last = bytes;
        }
        for at in path {
            nodes[at].end = nodes.len() as u32;
        }
        Self(nodes)
    }

    /// Goes down every branch that `step` takes, and tells `found` each token with what `step` made of its
    /// last byte. `path` is room to work in.
    pub fn walk<P: Copy>(
        &self,
        start: P,
        path: &mut Vec<P>,
        step: impl Fn(P, u8) -> Option<P>,
        mut found: impl FnMut(u32, P),
    ) {
        path.clear();
        path.push(start);
        let mut at = 0;
        while let Some(node) = self.0.get(at) {
            path.truncate(usize::from(node.depth));
            let above = path[usize::from(node.depth) - 1];
            if let Some(here) = step(above, node.byte) {
                if node.token != NO_TOKEN {
                    found(node.token, here);
                }
                path.push(here);
                at += 1;
            } else {
                at = node.end as usize;
            }
        }
    }
}

/// See the module.
pub struct TokenTrie {
    n_ids: usize,
    /// `bytes[starts[id]..starts[id + 1]]` are the bytes of a token.
    bytes: Vec<u8>,
    starts: Vec<u32>,
    /// Which bytes are tokens of their own.
    single: [bool; 256],
    /// By number of characters.
    pub words: Vec<Option<Words>>,
    /// The same words.
    pub word_tree: Tree,
    /// All other tokens.
    pub other_tree: Tree,
}

impl std::fmt::Debug for TokenTrie {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenTrie").field("n_ids", &self.n_ids).finish_non_exhaustive()
    }
}

impl TokenTrie {
    /// The tokens that text can be made of.
    pub fn of(tokenizer: &Tokenizer) -> Self {
        let tokens = (0..tokenizer.n_ids() as u32).map(|id| tokenizer.text_bytes(id));
        Self::new(&tokens.collect::<Vec<_>>())
    }

    /// The bytes of each id; none where it stands for no text.
    pub fn new(tokens: &[&[u8]]) -> Self {
        let n_ids = tokens.len();
        let mut words: Vec<Option<Words>> = (0..=WORD_CHARS_MAX).map(|_| None).collect();
        let (mut plain, mut other) = (Vec::new(), Vec::new());
        let (mut bytes, mut starts) = (Vec::new(), vec![0]);
        let mut single = [false; 256];
        for (&token, id) in tokens.iter().zip(0..) {
            bytes.extend_from_slice(token);
            starts.push(bytes.len() as u32);
            if let &[byte] = token {
                single[usize::from(byte)] = true;
            }
            if token.is_empty() || token.len() > TOKEN_BYTES_MAX {
                continue;
            }
            if let Some((n_chars, n_spaces)) = word(token) {
                let empty = || TokenSet::empty(n_ids);
                let words = words[n_chars]
                    .get_or_insert_with(|| Words { by_spaces: [empty(), empty(), empty()] });
                words.by_spaces[n_spaces.min(2)].insert(id);
                plain.push((token, id));
            } else {
                other.push((token, id));
            }
        }
        plain.sort_unstable();
        other.sort_unstable();
        Self {
            n_ids,
            bytes,
            starts,
            single,
            words,
            word_tree: Tree::new(&plain),
            other_tree: Tree::new(&other),
        }
    }

    pub fn n_ids(&self) -> usize {
        self.n_ids
    }

    /// The bytes that a token stands for; none for ids that text is not made of.
    pub fn bytes(&self, id: u32) -> &[u8] {
        let start = |id: usize| self.starts.get(id).map(|&at| at as usize);
        match (start(id as usize), start(id as usize + 1)) {
            (Some(from), Some(to)) => &self.bytes[from..to],
            _ => &[],
        }
    }

    /// Whether these bytes are a token.
    pub fn holds(&self, bytes: &[u8]) -> bool {
        if let &[byte] = bytes {
            return self.single[usize::from(byte)];
        }
        let mut held = false;
        for tree in [&self.word_tree, &self.other_tree] {
            let step = |n: usize, byte| (bytes.get(n) == Some(&byte)).then_some(n + 1);
            tree.walk(0, &mut Vec::new(), step, |_, n| held |= n == bytes.len());
        }
        held
    }
}

/// A word's characters and the spaces that it begins with. A lone space is none: what it does to a grammar that
/// allows one is not what a word does.
fn word(token: &[u8]) -> Option<(usize, usize)> {
    let text = str::from_utf8(token).ok()?;
    let plain = |c: char| c >= ' ' && !matches!(c, '"' | '\\' | '\x7f');
    let n_chars = text.chars().count();
    let fits = text != " " && n_chars <= WORD_CHARS_MAX && text.chars().all(plain);
    fits.then(|| (n_chars, text.chars().take_while(|&c| c == ' ').count()))
}

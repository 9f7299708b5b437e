//! One pass through the decoder: the positions of its tokens, and which keys each of them attends to.

/// Tokens that go through the model together, after `start` others that all of them attend to: one text, or
/// several, the branches, which don't attend to one another.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Tokens before it.
    pub start: usize,
    /// For each token, where in the pass its branch begins; empty if the pass is one text.
    pub branches: &'a [usize],
}

impl Run<'_> {
    fn branch(self, index: usize) -> usize {
        self.branches.get(index).copied().unwrap_or(0)
    }

    /// The position of token `index` in its own text.
    pub fn position(self, index: usize) -> usize {
        self.start + index - self.branch(index)
    }

    /// How many keys there are up to the token's own, that one included.
    pub fn visible(self, index: usize) -> usize {
        self.start + index + 1
    }

    /// Those of them that belong to other branches.
    pub fn hidden(self, index: usize) -> std::ops::Range<usize> {
        self.start..self.start + self.branch(index)
    }
}

//! One pass through the decoder: the positions of its tokens, and which keys each of them attends to.

/// Tokens that go through the model together, after `start` others that all of them attend to: one text, or
/// several, the branches, which don't attend to one another.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Tokens before it.
    pub start: usize,
    /// For each token, where in the pass its branch begins; empty if the pass is one text.
    pub branches: &'a [usize],
    /// How many tokens of its own text each token attends to, itself included; all of them without.
    pub window: Option<usize>,
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

    /// The key that stands `distance` before the token's own in its text.
    pub fn before(self, index: usize, distance: usize) -> Option<usize> {
        let position = self.position(index).checked_sub(distance)?;
        Some(if position < self.start { position } else { position + self.branch(index) })
    }

    /// The first of them that it attends to.
    pub fn first(self, index: usize) -> usize {
        let Some(window) = self.window else { return 0 };
        let first = (self.position(index) + 1).saturating_sub(window);
        if first <= self.start { first } else { first + self.branch(index) }
    }

    /// Those between that one and its own that belong to other branches.
    pub fn hidden(self, index: usize) -> std::ops::Range<usize> {
        let first = self.first(index);
        self.start.max(first)..(self.start + self.branch(index)).max(first)
    }
}

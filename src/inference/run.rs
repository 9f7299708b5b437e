//! What goes through the decoder in one pass: where its tokens stand, and what each of them sees.

/// Tokens that go through the model together, after `start` others that all of them see: one text,
/// or several, the branches, which don't see one another.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    pub start: usize,
    /// For each token, where in the run its branch begins; empty if the run is one text.
    pub branches: &'a [usize],
}

impl Run<'_> {
    fn branch(self, index: usize) -> usize {
        self.branches.get(index).copied().unwrap_or(0)
    }

    /// Of the run's token `index`, in its own text.
    pub fn position(self, index: usize) -> usize {
        self.start + index - self.branch(index)
    }

    /// How many keys stand before the token's own and with it.
    pub fn visible(self, index: usize) -> usize {
        self.start + index + 1
    }

    /// Those of them that belong to other branches.
    pub fn hidden(self, index: usize) -> std::ops::Range<usize> {
        self.start..self.start + self.branch(index)
    }
}

//! Columns of a row-major matrix that several threads write at once.

use std::marker::PhantomData;

/// Some columns, all rows, of a row-major matrix: what one task writes.
///
/// This is to columns what `&mut [f32]` is to rows: made from an exclusive borrow of the whole
/// matrix, and divided by [`Self::split_at`] only, which consumes it. So no two of them share an
/// element.
#[derive(Debug)]
pub(crate) struct Columns<'a> {
    /// The first of the columns in the first row.
    start: *mut f32,
    n_rows: usize,
    width: usize,
    /// Elements from one row of the matrix to the next.
    stride: usize,
    matrix: PhantomData<&'a mut [f32]>,
}

// SAFETY: it stands for exclusive access to its elements, as `&mut [f32]` does, which is `Send`; no
// other `Columns` reaches them.
unsafe impl Send for Columns<'_> {}

impl<'a> Columns<'a> {
    /// All columns of a matrix `[_, n_columns]`.
    ///
    /// # Panics
    /// If `matrix` is not whole rows.
    pub fn new(matrix: &'a mut [f32], n_columns: usize) -> Self {
        assert!(matrix.len().is_multiple_of(n_columns));
        let n_rows = matrix.len() / n_columns;
        let start = matrix.as_mut_ptr();
        Self { start, n_rows, width: n_columns, stride: n_columns, matrix: PhantomData }
    }

    /// The first `n` columns, and the others.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn split_at(self, n: usize) -> (Self, Self) {
        assert!(n <= self.width);
        // Wrapping, because a matrix without rows has no element to point at.
        let start = self.start.wrapping_add(n);
        (Self { width: n, ..self }, Self { start, width: self.width - n, ..self })
    }

    /// `n` columns each, the last what is left.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn chunks(self, n: usize) -> impl Iterator<Item = Self> {
        assert!(n > 0);
        let mut left = Some(self);
        std::iter::from_fn(move || {
            let columns = left.take().filter(|columns| columns.width > 0)?;
            let n = n.min(columns.width);
            let (chunk, rest) = columns.split_at(n);
            left = Some(rest);
            Some(chunk)
        })
    }

    /// Writes `values` into a row, from one of these columns on.
    ///
    /// # Panics
    /// If there is no such row, or there are fewer columns from `column` on.
    #[inline]
    pub fn write(&mut self, row: usize, column: usize, values: &[f32]) {
        self.part(row, column, values.len()).copy_from_slice(values);
    }

    /// Adds `values` to a row, from one of these columns on.
    ///
    /// # Panics
    /// As [`Self::write`].
    pub fn add(&mut self, row: usize, column: usize, values: &[f32]) {
        for (sum, value) in self.part(row, column, values.len()).iter_mut().zip(values) {
            *sum += value;
        }
    }

    /// `n` values of a row from `column` on.
    #[inline]
    fn part(&mut self, row: usize, column: usize, n: usize) -> &mut [f32] {
        assert!(row < self.n_rows && column <= self.width);
        assert!(n <= self.width - column);
        // SAFETY: the asserted bounds lie within the borrowed matrix: row `row` begins
        // `row * stride` after `start`, and the matrix has these columns in every row. No one else
        // has access to the elements: other `Columns` have other columns, this one is borrowed
        // exclusively for as long as the slice, and the matrix itself is for as long as `'a`.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(row * self.stride + column), n) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_write_their_own_columns() {
        let mut matrix = vec![0f32; 3 * 7];
        let threads = Columns::new(&mut matrix, 7).chunks(3).enumerate();
        std::thread::scope(|scope| {
            for (index, mut columns) in threads {
                scope.spawn(move || {
                    for row in 0..3 {
                        let value = (10 * row + index) as f32;
                        let width = columns.width;
                        columns.write(row, 0, &vec![value; width]);
                    }
                });
            }
        });
        let expected = [[0, 0, 0, 1, 1, 1, 2], [10, 10, 10, 11, 11, 11, 12]].concat();
        assert_eq!(matrix[..14], expected.iter().map(|&x| x as f32).collect::<Vec<_>>());
        assert_eq!(Columns::new(&mut [], 5).chunks(2).count(), 3);
    }

    #[test]
    #[should_panic(expected = "n <= self.width")]
    fn a_chunk_ends_at_its_last_column() {
        let mut matrix = [0f32; 8];
        let (mut first, _) = Columns::new(&mut matrix, 4).split_at(2);
        first.write(0, 1, &[1.0, 1.0]);
    }
}

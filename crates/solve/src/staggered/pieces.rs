//! Vectors of pieces that are written in parallel.

use std::mem::MaybeUninit;

use rayon::prelude::*;

/// A piece of a vector that is being written.
pub struct Piece<'a, T> {
    slots: &'a mut [MaybeUninit<T>],
    written: usize,
}

impl<T: Copy> Piece<'_, T> {
    /// Writes one more.
    #[inline]
    pub fn push(&mut self, value: T) {
        self.slots[self.written].write(value);
        self.written += 1;
    }

    /// Writes some more.
    pub fn extend_from_slice(&mut self, values: &[T]) {
        self.slots[self.written..][..values.len()].write_copy_of_slice(values);
        self.written += values.len();
    }
}

/// A vector of pieces of these lengths, one after the other, all of which `fill` writes in full. One
/// large piece of memory goes back to the system when it is given up, unlike many small ones; and the
/// pages of new memory are met in parallel.
///
/// # Panics
/// If a piece is not written in full, or more than that.
pub fn in_pieces<T: Copy + Send>(
    lengths: &[usize],
    fill: impl Fn(usize, &mut Piece<'_, T>) + Sync,
) -> Vec<T> {
    let total = lengths.iter().sum();
    let mut all = Vec::with_capacity(total);
    let mut rest: &mut [MaybeUninit<T>] = &mut all.spare_capacity_mut()[..total];
    let mut pieces = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let (slots, after) = rest.split_at_mut(length);
        pieces.push(Piece { slots, written: 0 });
        rest = after;
    }
    let pieces = pieces.into_par_iter().enumerate().with_min_len(4);
    pieces.for_each(|(k, mut piece)| {
        fill(k, &mut piece);
        assert_eq!(piece.written, piece.slots.len(), "piece {k} in full");
    });
    // SAFETY: the pieces make up the whole, and each was written in full.
    unsafe { all.set_len(total) };
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_one_after_the_other() {
        let lengths: Vec<usize> = (0..50).map(|k| k % 7).collect();
        let found = in_pieces(&lengths, |k, piece| {
            for n in 1..lengths[k] {
                piece.push(100 * k + n);
            }
            if lengths[k] > 0 {
                piece.extend_from_slice(&[k]);
            }
        });
        let expected = lengths.iter().enumerate().flat_map(|(k, &length)| {
            let last = (length > 0).then_some(k);
            (1..length).map(move |n| 100 * k + n).chain(last)
        });
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    #[should_panic(expected = "piece 1 in full")]
    fn a_piece_that_is_not_full_is_found() {
        in_pieces(&[1, 2], |_, piece| piece.push(0u8));
    }
}

//! Deterministic scatter and reduction.

use std::ops::Range;

use rayon::prelude::*;

use crate::{BLOCK, Layout};

/// Layers of the slowest axis per slab. Fixed, so that the order of additions, and so every
/// bit of the result, does not depend on the number of threads.
const SLAB: usize = 8;

/// How many layers beyond its slab a scatter may write.
const REACH: usize = 2;

/// Scatters from layers of the slowest axis into one or more arrays of this layout.
///
/// `f(layers, windows, offset)` is called once per slab of layers; it may write
/// `windows[n][index - offset]` for every memory index whose layer lies within two layers
/// of the slab. Slabs of one parity run in parallel, all even slabs before all odd ones, so
/// each value receives its contributions in a fixed order.
pub fn scatter_slabs<T: Send, const D: usize, const N: usize>(
    layout: &Layout<D>,
    mut arrays: [&mut [T]; N],
    f: impl Fn(Range<i32>, [&mut [T]; N], usize) + Sync,
) {
    const {
        assert!(
            SLAB > 2 * REACH,
            "windows of slabs of one parity must not overlap"
        )
    };
    let layers = layout.cells()[D - 1];
    for parity in 0..2 {
        let mut rest = arrays.each_mut().map(|a| &mut **a);
        let mut consumed = 0;
        let mut jobs = Vec::new();
        for lo in (parity * SLAB..layers).step_by(2 * SLAB) {
            let hi = (lo + SLAB).min(layers);
            let begin = layer_start(layout, lo as i32 - REACH as i32);
            let end = layer_start(layout, (hi + REACH) as i32);
            let windows = rest.each_mut().map(|r| {
                let (_, after) = std::mem::take(r).split_at_mut(begin - consumed);
                let (window, after) = after.split_at_mut(end - begin);
                *r = after;
                window
            });
            consumed = end;
            jobs.push((lo as i32..hi as i32, windows, begin));
        }
        jobs.into_par_iter()
            .for_each(|(layers, windows, begin)| f(layers, windows, begin));
    }
}

/// Memory index where a layer begins, its x ghosts included, kept inside the array.
fn layer_start<const D: usize>(layout: &Layout<D>, layer: i32) -> usize {
    let mut first = [if D == 3 { -1 } else { 0 }; D];
    first[0] = 0;
    first[D - 1] = layer.max(-1);
    (layout.index(first) - BLOCK).min(layout.len())
}

/// The sum of `f` over `0..count`, each term computed in parallel, added in order.
pub fn ordered_sum(count: usize, f: impl Fn(usize) -> f64 + Sync + Send) -> f64 {
    (0..count)
        .into_par_iter()
        .with_min_len(64)
        .map(f)
        .collect::<Vec<f64>>()
        .into_iter()
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_slab_reaches_two_layers_on<const D: usize>(cells: [usize; D]) {
        let layout = Layout::new(cells).unwrap();
        let mut hits = vec![0.0f64; layout.len()];
        scatter_slabs(&layout, [&mut hits], |layers, [window], offset| {
            for layer in layers.start - 2..layers.end + 2 {
                if layer < 0 || layer > cells[D - 1] as i32 {
                    continue;
                }
                let mut at = [0; D];
                at[D - 1] = layer;
                window[layout.index(at) - offset] += 1.0;
                at[0] = cells[0] as i32;
                window[layout.index(at) - offset] += 1.0;
            }
        });
        for layer in 0..cells[D - 1] as i32 {
            let expected = (0..cells[D - 1] as i32)
                .step_by(SLAB)
                .filter(|lo| {
                    layer >= lo - 2 && layer < (lo + SLAB as i32).min(cells[D - 1] as i32) + 2
                })
                .count();
            let mut at = [0; D];
            at[D - 1] = layer;
            assert_eq!(hits[layout.index(at)], expected as f64, "layer {layer}");
        }
    }

    #[test]
    fn every_slab_reaches_two_layers_on_2d() {
        every_slab_reaches_two_layers_on([10, 37]);
    }

    #[test]
    fn every_slab_reaches_two_layers_on_3d() {
        every_slab_reaches_two_layers_on([5, 6, 18]);
    }

    #[test]
    fn ordered_sums_do_not_depend_on_the_thread_count() {
        let term = |i: usize| (i as f64 * 0.7).sin() * 1e3f64.powi(i as i32 % 5);
        let sum = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| ordered_sum(10_000, term))
        };
        assert_eq!(sum(1).to_bits(), sum(2).to_bits());
    }
}

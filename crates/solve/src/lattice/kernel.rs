//! The passes of a cycle over one plane, in blocks of eight cells.

use super::level::{Level, Packed, UNIFORM};
use super::shape::{BLOCK, slots};
#[cfg(target_arch = "x86_64")]
use super::simd::Avx2;
use super::simd::{Portable, Simd};

/// Compiles a plane pass for plain arrays and for AVX2, and picks one at run time.
macro_rules! dispatch {
    ($(#[$doc:meta])* pub unsafe fn $name:ident<D>($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? = $body:ident) => {
        $(#[$doc])*
        #[inline]
        pub unsafe fn $name<const D: usize>($($arg: $type),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                unsafe fn wide<const D: usize>($($arg: $type),*) $(-> $ret)? {
                    // SAFETY: the caller's promise is passed on.
                    unsafe { $body::<Avx2, D>($($arg),*) }
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2; the rest is the caller's promise.
                    return unsafe { wide::<D>($($arg),*) };
                }
            }
            // SAFETY: the caller's promise is passed on.
            unsafe { $body::<Portable, D>($($arg),*) }
        }
    };
}
pub(crate) use dispatch;

/// The sum of the neighbours along all axes but x.
///
/// # Safety
/// `x` points to a block of the lattice.
#[inline(always)]
unsafe fn across<S: Simd, const D: usize>(x: *const f32, strides: [usize; 3]) -> S::Single {
    // SAFETY: every cell has neighbours in memory, the ghosts included.
    unsafe {
        let plane = strides[2];
        let sum = S::add(S::load(x.sub(plane)), S::load(x.add(plane)));
        if D == 2 {
            return sum;
        }
        let row = strides[1];
        S::add(sum, S::add(S::load(x.sub(row)), S::load(x.add(row))))
    }
}

/// `b − A x` of a block that is not uniform, and its diagonal.
///
/// # Safety
/// `x` and `b` point to a block of the lattice.
#[inline(always)]
unsafe fn residual_stream<S: Simd, const D: usize>(
    x: *const f32,
    b: *const f32,
    left: S::Single,
    own: S::Single,
    strides: [usize; 3],
    row: &Packed<D>,
) -> (S::Single, S::Single) {
    // SAFETY: every cell has neighbours in memory, the ghosts included.
    unsafe {
        let (low, high) = (
            S::load_half(row.low[0].as_ptr()),
            S::load_half(row.high[0].as_ptr()),
        );
        let mut diagonal = S::add(low, high);
        let mut sum = S::add(S::mul(low, left), S::mul(high, S::load(x.add(1))));
        for a in 1..D {
            let stride = strides[slots::<D>()[a]];
            let low = S::load_half(row.low[a].as_ptr());
            let high = S::load_half(row.high[a].as_ptr());
            diagonal = S::add(diagonal, S::add(low, high));
            let low = S::mul(low, S::load(x.sub(stride)));
            let high = S::mul(high, S::load(x.add(stride)));
            sum = S::add(sum, S::add(low, high));
        }
        diagonal = S::add(diagonal, S::load_half(row.zero.as_ptr()));
        let residual = S::sub(S::add(S::load(b), sum), S::mul(diagonal, own));
        (residual, diagonal)
    }
}

#[inline(always)]
unsafe fn sweep_uniform<S: Simd, const D: usize, const ODD: bool>(
    mut x: *mut f32,
    mut b: *const f32,
    blocks: usize,
    strides: [usize; 3],
    weight: f32,
) {
    // SAFETY: the segment lies on the lattice, and its neighbours in memory.
    unsafe {
        let (scale, share) = (S::splat(1.0 / weight), S::splat(1.0 / (2 * D) as f32));
        // The next block's left neighbours are read before this block is written: they are of
        // the colour that stays, and a read across a fresh write would stall.
        let mut left = S::load(x.sub(1));
        for _ in 0..blocks {
            let next = S::load(x.add(BLOCK - 1));
            let beside = S::add(left, S::load(x.add(1)));
            let sum = S::add(beside, across::<S, D>(x, strides));
            let new = S::mul(S::add(S::mul(S::load(b), scale), sum), share);
            S::store(x, S::blend::<ODD>(S::load(x), new));
            left = next;
            x = x.add(BLOCK);
            b = b.add(BLOCK);
        }
    }
}

#[inline(always)]
unsafe fn sweep_stream<S: Simd, const D: usize, const ODD: bool>(
    mut x: *mut f32,
    mut b: *const f32,
    rows: &[Packed<D>],
    strides: [usize; 3],
) {
    // SAFETY: as for uniform segments.
    unsafe {
        let mut left = S::load(x.sub(1));
        for row in rows {
            let next = S::load(x.add(BLOCK - 1));
            let old = S::load(x);
            // Written as a correction, so that lanes without a diagonal keep their value.
            let (residual, diagonal) = residual_stream::<S, D>(x, b, left, old, strides, row);
            let step = S::where_positive(diagonal, S::div(residual, diagonal));
            S::store(x, S::blend::<ODD>(old, S::add(old, step)));
            left = next;
            x = x.add(BLOCK);
            b = b.add(BLOCK);
        }
    }
}

#[inline(always)]
unsafe fn sweep_body<S: Simd, const D: usize>(
    level: &Level<D>,
    x: *mut f32,
    z: usize,
    colour: u32,
) {
    let (b, strides) = (level.b.as_ptr(), level.shape.strides);
    for segment in level.plane(z) {
        let (index, blocks) = (segment.index as usize, segment.blocks as usize);
        let odd = (segment.colour + colour) & 1 == 1;
        // SAFETY: segments lie on the lattice; the caller owns the plane.
        unsafe {
            let (x, b) = (x.add(index), b.add(index));
            if segment.stream == UNIFORM {
                if odd {
                    sweep_uniform::<S, D, true>(x, b, blocks, strides, level.weight);
                } else {
                    sweep_uniform::<S, D, false>(x, b, blocks, strides, level.weight);
                }
            } else {
                let rows = &level.packed[segment.stream as usize..][..blocks];
                if odd {
                    sweep_stream::<S, D, true>(x, b, rows, strides);
                } else {
                    sweep_stream::<S, D, false>(x, b, rows, strides);
                }
            }
        }
    }
}

dispatch! {
    /// Gauss-Seidel on the cells of one colour in plane `z`.
    ///
    /// # Safety
    /// `x` is a vector of the level; nobody else writes to this plane or its neighbours.
    pub unsafe fn sweep<D>(level: &Level<D>, x: *mut f32, z: usize, colour: u32) = sweep_body
}

/// The diagonal of a block that is not uniform.
#[inline(always)]
unsafe fn diagonal<S: Simd, const D: usize>(row: &Packed<D>) -> S::Single {
    // SAFETY: arrays of eight.
    unsafe {
        let mut sum = S::load_half(row.zero.as_ptr());
        for a in 0..D {
            let low = S::load_half(row.low[a].as_ptr());
            sum = S::add(sum, S::add(low, S::load_half(row.high[a].as_ptr())));
        }
        sum
    }
}

#[inline(always)]
unsafe fn first_sweep_body<S: Simd, const D: usize>(
    level: &Level<D>,
    x: *mut f32,
    z: usize,
    colour: u32,
) {
    for segment in level.plane(z) {
        let odd = (segment.colour + colour) & 1 == 1;
        // SAFETY: segments lie on the lattice; the caller owns the plane.
        unsafe {
            let (zero, uniform) = (S::splat(0.0), S::splat(1.0 / level.uniform_diagonal()));
            for k in 0..segment.blocks as usize {
                let index = segment.index as usize + k * BLOCK;
                let rhs = S::load(level.b.as_ptr().add(index));
                let new = if segment.stream == UNIFORM {
                    S::mul(rhs, uniform)
                } else {
                    let row = &level.packed[segment.stream as usize + k];
                    let diagonal = diagonal::<S, D>(row);
                    S::where_positive(diagonal, S::div(rhs, diagonal))
                };
                let lanes = if odd {
                    S::blend::<true>(zero, new)
                } else {
                    S::blend::<false>(zero, new)
                };
                S::store(x.add(index), lanes);
            }
        }
    }
}

dispatch! {
    /// The first sweep of a cycle, from `x = 0`: what `x` held before is of no matter.
    ///
    /// # Safety
    /// As for [`sweep`].
    pub unsafe fn first_sweep<D>(level: &Level<D>, x: *mut f32, z: usize, colour: u32) = first_sweep_body
}

#[inline(always)]
unsafe fn restrict_body<S: Simd, const D: usize>(
    fine: &Level<D>,
    coarse: &Level<D>,
    coarse_b: *mut f32,
    z: usize,
) {
    for segment in coarse.plane(z) {
        for k in 0..segment.blocks as usize {
            // SAFETY: the caller owns the coarse plane.
            unsafe {
                let place = coarse_b.add(segment.index as usize + k * BLOCK);
                S::store(place, S::splat(0.0));
            }
        }
    }
    for fine_z in (2 * z)..(2 * z + 2).min(fine.shape.cells[2]) {
        for segment in fine.plane(fine_z) {
            let at = fine.shape.at(segment.index as usize);
            let y = if D == 3 { at[1] / 2 } else { at[1] };
            let target = coarse.shape.index([at[0] / 2, y, z]);
            for k in 0..segment.blocks as usize {
                let place = segment.index as usize + k * BLOCK;
                // SAFETY: four coarse cells lie below each fine block; the caller owns them.
                unsafe {
                    let residual = if segment.stream == UNIFORM {
                        residual_uniform::<S, D>(fine, place)
                    } else {
                        let stream = segment.stream as usize + k;
                        let row = &fine.packed[stream];
                        let (x, b) = (fine.x.as_ptr().add(place), fine.b.as_ptr().add(place));
                        let (left, own) = (S::load(x.sub(1)), S::load(x));
                        let strides = fine.shape.strides;
                        let (residual, _) = residual_stream::<S, D>(x, b, left, own, strides, row);
                        S::where_set(fine.present[stream], residual)
                    };
                    S::add_pairs(coarse_b.add(target + k * BLOCK / 2), residual);
                }
            }
        }
    }
}

/// `b − A x` of a uniform block.
#[inline(always)]
unsafe fn residual_uniform<S: Simd, const D: usize>(level: &Level<D>, place: usize) -> S::Single {
    // SAFETY: the block lies on the lattice.
    unsafe {
        let x = level.x.as_ptr().add(place);
        let beside = S::add(S::load(x.sub(1)), S::load(x.add(1)));
        let sum = S::add(beside, across::<S, D>(x, level.shape.strides));
        let difference = S::sub(sum, S::mul(S::splat((2 * D) as f32), S::load(x)));
        let rhs = S::load(level.b.as_ptr().add(place));
        S::add(rhs, S::mul(S::splat(level.weight), difference))
    }
}

dispatch! {
    /// The coarse right-hand side in plane `z`: the residual summed over the children of each
    /// cell.
    ///
    /// # Safety
    /// `coarse_b` is a vector of the coarse level; nobody else touches its plane `z`.
    pub unsafe fn restrict<D>(fine: &Level<D>, coarse: &Level<D>, coarse_b: *mut f32, z: usize) = restrict_body
}

#[inline(always)]
unsafe fn prolong_body<S: Simd, const D: usize>(
    fine: &Level<D>,
    coarse: &Level<D>,
    x: *mut f32,
    z: usize,
) {
    for segment in fine.plane(z) {
        let at = fine.shape.at(segment.index as usize);
        let y = if D == 3 { at[1] / 2 } else { at[1] };
        let source = coarse.shape.index([at[0] / 2, y, at[2] / 2]);
        for k in 0..segment.blocks as usize {
            // SAFETY: four coarse cells lie below each fine block; the caller owns the plane.
            unsafe {
                let correction = S::load_pairs(coarse.x.as_ptr().add(source + k * BLOCK / 2));
                let place = x.add(segment.index as usize + k * BLOCK);
                let correction = if segment.stream == UNIFORM {
                    correction
                } else {
                    S::where_set(fine.present[segment.stream as usize + k], correction)
                };
                S::store(place, S::add(S::load(place), correction));
            }
        }
    }
}

dispatch! {
    /// Adds the coarse correction to plane `z`, constant over the children of each cell.
    ///
    /// # Safety
    /// `x` is a vector of the fine level; nobody else touches its plane `z`.
    pub unsafe fn prolong<D>(fine: &Level<D>, coarse: &Level<D>, x: *mut f32, z: usize) = prolong_body
}

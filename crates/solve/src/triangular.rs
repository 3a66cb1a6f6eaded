//! Unit triangular solves, laid out as the streams in which they are read.
//!
//! Solving `(I + T) q = c` row after row has one cost that no memory layout removes: `qᵢ` waits
//! for its neighbour `qᵢ₋₁`. So the coefficient of that nearest neighbour has a stream of its
//! own and its value stays in a register; all other entries of a row ("far") are gathered and
//! summed before it is needed. Up to [`WIDEST`] far entries (a 7-point stencil has two) each row
//! is padded to the same number of them, pointing at a slot that holds zero, and the loop over
//! rows has no other branch; wider matrices fall back to counted rows.
//!
//! Coefficients are `f32`: they are the entries of a preconditioner, whose rounding moves `M` a
//! little but leaves it symmetric, since both triangles round the same numbers. The vectors are
//! `f64`, and with them all arithmetic.

/// The most far entries that rows are padded to.
const WIDEST: usize = 3;

/// A strictly triangular matrix `T` in the order of elimination: rows downwards for a lower
/// triangle, upwards for an upper one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Triangle {
    /// Coefficient of the row eliminated just before, zero where it is no neighbour.
    near: Vec<f32>,
    columns: Vec<u32>,
    values: Vec<f32>,
    shape: Shape,
    /// Far entries of each row end here; only for [`Shape::Counted`].
    ends: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Shape {
    /// Every row has this many far entries.
    Padded(usize),
    #[default]
    Counted,
}

/// How many far entries there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Far {
    /// The most in a row.
    widest: usize,
    /// In all rows.
    total: usize,
}

impl Far {
    /// Counts a row of so many.
    pub(crate) fn add(&mut self, entries: usize) {
        self.widest = self.widest.max(entries);
        self.total += entries;
    }
}

impl Triangle {
    /// Empties the triangle for `rows` rows with these far entries, keeping its memory.
    pub(crate) fn begin(&mut self, rows: usize, Far { widest, total }: Far) {
        self.near.clear();
        self.columns.clear();
        self.values.clear();
        self.ends.clear();
        self.near.reserve(rows);
        self.shape = Shape::Counted;
        if widest <= WIDEST {
            // The slot behind the last row holds zero: padding points there.
            self.columns.resize(rows * widest, rows as u32);
            self.values.resize(rows * widest, 0.0);
            self.shape = Shape::Padded(widest);
        } else {
            self.columns.reserve(total);
            self.values.reserve(total);
            self.ends.reserve(rows);
        }
    }

    /// Adds the row eliminated next.
    #[inline]
    pub(crate) fn push(&mut self, near: f32, far: impl Iterator<Item = (u32, f32)>) {
        match self.shape {
            Shape::Padded(width) => {
                let start = self.near.len() * width;
                let columns = &mut self.columns[start..start + width];
                let values = &mut self.values[start..start + width];
                for ((column, value), entry) in columns.iter_mut().zip(values).zip(far) {
                    (*column, *value) = entry;
                }
            }
            Shape::Counted => {
                for (column, value) in far {
                    self.columns.push(column);
                    self.values.push(value);
                }
                self.ends.push(self.columns.len() as u32);
            }
        }
        self.near.push(near);
    }

    /// `q ← (I + T)⁻¹ S r` downwards, returning `q·q`. `q` has one slot more than `r`.
    pub(crate) fn solve_down(&self, scale: &[f32], r: &[f64], q: &mut [f64]) -> f64 {
        match self.shape {
            Shape::Padded(0) => self.down_padded::<0>(scale, r, q),
            Shape::Padded(1) => self.down_padded::<1>(scale, r, q),
            Shape::Padded(2) => self.down_padded::<2>(scale, r, q),
            Shape::Padded(3) => self.down_padded::<3>(scale, r, q),
            Shape::Padded(_) | Shape::Counted => self.down_counted(scale, r, q),
        }
    }

    /// `q ← (I + T)⁻¹ q` upwards and `z ← S q`.
    pub(crate) fn solve_up(&self, scale: &[f32], q: &mut [f64], z: &mut [f64]) {
        match self.shape {
            Shape::Padded(0) => self.up_padded::<0>(scale, q, z),
            Shape::Padded(1) => self.up_padded::<1>(scale, q, z),
            Shape::Padded(2) => self.up_padded::<2>(scale, q, z),
            Shape::Padded(3) => self.up_padded::<3>(scale, q, z),
            Shape::Padded(_) | Shape::Counted => self.up_counted(scale, q, z),
        }
    }

    /// The rows of a padded triangle: near coefficient, far columns, far values.
    fn rows<const W: usize>(&self) -> impl Iterator<Item = (f64, [u32; W], [f32; W])> {
        // A width of zero has no chunks to walk through, hence the counter.
        let far = move |i: usize| {
            let (columns, values) = (&self.columns[i * W..], &self.values[i * W..]);
            (first::<W, u32>(columns), first::<W, f32>(values))
        };
        self.near.iter().enumerate().map(move |(i, &near)| {
            let (columns, values) = far(i);
            (f64::from(near), columns, values)
        })
    }

    fn down_padded<const W: usize>(&self, scale: &[f32], r: &[f64], q: &mut [f64]) -> f64 {
        let n = self.near.len();
        q[n] = 0.0;
        let (mut last, mut square) = (0.0, 0.0);
        for (i, ((near, columns, values), (r, scale))) in
            self.rows::<W>().zip(r.iter().zip(scale)).enumerate()
        {
            let mut c = r * f64::from(*scale);
            for k in 0..W {
                c -= f64::from(values[k]) * q[columns[k] as usize];
            }
            last = c - near * last;
            square += last * last;
            q[i] = last;
        }
        square
    }

    fn up_padded<const W: usize>(&self, scale: &[f32], q: &mut [f64], z: &mut [f64]) {
        let n = self.near.len();
        q[n] = 0.0;
        let mut last = 0.0;
        for ((i, (z, scale)), (near, columns, values)) in z
            .iter_mut()
            .zip(scale)
            .enumerate()
            .rev()
            .zip(self.rows::<W>())
        {
            let mut c = q[i];
            for k in 0..W {
                c -= f64::from(values[k]) * q[columns[k] as usize];
            }
            last = c - near * last;
            q[i] = last;
            *z = last * f64::from(*scale);
        }
    }

    fn down_counted(&self, scale: &[f32], r: &[f64], q: &mut [f64]) -> f64 {
        let (mut last, mut square, mut start) = (0.0, 0.0, 0);
        for (i, (near, end)) in self.near.iter().zip(&self.ends).enumerate() {
            let c = r[i] * f64::from(scale[i]) - self.far_sum(start..*end as usize, q);
            start = *end as usize;
            last = c - f64::from(*near) * last;
            square += last * last;
            q[i] = last;
        }
        square
    }

    fn up_counted(&self, scale: &[f32], q: &mut [f64], z: &mut [f64]) {
        let (mut last, mut start) = (0.0, 0);
        for (i, (near, end)) in (0..self.near.len())
            .rev()
            .zip(self.near.iter().zip(&self.ends))
        {
            let c = q[i] - self.far_sum(start..*end as usize, q);
            start = *end as usize;
            last = c - f64::from(*near) * last;
            q[i] = last;
            z[i] = last * f64::from(scale[i]);
        }
    }

    fn far_sum(&self, entries: std::ops::Range<usize>, q: &[f64]) -> f64 {
        self.columns[entries.clone()]
            .iter()
            .zip(&self.values[entries])
            .map(|(&j, &value)| f64::from(value) * q[j as usize])
            .sum()
    }
}

/// The first `W` entries; rows are padded, so they are there.
fn first<const W: usize, T: Copy + Default>(slice: &[T]) -> [T; W] {
    slice
        .first_chunk::<W>()
        .copied()
        .unwrap_or([T::default(); W])
}

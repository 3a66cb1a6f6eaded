//! Reading the weights of samples off the rows of a matrix.

use rayon::prelude::*;

use super::coupling::{Coupling, SAMPLES, couplings};
use super::exact::{Deviation, Exact, Weights};
use super::lattice::Lattice;
use super::places::Faces;
use super::{RecoverError, Recovered};
use crate::rows::{RowSource, Rows, Wanted};

/// How far entries of one sample may differ, relative to the row's diagonal.
const AGREEMENT: f64 = 1e-6;

/// Rows that are worth a thread.
const CHUNK: usize = 1 << 9;

/// The most couplings that a face has.
const MOST: usize = 14;

impl<const D: usize> Recovered<D> {
    /// Brings the unknowns to a lattice and the rows of their matrix with them. Goes over the rows
    /// twice, and holds few of them at a time.
    ///
    /// # Errors
    /// Why it is no matrix of a staggered lattice, or why the rows do not come.
    pub fn read<S: RowSource>(
        source: &mut S,
        faces: Faces,
    ) -> Result<Self, RecoverError<S::Error>> {
        faces.check::<D>(source.rows()).map_err(misfit)?;
        let spacing = faces.spacing(source).map_err(RecoverError::Source)?;
        let places = faces.places::<D>(spacing).map_err(misfit)?;
        let Faces {
            coords, components, ..
        } = faces;
        drop(coords);
        let lattice = Lattice::new(&places, &components).map_err(misfit)?;
        drop((places, components));
        let exact = read_rows(&lattice, source)?;
        let asymmetry = exact.asymmetry(&lattice);
        Ok(Recovered {
            lattice,
            exact,
            asymmetry,
        })
    }
}

fn misfit<E>(reason: &'static str) -> RecoverError<E> {
    RecoverError::NotStaggered { reason }
}

fn read_rows<S: RowSource, const D: usize>(
    lattice: &Lattice<D>,
    source: &mut S,
) -> Result<Exact, RecoverError<S::Error>> {
    let reader = Reader::new(lattice);
    let mut exact = Exact::with_capacity(lattice.faces.len());
    source
        .begin(Wanted::Entries)
        .map_err(RecoverError::Source)?;
    while let Some(rows) = source.next_rows().map_err(RecoverError::Source)? {
        let chunks = (0..rows.count()).into_par_iter().step_by(CHUNK);
        let found: Vec<_> = chunks.map(|k| reader.read_some(&rows, k)).collect();
        for found in found {
            let (weights, deviations) = found.map_err(misfit)?;
            weights.iter().for_each(|weights| exact.push(weights));
            exact.deviate(&deviations);
        }
    }
    exact.finish();
    Ok(exact)
}

/// What tells an entry's sample.
struct Reader<'a, const D: usize> {
    lattice: &'a Lattice<D>,
    couplings: [Vec<Coupling>; D],
}

impl<'a, const D: usize> Reader<'a, D> {
    fn new(lattice: &'a Lattice<D>) -> Self {
        Reader {
            lattice,
            couplings: std::array::from_fn(|axis| couplings(&lattice.shape, axis)),
        }
    }

    /// The weights of up to a chunk of rows from the `k`-th, and what they do not say.
    fn read_some(
        &self,
        rows: &Rows<'_>,
        k: usize,
    ) -> Result<(Vec<Weights>, Vec<Deviation>), &'static str> {
        let end = (k + CHUNK).min(rows.count());
        let (mut weights, mut deviations) = (Vec::with_capacity(end - k), Vec::new());
        for k in k..end {
            let (columns, values) = rows.row(k);
            let entries = columns.iter().copied().zip(values.iter().copied());
            weights.push(self.read_row(rows.first + k, entries, &mut deviations)?);
        }
        Ok((weights, deviations))
    }

    fn read_row(
        &self,
        i: usize,
        entries: impl Iterator<Item = (u32, f64)>,
        deviations: &mut Vec<Deviation>,
    ) -> Result<Weights, &'static str> {
        let (axis, index) = self.lattice.face(i);
        let couplings = &self.couplings[axis][..];
        let mut diagonal = 0.0;
        // Entries by coupling.
        let mut found = [0.0; MOST];
        for (j, value) in entries {
            if j as usize == i {
                diagonal = value;
                continue;
            }
            if value == 0.0 {
                continue;
            }
            let (b, other) = self.lattice.face(j as usize);
            let offset = other as isize - index as isize;
            let is_it = |c: &Coupling| c.component == b && c.offset == offset;
            let at = couplings.iter().position(is_it);
            found[at.ok_or("an entry couples faces that are no neighbours")?] = value;
        }
        let weights = weights_of(diagonal, couplings, &found)?;
        for (coupling, value) in couplings.iter().zip(found) {
            let more = value - coupling.sign * weights.samples[coupling.sample];
            // Without an unknown there is no entry, and nothing to deviate.
            if more != 0.0
                && let Some(j) = self
                    .lattice
                    .number((coupling.component, coupling.other(index)))
            {
                deviations.push(Deviation {
                    row: i as u32,
                    column: j as u32,
                    value: more,
                });
            }
        }
        Ok(weights)
    }
}

/// The weights that the entries of a row tell of.
fn weights_of(
    diagonal: f64,
    couplings: &[Coupling],
    found: &[f64; MOST],
) -> Result<Weights, &'static str> {
    let near = AGREEMENT * diagonal;
    let mut samples = [0.0; SAMPLES];
    for (coupling, &value) in couplings.iter().zip(found) {
        let weight = &mut samples[coupling.sample];
        let told = coupling.sign * value;
        if told == 0.0 {
            continue;
        }
        if *weight != 0.0 && (*weight - told).abs() > near {
            return Err("entries of one edge differ");
        }
        if *weight == 0.0 {
            *weight = told;
        }
    }
    if samples.iter().any(|&weight| weight < 0.0) {
        return Err("an entry has the wrong sign");
    }
    let weights = Weights { diagonal, samples };
    if weights.rest() < -near {
        return Err("a diagonal is smaller than its row's weights");
    }
    Ok(weights)
}

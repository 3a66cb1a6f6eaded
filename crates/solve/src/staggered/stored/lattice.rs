//! Unknowns on the faces of a lattice.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::exact::CHUNK;
use crate::lattice::wave::Shared;
use crate::staggered::shape::Shape;

/// No unknown at this face. Zero, since pages of zeroes that nobody writes take no memory.
const NONE: u32 = 0;

/// Where on a lattice the unknowns of a matrix lie.
pub struct Lattice<const D: usize> {
    /// The layout of vectors.
    pub shape: Shape<D>,
    /// The component and memory index of each unknown.
    pub faces: Vec<(u8, u32)>,
    /// One more than the number of the unknown at each face, by component and memory index.
    number: [Vec<u32>; D],
}

impl<const D: usize> Lattice<D> {
    /// Brings unknowns to a lattice that just holds them.
    ///
    /// # Errors
    /// Why there is none.
    pub fn new(places: &[[i32; D]], components: &[i8]) -> Result<Self, &'static str> {
        let (mut low, mut high) = ([i32::MAX; D], [i32::MIN; D]);
        for (at, &component) in places.iter().zip(components) {
            for a in 0..D {
                low[a] = low[a].min(at[a]);
                // A face ends its cells along its own axis and lies in one along the others.
                let end = at[a] + i32::from(component as usize != a);
                high[a] = high[a].max(end);
            }
        }
        if places.is_empty() {
            return Err("there are no unknowns");
        }
        let cells: [usize; D] = std::array::from_fn(|a| (high[a] - low[a]).max(1) as usize);
        let shape = roomy(cells, places.len())?;
        let places = places.par_iter().with_min_len(CHUNK);
        let faces = places.zip(components).map(|(at, &component)| {
            let index = shape.index(std::array::from_fn(|a| at[a] - low[a]));
            (component as u8, index as u32)
        });
        Lattice::of_faces(shape, faces.collect())
    }

    /// The same lattice with so many cells more at its sides.
    ///
    /// # Errors
    /// If it gets too large.
    pub fn widened(self, margins: [[usize; 2]; D]) -> Result<Self, &'static str> {
        if margins == [[0; 2]; D] {
            return Ok(self);
        }
        let old = self.shape;
        let cells = std::array::from_fn(|a| old.cells[a] + margins[a][0] + margins[a][1]);
        let shape = roomy(cells, self.faces.len())?;
        drop(self.number);
        let mut faces = self.faces;
        let each = faces.par_iter_mut().with_min_len(CHUNK);
        each.for_each(|(_, index)| {
            let at = old.point(*index as usize);
            let moved = std::array::from_fn(|a| at[a] + margins[a][0] as i32);
            *index = shape.index(moved) as u32;
        });
        Lattice::of_faces(shape, faces)
    }

    fn of_faces(shape: Shape<D>, faces: Vec<(u8, u32)>) -> Result<Self, &'static str> {
        let mut number: [Vec<u32>; D] = std::array::from_fn(|_| vec![NONE; shape.len]);
        let place = number.each_mut().map(|n| Shared(n.as_mut_ptr()));
        let each = faces.par_iter().with_min_len(CHUNK).enumerate();
        // If two unknowns come to one place one of them comes second, whichever it is.
        let are_apart = each.all(|(i, &(component, index))| {
            // SAFETY: faces lie in the lattice, and while this runs all access is atomic.
            let place =
                unsafe { AtomicU32::from_ptr(place[component as usize].get().add(index as usize)) };
            place.swap(i as u32 + 1, Relaxed) == NONE
        });
        if !are_apart {
            return Err("two unknowns share a face");
        }
        Ok(Lattice {
            shape,
            faces,
            number,
        })
    }

    /// The number of the unknown at a face, if it is one.
    #[inline]
    pub fn number(&self, (axis, index): (usize, usize)) -> Option<usize> {
        (self.number[axis][index] as usize).checked_sub(1)
    }

    /// Whether there is an unknown at a face.
    #[inline]
    pub fn is_free(&self, (axis, index): (usize, usize)) -> bool {
        self.number[axis][index] != NONE
    }

    /// The face of an unknown: component and memory index.
    #[inline]
    pub fn face(&self, number: usize) -> (usize, usize) {
        let (axis, index) = self.faces[number];
        (axis as usize, index as usize)
    }
}

/// The layout for so many cells.
fn roomy<const D: usize>(cells: [usize; D], unknowns: usize) -> Result<Shape<D>, &'static str> {
    let shape = Shape::new(cells).ok_or("the lattice is too large")?;
    // A few unknowns strewn far apart are not what a dense lattice is for.
    if shape.len > 1_000_000 && shape.len / 1000 > unknowns {
        return Err("the unknowns are strewn too far apart");
    }
    Ok(shape)
}

//! The particles that carry the liquid.

/// Particles, one array per property; index `i` is the same particle in all of them. The
/// order is that of the cells they lie in and changes from step to step; `id` does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Particles<const D: usize> {
    /// Positions, m.
    pub position: Vec<[f64; D]>,
    /// Velocities, m/s.
    pub velocity: Vec<[f64; D]>,
    /// For APIC, the velocity gradient: `affine[i][a]` is that of component `a`, 1/s. Empty
    /// for other transfers.
    pub affine: Vec<[[f64; D]; D]>,
    /// Viscosities, Pa·s. Empty while all liquid has the same: see
    /// [`Setup::uniform_viscosity`](crate::Setup::uniform_viscosity).
    pub viscosity: Vec<f32>,
    /// A number that no other particle of the run has or had.
    pub id: Vec<u64>,
}

impl<const D: usize> Particles<D> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.position.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.position.is_empty()
    }

    /// Adds one that has no viscosity of its own; its affine part, if any are kept, is zero.
    pub fn push(&mut self, position: [f64; D], velocity: [f64; D], id: u64, affine: bool) {
        self.position.push(position);
        self.velocity.push(velocity);
        if affine {
            self.affine.push([[0.0; D]; D]);
        }
        self.id.push(id);
    }

    /// Adds one with a viscosity of its own.
    pub fn push_viscous(
        &mut self,
        position: [f64; D],
        velocity: [f64; D],
        id: u64,
        affine: bool,
        viscosity: f32,
    ) {
        self.push(position, velocity, id, affine);
        self.viscosity.push(viscosity);
    }

    /// Keeps the particles for which `keep(index)` holds, in order; returns how many went.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) -> usize {
        let before = self.len();
        fn filter<T>(values: &mut Vec<T>, keep: &impl Fn(usize) -> bool) {
            let mut index = 0;
            values.retain(|_| {
                index += 1;
                keep(index - 1)
            });
        }
        filter(&mut self.position, &keep);
        filter(&mut self.velocity, &keep);
        filter(&mut self.affine, &keep);
        filter(&mut self.viscosity, &keep);
        filter(&mut self.id, &keep);
        before - self.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retain_keeps_all_arrays_in_step() {
        let mut p = Particles::<2>::default();
        for i in 0..10 {
            p.push_viscous([i as f64, 0.0], [0.0, i as f64], i, true, i as f32);
        }
        assert_eq!(p.retain(|i| i % 3 == 0), 6);
        assert_eq!(p.id, [0, 3, 6, 9]);
        assert_eq!(p.position[2], [6.0, 0.0]);
        assert_eq!(p.velocity[3], [0.0, 9.0]);
        assert_eq!(p.affine.len(), 4);
        assert_eq!(p.viscosity, [0.0, 3.0, 6.0, 9.0]);
    }
}

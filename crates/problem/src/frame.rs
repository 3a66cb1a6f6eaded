//! What a problem is beside its matrix.

/// What the unknowns are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Pressures in cells.
    #[default]
    Pressure,
    /// Velocity components on faces.
    Viscosity,
}

impl Kind {
    /// The name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Pressure => "pressure",
            Kind::Viscosity => "viscosity",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Kind> {
        [Kind::Pressure, Kind::Viscosity]
            .into_iter()
            .find(|kind| kind.as_str() == name)
    }
}

/// A problem but for its matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub(crate) rhs: Vec<f64>,
    pub(crate) constrained: Vec<bool>,
    pub(crate) coords: Option<(usize, Vec<f64>)>,
    pub(crate) components: Vec<i8>,
    pub(crate) kind: Kind,
}

impl Frame {
    /// A right-hand side, and the unknowns that may not be negative, which it has.
    pub(crate) fn new(rhs: Vec<f64>, walls: &[u32]) -> Frame {
        let mut constrained = vec![false; rhs.len()];
        walls.iter().for_each(|&i| constrained[i as usize] = true);
        Frame {
            rhs,
            constrained,
            coords: None,
            components: Vec::new(),
            kind: Kind::Pressure,
        }
    }

    /// The right-hand side.
    pub fn rhs(&self) -> &[f64] {
        &self.rhs
    }

    /// The number of unknowns.
    pub fn unknowns(&self) -> usize {
        self.rhs.len()
    }

    /// The unknowns that may not be negative, in increasing order.
    pub fn walls(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.rhs.len()).filter(|&i| self.constrained[i])
    }

    /// The number of dimensions and the coordinates, unknown by unknown, if they are known.
    pub fn coords(&self) -> Option<(usize, &[f64])> {
        let (dimensions, coords) = self.coords.as_ref()?;
        Some((*dimensions, coords))
    }

    /// The velocity component of each unknown; empty if none was stored.
    pub fn components(&self) -> &[i8] {
        &self.components
    }

    /// What the unknowns are.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Gives away dimensions, coordinates and components, if coordinates are known; they are large,
    /// and needed once.
    pub fn take_places(&mut self) -> Option<(usize, Vec<f64>, Vec<i8>)> {
        let (dimensions, coords) = self.coords.take()?;
        Some((dimensions, coords, std::mem::take(&mut self.components)))
    }

    /// The residual by which solutions of problem files are compared: the largest natural
    /// residual relative to the largest entry of the right-hand side.
    pub fn relative_residual(&self, residual: f64) -> f64 {
        let size = self.rhs.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        if size > 0.0 {
            residual / size
        } else {
            residual
        }
    }
}

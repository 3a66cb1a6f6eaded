//! Reflection and refraction at a smooth surface.

use glam::Vec3;

/// Refractive index of water.
pub(crate) const WATER: f32 = 1.333;
/// Refractive index of glass panes.
const GLASS: f32 = 1.5;

/// What a ray does at the surface between two media.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    pub reflected: Vec3,
    /// Share of the light reflected.
    pub reflectance: f32,
    /// Direction of the light let through; `None` when all is reflected.
    pub refracted: Option<Vec3>,
}

/// Meet a surface whose `normal` faces the ray; `ratio` is the index before over the index after.
pub(crate) fn split(direction: Vec3, normal: Vec3, ratio: f32) -> Split {
    let cos = (-direction.dot(normal)).clamp(0.0, 1.0);
    let reflected = direction + 2.0 * cos * normal;
    let sin2 = ratio * ratio * (1.0 - cos * cos);
    if sin2 >= 1.0 {
        return Split {
            reflected,
            reflectance: 1.0,
            refracted: None,
        };
    }
    let cos_through = (1.0 - sin2).sqrt();
    let refracted = ratio * direction + (ratio * cos - cos_through) * normal;
    Split {
        reflected,
        reflectance: fresnel(cos, cos_through, ratio),
        refracted: Some(refracted),
    }
}

/// Fresnel's reflectance for unpolarised light.
fn fresnel(cos: f32, cos_through: f32, ratio: f32) -> f32 {
    let s = (ratio * cos - cos_through) / (ratio * cos + cos_through);
    let p = (cos - ratio * cos_through) / (cos + ratio * cos_through);
    0.5 * (s * s + p * p)
}

/// Share of light that a thin pane reflects, both faces together.
pub(crate) fn pane_reflectance(cos: f32) -> f32 {
    let cos = cos.abs().clamp(0.0, 1.0);
    let sin2 = (1.0 - cos * cos) / (GLASS * GLASS);
    let r = fresnel(cos, (1.0 - sin2).sqrt(), 1.0 / GLASS);
    2.0 * r / (1.0 + r)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_on_water_reflects_two_percent() {
        let s = split(-Vec3::Y, Vec3::Y, 1.0 / WATER);
        assert!((s.reflectance - 0.0204).abs() < 1e-3);
        assert!((s.refracted.unwrap() + Vec3::Y).length() < 1e-6);
    }

    #[test]
    fn refraction_obeys_snell() {
        let direction = Vec3::new(0.6, -0.8, 0.0);
        let through = split(direction, Vec3::Y, 1.0 / WATER).refracted.unwrap();
        assert!((through.length() - 1.0).abs() < 1e-5);
        assert!((through.x * WATER - 0.6).abs() < 1e-5);
    }

    #[test]
    fn grazing_light_stays_inside_water() {
        let direction = Vec3::new(0.9, 0.435_89, 0.0);
        assert!(split(direction, -Vec3::Y, WATER).refracted.is_none());
    }

    #[test]
    fn a_pane_mirrors_at_grazing_angles_only() {
        assert!(pane_reflectance(1.0) < 0.09);
        assert!(pane_reflectance(0.02) > 0.8);
    }
}

//! Light from far away: a studio sky, a sun behind a soft box, and what becomes of it on a display.

use glam::Vec3;

/// The surroundings of a scene, in linear light.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Environment {
    /// Unit vector towards the sun.
    pub sun: Vec3,
    /// Light of the sun on a surface facing it.
    pub sunlight: Vec3,
    pub horizon: Vec3,
    pub zenith: Vec3,
}

impl Environment {
    /// Light arriving from a direction, lamps included: what mirrors and liquids show.
    pub fn radiance(&self, direction: Vec3) -> Vec3 {
        let height = direction.y.clamp(0.0, 1.0);
        let sky = self.horizon.lerp(self.zenith, smooth(0.0, 0.75, height));
        // A strip light overhead and a round one at the sun make highlights that show curvature.
        let towards = direction.dot(self.sun);
        let lamp = 6.0 * smooth(0.982, 0.99, towards) + 0.5 * smooth(0.80, 1.0, towards);
        let strip = if direction.y > 0.15 {
            let (x, z) = (direction.x / direction.y, direction.z / direction.y);
            2.2 * window(x + 1.35, 0.35, 0.12) * window(z - 0.1, 1.2, 0.2)
        } else {
            0.0
        };
        sky + Vec3::new(1.0, 0.97, 0.93) * lamp + Vec3::splat(strip)
    }

    /// Diffuse light of the sky on a surface with a normal.
    pub fn ambient(&self, normal: Vec3) -> Vec3 {
        let up = 0.5 + 0.5 * normal.y;
        let ground = 0.4 * self.horizon;
        ground.lerp(0.3 * self.horizon + 0.3 * self.zenith, up)
    }
}

/// 1 within `half` of zero, fading to 0 over `edge`.
fn window(x: f32, half: f32, edge: f32) -> f32 {
    1.0 - smooth(half, half + edge, x.abs())
}

/// A cubic step from 0 at `a` to 1 at `b`.
pub(crate) fn smooth(a: f32, b: f32, x: f32) -> f32 {
    let t = ((x - a) / (b - a)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Linear light to a display value in [0, 1]: a shoulder that keeps lamps from burning out, then
/// the sRGB curve.
pub(crate) fn display(light: Vec3) -> Vec3 {
    const WHITE: f32 = 3.5;
    let light = light.max(Vec3::ZERO);
    let rolled = light * (Vec3::ONE + light / (WHITE * WHITE)) / (Vec3::ONE + 0.42 * light);
    Vec3::from_array(rolled.to_array().map(srgb))
}

fn srgb(x: f32) -> f32 {
    let x = if x.is_finite() {
        x.clamp(0.0, 1.0)
    } else {
        0.0
    };
    if x <= 0.003_130_8 {
        12.92 * x
    } else {
        1.055 * x.powf(1.0 / 2.4) - 0.055
    }
}

/// Display values to bytes.
pub(crate) fn bytes(display: Vec3) -> [u8; 3] {
    display
        .to_array()
        .map(|x| (x.clamp(0.0, 1.0) * 255.0 + 0.5) as u8)
}

/// Display bytes to linear light.
pub(crate) fn linear(colour: [u8; 3]) -> Vec3 {
    Vec3::from_array(colour.map(|c| {
        let x = f32::from(c) / 255.0;
        if x <= 0.040_45 {
            x / 12.92
        } else {
            ((x + 0.055) / 1.055).powf(2.4)
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_monotonic_and_bounded() {
        let levels: Vec<f32> = (0..100)
            .map(|i| display(Vec3::splat(i as f32 * 0.1)).x)
            .collect();
        assert!(levels.windows(2).all(|w| w[0] <= w[1]));
        assert!(levels.iter().all(|x| (0.0..=1.0).contains(x)));
        assert_eq!(display(Vec3::NAN), Vec3::ZERO);
    }

    #[test]
    fn colours_survive_linear_light() {
        for c in [0u8, 3, 80, 200, 255] {
            let x = linear([c; 3]).x;
            assert_eq!((srgb(x) * 255.0).round() as u8, c);
        }
    }
}

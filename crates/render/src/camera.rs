//! Where the picture is taken from.

use glam::Vec3;

use crate::bvh::Ray;
use crate::image::Size;

/// A perspective camera, y up; whatever is left `None` is chosen from the scene's box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Camera {
    /// Position of the eye.
    pub eye: Option<[f64; 3]>,
    /// The point in the middle of the picture.
    pub target: Option<[f64; 3]>,
    /// Vertical angle of view in degrees, between 1 and 150.
    pub fov_degrees: Option<f64>,
}

/// Default angle of view: a short telephoto lens keeps tanks upright.
const FOV_DEGREES: f64 = 28.0;
/// Default direction from the target to the eye: three-quarter view, a little above.
const VIEW: Vec3 = Vec3::new(0.52, 0.36, 1.0);
/// Share of the picture that the box may take.
const FILL: f32 = 0.86;

/// A camera made ready for one scene and picture size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub eye: Vec3,
    forward: Vec3,
    /// Half a picture's width along the right, at unit distance.
    right: Vec3,
    up: Vec3,
    size: Size,
}

impl View {
    /// Resolve a camera for the box from `lo` to `hi`.
    pub fn new(camera: &Camera, lo: Vec3, hi: Vec3, size: Size) -> Self {
        let valid = |p: [f64; 3]| Some(Vec3::from(p.map(|x| x as f32))).filter(|p| p.is_finite());
        let centre = 0.5 * (lo + hi);
        // Look a little below the middle, to show ground before the box and let it stand.
        let target = camera
            .target
            .and_then(valid)
            .unwrap_or(centre - Vec3::Y * (0.04 * (hi.y - lo.y)));
        let fov = camera
            .fov_degrees
            .filter(|f| f.is_finite())
            .unwrap_or(FOV_DEGREES)
            .clamp(1.0, 150.0);
        let tall = (0.5 * fov.to_radians()).tan() as f32;
        let wide = tall * size[0] as f32 / size[1] as f32;
        let eye = camera.eye.and_then(valid).unwrap_or_else(|| {
            let direction = VIEW.normalize();
            target + direction * fitting_distance(direction, target, lo, hi, wide, tall)
        });
        let forward = (target - eye).try_normalize().unwrap_or(-Vec3::Z);
        let right = forward.cross(Vec3::Y).try_normalize().unwrap_or(Vec3::X);
        Self {
            eye,
            forward,
            right: right * wide,
            up: right.cross(forward) * tall,
            size,
        }
    }

    /// The ray through a point of the picture, in pixels from the top left corner.
    pub fn ray(&self, x: f32, y: f32) -> Ray {
        let across = 2.0 * x / self.size[0] as f32 - 1.0;
        let above = 1.0 - 2.0 * y / self.size[1] as f32;
        Ray {
            origin: self.eye,
            direction: (self.forward + across * self.right + above * self.up).normalize(),
        }
    }
}

/// The distance from `target` along `direction` at which all corners of the box are in view.
fn fitting_distance(
    direction: Vec3,
    target: Vec3,
    lo: Vec3,
    hi: Vec3,
    wide: f32,
    tall: f32,
) -> f32 {
    let right = Vec3::Y.cross(direction).normalize();
    let up = direction.cross(right);
    (0..8)
        .map(|c| {
            let pick = |bit: usize, a: f32, b: f32| if c >> bit & 1 == 0 { a } else { b };
            let corner = Vec3::new(
                pick(0, lo.x, hi.x),
                pick(1, lo.y, hi.y),
                pick(2, lo.z, hi.z),
            ) - target;
            let across = corner.dot(right).abs() / (wide * FILL);
            let above = corner.dot(up).abs() / (tall * FILL);
            corner.dot(direction) + across.max(above)
        })
        .fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automatic_camera_sees_every_corner() {
        let (lo, hi) = (Vec3::new(-1.0, 0.0, 0.0), Vec3::new(3.0, 1.0, 0.5));
        for size in [[640, 480], [200, 900], [1920, 300]] {
            let view = View::new(&Camera::default(), lo, hi, size);
            for c in 0..8 {
                let pick = |bit: usize, a: f32, b: f32| if c >> bit & 1 == 0 { a } else { b };
                let corner = Vec3::new(
                    pick(0, lo.x, hi.x),
                    pick(1, lo.y, hi.y),
                    pick(2, lo.z, hi.z),
                ) - view.eye;
                let depth = corner.dot(view.forward);
                assert!(depth > 0.0);
                assert!((corner.dot(view.right) / view.right.length_squared() / depth).abs() < 1.0);
                assert!((corner.dot(view.up) / view.up.length_squared() / depth).abs() < 1.0);
            }
        }
    }

    #[test]
    fn the_target_is_in_the_middle() {
        let camera = Camera {
            eye: Some([3.0, 2.0, 1.0]),
            target: Some([0.0; 3]),
            fov_degrees: None,
        };
        let view = View::new(&camera, Vec3::ZERO, Vec3::ONE, [100, 50]);
        let ray = view.ray(50.0, 25.0);
        assert!(ray.direction.dot(-view.eye.normalize()) > 0.999_999);
    }

    #[test]
    fn senseless_cameras_fall_back() {
        let camera = Camera {
            eye: Some([f64::NAN; 3]),
            target: None,
            fov_degrees: Some(f64::INFINITY),
        };
        let view = View::new(&camera, Vec3::ZERO, Vec3::ONE, [100, 50]);
        assert!(view.ray(1.0, 1.0).direction.is_finite());
    }
}

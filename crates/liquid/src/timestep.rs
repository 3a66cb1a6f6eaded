//! How long a substep may be.

/// What the length of a substep depends on.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Cells a particle may cross, `C`.
    pub cfl: f64,
    /// Cell side, m.
    pub dx: f64,
    /// Largest speed, m/s.
    pub max_speed: f64,
    /// Size of gravity, m/s².
    pub gravity: f64,
    /// `ν = μ/ρ` of the thinnest liquid, m²/s; zero without viscosity.
    pub viscosity: f64,
}

impl Pace {
    /// The longest substep within the CFL limit: `C Δx / (max|u| + w)`. The second term is the
    /// speed that gravity gives within a cell, so that liquid at rest has a limit too.
    ///
    /// It is there for the motions of a cell's size that gravity starts anew in every step:
    /// `w = √(Δx |g|)` if they are free, and in viscous liquid no more than the `|g| Δx²/ν` at
    /// which such a motion stops gaining. Viscosity itself is implicit and asks for nothing.
    /// But the thickest liquid still falls freely as a whole, and a heap of it begins to sink
    /// as fast as water: a step may be no longer than it takes a body of the present speed to
    /// fall `C + 1` cells, one less than velocity is known beyond the surface. What is gained is
    /// little, then, and the error of splitting a step, which grows with it, stays that of a liquid
    /// without viscosity.
    pub fn limit(&self) -> f64 {
        let Pace {
            cfl,
            dx,
            max_speed,
            gravity,
            viscosity,
        } = *self;
        let free = (dx * gravity).sqrt();
        if viscosity > 0.0 {
            let w = free.min(gravity * dx * dx / viscosity);
            return crossing(cfl * dx, max_speed + w).min(self.fall((cfl + 1.0) * dx));
        }
        crossing(cfl * dx, max_speed + free)
    }

    /// The time in which a body with the largest speed, taken downwards, passes a distance:
    /// `u t + g t² = d`. A step adds gravity at its beginning, hence no ½.
    fn fall(&self, distance: f64) -> f64 {
        let (u, g) = (self.max_speed, self.gravity);
        crossing(2.0 * distance, u + (u * u + 4.0 * g * distance).sqrt())
    }
}

fn crossing(distance: f64, speed: f64) -> f64 {
    if speed > 0.0 {
        distance / speed
    } else {
        f64::INFINITY
    }
}

/// Trims a substep so that steps end exactly `remaining` seconds from now, and none of them
/// is a sliver: if two steps would do, both are half of what remains.
pub fn trim(limit: f64, remaining: f64) -> f64 {
    if limit >= remaining {
        remaining
    } else if 2.0 * limit > remaining {
        0.5 * remaining
    } else {
        limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_end_on_the_frame_without_slivers() {
        for limit in [0.03, 0.0101, 0.0099, 0.007, 0.0033] {
            let mut remaining: f64 = 0.02;
            let mut steps = 0;
            while remaining > 0.0 {
                let dt = trim(limit, remaining);
                assert!(
                    dt <= limit && dt >= 0.5 * limit.min(0.02),
                    "{dt} of {limit}"
                );
                remaining = if dt == remaining { 0.0 } else { remaining - dt };
                steps += 1;
            }
            assert!(steps <= (0.02f64 / limit).ceil() as usize + 1);
        }
    }

    #[test]
    fn liquid_at_rest_without_gravity_has_no_limit() {
        for viscosity in [0.0, 1.0] {
            assert_eq!(pace(0.0, 0.0, viscosity).limit(), f64::INFINITY);
        }
        assert_eq!(trim(f64::INFINITY, 0.5), 0.5);
    }

    fn pace(max_speed: f64, gravity: f64, viscosity: f64) -> Pace {
        Pace {
            cfl: 1.0,
            dx: 0.01,
            max_speed,
            gravity,
            viscosity,
        }
    }

    #[test]
    fn a_viscous_step_is_never_shorter_and_never_outruns_the_known_velocity() {
        for max_speed in [0.0, 1e-3, 0.1, 3.0] {
            let water = pace(max_speed, 9.81, 0.0).limit();
            for viscosity in [1e-6, 1e-3, 1.0, 1e3] {
                let thick = pace(max_speed, 9.81, viscosity).limit();
                assert!(thick >= water * (1.0 - 1e-12), "{thick} < {water}");
                let fallen = (max_speed + 9.81 * thick) * thick;
                assert!(fallen <= 2.0 * 0.01 * (1.0 + 1e-12), "falls {fallen} m");
            }
        }
        let [thin, thick] = [1e-6, 1e3].map(|v| pace(0.0, 9.81, v).limit());
        assert_eq!(thin, pace(0.0, 9.81, 0.0).limit());
        assert!(thick > 1.4 * thin, "{thick} {thin}");
    }

    #[test]
    fn a_viscous_liquid_in_motion_keeps_to_its_speed() {
        let limit = pace(5.0, 9.81, 1e3).limit();
        assert!((limit / (0.01 / 5.0) - 1.0).abs() < 1e-3, "{limit}");
    }
}

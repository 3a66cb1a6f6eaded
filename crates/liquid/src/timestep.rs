//! How long a substep may be.

/// The longest substep within the CFL limit: `C Δx / (max|u| + √(Δx |g|))`. The second term
/// is the speed that gravity gives within a cell, so that liquid at rest has a limit too.
pub fn limit(cfl: f64, dx: f64, max_speed: f64, gravity: f64) -> f64 {
    let speed = max_speed + (dx * gravity).sqrt();
    if speed > 0.0 {
        cfl * dx / speed
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
        assert_eq!(limit(1.0, 0.1, 0.0, 0.0), f64::INFINITY);
        assert_eq!(trim(f64::INFINITY, 0.5), 0.5);
    }
}

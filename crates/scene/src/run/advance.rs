//! One substep after the other, for everything that drives a simulation.

use plash_liquid::{Observer, StepError, StepReport};

use super::any::Steps;

/// How often a failed step is halved before it is given up.
const MAX_HALVINGS: u32 = 6;

/// A frame ends when so little of it is left, as a share of its length. Adding up steps
/// rounds, and a step this short would mean nothing.
const FRAME_SLACK: f64 = 1e-9;

/// A step that was taken.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Taken {
    /// What it did.
    pub report: StepReport,
    /// How often it was halved before.
    pub retries: u32,
}

/// Why no step could be taken.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{source}; shorter steps down to {dt:e} s failed too")]
#[non_exhaustive]
pub struct NotTaken {
    /// The shortest step tried, s.
    pub dt: f64,
    /// What the last try said.
    pub source: StepError,
}

/// Seconds from `time` to the end of a frame, which count from 1; zero if it is over. Ends of
/// frames are quotients, not sums, so they do not depend on the path there.
pub fn left_of_frame(frame: u64, fps: f64, time: f64) -> f64 {
    let left = frame as f64 / fps - time;
    let slack = (FRAME_SLACK / fps).max(4.0 * f64::EPSILON * time);
    if left > slack { left } else { 0.0 }
}

/// Takes a step towards an end that is `remaining` seconds away, or one of half the length, a
/// quarter, … if that fails. Which length works depends on the state only, so a resumed run takes
/// the same.
///
/// # Errors
/// If the shortest failed too.
pub fn step_or_halve(
    simulation: &mut dyn Steps,
    remaining: f64,
    observer: &mut dyn Observer,
) -> Result<Taken, NotTaken> {
    let mut dt = simulation.suggest_dt(remaining).min(remaining);
    let mut retries = 0;
    loop {
        match simulation.step(dt, observer) {
            Ok(report) => return Ok(Taken { report, retries }),
            Err(source @ StepError::BadStep { .. }) => return Err(NotTaken { dt, source }),
            Err(source) if retries == MAX_HALVINGS => return Err(NotTaken { dt, source }),
            Err(_) => {
                retries += 1;
                dt *= 0.5;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_over_when_hardly_anything_is_left() {
        assert_eq!(left_of_frame(1, 4.0, 0.0), 0.25);
        assert_eq!(left_of_frame(4, 4.0, 0.75), 0.25);
        let third = 1.0 / 3.0;
        for time in [third, third - 1e-12, third + 1e-12] {
            assert_eq!(left_of_frame(1, 3.0, time), 0.0);
        }
        // Late in a long run times are not known to a billionth of a frame.
        let late = 1e9;
        assert_eq!(left_of_frame(24_000_000_001, 24.0, late + 1.0 / 24.0), 0.0);
    }
}

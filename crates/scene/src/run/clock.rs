//! Clock times of the stages of a step.

use std::time::Instant;

use plash_liquid::{Observer, Stage};

use super::stats::Seconds;

/// Watches a step and notes how long each stage takes.
pub(crate) struct StageClock<'a> {
    start: Instant,
    current: Option<(&'static str, Instant)>,
    seconds: Seconds,
    on_enter: &'a mut dyn FnMut(Stage),
}

impl<'a> StageClock<'a> {
    /// Starts; `on_enter` is told of every stage.
    pub fn start(on_enter: &'a mut dyn FnMut(Stage)) -> Self {
        StageClock {
            start: Instant::now(),
            current: None,
            seconds: Seconds::default(),
            on_enter,
        }
    }

    fn leave(&mut self, now: Instant) {
        let Some((name, since)) = self.current.take() else {
            return;
        };
        let spent = (now - since).as_secs_f64();
        match self
            .seconds
            .stages
            .iter_mut()
            .find(|(stage, _)| *stage == name)
        {
            Some((_, seconds)) => *seconds += spent,
            None => self.seconds.stages.push((name, spent)),
        }
    }

    /// The times so far.
    pub fn stop(mut self) -> Seconds {
        let now = Instant::now();
        self.leave(now);
        self.seconds.total = (now - self.start).as_secs_f64();
        self.seconds
    }
}

impl Observer for StageClock<'_> {
    fn enter(&mut self, stage: Stage) {
        let now = Instant::now();
        self.leave(now);
        self.current = Some((stage.name(), now));
        (self.on_enter)(stage);
    }
}

/// Processor time this process has used on all threads, s; `None` where the system does not
/// tell.
pub(crate) fn cpu_seconds() -> Option<f64> {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Some(time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64)
    }
    #[cfg(not(unix))]
    {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_entered_twice_are_summed_and_fit_into_the_total() {
        let mut seen = Vec::new();
        let mut on_enter = |stage: Stage| seen.push(stage);
        let mut clock = StageClock::start(&mut on_enter);
        for stage in [Stage::Pressure, Stage::Advect, Stage::Pressure] {
            clock.enter(stage);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let seconds = clock.stop();
        assert_eq!(seen, [Stage::Pressure, Stage::Advect, Stage::Pressure]);
        let names: Vec<_> = seconds.stages.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["pressure", "advect"]);
        assert!(seconds.stages[0].1 >= 0.004);
        assert!(seconds.stages.iter().map(|(_, s)| s).sum::<f64>() <= seconds.total);
    }
}

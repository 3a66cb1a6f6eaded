//! Runs that are killed at random leave whole files and can be resumed to the same end.
#![cfg(unix)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::*;
use plash_scene::run::*;

/// Tells the child process where to run.
const FOLDER: &str = "PLASH_TEST_RUN_FOLDER";
const KILLS: usize = 50;

/// Not a test of its own: the process that is killed.
#[test]
fn victim() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        run_all(&PathBuf::from(folder), spec(FLAT), RESUME).unwrap();
    }
}

fn spawn(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The same delays in every run of the test, as far as clocks allow.
struct Delays(u64);

impl Delays {
    fn next(&mut self, most: Duration) -> Duration {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        most.mul_f64((self.0 >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

#[test]
fn fifty_kills_leave_whole_files_and_the_same_run() {
    let whole = tempfile::tempdir().unwrap();
    let began = Instant::now();
    assert!(spawn(whole.path()).wait().unwrap().success());
    let most = began.elapsed().mul_f64(0.6);

    let mut delays = Delays(12345);
    let (mut kills, mut finished) = (0, 0);
    while kills < KILLS {
        let folder = tempfile::tempdir().unwrap();
        loop {
            let mut child = spawn(folder.path());
            if kills < KILLS {
                std::thread::sleep(delays.next(most));
                if child.try_wait().unwrap().is_none() {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    kills += 1;
                    assert_whole(folder.path());
                    continue;
                }
            }
            let output = child.wait_with_output().unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            break;
        }
        assert_whole(folder.path());
        assert_same_runs(whole.path(), folder.path());
        finished += 1;
    }
    assert!(finished > 0);
    assert_eq!(
        RunFolder::open(whole.path()).unwrap().status(),
        Status::Complete
    );
}

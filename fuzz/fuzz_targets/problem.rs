//! Whatever bytes a problem file holds, reading it ends in a problem that converts without a
//! panic or in a fault that can be shown, and takes memory in proportion to the file.
//!
//! The first byte chooses: an archive, or up to four MatrixMarket texts with zero bytes between.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plash_problem::{Stored, bytes};

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else {
        return;
    };
    if choice % 2 == 0 {
        match bytes::read_npz(rest) {
            Ok(stored) => look(&stored),
            Err(fault) => assert!(!fault.to_string().is_empty()),
        }
        return;
    }
    let text = String::from_utf8_lossy(rest);
    let mut parts = text.split('\0');
    let texts: [Option<&str>; 4] = std::array::from_fn(|_| parts.next());
    match bytes::read_mtx(texts) {
        Ok(stored) => look(&stored),
        Err((at, fault)) => assert!(at < 4 && !fault.to_string().is_empty()),
    }
});

/// What was accepted fits together.
fn look(stored: &Stored) {
    let converted = stored.convert();
    let problem = stored.problem(&converted);
    let x = vec![0.0; stored.unknowns()];
    assert!(problem.check(&x).is_ok());
}

//! Damaged and hostile files end in faults, never in panics or in memory they did not earn.

use plash_problem::bytes::{read_mtx, read_npz};

const ARCHIVES: [&[u8]; 2] = [
    include_bytes!("data/compressed.npz"),
    include_bytes!("data/plain.npz"),
];

const MARKET: &str = "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 2\n2 1 -1\n\
                      2 2 2\n3 2 -1\n3 3 2\n";
const LOAD: &str = "%%MatrixMarket matrix array real general\n3 1\n1\n-1\n0.5\n";

/// Whole numbers, the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    /// Flips, overwrites, cuts or doubles a little of `bytes`.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = [0, 0xff, 0x7f, b'9'][self.below(4)],
                2 => bytes.truncate(at.max(1)),
                3 => {
                    let end = (at + 8).min(bytes.len());
                    bytes[at..end].fill(0xff);
                }
                _ => {
                    let copy = bytes[at..(at + 40).min(bytes.len())].to_vec();
                    bytes.extend(copy);
                }
            }
        }
    }
}

#[test]
fn ten_thousand_damaged_archives_are_survived() {
    let (mut dice, mut read) = (Dice(1), 0);
    for round in 0..10_000 {
        let mut bytes = ARCHIVES[round % 2].to_vec();
        dice.damage(&mut bytes);
        if let Ok(stored) = read_npz(&bytes) {
            let converted = stored.convert();
            let problem = stored.problem(&converted);
            assert!(problem.check(&vec![0.0; stored.unknowns()]).is_ok());
            read += 1;
        }
    }
    // Checksums let through what does not matter, such as dates, and nothing else.
    assert!((1..9_000).contains(&read), "{read} were read");
}

#[test]
fn ten_thousand_damaged_texts_are_survived() {
    let mut dice = Dice(2);
    for _ in 0..10_000 {
        let mut texts = [MARKET, LOAD, LOAD, LOAD].map(|text| text.as_bytes().to_vec());
        for text in &mut texts {
            if dice.below(2) == 0 {
                dice.damage(text);
            }
        }
        let texts = texts.map(|text| String::from_utf8_lossy(&text).into_owned());
        let count = 1 + dice.below(4);
        let given: [Option<&str>; 4] =
            std::array::from_fn(|k| (k < count).then_some(texts[k].as_str()));
        match read_mtx(given) {
            Ok(stored) => {
                let converted = stored.convert();
                assert_eq!(stored.problem(&converted).b.len(), stored.unknowns());
            }
            Err((at, fault)) => assert!(at < count && !fault.to_string().is_empty()),
        }
    }
}

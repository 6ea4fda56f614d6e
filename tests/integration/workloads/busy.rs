// SPDX-License-Identifier: Apache-2.0
//! Keeps a release build busy: recursion, sorting, hashing, strings, over as many seconds as asked.
use std::collections::HashMap;
use std::time::{Duration, Instant};

#[inline(never)]
fn ackermann(m: u64, n: u64) -> u64 {
    if m == 0 {
        n + 1
    } else if n == 0 {
        ackermann(m - 1, 1)
    } else {
        ackermann(m - 1, ackermann(m, n - 1))
    }
}

#[inline(never)]
fn words(turn: u64) -> usize {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for i in 0..2000u64 {
        *counts.entry(format!("word{}", (i * turn) % 257)).or_insert(0) += i;
    }
    let mut sorted: Vec<_> = counts.into_iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    sorted.len()
}

fn main() {
    let seconds: u64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1);
    let begin = Instant::now();
    let mut sum = 0;
    while begin.elapsed() < Duration::from_secs(seconds) {
        sum += ackermann(2, 50) as usize + words(sum as u64);
    }
    println!("{sum}");
}

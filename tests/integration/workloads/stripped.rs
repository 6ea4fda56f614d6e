// SPDX-License-Identifier: Apache-2.0
// stripped SECONDS: on the CPU for so long, in stripped_inner, into which stripped_inlined is inlined.
use std::time::{Duration, Instant};

#[inline(always)]
fn stripped_inlined(x: u64) -> u64 {
    let x = (x ^ (x >> 31)).wrapping_mul(0x9fb21c651e98df25); // inlined line
    x ^ (x >> 29) // inlined line
}

#[inline(never)]
fn stripped_inner(mut x: u64) -> u64 {
    for _ in 0..std::hint::black_box(100000) {
        x = stripped_inlined(x + 1); // call line
    }
    x
}

fn main() {
    let seconds: u64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut x = 1;
    while Instant::now() < end {
        x = stripped_inner(x);
    }
    std::hint::black_box(x);
}

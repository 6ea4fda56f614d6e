// SPDX-License-Identifier: Apache-2.0
// main → alpha → beta → work → spin, for ever.
use std::hint::black_box;

#[inline(never)]
fn spin(mut n: u64) -> u64 {
    for i in 0..2_000_000u64 {
        n = n.wrapping_mul(31).wrapping_add(i / (n | 1));
    }
    black_box(n)
}

#[inline(never)]
fn work(n: u64) -> u64 {
    black_box(spin(black_box(n))) ^ 1
}

#[inline(never)]
fn beta(n: u64) -> u64 {
    black_box(work(black_box(n))) ^ 2
}

#[inline(never)]
fn alpha(n: u64) -> u64 {
    black_box(beta(black_box(n))) ^ 3
}

fn main() {
    let mut n = 1;
    loop {
        n = black_box(alpha(black_box(n)));
    }
}

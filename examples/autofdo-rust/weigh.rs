// SPDX-License-Identifier: Apache-2.0
//! weigh [ROUNDS [RULE]]: adds up what a rule says of 4,096 rows, many times, and prints its own CPU time in seconds.
//! The rule is known at run time only, and weigh() is too large to be inlined for no reason: each row costs a call and
//! a jump through a table. Who knows that this call is hot inlines it, and decides on the rule once, before the loop.

struct Row {
    length: u32,
    key: u64,
    value: u64,
}

fn weigh(r: &Row, rule: u32, seed: u64) -> u64 {
    let mut x = r.key ^ seed;
    match rule {
        0 => return x.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(r.value),
        1 => {
            for i in 0..u64::from(r.length) {
                x = x.rotate_left(7) ^ r.value.wrapping_mul(i);
            }
        }
        2 => return (x % (r.value | 1)).wrapping_add(r.key / (u64::from(r.length) + 1)),
        3 => {
            let mut i = 0;
            while i < r.length {
                x = x.wrapping_add(r.key >> (i & 31) ^ x << 3);
                i += 3;
            }
        }
        4 => {
            return (x / 1_000_003)
                .wrapping_mul(r.value % 1009)
                .wrapping_add(x % 97)
        }
        5 => {
            for _ in 0..8 {
                x = (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            }
        }
        _ => return x.wrapping_add(u64::from(rule)),
    }
    x
}

#[inline(never)]
fn sum(rows: &[Row; 4096], rule: u32, rounds: u64) -> u64 {
    let (mut total, mut seed) = (0u64, 0u64);
    while seed < rounds {
        let mut i = 0;
        while i < rows.len() {
            total = total.wrapping_add(weigh(&rows[i], rule, seed));
            i += 1;
        }
        seed += 1;
    }
    total
}

#[inline(never)]
fn fill() -> [Row; 4096] {
    let mut x = 1u64;
    std::array::from_fn(|_| {
        x = x
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        Row {
            length: (x >> 61) as u32,
            key: x,
            value: x >> 7,
        }
    })
}

/// The CPU time of this process so far, in seconds.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<u64>().unwrap());
    let rounds = args.next().unwrap_or(60000);
    let rule = args.next().unwrap_or(0) as u32;
    let rows = fill();
    let mut total = sum(&rows, rule, rounds);
    // The other callers, which are cold.
    for i in 1..7u32 {
        let at = i as usize;
        total ^= weigh(&rows[at], i, total).wrapping_add(weigh(&rows[at + 7], 7 - i, rounds));
    }
    eprintln!("total {total}");
    println!("{:.3}", cpu_s());
}

// SPDX-License-Identifier: Apache-2.0
// Closures, iterators and generics: what rustc inlines by the dozen.
use std::collections::BTreeMap;

trait Shape {
    fn area(&self) -> f64;
}

struct Square(f64);
struct Circle(f64);

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl Shape for Circle {
    fn area(&self) -> f64 {
        3.14 * self.0.powi(2)
    }
}

#[inline(never)]
fn tally(all: &[Box<dyn Shape>]) -> BTreeMap<u64, f64> {
    let mut sums = BTreeMap::new();
    for (i, s) in all.iter().enumerate() {
        *sums.entry(i as u64 % 7).or_insert(0.0) += s.area();
    }
    sums
}

#[inline(never)]
fn words(text: &str) -> Vec<String> {
    let mut found: Vec<String> = text
        .split_whitespace()
        .filter(|w| w.len() > 1)
        .map(|w| w.to_uppercase())
        .collect();
    found.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    found
}

fn main() {
    let all: Vec<Box<dyn Shape>> = (0..50)
        .map(|i| {
            if i % 2 == 0 {
                Box::new(Square(i as f64)) as Box<dyn Shape>
            } else {
                Box::new(Circle(i as f64))
            }
        })
        .collect();
    println!("{:?} {:?}", tally(&all), words("the quick brown fox jumps over a lazy dog"));
}

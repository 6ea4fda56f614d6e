// SPDX-License-Identifier: Apache-2.0

// main → alpha → beta → work → spin, for ever.
package main

//go:noinline
func spin(n uint64) uint64 {
	for i := uint64(0); i < 2000000; i++ {
		n = n*31 + i/(n|1)
	}
	return n
}

//go:noinline
func work(n uint64) uint64 { return spin(n) + 1 }

//go:noinline
func beta(n uint64) uint64 { return work(n) + 2 }

//go:noinline
func alpha(n uint64) uint64 { return beta(n) + 3 }

func main() {
	n := uint64(1)
	for {
		n = alpha(n)
	}
}

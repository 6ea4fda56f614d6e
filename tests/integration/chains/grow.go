// SPDX-License-Identifier: Apache-2.0

// main.main → a goroutine → alpha → many rec: each goroutine's stack grows, mostly in the runtime.
package main

//go:noinline
func rec(n int) int {
	var a [128]int
	a[n%128] = n
	if n == 0 {
		return 0
	}
	return rec(n-1) + a[(n+1)%128]
}

//go:noinline
func alpha(done chan int) { done <- rec(250) }

func main() {
	done := make(chan int)
	for {
		go alpha(done)
		<-done
	}
}

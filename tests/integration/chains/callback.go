// SPDX-License-Identifier: Apache-2.0

// main → alpha → C → Go → C → Go → spin. On the way the goroutine's stack grows, so that it moves
// below C that is still to return to it.
package main

/*
void again(int n);
static __attribute__((noinline)) void c_inner(int n) { again(n); __asm__ volatile("" ::: "memory"); }
static __attribute__((noinline)) void c_outer(int n) { c_inner(n); __asm__ volatile("" ::: "memory"); }
*/
import "C"

var sink int

//go:noinline
func spin(n int) int {
	for i := 0; i < 2000000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func deep(n int) int {
	var a [1024]int
	a[n%1024] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + a[(n+1)%1024]
}

//export again
func again(n C.int) {
	if n == 0 {
		sink = spin(sink)
		return
	}
	sink += deep(64)
	C.c_outer(n - 1)
}

//go:noinline
func alpha() { C.c_outer(1) }

func main() {
	for {
		done := make(chan int)
		go func() { alpha(); done <- 1 }()
		<-done
	}
}

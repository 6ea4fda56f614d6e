// SPDX-License-Identifier: Apache-2.0

// Keeps a goroutine busy for some seconds.
package main

import (
	"os"
	"strconv"
	"time"
)

func fib(n int) int { // fib line
	if n < 2 { // fib line
		return n // fib line
	}
	return fib(n-1) + fib(n-2) // fib line
}

func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); {
		fib(20)
	}
}

// SPDX-License-Identifier: Apache-2.0

// Keeps a goroutine busy for some seconds, while another one sends signals to the program: a good part
// of the time is spent in the handler that the runtime has for them.
package main

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func interrupt() {
	for {
		syscall.Kill(os.Getpid(), syscall.SIGURG)
	}
}

func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	go interrupt()
	for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); {
		fib(20)
	}
}

// SPDX-License-Identifier: Apache-2.0

// Keeps the runtime busy for some seconds: garbage of all sizes and the collector at work on it, maps
// that grow, goroutines that come and go, deep stacks that are copied, channels.
package main

import (
	"os"
	"runtime"
	"sort"
	"strconv"
	"sync"
	"time"
)

type node struct {
	left, right *node
	payload     []byte
}

func tree(depth int) *node {
	if depth == 0 {
		return &node{payload: make([]byte, 64)}
	}
	return &node{tree(depth - 1), tree(depth - 1), make([]byte, 16*depth)}
}

func (n *node) size() int {
	if n == nil {
		return 0
	}
	return len(n.payload) + n.left.size() + n.right.size()
}

// Every call needs a kilobyte of stack more, which is not there yet.
func deep(n int) int {
	var room [1024]byte
	if n == 0 {
		return int(room[len(os.Args)])
	}
	room[n%1024] = byte(n)
	return deep(n-1) + int(room[n%1024])
}

func words(n int) int {
	counts := map[string]int{}
	for i := 0; i < n; i++ {
		counts["word"+strconv.Itoa(i%500)] += i
	}
	keys := make([]string, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return len(keys)
}

func worker(jobs <-chan int, results chan<- int) {
	for n := range jobs {
		results <- words(n) + tree(6).size()
	}
}

func round(jobs chan<- int, results <-chan int) int {
	var wg sync.WaitGroup
	for i := 0; i < 20; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			deep(64)
		}()
	}
	go func() {
		for i := 0; i < 40; i++ {
			jobs <- 300
		}
	}()
	sum := 0
	for i := 0; i < 40; i++ {
		sum += <-results
	}
	wg.Wait()
	return sum
}

func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	jobs, results := make(chan int), make(chan int)
	for i := 0; i < 8; i++ {
		go worker(jobs, results)
	}
	keep := tree(14)
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for n := 0; time.Now().Before(end); n++ {
		round(jobs, results)
		if n%50 == 0 {
			keep = tree(14)
		}
	}
	runtime.KeepAlive(keep)
}

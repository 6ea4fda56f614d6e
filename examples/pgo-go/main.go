// SPDX-License-Identifier: Apache-2.0

// Adds up what a shape says of many points, and prints its own CPU time in seconds. Each call goes through an
// interface, so the compiler does not know the method; with a profile it does, tries that one first, and inlines it.
package main

import (
	"os"
	"strconv"
	"syscall"
)

type shape interface {
	at(x, y uint64) uint64
}

type plane struct{ a, b, c uint64 }
type grid struct{ width uint64 }
type wave struct{ phase uint64 }

func (p *plane) at(x, y uint64) uint64 { return p.a*x + p.b*y + p.c }
func (g *grid) at(x, y uint64) uint64  { return x/g.width ^ y%g.width }
func (w *wave) at(x, y uint64) uint64  { return (x ^ w.phase) * (y | 1) }

//go:noinline
func sum(s shape, size uint64) uint64 {
	var total uint64
	for y := uint64(0); y < size; y++ {
		for x := uint64(0); x < size; x++ {
			total += s.at(x, y)
		}
	}
	return total
}

func cpuSeconds() float64 {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return float64(use.Utime.Sec) + float64(use.Utime.Usec)/1e6
}

func main() {
	shapes := []shape{&plane{3, 5, 7}, &grid{64}, &wave{9}}
	total := sum(shapes[len(os.Args)-1], 20000)
	for _, s := range shapes[1:] {
		total ^= sum(s, 8)
	}
	os.Stderr.WriteString("total " + strconv.FormatUint(total, 10) + "\n")
	os.Stdout.WriteString(strconv.FormatFloat(cpuSeconds(), 'f', 3, 64) + "\n")
}

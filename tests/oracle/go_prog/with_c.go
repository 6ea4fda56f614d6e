// SPDX-License-Identifier: Apache-2.0

// A program of Go with C in it, which then begins with C's code.
package main

// static int add(int a, int b) { return a + b; }
import "C"
import "fmt"

func main() {
	fmt.Println(C.add(1, 2))
}

// SPDX-License-Identifier: Apache-2.0
// Keeps V8 busy for some seconds of its own CPU time: interpreted, compiled and built-in code.
'use strict';
const seconds = Number(process.argv[2]);
const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
while (process.cpuUsage().user < seconds * 1e6) {
  fib(18);
  JSON.parse(JSON.stringify(Array.from({ length: 1000 }, (_, i) => ({ a: i, b: `x${i}` }))));
  [...'abc'.repeat(1000)].sort();
  /(a|b)+c/.test('ab'.repeat(50));
}

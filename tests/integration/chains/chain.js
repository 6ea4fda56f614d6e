// SPDX-License-Identifier: Apache-2.0
// main → alpha → beta → work → spin, for ever. Nothing is inlined: see the options it is run with.
function spin(n) {
  for (let i = 0; i < 20000; i++)
    n = (n * 31 + i) & 0xffffff;
  return n;
}

function work(n) {
  return spin(n) + 1;
}

function beta(n) {
  return work(n) + 2;
}

function alpha(n) {
  return beta(n) + 3;
}

function main() {
  let n = 1;
  for (;;)
    n = alpha(n);
}

main();

// SPDX-License-Identifier: Apache-2.0
// Keeps V8 busy for some seconds of its own CPU time, nearly all of them in work().
'use strict';
const seconds = Number(process.argv[2]);
function work(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += Math.sqrt(i) % 7;
  return sum;
}
while (process.cpuUsage().user < seconds * 1e6) work(100000);

<?php
// SPDX-License-Identifier: Apache-2.0
// main → alpha → beta → work → spin; with "fiber", each turn in a Fiber of its own.
function spin(int $n): int
{
	for ($i = 0; $i < 20000; $i++)
		$n = ($n * 31 + $i) & 0xffffff;
	return $n;
}

function work(int $n): int
{
	return spin($n) + 1;
}

function beta(int $n): int
{
	return work($n) + 2;
}

function alpha(int $n): int
{
	return beta($n) + 3;
}

/* What a fiber runs: making one is a small part of the time. */
function alphas(int $n): int
{
	for ($i = 0; $i < 20; $i++)
		$n = alpha($n);
	return $n;
}

$n = 1;
while (true) {
	if (($argv[1] ?? '') === 'fiber') {
		$fiber = new Fiber('alphas');
		$fiber->start($n);
		$n = $fiber->getReturn();
	} else {
		$n = alpha($n);
	}
}

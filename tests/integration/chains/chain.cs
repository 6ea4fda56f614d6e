// SPDX-License-Identifier: Apache-2.0
// Main → Alpha → Beta → Work → Spin, for ever or as many times as the argument says.
using System;
using System.Runtime.CompilerServices;

class Chain {
	static long sink;

	[MethodImpl(MethodImplOptions.NoInlining)]
	static long Spin(long n) {
		for (long i = 0; i < 2000000; i++)
			n = n * 31 + i / (n | 1);
		return n;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static long Work(long n) {
		return Spin(n) + 1;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static long Beta(long n) {
		return Work(n) + 2;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static long Alpha(long n) {
		return Beta(n) + 3;
	}

	static void Main(string[] args) {
		long times = args.Length > 0 ? long.Parse(args[0]) : long.MaxValue;

		for (long i = 0; i < times; i++)
			sink = Alpha(sink | 1);
	}
}

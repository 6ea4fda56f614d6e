// SPDX-License-Identifier: Apache-2.0
// In a thread called chain: run → alpha → beta → work → spin, for ever.
public class Chain implements Runnable {
	static final long TURNS = Long.getLong("turns", 50000);
	static long sink;

	static long spin(long n) {
		for (long i = 0; i < TURNS; i++)
			n = n * 31 + i / (n | 1);
		return n;
	}

	static long work(long n) {
		return spin(n) + 1;
	}

	static long beta(long n) {
		return work(n) + 2;
	}

	static long alpha(long n) {
		return beta(n) + 3;
	}

	public void run() {
		for (;;)
			sink = alpha(sink);
	}

	public static void main(String[] args) {
		new Thread(new Chain(), "chain").start();
	}
}

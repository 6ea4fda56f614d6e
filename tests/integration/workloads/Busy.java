// SPDX-License-Identifier: Apache-2.0
import java.util.HashMap;
import java.util.Map;

/** Keeps compiled code busy for as many seconds as asked: recursion, maps, strings. */
class Busy {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static int words(int turn) {
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < 2000; i++)
            counts.merge("word" + i * turn % 257, i, Integer::sum);
        return counts.size();
    }

    public static void main(String[] args) {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        long sum = 0;
        while (System.nanoTime() < end)
            sum += fib(22) + words((int) sum & 1023);
        System.out.println(sum);
    }
}

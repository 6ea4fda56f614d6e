// SPDX-License-Identifier: Apache-2.0
/** Two thirds of the time in hot(), one third in parse(). */
class Srv {
    static long hot(long n) {
        long sum = 0;
        for (long i = 0; i < n; i++)
            sum = sum * 31 + (i ^ (sum >>> 7));
        return sum;
    }

    static long parse(long n) {
        long sum = 0;
        for (long i = 0; i < n; i++)
            sum = sum * 17 + (i ^ (sum >>> 5));
        return sum;
    }

    static long serve(long n) {
        return hot(2 * n) + parse(n);
    }

    public static void main(String[] args) {
        long sum = 0;
        while (true)
            sum += serve(200000 + (sum & 1));
    }
}

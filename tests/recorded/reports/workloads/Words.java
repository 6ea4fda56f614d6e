// SPDX-License-Identifier: Apache-2.0
/** Counts words: compiled code that calls library code, and uses every register it can. */
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

class Words {
    static Map<String, Integer> count(String text) {
        Map<String, Integer> words = new HashMap<>();
        for (String word : text.split("[ ,.;]+"))
            words.merge(word.toLowerCase(), 1, Integer::sum);
        return words;
    }

    static int sort(Map<String, Integer> words) {
        return new TreeMap<>(words).firstKey().length();
    }

    public static void main(String[] args) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 5000; i++)
            text.append("word").append(i * 7919 % 1000).append(i % 7 == 0 ? ", " : " ");
        long sum = 0;
        while (true)
            sum += sort(count(text.toString()));
    }
}

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Eight threads that share a monitor and a map, and leave work to the collector. */
public class Work {
    private static int shared;

    private static synchronized void count() {
        shared++;
    }

    public static void main(String[] arguments) throws Exception {
        var pool = Executors.newFixedThreadPool(8);
        var map = new ConcurrentHashMap<Integer, Integer>();
        List<Future<Long>> parts = new ArrayList<>();
        for (int part = 0; part < 64; part++) {
            int number = part;
            parts.add(pool.submit(() -> {
                long sum = 0;
                for (int i = 0; i < 20_000; i++) {
                    count();
                    map.merge(i % 100, 1, Integer::sum);
                    sum += new byte[1000].length + number;
                }
                return sum;
            }));
        }
        long sum = 0;
        for (var part : parts) {
            sum += part.get();
        }
        pool.shutdown();
        System.out.println(sum + " " + shared + " " + map.get(5));
    }
}

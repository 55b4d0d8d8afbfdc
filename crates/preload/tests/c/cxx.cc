// The standard library of C++ over the locks: every mutex type, condition variables, and exceptions
// and cancellation that unwind through waits.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

#define SHOW(value) std::printf("%d: %s = %ld\n", __LINE__, #value, static_cast<long>(value))

static std::mutex early_mutex;
struct Early {
    Early() { std::lock_guard hold(early_mutex); }
    ~Early() { std::lock_guard hold(early_mutex); std::puts("destroyed"); }
} static early;

template <class M> static void exclude(const char *name)
{
    M mutex;
    long count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (int n = 0; n < 20000; n++) {
                std::unique_lock hold(mutex, std::defer_lock);
                if (n % 3 != 0 || !hold.try_lock())
                    hold.lock();
                count++;
            }
        });
    for (auto &thread : threads)
        thread.join();
    std::printf("%s %ld\n", name, count);
}

template <class M> static void timed(const char *name)
{
    M mutex;
    std::unique_lock hold(mutex);
    std::thread([&] {
        SHOW(mutex.try_lock_for(5ms));
        SHOW(mutex.try_lock_until(std::chrono::steady_clock::now() + 5ms));
        SHOW(mutex.try_lock_until(std::chrono::system_clock::now() + 5ms));
    }).join();
    std::puts(name);
}

struct Noticed {
    const char *text;
    ~Noticed() { std::puts(text); }
};

static std::mutex cancel_mutex;
static std::condition_variable cancel_cond;
static bool is_waiting;

static void *is_cancelled(void *)
{
    Noticed noticed{"unwound"};
    std::unique_lock hold(cancel_mutex);
    is_waiting = true;
    for (;;)
        cancel_cond.wait(hold);
}

int main()
{
    exclude<std::mutex>("mutex");
    exclude<std::timed_mutex>("timed_mutex");
    exclude<std::recursive_mutex>("recursive_mutex");
    exclude<std::recursive_timed_mutex>("recursive_timed_mutex");
    exclude<std::shared_mutex>("shared_mutex");
    exclude<std::shared_timed_mutex>("shared_timed_mutex");
    timed<std::timed_mutex>("timed_mutex");
    timed<std::recursive_timed_mutex>("recursive_timed_mutex");
    timed<std::shared_timed_mutex>("shared_timed_mutex");

    std::mutex mutex;
    std::condition_variable cond;
    std::condition_variable_any any;
    std::unique_lock hold(mutex);
    SHOW(cond.wait_for(hold, 5ms) == std::cv_status::timeout);
    SHOW(cond.wait_until(hold, std::chrono::system_clock::now() + 5ms) == std::cv_status::timeout);
    SHOW(any.wait_for(hold, 5ms) == std::cv_status::timeout);
    int turn = 0;
    std::thread other([&] {
        std::unique_lock hold(mutex);
        for (int i = 0; i < 1000; i++) {
            cond.wait(hold, [&] { return turn % 2 == 1; });
            turn++;
            cond.notify_all();
        }
    });
    for (int i = 0; i < 1000; i++) {
        cond.wait(hold, [&] { return turn % 2 == 0; });
        turn++;
        cond.notify_all();
    }
    hold.unlock();
    other.join();
    SHOW(turn);

    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread([&] { promise.set_value(42); }).join();
    SHOW(future.get());
    std::once_flag once;
    try {
        std::call_once(once, [] { throw 1; });
    } catch (int thrown) {
        SHOW(thrown);
    }
    std::call_once(once, [] { std::puts("once"); });
    try {
        std::lock_guard hold(mutex);
        throw 2;
    } catch (int thrown) {
        SHOW(thrown);
    }
    SHOW(mutex.try_lock());
    mutex.unlock();

    pthread_t thread;
    pthread_create(&thread, nullptr, is_cancelled, nullptr);
    for (bool seen = false; !seen;) {
        std::lock_guard hold(cancel_mutex);
        seen = is_waiting;
    }
    pthread_cancel(thread);
    void *result;
    pthread_join(thread, &result);
    SHOW(result == PTHREAD_CANCELED);
    SHOW(cancel_mutex.try_lock());
    cancel_mutex.unlock();
    return 0;
}

// What the standard asks of the types in lockwright.hpp.
#include <lockwright.hpp>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#undef NDEBUG
#define CHECK(condition) ((condition) ? (void)0 : (std::printf("%d: not so: %s\n", __LINE__, #condition), std::exit(1)))

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<lockwright::mutex>);
static_assert(std::is_standard_layout_v<lockwright::mutex>);
static_assert(sizeof(lockwright::mutex) == 24 && sizeof(lockwright::shared_mutex) == 24);
static_assert(sizeof(lockwright::condition_variable) == 12 && sizeof(lockwright::once_flag) == 4);

// Constant initialisation: usable before any constructor has run.
static lockwright::mutex early;
struct before_main {
    before_main() { std::lock_guard hold(early); }
} static before;

// A clock that the library does not know.
struct half_clock {
    using duration = std::chrono::milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<half_clock>;
    static constexpr bool is_steady = true;
    static time_point now()
    {
        auto since = std::chrono::steady_clock::now().time_since_epoch();
        return time_point(std::chrono::duration_cast<duration>(since) / 2);
    }
};

template <class M> static void lockable()
{
    M mutex;
    CHECK(mutex.try_lock());
    std::thread([&] {
        CHECK(!mutex.try_lock());
        CHECK(!mutex.try_lock_for(1ms));
        CHECK(!mutex.try_lock_for(-1h));
        CHECK(!mutex.try_lock_until(std::chrono::system_clock::now() + 1ms));
        CHECK(!mutex.try_lock_until(std::chrono::steady_clock::time_point::min()));
        const auto at = half_clock::now() + 5ms;
        CHECK(!mutex.try_lock_until(at) && half_clock::now() >= at);
    }).join();
    mutex.unlock();
    CHECK(mutex.try_lock_for(std::chrono::hours::max()));
    mutex.unlock();
    CHECK(mutex.try_lock_until(std::chrono::steady_clock::now() - 1h));
    mutex.unlock();
    long count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (int n = 0; n < 10000; n++) {
                std::lock_guard hold(mutex);
                count++;
            }
        });
    for (auto &thread : threads)
        thread.join();
    CHECK(count == 40000);
}

static void shared()
{
    lockwright::shared_mutex mutex;
    std::shared_lock first(mutex);
    std::thread([&] {
        std::shared_lock second(mutex, std::try_to_lock);
        CHECK(second.owns_lock());
        CHECK(!mutex.try_lock() && !mutex.try_lock_for(1ms));
    }).join();
    first.unlock();
    std::unique_lock writer(mutex, 1s);
    CHECK(writer.owns_lock());
    std::thread([&] { CHECK(!mutex.try_lock_shared() && !mutex.try_lock_shared_for(1ms)); }).join();
    bool deadlock = false;
    try {
        mutex.lock();
    } catch (const std::system_error &error) {
        deadlock = error.code() == std::errc::resource_deadlock_would_occur;
    }
    CHECK(deadlock);
    writer.release();
    mutex.downgrade();
    std::thread([&] {
        CHECK(mutex.try_lock_shared());
        mutex.unlock_shared();
    }).join();
    mutex.unlock_shared();
    bool refused = false;
    try {
        lockwright::shared_mutex bad(lockwright::policy::fair);
    } catch (const std::system_error &error) {
        refused = error.code() == std::errc::invalid_argument;
    }
    CHECK(refused);
}

static void kinds()
{
    lockwright::recursive_mutex recursive;
    std::unique_lock once(recursive), twice(recursive);
    twice.unlock();
    std::thread([&] { CHECK(!recursive.try_lock()); }).join();
    lockwright::checked_mutex checked;
    std::unique_lock hold(checked);
    bool refused = false;
    try {
        checked.lock();
    } catch (const std::system_error &error) {
        refused = error.code() == std::errc::resource_deadlock_would_occur;
    }
    CHECK(refused);
}

static void waits()
{
    lockwright::mutex mutex;
    lockwright::condition_variable cond;
    std::unique_lock hold(mutex);
    CHECK(cond.wait_for(hold, 1ms) == std::cv_status::timeout);
    CHECK(!cond.wait_for(hold, 1ms, [] { return false; }));
    CHECK(cond.wait_until(hold, std::chrono::system_clock::now() - 1s, [] { return true; }));
    CHECK(cond.wait_until(hold, half_clock::now() + 2ms) == std::cv_status::timeout);
    int turn = 0;
    std::thread other([&] {
        std::unique_lock hold(mutex);
        for (int i = 0; i < 500; i++) {
            cond.wait(hold, [&] { return turn % 2 == 1; });
            turn++;
            cond.notify_one();
        }
    });
    for (int i = 0; i < 500; i++) {
        CHECK(cond.wait_for(hold, 60s, [&] { return turn % 2 == 0; }));
        turn++;
        cond.notify_one();
    }
    hold.unlock();
    other.join();
    CHECK(turn == 1000);
}

static void once()
{
    lockwright::once_flag flag;
    int calls = 0;
    bool thrown = false;
    try {
        lockwright::call_once(flag, [&] { calls++; throw 1; });
    } catch (int) {
        thrown = true;
    }
    CHECK(thrown);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] { lockwright::call_once(flag, [&](int n) { calls += n; }, 10); });
    for (auto &thread : threads)
        thread.join();
    CHECK(calls == 11);
    lockwright::sequence_counter count;
    count.write([&] { calls = 5; });
    CHECK(count.read([&] { return calls; }) == 5);
}

int main()
{
    lockable<lockwright::mutex>();
    lockable<lockwright::recursive_mutex>();
    lockable<lockwright::checked_mutex>();
    lockable<lockwright::shared_mutex>();
    shared();
    kinds();
    waits();
    once();
    std::puts("all as the standard asks");
    return 0;
}

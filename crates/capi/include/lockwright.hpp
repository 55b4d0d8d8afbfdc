// lockwright for C++17: types that meet the standard library's requirements Lockable, TimedLockable and
// SharedTimedLockable, so std::unique_lock, std::scoped_lock, std::shared_lock and
// std::condition_variable_any take them. Link with -llockwright. The locks are those of lockwright.h.
#pragma once

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <system_error>
#include <type_traits>
#include <utility>

#include "lockwright.h"

namespace lockwright {

// How the threads wait.
enum class policy : std::uint32_t {
    standard = LW_POLICY_DEFAULT,
    latency = LW_POLICY_LATENCY,
    kernel = LW_POLICY_KERNEL,
    fair = LW_POLICY_FAIR,
};

namespace detail {

// An error that the caller could not have expected: misuse, as the standard library's locks report it.
inline void check(int error, const char *what)
{
    if (error != 0)
        throw std::system_error(error, std::generic_category(), what);
}

inline timespec to_timespec(std::chrono::nanoseconds since)
{
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    timespec at{};
    at.tv_sec = static_cast<std::time_t>(seconds.count());
    at.tv_nsec = static_cast<long>((since - seconds).count());
    return at;
}

// Calls `wait(clock, at)` until it does something else than time out, or `time` has come: by the clock of the time
// if the library knows it, by the steady clock in rounds otherwise.
template <class Clock, class Duration, class Wait>
int wait_until(const std::chrono::time_point<Clock, Duration> &time, Wait wait)
{
    using namespace std::chrono;
    if constexpr (std::is_same_v<Clock, system_clock> || std::is_same_v<Clock, steady_clock>) {
        // A time between two nanoseconds is the later one: a wait must not end early.
        const timespec at = to_timespec(ceil<nanoseconds>(time.time_since_epoch()));
        return wait(std::is_same_v<Clock, system_clock> ? CLOCK_REALTIME : CLOCK_MONOTONIC, &at);
    } else {
        for (;;) {
            const auto left = time - Clock::now();
            const int result = wait_until(steady_clock::now() + ceil<nanoseconds>(left), wait);
            if (result != ETIMEDOUT || Clock::now() >= time)
                return result;
        }
    }
}

template <class Rep, class Period>
std::chrono::steady_clock::time_point in(const std::chrono::duration<Rep, Period> &time)
{
    using namespace std::chrono;
    const auto now = steady_clock::now();
    // What is too far to be counted is as far as can be counted.
    if (duration<double>(time) >= duration<double>(steady_clock::time_point::max() - now))
        return steady_clock::time_point::max();
    return now + ceil<steady_clock::duration>(time);
}

template <std::uint32_t Kind> class basic_mutex {
public:
    using native_handle_type = lw_mutex_t *;

    constexpr basic_mutex() noexcept : mutex_ LW_MUTEX_INIT_WITH(Kind, 0) {}
    constexpr explicit basic_mutex(policy how) noexcept
        : mutex_ LW_MUTEX_INIT_WITH(Kind, static_cast<std::uint32_t>(how))
    {
    }
    basic_mutex(const basic_mutex &) = delete;
    basic_mutex &operator=(const basic_mutex &) = delete;

    void lock() { check(lw_mutex_lock(&mutex_), "lockwright: lock"); }
    bool try_lock() noexcept { return lw_mutex_trylock(&mutex_) == 0; }
    void unlock() noexcept { lw_mutex_unlock(&mutex_); }
    // Hands the mutex to the thread that has waited longest.
    void unlock_fair() noexcept { lw_mutex_unlock_fair(&mutex_); }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
    {
        return try_lock_until(in(time));
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        const int error = wait_until(time, [this](clockid_t clock, const timespec *at) {
            return lw_mutex_clocklock(&mutex_, clock, at);
        });
        return error == 0;
    }

    native_handle_type native_handle() noexcept { return &mutex_; }

private:
    lw_mutex_t mutex_;
};

} // namespace detail

// A mutex, with time-outs.
using mutex = detail::basic_mutex<LW_MUTEX_NORMAL>;
// The same under the name that generic code asks for.
using timed_mutex = mutex;
// May be locked again by its holder.
using recursive_mutex = detail::basic_mutex<LW_MUTEX_RECURSIVE>;
using recursive_timed_mutex = recursive_mutex;
// Throws std::system_error where a normal mutex would wait for ever.
using checked_mutex = detail::basic_mutex<LW_MUTEX_ERRORCHECK>;

// A reader-writer lock, with time-outs. A thread must not lock it shared twice.
class shared_mutex {
public:
    using native_handle_type = lw_rwlock_t *;

    constexpr shared_mutex() noexcept : rwlock_ LW_RWLOCK_INIT {}
    // Of the policies, `standard` and `kernel`.
    explicit shared_mutex(policy how) : rwlock_ LW_RWLOCK_INIT
    {
        detail::check(lw_rwlock_init(&rwlock_, static_cast<std::uint32_t>(how)), "lockwright: policy");
    }
    shared_mutex(const shared_mutex &) = delete;
    shared_mutex &operator=(const shared_mutex &) = delete;

    void lock() { detail::check(lw_rwlock_wrlock(&rwlock_), "lockwright: lock"); }
    bool try_lock() noexcept { return lw_rwlock_trywrlock(&rwlock_) == 0; }
    void unlock() noexcept { lw_rwlock_wrunlock(&rwlock_); }

    void lock_shared() { detail::check(lw_rwlock_rdlock(&rwlock_), "lockwright: lock_shared"); }
    bool try_lock_shared() noexcept { return lw_rwlock_tryrdlock(&rwlock_) == 0; }
    void unlock_shared() noexcept { lw_rwlock_rdunlock(&rwlock_); }
    // From exclusive to shared, letting no writer in between.
    void downgrade() noexcept { lw_rwlock_downgrade(&rwlock_); }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
    {
        return try_lock_until(detail::in(time));
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return detail::wait_until(time, [this](clockid_t clock, const timespec *at) {
                   return lw_rwlock_clockwrlock(&rwlock_, clock, at);
               }) == 0;
    }

    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time)
    {
        return try_lock_shared_until(detail::in(time));
    }

    template <class Clock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return detail::wait_until(time, [this](clockid_t clock, const timespec *at) {
                   return lw_rwlock_clockrdlock(&rwlock_, clock, at);
               }) == 0;
    }

    native_handle_type native_handle() noexcept { return &rwlock_; }

private:
    lw_rwlock_t rwlock_;
};
using shared_timed_mutex = shared_mutex;

// A condition variable for `mutex`: 8 bytes, and notify_all wakes no herd.
class condition_variable {
public:
    using native_handle_type = lw_cond_t *;

    constexpr condition_variable() noexcept : cond_ LW_COND_INIT {}
    condition_variable(const condition_variable &) = delete;
    condition_variable &operator=(const condition_variable &) = delete;

    void notify_one() noexcept { lw_cond_signal(&cond_); }
    void notify_all() noexcept { lw_cond_broadcast(&cond_); }

    void wait(std::unique_lock<mutex> &lock) noexcept
    {
        lw_cond_wait(&cond_, lock.mutex()->native_handle());
    }

    template <class Predicate> void wait(std::unique_lock<mutex> &lock, Predicate done)
    {
        while (!done())
            wait(lock);
    }

    template <class Clock, class Duration>
    std::cv_status wait_until(std::unique_lock<mutex> &lock,
                              const std::chrono::time_point<Clock, Duration> &time)
    {
        const int error = detail::wait_until(time, [&](clockid_t clock, const timespec *at) {
            return lw_cond_clockwait(&cond_, lock.mutex()->native_handle(), clock, at);
        });
        return error == ETIMEDOUT ? std::cv_status::timeout : std::cv_status::no_timeout;
    }

    template <class Clock, class Duration, class Predicate>
    bool wait_until(std::unique_lock<mutex> &lock,
                    const std::chrono::time_point<Clock, Duration> &time, Predicate done)
    {
        while (!done())
            if (wait_until(lock, time) == std::cv_status::timeout)
                return done();
        return true;
    }

    template <class Rep, class Period>
    std::cv_status wait_for(std::unique_lock<mutex> &lock,
                            const std::chrono::duration<Rep, Period> &time)
    {
        return wait_until(lock, detail::in(time));
    }

    template <class Rep, class Period, class Predicate>
    bool wait_for(std::unique_lock<mutex> &lock, const std::chrono::duration<Rep, Period> &time,
                  Predicate done)
    {
        return wait_until(lock, detail::in(time), std::move(done));
    }

    native_handle_type native_handle() noexcept { return &cond_; }

private:
    lw_cond_t cond_;
};

// What is done once; see call_once.
class once_flag {
public:
    constexpr once_flag() noexcept : once_ LW_ONCE_INIT {}
    once_flag(const once_flag &) = delete;
    once_flag &operator=(const once_flag &) = delete;

private:
    template <class Function, class... Arguments>
    friend void call_once(once_flag &, Function &&, Arguments &&...);

    lw_once_t once_;
};

// Calls the function unless a call has returned; one that throws does not count.
template <class Function, class... Arguments>
void call_once(once_flag &flag, Function &&function, Arguments &&...arguments)
{
    if (!lw_once_begin(&flag.once_))
        return;
    struct ending {
        lw_once_t *once;
        bool done;
        ~ending() { lw_once_end(once, done); }
    } attempt{&flag.once_, false};
    std::invoke(std::forward<Function>(function), std::forward<Arguments>(arguments)...);
    attempt.done = true;
}

// A sequence counter: readers store nothing. The data are atomic (relaxed is enough).
class sequence_counter {
public:
    constexpr sequence_counter() noexcept : count_ LW_SEQCOUNT_INIT {}
    sequence_counter(const sequence_counter &) = delete;
    sequence_counter &operator=(const sequence_counter &) = delete;

    // Calls `read` until no writer was there meanwhile; what it returned last.
    template <class Read> auto read(Read read) const
    {
        for (;;) {
            const std::uint64_t start = lw_seqcount_read_begin(&count_);
            auto result = read();
            if (!lw_seqcount_read_retry(&count_, start))
                return result;
        }
    }

    // Calls `write`, which readers see whole or not at all. One thread at a time.
    template <class Write> void write(Write write)
    {
        struct section {
            lw_seqcount_t *count;
            explicit section(lw_seqcount_t *c) : count(c) { lw_seqcount_write_begin(c); }
            ~section() { lw_seqcount_write_end(count); }
        } open(&count_);
        write();
    }

private:
    lw_seqcount_t count_;
};

} // namespace lockwright

// Transfers between accounts, each under its own mutex: std::scoped_lock, std::unique_lock, std::shared_lock,
// std::condition_variable_any and lockwright's own condition variable over lockwright's locks.
#include <lockwright.hpp>

#include <cstdio>
#include <thread>
#include <vector>

struct account {
    lockwright::mutex lock;
    long money = 1000;
};

int main()
{
    using namespace std::chrono_literals;
    std::vector<account> accounts(8);
    lockwright::shared_mutex audit;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            for (unsigned i = 0; i < 20000; i++) {
                account &from = accounts[(t + i) % 8], &to = accounts[(t * 3 + i * 5 + 1) % 8];
                if (&from == &to)
                    continue;
                std::shared_lock running(audit);
                std::scoped_lock both(from.lock, to.lock);
                from.money--;
                to.money++;
            }
        });
    for (int i = 0; i < 50; i++) {
        std::unique_lock alone(audit);
        long sum = 0;
        for (auto &a : accounts)
            sum += a.money;
        if (sum != 8000)
            return 1;
    }
    for (auto &thread : threads)
        thread.join();

    lockwright::mutex lock{lockwright::policy::latency};
    lockwright::condition_variable told;
    std::condition_variable_any told_any;
    bool is_told = false, is_answered = false;
    std::thread other([&] {
        std::unique_lock hold(lock);
        told.wait(hold, [&] { return is_told; });
        is_answered = true;
        told_any.notify_all();
    });
    std::unique_lock hold(lock);
    is_told = true;
    told.notify_all();
    if (!told_any.wait_for(hold, 10s, [&] { return is_answered; }))
        return 1;
    hold.unlock();
    other.join();
    std::printf("%ld\n", accounts[0].money + accounts[1].money > 0 ? 8000L : 0L);
    return 0;
}

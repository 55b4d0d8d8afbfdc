/* A bounded queue: a mutex and two condition variables. cc queue.c $(pkg-config --cflags --libs lockwright) -pthread */
#include <lockwright.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 8, ITEMS = 20000, CONSUMERS = 3 };

static lw_mutex_t lock = LW_MUTEX_INIT;
static lw_cond_t not_empty = LW_COND_INIT, not_full = LW_COND_INIT;
static int items[ROOM], first, count;

static void put(int item)
{
    lw_mutex_lock(&lock);
    while (count == ROOM)
        lw_cond_wait(&not_full, &lock);
    items[(first + count++) % ROOM] = item;
    lw_cond_signal(&not_empty);
    lw_mutex_unlock(&lock);
}

static int take(void)
{
    lw_mutex_lock(&lock);
    while (count == 0)
        lw_cond_wait(&not_empty, &lock);
    int item = items[first];
    first = (first + 1) % ROOM;
    count--;
    lw_cond_signal(&not_full);
    lw_mutex_unlock(&lock);
    return item;
}

static void *consume(void *sum)
{
    for (int item; (item = take()) >= 0;)
        *(long *)sum += item;
    return NULL;
}

int main(void)
{
    pthread_t threads[CONSUMERS];
    long sums[CONSUMERS] = {0}, sum = 0;
    for (int i = 0; i < CONSUMERS; i++)
        if (pthread_create(&threads[i], NULL, consume, &sums[i]))
            return EXIT_FAILURE;
    for (int i = 1; i <= ITEMS; i++)
        put(i);
    for (int i = 0; i < CONSUMERS; i++)
        put(-1);
    for (int i = 0; i < CONSUMERS; i++) {
        pthread_join(threads[i], NULL);
        sum += sums[i];
    }
    printf("%ld\n", sum);
    return sum == (long)ITEMS * (ITEMS + 1) / 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#!/usr/bin/env bash
# A database server: adaptive mutexes, reader-writer locks, condition variables, by connection and in a pool.
. "$(dirname "$0")/lib.sh"
ROWS=${ROWS:-200}
user=$(id -un)
plainly mariadb-install-db --no-defaults --datadir="$D/db" --auth-root-authentication-method=normal \
    --skip-test-db --user="$user" >/dev/null 2>&1
for handling in one-thread-per-connection pool-of-threads; do
    mariadbd --no-defaults --user="$user" --datadir="$D/db" --socket="$D/s" --skip-networking \
        --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=32M \
        --query-cache-size=1M --query-cache-type=1 --thread-handling=$handling >"$D/log" 2>&1 &
    server=$!
    client=(plainly mariadb --no-defaults -N -uroot -S "$D/s")
    await "${client[@]}" -e 'create or replace database test'
    "${client[@]}" test -e 'create table a (id int primary key auto_increment, v int) engine=innodb;
        create table c (id int primary key, n bigint); insert into c values (0,0),(1,0),(2,0),(3,0)'
    clients=()
    for k in {1..8}; do
        for ((i = 0; i < ROWS; i++)); do
            echo "insert into a (v) values ($i); update c set n = n + $i where id = $((k % 4)); select count(*) from c;"
        done | "${client[@]}" test | wc -l >"$D/lines$k" &
        clients+=($!)
    done
    wait "${clients[@]}"
    cat "$D"/lines*
    "${client[@]}" test -e 'select count(*), sum(v) from a; select * from c; check table a, c'
    ended TERM
done

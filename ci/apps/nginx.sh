#!/usr/bin/env bash
# A server that reads its files by a pool of threads: error-checking mutexes.
. "$(dirname "$0")/lib.sh"
mkdir "$D/www"
input >"$D/input"
for i in {1..20}; do head -c $((i * 50000)) "$D/input" >"$D/www/$i"; done
cat >"$D/conf" <<C
daemon off; master_process off; pid $D/pid; error_log $D/errors; thread_pool p threads=8;
events { worker_connections 256; }
http {
    access_log off; aio threads=p; sendfile off; output_buffers 1 16k;
    client_body_temp_path $D/b; proxy_temp_path $D/p; fastcgi_temp_path $D/f; uwsgi_temp_path $D/u; scgi_temp_path $D/s;
    server { listen unix:$D/socket; root $D/www; }
}
C
nginx -e "$D/errors" -c "$D/conf" 2>/dev/null &
server=$!
await test -S "$D/socket"
clients=()
for client in {1..8}; do
    for i in {1..20}; do plainly curl -s --unix-socket "$D/socket" "http://x/$i" | sha256sum; done >"$D/answer$client" &
    clients+=($!)
done
wait "${clients[@]}"
sha256sum <"$D/answer1"
for client in {2..8}; do cmp "$D/answer1" "$D/answer$client"; done
ended QUIT

#!/usr/bin/env bash
# An interpreter's threads shake hands by OpenSSL, whose reader-writer locks they all take.
. "$(dirname "$0")/lib.sh"
plainly openssl req -x509 -newkey rsa:2048 -nodes -keyout "$D/key" -out "$D/cert" -days 2 -subj /CN=test 2>/dev/null
cat "$D/key" "$D/cert" >"$D/both"
# Debian's, not another one that comes first.
/usr/bin/python3 "$HERE/tls.py" "$D/both" "${ROUNDS:-300}"

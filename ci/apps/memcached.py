"""Sixteen clients of a memcached at once; prints their answers' checksum and the server's counts."""
import hashlib
import socket
import sys
import threading

PATH, ROUNDS, CLIENTS = sys.argv[1], int(sys.argv[2]), 16


def connect():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(PATH)
    return connection.makefile("rwb")


def ask(connection, line):
    connection.write(line)
    connection.flush()
    return connection.readline()


def client(number, answers):
    connection = connect()
    for i in range(ROUNDS):
        line = b"set key%d-%d 0 0 6\r\nvalue%d\r\n" % (number, i % 50, i % 10)
        answers.append(ask(connection, line))
        answers.append(ask(connection, b"get nothing\r\n"))
        ask(connection, b"incr total 1\r\n")


first = connect()
ask(first, b"set total 0 0 1\r\n0\r\n")
answers = [[] for _ in range(CLIENTS)]
threads = [threading.Thread(target=client, args=pair) for pair in enumerate(answers)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(ask(first, b"get total\r\n"), first.readline(), first.readline())
print(hashlib.sha256(repr(answers).encode()).hexdigest())
ask(first, b"stats\r\n")
counts = {}
for line in first:
    if line == b"END\r\n":
        break
    _, name, value = line.decode().split(maxsplit=2)
    counts[name] = value.strip()
print({name: counts[name] for name in ("cmd_set", "get_misses", "incr_hits", "curr_items")})

"""TLS connections between threads of one process; prints the checksum of what came through."""
import hashlib
import socket
import ssl
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
server.load_cert_chain(sys.argv[1])
client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
client.check_hostname = False
client.verify_mode = ssl.CERT_NONE


def serve(raw, length):
    with server.wrap_socket(raw, server_side=True) as connection:
        got = b""
        while len(got) < length:
            got += connection.recv(65536)
        connection.sendall(hashlib.sha256(got).digest())


def connect(number):
    data = bytes([number % 256]) * 20000
    here, there = socket.socketpair()
    thread = threading.Thread(target=serve, args=(here, len(data)))
    thread.start()
    with client.wrap_socket(there) as connection:
        connection.sendall(data)
        answer = connection.recv(32)
    thread.join()
    return answer


with ThreadPoolExecutor(8) as pool:
    answers = list(pool.map(connect, range(int(sys.argv[2]))))
print(len(answers), hashlib.sha256(b"".join(answers)).hexdigest())

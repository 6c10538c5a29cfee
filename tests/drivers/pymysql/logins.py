"""What comes of logins with PyMySQL: python logins.py < LINES.

Each line is a login: "tcp" or "unix", host and port or the socket's path, user, password, and "off" or "required" for
TLS, with a tab between two. Prints a line for each: who it is, or the error.
"""

import ssl
import sys

import pymysql

# Whatever certificate is shown.
ANY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
ANY.check_hostname, ANY.verify_mode = False, ssl.CERT_NONE


def connect(way, address, user, password, tls):
    options = {"user": user, "password": password, "connect_timeout": 10, "read_timeout": 20}
    options |= {"ssl": ANY} if tls == "required" else {"ssl_disabled": True}
    if way == "unix":
        return pymysql.connect(unix_socket=address, **options)
    host, port = address.split(" ")
    return pymysql.connect(host=host, port=int(port), **options)


def outcome(login):
    try:
        with connect(*login) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT CURRENT_USER()")
            return f"ok {cursor.fetchone()[0]}"
    except (pymysql.MySQLError, RuntimeError) as error:
        return f"{type(error).__name__} {error}"


for line in sys.stdin:
    print(outcome(line.rstrip("\n").split("\t")), flush=True)

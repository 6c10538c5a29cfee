"""What comes of logins with Connector/Python: python logins.py pure|c < LINES.

Each line is a login: "tcp" or "unix", host and port or the socket's path, user, password, and "off" or "required" for
TLS, with a tab between two. Prints a line for each: who it is, or the error.
"""

import sys

import mysql.connector

OPTIONS = {
    "charset": "utf8mb4", "collation": "utf8mb4_general_ci", "use_pure": sys.argv[1] == "pure", "connection_timeout": 10,
}


def connect(way, address, user, password, tls):
    options = OPTIONS | {"user": user, "password": password, "ssl_disabled": tls == "off"}
    if way == "unix":
        return mysql.connector.connect(unix_socket=address, **options)
    host, port = address.split(" ")
    return mysql.connector.connect(host=host, port=int(port), **options)


def outcome(login):
    try:
        with connect(*login) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT CURRENT_USER()")
            return f"ok {cursor.fetchone()[0]}"
    except mysql.connector.Error as error:
        return f"{type(error).__name__} {error.errno} {error}"


for line in sys.stdin:
    print(outcome(line.rstrip("\n").split("\t")), flush=True)

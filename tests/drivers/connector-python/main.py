"""The ordinary life of a Connector/Python client: python main.py HOST PORT USER PASSWORD SCHEMA MODE.

The mode is "text" or "prepared", and "-pure" (the protocol in Python) or "-c" (in the C library)
after it. Prints "ok <step> <what was seen>".
"""

import datetime
import decimal
import hashlib
import io
import sys
import threading

import mysql.connector
from mysql.connector.pooling import MySQLConnectionPool

HOST, PORT, USER, PASSWORD, SCHEMA, MODE = sys.argv[1:7]
KIND, LIBRARY = MODE.split("-")
PREPARED = KIND == "prepared"
MEGABYTE = 1024 * 1024
# MariaDB has not the collation that the driver would choose.
OPTIONS = {
    "host": HOST, "port": int(PORT), "user": USER, "password": PASSWORD, "database": SCHEMA,
    "charset": "utf8mb4", "collation": "utf8mb4_general_ci",
    "use_pure": LIBRARY == "pure", "connection_timeout": 10,
}


def connect(**options):
    return mysql.connector.connect(**OPTIONS, **options)


def ask(connection, sql, *values):
    # An empty tuple of values would leave the statement unprepared.
    with connection.cursor(prepared=PREPARED) as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall() if cursor.with_rows else cursor.rowcount


def ok(step, *seen):
    print("ok", step, *seen, flush=True)


def error_of(connection, sql, *values):
    try:
        ask(connection, sql, *values)
    except mysql.connector.Error as error:
        return type(error).__name__, error.errno, error.sqlstate
    raise AssertionError(f"no error: {sql}")


def types(connection):
    ask(connection, "CREATE TABLE kinds (id INT PRIMARY KEY, t VARCHAR(99), d DECIMAL(30, 10),"
        " f DOUBLE, at DATETIME(6), day DATE, span TIME(3), b VARBINARY(99), big BIGINT UNSIGNED)")
    row = (1, "žluťoučký 😀 ' \\ \" %", decimal.Decimal("-12345678901234567890.0123456789"), -1024.5,
           datetime.datetime(2024, 2, 29, 23, 59, 59, 123456), datetime.date(1999, 12, 31),
           datetime.timedelta(hours=25, milliseconds=7), bytes(range(90)), 2**63 - 1)
    empty = (2,) + (None,) * 8
    # The C library's binding sends another TIME than it was given.
    sent = tuple("25:00:00.007" if value is row[6] and MODE == "prepared-c" else value for value in row)
    for values in (sent, empty):
        ask(connection, "INSERT INTO kinds VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)", *values)
    with connection.cursor(prepared=PREPARED) as cursor:
        cursor.execute("SELECT * FROM kinds WHERE id < %s ORDER BY id", (3,))
        found, columns = cursor.fetchall(), cursor.description
    assert found == [row, empty], found
    ok("types", [column[:2] for column in columns])
    with connection.cursor(prepared=PREPARED) as cursor:
        for least in (1, 2, 1):
            cursor.execute("SELECT id FROM kinds WHERE id >= %s ORDER BY id", (least,))
            assert cursor.fetchone() == (least,)
            assert len(cursor.fetchall()) == 2 - least
    ok("repeated")


def counts(connection):
    ask(connection, "CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT)")
    with connection.cursor(prepared=PREPARED) as cursor:
        cursor.executemany("INSERT INTO counted (n) VALUES (%s)", [(n,) for n in range(5)])
        cursor.execute("INSERT INTO counted (n) VALUES (%s)", (9,))
        assert cursor.lastrowid == 6, cursor.lastrowid
    assert ask(connection, "SELECT LAST_INSERT_ID()") == [(6,)]
    changed = ask(connection, "UPDATE counted SET n = %s WHERE n IN (1, 2)", 1)
    deleted = ask(connection, "DELETE FROM counted WHERE n > %s", 3)
    assert deleted == 2, deleted
    ok("counts", changed, deleted)


def transactions(connection, other):
    ask(connection, "CREATE TABLE kept (n INT PRIMARY KEY)")
    connection.start_transaction()
    ask(connection, "INSERT INTO kept VALUES (%s)", 1)
    assert connection.in_transaction
    assert ask(other, "SELECT * FROM kept") == []
    connection.rollback()
    assert not connection.in_transaction
    connection.autocommit = False
    ask(connection, "INSERT INTO kept VALUES (%s)", 2)
    assert ask(other, "SELECT * FROM kept") == []
    connection.commit()
    ask(connection, "INSERT INTO kept VALUES (%s)", 3)
    connection.rollback()
    connection.autocommit = True
    ask(connection, "INSERT INTO kept VALUES (%s)", 4)
    assert ask(other, "SELECT n FROM kept ORDER BY n") == [(2,), (4,)]
    ok("transactions")


def blobs(connection):
    ask(connection, "CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)")
    for number, size in enumerate((5 * MEGABYTE, 20 * MEGABYTE + 1)):
        blob = (bytes(range(256)) * (size // 256 + 1))[:size]
        # Only the protocol in Python takes streams, and sends those piece by piece.
        sent = io.BytesIO(blob) if MODE == "prepared-pure" else blob
        ask(connection, "INSERT INTO large VALUES (%s, %s)", number, sent)
        # The protocol in Python cannot read binary rows of several packets.
        wanted, column = (blob, "b")
        if MODE == "prepared-pure" and size > 16 * MEGABYTE:
            wanted, column = (hashlib.sha256(blob).hexdigest(), "SHA2(b, 256)")
        found = ask(connection, f"SELECT {column}, LENGTH(b) FROM large WHERE id = %s", number)
        assert found == [(wanted, size)], found[0][1]
        ok("blob", size)


def errors(connection):
    ask(connection, "INSERT INTO counted VALUES (100, 1)")
    seen = [error_of(connection, "INSERT INTO counted VALUES (%s, 1)", 100),
            error_of(connection, "SELEKT 1"),
            error_of(connection, "SELECT * FROM nowhere WHERE a = %s", 1),
            error_of(connection, "SELECT nothing FROM counted"),
            error_of(connection, "INSERT INTO counted (n) VALUES (%s)", "x")]
    assert ask(connection, "SELECT n FROM counted WHERE id = %s", 100) == [(1,)]
    ok("errors", seen)


def procedures(connection):
    with connection.cursor() as cursor:
        # MySQL does not prepare this.
        cursor.execute("CREATE PROCEDURE several(IN n INT, OUT m INT)"
            " BEGIN SELECT n; SELECT n + 1, 'two'; SET m = n + 2; END")
        assert cursor.callproc("several", (7, 0)) == (7, 9)
        sets = [result.fetchall() for result in cursor.stored_results()]
        assert sets == [[(7,)], [(8, "two")]], sets
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1; UPDATE counted SET n = 5 WHERE id = 100; SELECT 'three'")
        seen = [cursor.fetchall()]
        while cursor.nextset():
            seen.append(cursor.fetchall() if cursor.with_rows else cursor.rowcount)
        assert seen == [[(1,)], 1, [("three",)]], seen
    ok("procedures")


def parallel():
    """A pool of four connections, and eight threads that take turns with them."""
    pool = MySQLConnectionPool(pool_name="few", pool_size=4, **OPTIONS)
    permits, failures = threading.Semaphore(4), []

    def work(number):
        try:
            for turn in range(6):
                # Giving a connection back resets its session.
                with permits, pool.get_connection() as connection:
                    ask(connection, "INSERT INTO shared (worker, turn) VALUES (%s, %s)", number, turn)
                    mine = ask(connection, "SELECT worker, turn FROM shared WHERE id = LAST_INSERT_ID()")
                    assert mine == [(number, turn)], mine
                    connection.commit() if turn % 2 else connection.rollback()
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def attributes(connection):
    """Those of MySQL, which tells them by a component."""
    if "MariaDB" in connection.server_info:
        return ok("attributes", "none")
    seen = []
    for name, value in [("trace", "žluťoučký"), ("number", 7), ("trace", "again"), (None, None)]:
        with connection.cursor(prepared=PREPARED) as cursor:
            if name:
                cursor.add_attribute(name, value)
            cursor.execute("SELECT mysql_query_attribute_string('trace'),"
                " mysql_query_attribute_string('number'), %s", (len(seen),))
            seen.append(cursor.fetchall())
    ok("attributes", seen)


def main():
    connection, other = connect(autocommit=True), connect(autocommit=True)
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
        cursor.execute(f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4")
    connection.database = SCHEMA
    other.database = SCHEMA
    ok("connect", connection.charset, connection.collation, connection.database)
    types(connection)
    counts(connection)
    transactions(connection, other)
    blobs(connection)
    errors(connection)
    procedures(connection)
    attributes(connection)
    ask(connection, "CREATE TABLE shared (id INT PRIMARY KEY AUTO_INCREMENT, worker INT, turn INT)")
    parallel()
    ok("parallel", ask(connection, "SELECT worker, COUNT(*) FROM shared GROUP BY worker ORDER BY worker"))
    ask(other, f"KILL {connection.connection_id}")
    seen = error_of(connection, "SELECT 1")
    connection.reconnect()
    assert ask(connection, "SELECT DATABASE()") == [(SCHEMA,)]
    ok("kill", seen)
    connection.close()
    other.close()


main()

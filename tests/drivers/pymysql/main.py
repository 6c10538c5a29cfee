"""The ordinary life of a PyMySQL client: python main.py HOST PORT USER PASSWORD SCHEMA MODE.

The only mode is "text": PyMySQL has no prepared statements. Prints "ok <step> <what was seen>".
"""

import datetime
import decimal
import sys
import threading

import pymysql
from pymysql.constants import CLIENT

HOST, PORT, USER, PASSWORD, SCHEMA, MODE = sys.argv[1:7]
MEGABYTE = 1024 * 1024


def connect(**options):
    address = {"host": HOST, "port": int(PORT), "user": USER, "password": PASSWORD}
    limits = {"connect_timeout": 10, "read_timeout": 20, "max_allowed_packet": 64 * MEGABYTE}
    return pymysql.connect(**address, **limits, database=SCHEMA, charset="utf8mb4", **options)


def ask(connection, sql, *values):
    with connection.cursor() as cursor:
        cursor.execute(sql, values or None)
        return cursor.fetchall()


def ok(step, *seen):
    print("ok", step, *seen, flush=True)


def error_of(connection, sql, *values):
    try:
        ask(connection, sql, *values)
    except pymysql.MySQLError as error:
        return type(error).__name__, error.args[0]
    raise AssertionError(f"no error: {sql}")


def types(connection):
    ask(connection, "CREATE TABLE kinds (id INT PRIMARY KEY, t VARCHAR(99), d DECIMAL(30, 10),"
        " f DOUBLE, at DATETIME(6), day DATE, span TIME(3), b VARBINARY(99), big BIGINT UNSIGNED)")
    row = (1, "žluťoučký 😀 ' \\ \" %", decimal.Decimal("-12345678901234567890.0123456789"), 1.5e300,
           datetime.datetime(2024, 2, 29, 23, 59, 59, 123456), datetime.date(1999, 12, 31),
           datetime.timedelta(hours=-25, milliseconds=-7), bytes(range(90)), 2**64 - 1)
    empty = (2,) + (None,) * 8
    for values in (row, empty):
        ask(connection, "INSERT INTO kinds VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)", *values)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM kinds ORDER BY id")
        assert cursor.fetchall() == (row, empty)
        ok("types", [column[:2] for column in cursor.description])
    with connection.cursor(pymysql.cursors.SSCursor) as cursor:
        cursor.execute("SELECT id FROM kinds ORDER BY id")
        assert [cursor.fetchone() for _ in range(3)] == [(1,), (2,), None]
    ok("unbuffered")


def counts(connection):
    ask(connection, "CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT)")
    with connection.cursor() as cursor:
        assert cursor.executemany("INSERT INTO counted (n) VALUES (%s)", [(n,) for n in range(5)]) == 5
        assert cursor.lastrowid == 1
        cursor.execute("INSERT INTO counted (n) VALUES (9)")
        assert (cursor.lastrowid, connection.insert_id()) == (6, 6)
        cursor.execute("SELECT LAST_INSERT_ID()")
        assert cursor.fetchall() == ((6,),)
        changed = cursor.execute("UPDATE counted SET n = 1 WHERE n IN (1, 2)")
        deleted = cursor.execute("DELETE FROM counted WHERE n > 3")
    assert (changed, deleted) == (1, 2)
    ok("counts", changed, deleted)


def transactions(connection, other):
    ask(connection, "CREATE TABLE kept (n INT PRIMARY KEY)")
    connection.begin()
    ask(connection, "INSERT INTO kept VALUES (1)")
    assert ask(other, "SELECT * FROM kept") == ()
    connection.rollback()
    connection.autocommit(False)
    ask(connection, "INSERT INTO kept VALUES (2)")
    assert ask(other, "SELECT * FROM kept") == ()
    connection.commit()
    ask(connection, "INSERT INTO kept VALUES (3)")
    connection.rollback()
    connection.autocommit(True)
    ask(connection, "INSERT INTO kept VALUES (4)")
    assert ask(other, "SELECT n FROM kept ORDER BY n") == ((2,), (4,))
    ok("transactions")


def blobs(connection):
    ask(connection, "CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)")
    for number, size in enumerate((5 * MEGABYTE, 20 * MEGABYTE + 1)):
        blob = (bytes(range(256)) * (size // 256 + 1))[:size]
        ask(connection, "INSERT INTO large VALUES (%s, %s)", number, blob)
        assert ask(connection, "SELECT b, LENGTH(b) FROM large WHERE id = %s", number) == ((blob, size),)
        ok("blob", size)


def errors(connection):
    ask(connection, "INSERT INTO counted VALUES (100, 1)")
    seen = [error_of(connection, "INSERT INTO counted VALUES (%s, 1)", 100),
            error_of(connection, "SELEKT 1"),
            error_of(connection, "SELECT * FROM nowhere"),
            error_of(connection, "SELECT nothing FROM counted"),
            error_of(connection, "INSERT INTO counted (n) VALUES ('x')")]
    assert ask(connection, "SELECT n FROM counted WHERE id = 100") == ((1,),)
    ok("errors", seen)


def procedures(connection):
    ask(connection, "CREATE PROCEDURE several(IN n INT) BEGIN SELECT n; SELECT n + 1, 'two'; END")
    with connection.cursor() as cursor:
        cursor.callproc("several", (7,))
        sets = [cursor.fetchall()]
        while cursor.nextset():
            sets.append(cursor.fetchall())
        # The last one is the OK of the CALL itself.
        assert sets[:2] == [((7,),), ((8, "two"),)] and not sets[2], sets
    with connect(client_flag=CLIENT.MULTI_STATEMENTS) as several, several.cursor() as cursor:
        cursor.execute("SELECT 1; UPDATE counted SET n = 5 WHERE id = 100; SELECT 'three'")
        seen = [cursor.fetchall()]
        while cursor.nextset():
            seen.append(cursor.fetchall() or cursor.rowcount)
        assert seen == [((1,),), 1, (("three",),)], seen
    ok("procedures", error_of(connection, "SELECT 1; SELECT 2"))


def parallel():
    """Four connections, each used by one thread at a time."""
    failures = []

    def work(number):
        try:
            with connect(autocommit=False) as connection:
                for turn in range(20):
                    ask(connection, "INSERT INTO shared (worker, turn) VALUES (%s, %s)", number, turn)
                    mine = ask(connection, "SELECT worker, turn FROM shared WHERE id = LAST_INSERT_ID()")
                    assert mine == ((number, turn),), mine
                    connection.commit() if turn % 2 else connection.rollback()
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def main():
    connection, other = connect(autocommit=True), connect(autocommit=True)
    ask(connection, f"DROP DATABASE IF EXISTS {SCHEMA}")
    ask(connection, f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4")
    connection.select_db(SCHEMA)
    other.select_db(SCHEMA)
    ok("connect", connection.character_set_name(), ask(connection, "SELECT DATABASE()"))
    types(connection)
    counts(connection)
    transactions(connection, other)
    blobs(connection)
    errors(connection)
    procedures(connection)
    ask(connection, "CREATE TABLE shared (id INT PRIMARY KEY AUTO_INCREMENT, worker INT, turn INT)")
    parallel()
    ok("parallel", ask(connection, "SELECT worker, COUNT(*) FROM shared GROUP BY worker ORDER BY worker"))
    other.kill(connection.thread_id())
    seen = error_of(connection, "SELECT 1")
    connection.connect()
    assert ask(connection, "SELECT DATABASE()") == ((SCHEMA,),)
    ok("kill", seen)
    connection.close()
    other.close()


main()

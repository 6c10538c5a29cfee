"""The ordinary life of a mysqlclient (MySQLdb) client: python3 main.py HOST PORT USER PASSWORD SCHEMA MODE.

The only mode is "text": it has no prepared statements. Prints "ok <step> <what was seen>".
"""

import datetime
import decimal
import sys
import threading

import MySQLdb
import MySQLdb.cursors
from MySQLdb.constants import CLIENT

HOST, PORT, USER, PASSWORD, SCHEMA, MODE = sys.argv[1:7]
MEGABYTE = 1024 * 1024


def connect(schema=SCHEMA, **options):
    return MySQLdb.connect(host=HOST, port=int(PORT), user=USER, password=PASSWORD, database=schema,
        charset="utf8mb4", connect_timeout=10, read_timeout=20, **options)


def ask(connection, sql, *values):
    with connection.cursor() as cursor:
        cursor.execute(sql, values or None)
        return cursor.fetchall()


def ok(step, *seen):
    print("ok", step, *seen, flush=True)


def error_of(connection, sql, *values):
    try:
        ask(connection, sql, *values)
    except MySQLdb.Error as error:
        return type(error).__name__, error.args[0]
    raise AssertionError(f"no error: {sql}")


def types(connection):
    ask(connection, "CREATE TABLE kinds (id INT PRIMARY KEY, t VARCHAR(99), d DECIMAL(30, 10), f DOUBLE,"
        " at DATETIME(6), day DATE, span TIME(3), b VARBINARY(99), big BIGINT UNSIGNED)")
    row = (1, "žluťoučký 😀 ' \\ \" %", decimal.Decimal("-12345678901234567890.0123456789"), 1.5e300,
        datetime.datetime(2024, 2, 29, 23, 59, 59, 123456), datetime.date(1999, 12, 31),
        datetime.timedelta(hours=25, milliseconds=7), bytes(range(90)), 2**64 - 1)
    # What this driver writes of a duration has no fraction.
    sent = row[:6] + ("25:00:00.007",) + row[7:]
    for values in (sent, (2,) + (None,) * 8):
        ask(connection, "INSERT INTO kinds VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)", *values)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM kinds ORDER BY id")
        assert cursor.fetchall() == (row, (2,) + (None,) * 8)
        ok("types", [column[:2] for column in cursor.description])
    with connection.cursor(MySQLdb.cursors.SSDictCursor) as cursor:
        cursor.execute("SELECT id FROM kinds ORDER BY id")
        assert [cursor.fetchone() for _ in range(3)] == [{"id": 1}, {"id": 2}, None]


def counts(connection):
    ask(connection, "CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT)")
    with connection.cursor() as cursor:
        assert cursor.executemany("INSERT INTO counted (n) VALUES (%s)", [(n,) for n in range(5)]) == 5
        cursor.execute("INSERT INTO counted (n) VALUES (9)")
        assert (cursor.lastrowid, connection.insert_id()) == (6, 6)
        cursor.execute("UPDATE counted SET n = 1 WHERE n IN (1, 2)")
        ok("counts", cursor.rowcount, connection.info(), connection.warning_count())
        cursor.execute("SELECT 1 / 0")
        cursor.fetchall()
    ok("warnings", connection.warning_count(), ask(connection, "SHOW WARNINGS"))


def transactions(connection, other):
    ask(connection, "CREATE TABLE kept (n INT PRIMARY KEY)")
    connection.begin()
    ask(connection, "INSERT INTO kept VALUES (1)")
    assert ask(other, "SELECT * FROM kept") == ()
    connection.rollback()
    connection.autocommit(False)
    ask(connection, "INSERT INTO kept VALUES (2)")
    connection.commit()
    ask(connection, "INSERT INTO kept VALUES (3)")
    connection.rollback()
    connection.autocommit(True)
    ok("transactions", ask(other, "SELECT n FROM kept"), connection.get_autocommit())


def blobs(connection):
    ask(connection, "CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)")
    for number, size in enumerate((5 * MEGABYTE, 20 * MEGABYTE + 1)):
        blob = (bytes(range(256)) * (size // 256 + 1))[:size]
        ask(connection, "INSERT INTO large VALUES (%s, %s)", number, blob)
        assert ask(connection, "SELECT b, LENGTH(b) FROM large WHERE id = %s", number) == ((blob, size),)
        ok("blob", size)


def errors(connection):
    ask(connection, "INSERT INTO counted VALUES (100, 1)")
    ok("errors", error_of(connection, "INSERT INTO counted VALUES (%s, 1)", 100), error_of(connection, "SELEKT 1"),
        error_of(connection, "SELECT * FROM nowhere"), error_of(connection, "INSERT INTO counted (n) VALUES ('x')"))


def several(connection):
    ask(connection, "CREATE PROCEDURE several(IN n INT) BEGIN SELECT n; SELECT n + 1, 'two'; END")
    seen = []
    multi = connect(autocommit=True, client_flag=CLIENT.MULTI_STATEMENTS)
    for text in ("CALL several(7)", "SELECT 1; UPDATE counted SET n = 5 WHERE id = 100; SELECT 'three'"):
        with multi.cursor() as cursor:
            cursor.execute(text)
            seen.append(cursor.fetchall())
            while cursor.nextset():
                seen.append(cursor.fetchall())
    multi.close()
    ok("several", seen)


def parallel():
    failures = []

    def work(number):
        try:
            connection = connect()
            for turn in range(20):
                ask(connection, "INSERT INTO shared (worker, turn) VALUES (%s, %s)", number, turn)
                mine = ask(connection, "SELECT worker, turn FROM shared WHERE id = LAST_INSERT_ID()")
                assert mine == ((number, turn),), mine
                connection.commit() if turn % 2 else connection.rollback()
            connection.close()
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def main():
    connection = connect("", autocommit=True)
    ask(connection, f"DROP DATABASE IF EXISTS {SCHEMA}")
    ask(connection, f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4")
    connection.select_db(SCHEMA)
    other = connect(autocommit=True)
    ok("connect", connection.character_set_name(), ask(connection, "SELECT DATABASE()"))
    types(connection)
    counts(connection)
    transactions(connection, other)
    blobs(connection)
    errors(connection)
    several(connection)
    ask(connection, "CREATE TABLE shared (id INT PRIMARY KEY AUTO_INCREMENT, worker INT, turn INT)")
    parallel()
    ok("parallel", ask(connection, "SELECT worker, COUNT(*) FROM shared GROUP BY worker ORDER BY worker"))
    connection.change_user(USER, PASSWORD, SCHEMA)
    connection.ping()
    other.kill(connection.thread_id())
    ok("kill", error_of(connection, "SELECT 1")[0])


main()

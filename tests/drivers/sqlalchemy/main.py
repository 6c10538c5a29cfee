"""The ordinary life of a program with SQLAlchemy: python main.py HOST PORT USER PASSWORD SCHEMA MODE.

The mode is "pymysql", the driver below. Prints "ok <step> <what was seen>".
"""

import datetime
import decimal
import sys
import threading

from sqlalchemy import (JSON, BigInteger, DateTime, ForeignKey, LargeBinary, MetaData, Numeric, String, create_engine,
    delete, event, exc, func, insert, inspect, select, text, update)
from sqlalchemy.dialects.mysql import insert as upsert
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload

HOST, PORT, USER, PASSWORD, SCHEMA, MODE = sys.argv[1:7]


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(99), unique=True)
    born: Mapped[datetime.date | None]
    notes: Mapped[dict | None] = mapped_column(JSON)
    books: Mapped[list["Book"]] = relationship(back_populates="author", cascade="all, delete-orphan")


class Book(Base):
    __tablename__ = "book"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    title: Mapped[str] = mapped_column(String(99))
    price: Mapped[decimal.Decimal] = mapped_column(Numeric(20, 6))
    seen: Mapped[datetime.datetime | None] = mapped_column(DateTime)
    cover: Mapped[bytes | None] = mapped_column(LargeBinary(1 << 24))
    author_id: Mapped[int] = mapped_column(ForeignKey("author.id"))
    author: Mapped[Author] = relationship(back_populates="books")


def engine_for(schema, **options):
    url = f"mysql+{MODE}://{USER}:{PASSWORD}@{HOST}:{PORT}/{schema}?charset=utf8mb4"
    return create_engine(url, pool_size=4, max_overflow=0, pool_pre_ping=True, pool_recycle=3600, **options)


def ok(step, *seen):
    print("ok", step, *seen, flush=True)


def tables(engine):
    Base.metadata.create_all(engine)
    # The second time it only looks.
    Base.metadata.create_all(engine)
    found = MetaData()
    found.reflect(engine)
    looked = inspect(engine)
    ok("tables", sorted(found.tables), [column["name"] for column in looked.get_columns("book")],
        [key["referred_table"] for key in looked.get_foreign_keys("book")], engine.dialect.server_version_info)


def objects(engine):
    with Session(engine) as session:
        author = Author(name="Karel Čapek 😀", born=datetime.date(1890, 1, 9), notes={"nested": [1, None, "ž"]})
        author.books = [Book(title="R.U.R.", price=decimal.Decimal("1.500001"), cover=bytes(range(256)) * 8000),
            Book(title="Válka s mloky", price=decimal.Decimal(2), seen=datetime.datetime(2024, 2, 29, 23, 59, 59))]
        session.add(author)
        session.commit()
        assert [book.id for book in author.books] == [1, 2]
    with Session(engine) as session:
        author = session.scalars(select(Author).options(selectinload(Author.books))).one()
        assert author.notes == {"nested": [1, None, "ž"]} and author.born.year == 1890
        first, second = author.books
        assert first.cover == bytes(range(256)) * 8000 and second.seen.second == 59
        assert first.price == decimal.Decimal("1.500001")
        second.title = "War with the Newts"
        session.delete(first)
        session.commit()
        ok("objects", session.execute(select(Book.id, Book.title, Book.price)).all())


def statements(engine):
    with engine.begin() as connection:
        many = [{"title": f"Volume {n}", "price": n, "author_id": 1} for n in range(2500)]
        connection.execute(insert(Book), many)
        changed = connection.execute(update(Book).where(Book.price < 10).values(price=Book.price + 1)).rowcount
        gone = connection.execute(delete(Book).where(Book.price > 2000)).rowcount
        one = upsert(Author).values(id=1, name="nobody")
        connection.execute(one.on_duplicate_key_update(name=one.inserted.name + " else"))
        total = connection.execute(select(func.count(), func.sum(Book.price))).one()
        ok("statements", changed, gone, total, connection.scalar(select(Author.name)))
    with engine.connect().execution_options(stream_results=True, max_row_buffer=50) as connection:
        parts = [len(part) for part in connection.execute(select(Book.title)).partitions(500)]
        ok("streams", parts)


def transactions(engine):
    with engine.connect() as connection:
        transaction = connection.begin()
        connection.execute(insert(Author).values(name="lost"))
        inner = connection.begin_nested()
        connection.execute(insert(Author).values(name="lost, too"))
        inner.rollback()
        seen = connection.scalar(select(func.count()).select_from(Author))
        transaction.rollback()
        after = connection.scalar(select(func.count()).select_from(Author))
    levels = []
    for level in ("READ COMMITTED", "SERIALIZABLE", "AUTOCOMMIT"):
        with engine.connect().execution_options(isolation_level=level) as connection:
            connection.execute(update(Author).values(born=None))
            levels.append(connection.get_isolation_level())
            if level != "AUTOCOMMIT":
                connection.commit()
    with engine.connect() as connection:
        levels.append(connection.get_isolation_level())
        two = connection.begin_twophase()
        connection.execute(insert(Author).values(name="in two phases"))
        two.prepare()
        two.commit()
    ok("transactions", seen, after, levels)


def errors(engine):
    seen = []
    for statement in ("INSERT INTO author (id, name) VALUES (1, 'x')", "SELEKT 1", "SELECT * FROM nowhere",
            "INSERT INTO book (title, price, author_id) VALUES ('x', 1, 99)"):
        try:
            with engine.begin() as connection:
                connection.execute(text(statement))
        except exc.DBAPIError as error:
            seen.append((type(error).__name__, error.orig.args[0], error.connection_invalidated))
    ok("errors", seen)


def parallel(engine):
    """Eight threads on a pool of four connections; what a session sets is gone with the next checkout."""
    failures = []

    def work(number):
        try:
            for turn in range(10):
                with Session(engine) as session:
                    session.execute(text("SET @mine = :mine"), {"mine": number})
                    book = Book(title=f"{turn} of {number}", price=1, author_id=1)
                    session.add(book)
                    session.flush()
                    assert session.scalar(text("SELECT LAST_INSERT_ID()")) == book.id
                    assert session.scalar(text("SELECT @mine")) == number
                    session.commit() if turn % 2 else session.rollback()
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    with engine.connect() as connection:
        ok("parallel", connection.scalar(select(func.count()).select_from(Book).where(Book.title.like("% of %"))))


def lost(engine):
    """The pool finds out that a connection was killed, and makes another."""
    with engine.connect() as connection:
        victim = connection.scalar(text("SELECT CONNECTION_ID()"))
    opened = []
    event.listen(engine, "connect", lambda *_: opened.append(1))
    other = engine_for(SCHEMA)
    with other.connect() as connection:
        connection.execute(text(f"KILL {victim}"))
    for _ in range(8):
        with engine.connect() as connection:
            assert connection.scalar(text("SELECT DATABASE()")) == SCHEMA
    other.dispose()
    ok("lost", len(opened))


def main():
    engine = engine_for("")
    with engine.begin() as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {SCHEMA}"))
        connection.execute(text(f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4"))
    engine.dispose()
    engine = engine_for(SCHEMA)
    for step in (tables, objects, statements, transactions, errors, parallel, lost):
        step(engine)
    engine.dispose()


main()

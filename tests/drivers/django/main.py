"""The ordinary life of a program with Django's ORM: python main.py HOST PORT USER PASSWORD SCHEMA MODE.

The mode is "autocommit" or "requests" (each step is one transaction). Prints "ok <step> <what was seen>".
"""

import datetime
import decimal
import sys
import threading

import pymysql

pymysql.install_as_MySQLdb()

import django  # noqa: E402 (what it finds must be there first)
from django.apps import AppConfig  # noqa: E402
from django.conf import settings  # noqa: E402

HOST, PORT, USER, PASSWORD, SCHEMA, MODE = sys.argv[1:7]


class Library(AppConfig):
    """This program is an application of its own."""

    name, label, path = "__main__", "library", "."


settings.configure(
    INSTALLED_APPS=["__main__.Library"],
    DATABASES={"default": {
        "ENGINE": "django.db.backends.mysql", "NAME": SCHEMA, "HOST": HOST, "PORT": PORT, "USER": USER,
        "PASSWORD": PASSWORD, "CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"charset": "utf8mb4", "isolation_level": "repeatable read"},
    }},
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.db import IntegrityError, close_old_connections, connection, models, transaction  # noqa: E402
from django.db.models import Avg, Count, F, Q, Window  # noqa: E402
from django.db.models.functions import Lower, RowNumber  # noqa: E402


class Author(models.Model):
    name = models.CharField(max_length=99, unique=True)
    born = models.DateField(null=True)
    notes = models.JSONField(null=True)


class Tag(models.Model):
    name = models.CharField(max_length=50, unique=True)


class Book(models.Model):
    title = models.CharField(max_length=99)
    price = models.DecimalField(max_digits=20, decimal_places=6)
    seen = models.DateTimeField(null=True)
    lent = models.DurationField(null=True)
    cover = models.BinaryField(null=True)
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
    tags = models.ManyToManyField(Tag)


def ok(step, *seen):
    print("ok", step, *seen, flush=True)


def tables():
    with connection.schema_editor() as editor:
        for model in (Author, Tag, Book):
            editor.create_model(model)
        note = models.IntegerField(default=3)
        note.set_attributes_from_name("note")
        editor.add_field(Tag, note)
        editor.remove_field(Tag, note)
    looked = connection.introspection
    with connection.cursor() as cursor:
        columns = [(column.name, looked.get_field_type(column.type_code, column))
            for column in looked.get_table_description(cursor, "library_book")]
        constraints = looked.get_constraints(cursor, "library_book")
        ok("tables", sorted(table.name for table in looked.get_table_list(cursor)), columns, len(constraints))


def objects():
    author = Author.objects.create(name="Karel Čapek 😀", born=datetime.date(1890, 1, 9), notes={"a": [1, None, "ž"]})
    seen = datetime.datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=datetime.timezone.utc)
    book = Book.objects.create(title="R.U.R.", price=decimal.Decimal("1.500001"), seen=seen, author=author,
        lent=datetime.timedelta(days=3, microseconds=7), cover=bytes(range(256)) * 8000)
    book.tags.add(Tag.objects.create(name="robots"), Tag.objects.create(name="drama"))
    Book.objects.bulk_create([Book(title=f"Volume {n}", price=n, author=author) for n in range(700)], batch_size=300)
    found = Book.objects.select_related("author").prefetch_related("tags").get(title="R.U.R.")
    assert found.seen == seen and found.lent == book.lent and bytes(found.cover) == bytes(book.cover)
    assert found.author.notes == {"a": [1, None, "ž"]} and len(found.tags.all()) == 2
    ok("objects", author.pk, book.pk, Book.objects.count())


def queries():
    cheap = Q(price__lt=10) | Q(tags__name="robots")
    ok("queries", Book.objects.filter(cheap).distinct().count(),
        Book.objects.filter(price__lt=5).update(price=F("price") + 1),
        Author.objects.annotate(n=Count("books"), mean=Avg("books__price")).values_list("n", "mean").get(),
        list(Book.objects.order_by(Lower("title")).values_list("title", flat=True)[2:5]),
        [row.place for row in Book.objects.annotate(place=Window(RowNumber(), order_by="id"))[:3]],
        sum(1 for _ in Book.objects.iterator(chunk_size=100)),
        Author.objects.filter(notes__a__0=1).exists(), Book.objects.filter(price__gt=600).delete()[0])
    Author.objects.bulk_update([Author(pk=1, name="Karel Čapek")], ["name"])
    again, made = Author.objects.get_or_create(name="Karel Čapek")
    changed, new = Author.objects.update_or_create(name="Josef Čapek", defaults={"born": datetime.date(1887, 3, 23)})
    assert not made and again.pk == 1 and new and changed.pk > 1
    Tag.objects.bulk_create([Tag(name="drama"), Tag(name="war")], ignore_conflicts=True)
    ok("kept", Tag.objects.count(), list(Author.objects.order_by("name").values_list("name", "born")))


def transactions():
    class Stop(Exception):
        pass

    try:
        with transaction.atomic():
            Tag.objects.create(name="lost")
            raise Stop
    except Stop:
        pass
    committed = []
    with transaction.atomic():
        Tag.objects.create(name="kept")
        try:
            with transaction.atomic():
                Tag.objects.create(name="kept")
        except IntegrityError as error:
            committed.append(error.args[0])
        Tag.objects.select_for_update().get(name="kept")
        transaction.on_commit(lambda: committed.append("committed"))
    ok("transactions", sorted(Tag.objects.values_list("name", flat=True)), committed)


def parallel():
    failures = []

    def work(number):
        try:
            for turn in range(10):
                close_old_connections()
                with transaction.atomic():
                    Tag.objects.create(name=f"{turn} of {number}")
                assert Tag.objects.filter(name__endswith=f" of {number}").count() == turn + 1
        except Exception as failure:
            failures.append(failure)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    ok("parallel", Tag.objects.filter(name__contains=" of ").count())


def lost():
    """A killed connection is found to be unusable when the next request begins."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT CONNECTION_ID()")
        victim = cursor.fetchone()[0]
    with pymysql.connect(host=HOST, port=int(PORT), user=USER, password=PASSWORD) as other:
        other.kill(victim)
    connection.close_if_unusable_or_obsolete()
    connection.health_check_done = False
    ok("lost", Tag.objects.filter(name="kept").count())


def main():
    with pymysql.connect(host=HOST, port=int(PORT), user=USER, password=PASSWORD) as first, first.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
        cursor.execute(f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4")
    tables()
    for step in (objects, queries):
        if MODE == "requests":
            with transaction.atomic():
                step()
        else:
            step()
    for step in (transactions, parallel, lost):
        step()
    connection.close()


main()

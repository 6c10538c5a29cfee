/* The ordinary life of a client of MariaDB's C library: main HOST PORT USER PASSWORD SCHEMA MODE.
 *
 * The mode is "prepared" or "cursor" (prepared, and rows fetched in parts). The text protocol of this
 * library is what the command-line client speaks. Prints "ok <step> <what was seen>"; what is wrong ends
 * the program with status 1. */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEGABYTE (1 << 20)

static char **arguments;

#define CHECK(holds, on)                                                                     \
    do {                                                                                     \
        if (!(holds)) {                                                                      \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #holds, mysql_error(on));         \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

static MYSQL *connect_to(const char *schema) {
    MYSQL *link = mysql_init(NULL);
    unsigned seconds = 20;
    mysql_optionsv(link, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    mysql_optionsv(link, MYSQL_OPT_READ_TIMEOUT, &seconds);
    mysql_optionsv(link, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    CHECK(mysql_real_connect(link, arguments[1], arguments[3], arguments[4], schema, atoi(arguments[2]), NULL,
                             CLIENT_MULTI_STATEMENTS),
          link);
    return link;
}

static void run(MYSQL *link, const char *text) {
    CHECK(mysql_query(link, text) == 0, link);
    MYSQL_RES *result = mysql_store_result(link);
    mysql_free_result(result);
}

/* The first column of the first row, as a number. */
static long long number(MYSQL *link, const char *text) {
    CHECK(mysql_query(link, text) == 0, link);
    MYSQL_RES *result = mysql_store_result(link);
    CHECK(result, link);
    MYSQL_ROW row = mysql_fetch_row(result);
    long long found = row && row[0] ? atoll(row[0]) : -1;
    mysql_free_result(result);
    return found;
}

static MYSQL_STMT *prepare(MYSQL *link, const char *text) {
    MYSQL_STMT *statement = mysql_stmt_init(link);
    CHECK(mysql_stmt_prepare(statement, text, strlen(text)) == 0, link);
    if (strcmp(arguments[6], "cursor") == 0) {
        unsigned long kind = CURSOR_TYPE_READ_ONLY, rows = 2;
        CHECK(mysql_stmt_attr_set(statement, STMT_ATTR_CURSOR_TYPE, &kind) == 0, link);
        CHECK(mysql_stmt_attr_set(statement, STMT_ATTR_PREFETCH_ROWS, &rows) == 0, link);
    }
    return statement;
}

static MYSQL_BIND of_int(int *value) {
    MYSQL_BIND bind = {.buffer_type = MYSQL_TYPE_LONG, .buffer = value};
    return bind;
}

/* Executed again and again, and its rows are read; two statements at a time. */
static void rows(MYSQL *link) {
    run(link, "CREATE TABLE numbers (n INT PRIMARY KEY, square INT)");
    MYSQL_STMT *insert = prepare(link, "INSERT INTO numbers VALUES (?, ?)");
    MYSQL_STMT *select = prepare(link, "SELECT n, square FROM numbers WHERE n >= ? ORDER BY n");
    int n, square, least, sum = 0;
    MYSQL_BIND in[2] = {of_int(&n), of_int(&square)}, at_least = of_int(&least);
    CHECK(mysql_stmt_bind_param(insert, in) == 0 && mysql_stmt_bind_param(select, &at_least) == 0, link);
    for (n = 0; n < 10; n++) {
        square = n * n;
        CHECK(mysql_stmt_execute(insert) == 0 && mysql_stmt_affected_rows(insert) == 1, link);
    }
    int got[2];
    MYSQL_BIND out[2] = {of_int(&got[0]), of_int(&got[1])};
    for (least = 0; least < 10; least += 3) {
        CHECK(mysql_stmt_execute(select) == 0 && mysql_stmt_bind_result(select, out) == 0, link);
        for (n = least; n < 10; n++) {
            CHECK(mysql_stmt_fetch(select) == 0 && got[0] == n && got[1] == n * n, link);
            sum += got[1];
        }
        CHECK(mysql_stmt_fetch(select) == MYSQL_NO_DATA, link);
        CHECK(mysql_stmt_free_result(select) == 0, link);
    }
    /* In the middle of its rows, if they come in parts. */
    CHECK(mysql_stmt_execute(select) == 0 && mysql_stmt_reset(select) == 0, link);
    mysql_stmt_close(select);
    mysql_stmt_close(insert);
    printf("ok rows %d\n", sum);
}

/* What is prepared in one schema stays there. */
static void schemas(MYSQL *link) {
    char text[300];
    snprintf(text, sizeof text, "CREATE DATABASE %s_other", arguments[5]);
    run(link, text);
    run(link, "CREATE TABLE here (n INT)");
    run(link, "INSERT INTO here VALUES (1)");
    snprintf(text, sizeof text, "CREATE TABLE %s_other.here (n INT)", arguments[5]);
    run(link, text);
    snprintf(text, sizeof text, "INSERT INTO %s_other.here VALUES (2)", arguments[5]);
    run(link, text);
    MYSQL_STMT *select = prepare(link, "SELECT n FROM here");
    int got = 0;
    MYSQL_BIND out = of_int(&got);
    snprintf(text, sizeof text, "%s_other", arguments[5]);
    CHECK(mysql_select_db(link, text) == 0, link);
    CHECK(number(link, "SELECT n FROM here") == 2, link);
    CHECK(mysql_stmt_execute(select) == 0 && mysql_stmt_bind_result(select, &out) == 0, link);
    CHECK(mysql_stmt_fetch(select) == 0 && got == 1, link);
    mysql_stmt_close(select);
    CHECK(mysql_select_db(link, arguments[5]) == 0, link);
    snprintf(text, sizeof text, "DROP DATABASE %s_other", arguments[5]);
    run(link, text);
    printf("ok schemas\n");
}

/* In pieces, and empty. */
static void long_data(MYSQL *link) {
    run(link, "CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)");
    char *piece = malloc(MEGABYTE);
    for (int at = 0; at < MEGABYTE; at++) {
        piece[at] = (char)at;
    }
    MYSQL_STMT *insert = prepare(link, "INSERT INTO large VALUES (?, ?)");
    int id;
    MYSQL_BIND in[2] = {of_int(&id), {.buffer_type = MYSQL_TYPE_LONG_BLOB}};
    CHECK(mysql_stmt_bind_param(insert, in) == 0, link);
    for (id = 0; id < 3; id++) {
        for (int n = 0; n < id * 10; n++) {
            CHECK(mysql_stmt_send_long_data(insert, 1, piece, MEGABYTE) == 0, link);
        }
        /* Others work meanwhile. */
        CHECK(number(link, "SELECT COUNT(*) FROM large") == id, link);
        if (id == 0) {
            CHECK(mysql_stmt_send_long_data(insert, 1, piece, 0) == 0, link);
        }
        CHECK(mysql_stmt_execute(insert) == 0, link);
    }
    mysql_stmt_close(insert);
    free(piece);
    printf("ok long data %lld %lld\n", number(link, "SELECT SUM(LENGTH(b)) FROM large"),
           number(link, "SELECT COUNT(DISTINCT SHA2(b, 256)) FROM large"));
}

static void nulls(MYSQL *link) {
    MYSQL_STMT *select = prepare(link, "SELECT ?, ? + 1");
    int value = 41, got = 0;
    my_bool null = 1, first_null = 0, second_null = 0;
    MYSQL_BIND in[2] = {of_int(&value), of_int(&value)};
    in[0].is_null = &null;
    MYSQL_BIND out[2] = {of_int(&got), of_int(&got)};
    out[0].is_null = &first_null;
    out[1].is_null = &second_null;
    CHECK(mysql_stmt_bind_param(select, in) == 0 && mysql_stmt_execute(select) == 0, link);
    CHECK(mysql_stmt_bind_result(select, out) == 0 && mysql_stmt_fetch(select) == 0, link);
    CHECK(first_null && !second_null && got == 42, link);
    mysql_stmt_close(select);
    printf("ok nulls\n");
}

static void errors(MYSQL *link) {
    MYSQL_STMT *bad = mysql_stmt_init(link);
    const char *text = "SELECT * FROM nowhere";
    CHECK(mysql_stmt_prepare(bad, text, strlen(text)) != 0, link);
    printf("ok errors %u %s", mysql_stmt_errno(bad), mysql_stmt_sqlstate(bad));
    mysql_stmt_close(bad);
    MYSQL_STMT *insert = prepare(link, "INSERT INTO numbers VALUES (?, 0)");
    int n = 3;
    MYSQL_BIND in = of_int(&n);
    CHECK(mysql_stmt_bind_param(insert, &in) == 0 && mysql_stmt_execute(insert) != 0, link);
    printf(" %u %s", mysql_stmt_errno(insert), mysql_stmt_sqlstate(insert));
    n = 1000;
    CHECK(mysql_stmt_execute(insert) == 0, link);
    run(link, "ALTER TABLE numbers ADD COLUMN extra INT NOT NULL DEFAULT 5");
    n = 1001;
    CHECK(mysql_stmt_execute(insert) != 0, link);
    printf(" %u %s\n", mysql_stmt_errno(insert), mysql_stmt_sqlstate(insert));
    mysql_stmt_close(insert);
}

/* A table that changes between two executions. */
static void changes(MYSQL *link) {
    MYSQL_STMT *select = prepare(link, "SELECT * FROM numbers WHERE n = 2");
    CHECK(mysql_stmt_execute(select) == 0 && mysql_stmt_store_result(select) == 0, link);
    printf("ok changes %u", mysql_stmt_field_count(select));
    mysql_stmt_free_result(select);
    run(link, "ALTER TABLE numbers ADD COLUMN more VARCHAR(9) DEFAULT 'new'");
    /* The library itself refuses rows of another width. */
    int failed = mysql_stmt_execute(select) || mysql_stmt_store_result(select);
    printf(" %d %u %u\n", failed, mysql_stmt_errno(select), mysql_stmt_field_count(select));
    mysql_stmt_close(select);
}

static void several(MYSQL *link) {
    CHECK(mysql_query(link, "SELECT 1; UPDATE numbers SET square = 7 WHERE n < 3; SELECT 2, 3") == 0, link);
    int results = 0;
    do {
        MYSQL_RES *result = mysql_store_result(link);
        printf(results++ ? " %u" : "ok several %u", mysql_field_count(link));
        mysql_free_result(result);
    } while (mysql_next_result(link) == 0);
    printf("\n");
}

static void sessions(MYSQL *link) {
    run(link, "SET @own = 5");
    MYSQL_STMT *select = prepare(link, "SELECT 1");
    CHECK(number(link, "SELECT @own") == 5, link);
    CHECK(mysql_reset_connection(link) == 0, link);
    CHECK(number(link, "SELECT @own IS NULL") == 1, link);
    /* The library has forgotten the statement, too. */
    CHECK(mysql_stmt_execute(select) != 0, link);
    mysql_stmt_close(select);
    CHECK(mysql_change_user(link, arguments[3], arguments[4], arguments[5]) == 0, link);
    CHECK(number(link, "SELECT CONNECTION_ID()") == (long long)mysql_thread_id(link), link);
    printf("ok sessions\n");
}

/* Arrays of parameters: many rows in one command, which only MariaDB takes. */
static void arrays(MYSQL *link) {
    if (!mariadb_connection(link)) {
        printf("ok arrays none\n");
        return;
    }
    run(link, "CREATE TABLE many (id INT PRIMARY KEY AUTO_INCREMENT, n INT DEFAULT 7, t VARCHAR(20))");
    MYSQL_STMT *insert = mysql_stmt_init(link);
    const char *text = "INSERT INTO many (n, t) VALUES (?, ?)";
    CHECK(mysql_stmt_prepare(insert, text, strlen(text)) == 0, link);
    unsigned size = 4;
    int numbers[4] = {1, 2, 3, 4};
    char of_numbers[4] = {STMT_INDICATOR_NONE, STMT_INDICATOR_NULL, STMT_INDICATOR_NONE, STMT_INDICATOR_DEFAULT};
    const char *texts[4] = {"one", "two", "three", ""};
    unsigned long lengths[4] = {3, 3, 5, 0};
    char of_texts[4] = {STMT_INDICATOR_NONE, STMT_INDICATOR_NONE, STMT_INDICATOR_NULL, STMT_INDICATOR_NONE};
    MYSQL_BIND binds[2] = {
        {.buffer_type = MYSQL_TYPE_LONG, .buffer = numbers, .u.indicator = of_numbers},
        {.buffer_type = MYSQL_TYPE_STRING, .buffer = texts, .length = lengths, .u.indicator = of_texts},
    };
    CHECK(mysql_stmt_attr_set(insert, STMT_ATTR_ARRAY_SIZE, &size) == 0, link);
    CHECK(mysql_stmt_bind_param(insert, binds) == 0, link);
    for (int turn = 0; turn < 3; turn++) {
        numbers[0] = 100 * turn;
        CHECK(mysql_stmt_execute(insert) == 0, link);
        CHECK(mysql_stmt_affected_rows(insert) == size, link);
        /* Somebody else may have the backend next. */
        CHECK(number(link, "SELECT COUNT(*) FROM many") == size * (turn + 1), link);
    }
    printf("ok arrays %lld %lld %lld %lld\n", number(link, "SELECT SUM(n) FROM many"),
           number(link, "SELECT COUNT(t) FROM many"), number(link, "SELECT SUM(LENGTH(t)) FROM many"),
           number(link, "SELECT COUNT(*) FROM many WHERE n = 7"));
    mysql_stmt_close(insert);
}

int main(int count, char **values) {
    arguments = values;
    if (count != 7) {
        return 2;
    }
    char text[300];
    MYSQL *link = connect_to(NULL);
    snprintf(text, sizeof text, "DROP DATABASE IF EXISTS %s", arguments[5]);
    run(link, text);
    snprintf(text, sizeof text, "DROP DATABASE IF EXISTS %s_other", arguments[5]);
    run(link, text);
    snprintf(text, sizeof text, "CREATE DATABASE %s CHARACTER SET utf8mb4", arguments[5]);
    run(link, text);
    mysql_close(link);
    link = connect_to(arguments[5]);
    rows(link);
    schemas(link);
    long_data(link);
    nulls(link);
    errors(link);
    changes(link);
    several(link);
    arrays(link);
    sessions(link);
    mysql_close(link);
    return 0;
}

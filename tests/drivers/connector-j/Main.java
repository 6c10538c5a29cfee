// The ordinary life of a Connector/J client: java Main.java HOST PORT USER PASSWORD SCHEMA MODE.
//
// The mode is "text", "prepared" (on the server) or "cursor" (prepared, and rows fetched in parts).
// Prints "ok <step> <what was seen>"; what is wrong ends the program with status 1.

import com.mysql.cj.jdbc.JdbcStatement;
import java.io.ByteArrayInputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Main {
    static final int MEGABYTE = 1 << 20;
    static String host, port, user, password, schema, mode;

    public static void main(String[] arguments) throws Exception {
        host = arguments[0];
        port = arguments[1];
        user = arguments[2];
        password = arguments[3];
        schema = arguments[4];
        mode = arguments[5];
        try (Connection first = connect("")) {
            run(first, "DROP DATABASE IF EXISTS " + schema);
            run(first, "CREATE DATABASE " + schema + " CHARACTER SET utf8mb4");
        }
        Connection connection = connect(schema), other = connect(schema);
        ok("connect", connection.getCatalog(), connection.getAutoCommit(), connection.isValid(5));
        types(connection);
        counts(connection);
        transactions(connection, other);
        blobs(connection);
        errors(connection);
        procedures(connection);
        attributes(connection);
        parallel(connection);
        killed(connection, other);
        other.close();
    }

    /** Those of MySQL, which tells them by a component. */
    static void attributes(Connection connection) throws SQLException {
        if (connection.getMetaData().getDatabaseProductVersion().contains("MariaDB")) {
            ok("attributes", "none");
            return;
        }
        String sql = "SELECT mysql_query_attribute_string('trace'), mysql_query_attribute_string('number'), ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            List<Object> seen = new ArrayList<>();
            for (int turn = 0; turn < 4; turn++) {
                statement.setInt(1, turn);
                if (turn == 1) {
                    statement.unwrap(JdbcStatement.class).setAttribute("trace", "žluťoučký");
                    statement.unwrap(JdbcStatement.class).setAttribute("number", 7);
                } else {
                    statement.unwrap(JdbcStatement.class).clearAttributes();
                }
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    seen.add(Arrays.asList(rows.getString(1), rows.getString(2), rows.getInt(3)));
                }
            }
            ok("attributes", seen);
        }
    }

    static Connection connect(String database) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", user);
        properties.setProperty("password", password);
        properties.setProperty("useServerPrepStmts", String.valueOf(!mode.equals("text")));
        properties.setProperty("useCursorFetch", String.valueOf(mode.equals("cursor")));
        properties.setProperty("defaultFetchSize", mode.equals("cursor") ? "2" : "0");
        properties.setProperty("allowMultiQueries", "true");
        properties.setProperty("allowPublicKeyRetrieval", "true");
        properties.setProperty("connectionTimeZone", "UTC");
        properties.setProperty("connectTimeout", "10000");
        properties.setProperty("socketTimeout", "20000");
        return DriverManager.getConnection("jdbc:mysql://" + host + ":" + port + "/" + database, properties);
    }

    static void ok(String step, Object... seen) {
        System.out.println("ok " + step + " " + Arrays.deepToString(seen));
    }

    static void check(boolean holds, Object... seen) {
        if (!holds) {
            throw new IllegalStateException(Arrays.deepToString(seen));
        }
    }

    static PreparedStatement prepare(Connection on, String sql, Object... values) throws SQLException {
        PreparedStatement statement = on.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS);
        for (int i = 0; i < values.length; i++) {
            statement.setObject(i + 1, values[i]);
        }
        return statement;
    }

    static int run(Connection on, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = prepare(on, sql, values)) {
            return statement.executeUpdate();
        }
    }

    /** The rows, each as its columns. */
    static List<List<Object>> ask(Connection on, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = prepare(on, sql, values)) {
            return rows(statement.executeQuery());
        }
    }

    static List<List<Object>> rows(ResultSet found) throws SQLException {
        List<List<Object>> rows = new ArrayList<>();
        while (found.next()) {
            List<Object> row = new ArrayList<>();
            for (int i = 1; i <= found.getMetaData().getColumnCount(); i++) {
                row.add(found.getObject(i));
            }
            rows.add(row);
        }
        return rows;
    }

    /** As the rows of `ask` would be shown. */
    static void expect(String wanted, Connection on, String sql, Object... values) throws SQLException {
        String found = ask(on, sql, values).toString();
        check(found.equals(wanted), sql, found);
    }

    static List<Object> generated(PreparedStatement statement) throws SQLException {
        List<Object> keys = new ArrayList<>();
        rows(statement.getGeneratedKeys()).forEach(keys::addAll);
        return keys;
    }

    static void types(Connection connection) throws SQLException {
        run(connection, "CREATE TABLE kinds (id INT PRIMARY KEY, t VARCHAR(99), d DECIMAL(30, 10), f DOUBLE,"
                + " at DATETIME(6), day DATE, span TIME(3), b VARBINARY(99), big BIGINT UNSIGNED)");
        byte[] bytes = pattern(90);
        // To a MariaDB that calls itself 5.5.5 the driver sends no fractions of a second.
        Object[] row = {1, "žluťoučký 😀 ' \\ \" ?", new BigDecimal("-12345678901234567890.0123456789"), 1.5e300,
            LocalDateTime.of(2024, 2, 29, 23, 59, 59), java.sql.Date.valueOf(LocalDate.of(1999, 12, 31)),
            "-25:00:00.007", bytes, BigInteger.valueOf(Long.MAX_VALUE)};
        Object[] empty = new Object[9];
        empty[0] = 2;
        for (Object[] sent : new Object[][] {row, empty}) {
            run(connection, "INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", sent);
        }
        String columns = "id, t, d, f, at, day, CAST(span AS CHAR), b, big";
        List<List<Object>> found = ask(connection, "SELECT " + columns + " FROM kinds WHERE id < ? ORDER BY id", 3);
        for (int i = 0; i < 9; i++) {
            Object value = found.get(0).get(i);
            check(Objects.deepEquals(value, row[i]), i, value, row[i]);
            check(Objects.equals(found.get(1).get(i), empty[i]), i, found.get(1).get(i));
        }
        List<String> kinds = new ArrayList<>();
        try (PreparedStatement statement = prepare(connection, "SELECT * FROM kinds");
                ResultSet all = statement.executeQuery()) {
            for (int i = 1; i <= 9; i++) {
                kinds.add(all.getMetaData().getColumnName(i) + " " + all.getMetaData().getColumnTypeName(i));
            }
        }
        ok("types", kinds);
    }

    static void counts(Connection connection) throws SQLException {
        run(connection, "CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT)");
        try (PreparedStatement insert = prepare(connection, "INSERT INTO counted (n) VALUES (?)")) {
            for (int n = 0; n < 5; n++) {
                insert.setInt(1, n);
                insert.addBatch();
            }
            check(Arrays.stream(insert.executeBatch()).sum() == 5);
            check(generated(insert).toString().equals("[1, 2, 3, 4, 5]"), generated(insert));
            insert.setInt(1, 9);
            check(insert.executeUpdate() == 1 && generated(insert).toString().equals("[6]"), generated(insert));
        }
        expect("[[6]]", connection, "SELECT LAST_INSERT_ID()");
        // The driver asks for the rows that were found.
        int updated = run(connection, "UPDATE counted SET n = 1 WHERE n IN (?, ?)", 1, 2);
        int deleted = run(connection, "DELETE FROM counted WHERE n > ?", 3);
        check(updated == 2 && deleted == 2, updated, deleted);
        ok("counts", ask(connection, "SELECT id, n FROM counted WHERE n < ? ORDER BY id", 10));
    }

    static void transactions(Connection connection, Connection other) throws SQLException {
        run(connection, "CREATE TABLE kept (n INT PRIMARY KEY)");
        connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        connection.setAutoCommit(false);
        run(connection, "INSERT INTO kept VALUES (?)", 1);
        expect("[]", other, "SELECT n FROM kept");
        connection.rollback();
        run(connection, "INSERT INTO kept VALUES (?)", 2);
        java.sql.Savepoint before = connection.setSavepoint("before");
        run(connection, "INSERT INTO kept VALUES (?)", 3);
        connection.rollback(before);
        expect("[[2]]", connection, "SELECT n FROM kept");
        connection.commit();
        connection.setAutoCommit(true);
        run(connection, "INSERT INTO kept VALUES (?)", 4);
        expect("[[2], [4]]", other, "SELECT n FROM kept ORDER BY n");
        connection.setReadOnly(true);
        connection.setReadOnly(false);
        ok("transactions", connection.getTransactionIsolation(), other.getTransactionIsolation());
    }

    static byte[] pattern(int size) {
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) {
            bytes[i] = (byte) i;
        }
        return bytes;
    }

    static void blobs(Connection connection) throws SQLException {
        run(connection, "CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)");
        for (int size : new int[] {5 * MEGABYTE, 20 * MEGABYTE + 1}) {
            byte[] blob = pattern(size);
            // A stream is sent piece by piece, if the statement is prepared on the server.
            try (PreparedStatement insert = prepare(connection, "INSERT INTO large VALUES (?, ?)", size)) {
                insert.setBinaryStream(2, new ByteArrayInputStream(blob));
                check(insert.executeUpdate() == 1);
            }
            List<Object> found = ask(connection, "SELECT b, LENGTH(b) FROM large WHERE id = ?", size).get(0);
            check(Arrays.equals((byte[]) found.get(0), blob), found.get(1));
            ok("blob", found.get(1));
        }
    }

    static String errorOf(Connection connection, String sql, Object... values) {
        try {
            run(connection, sql, values);
        } catch (SQLException error) {
            return error.getClass().getSimpleName() + " " + error.getErrorCode() + " " + error.getSQLState();
        }
        throw new IllegalStateException("no error: " + sql);
    }

    static void errors(Connection connection) throws SQLException {
        run(connection, "INSERT INTO counted VALUES (100, 1)");
        String[] seen = {
            errorOf(connection, "INSERT INTO counted VALUES (?, 1)", 100),
            errorOf(connection, "SELEKT 1"),
            errorOf(connection, "DELETE FROM nowhere WHERE a = ?", 1),
            errorOf(connection, "UPDATE counted SET nothing = 1"),
            errorOf(connection, "INSERT INTO counted (n) VALUES (?)", "x"),
        };
        expect("[[1]]", connection, "SELECT n FROM counted WHERE id = ?", 100);
        ok("errors", (Object[]) seen);
    }

    static void procedures(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE PROCEDURE several(IN n INT, OUT m INT)"
                    + " BEGIN SELECT n; SELECT n + 1, 'two'; SET m = n + 2; END");
        }
        List<Object> seen = new ArrayList<>();
        try (java.sql.CallableStatement call = connection.prepareCall("{CALL several(?, ?)}")) {
            call.setInt(1, 7);
            call.registerOutParameter(2, java.sql.Types.INTEGER);
            for (boolean more = call.execute(); more; more = call.getMoreResults()) {
                seen.add(rows(call.getResultSet()));
            }
            seen.add(call.getInt(2));
        }
        check(seen.toString().equals("[[[7]], [[8, two]], 9]"), seen);
        try (Statement several = connection.createStatement()) {
            check(several.execute("SELECT 1; UPDATE counted SET n = 5 WHERE id = 100; SELECT 'three'"));
            seen.add(rows(several.getResultSet()));
            check(!several.getMoreResults() && several.getUpdateCount() == 1 && several.getMoreResults());
            seen.add(rows(several.getResultSet()));
        }
        ok("procedures", seen);
    }

    /** Eight threads that take turns with four connections. */
    static void parallel(Connection connection) throws Exception {
        run(connection, "CREATE TABLE shared (id INT PRIMARY KEY AUTO_INCREMENT, worker INT, turn INT)");
        BlockingQueue<Connection> pool = new ArrayBlockingQueue<>(4);
        for (int i = 0; i < 4; i++) {
            pool.add(connect(schema));
        }
        ExecutorService threads = Executors.newFixedThreadPool(8);
        List<Future<?>> tasks = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            int worker = i;
            tasks.add(threads.submit(() -> {
                for (int turn = 0; turn < 6; turn++) {
                    Connection taken = pool.take();
                    take(taken, worker, turn);
                    pool.add(taken);
                }
                return null;
            }));
        }
        threads.shutdown();
        for (Future<?> task : tasks) {
            task.get();
        }
        for (Connection idle : pool) {
            idle.close();
        }
        ok("parallel", ask(connection, "SELECT worker, COUNT(*) FROM shared GROUP BY worker ORDER BY worker"));
    }

    static void take(Connection taken, int worker, int turn) throws SQLException {
        taken.setAutoCommit(false);
        run(taken, "INSERT INTO shared (worker, turn) VALUES (?, ?)", worker, turn);
        String mine = "SELECT worker, turn FROM shared WHERE id = LAST_INSERT_ID()";
        expect("[[" + worker + ", " + turn + "]]", taken, mine);
        if (turn % 2 == 0) {
            taken.commit();
        } else {
            taken.rollback();
        }
        taken.setAutoCommit(true);
    }

    static void killed(Connection connection, Connection other) throws SQLException {
        long id = connection.unwrap(com.mysql.cj.jdbc.JdbcConnection.class).getSession().getThreadId();
        run(other, "KILL " + id);
        String seen = errorOf(connection, "DELETE FROM kept");
        check(!connection.isValid(5));
        try (Connection next = connect(schema)) {
            expect("[[2], [4]]", next, "SELECT n FROM kept ORDER BY n");
        }
        ok("kill", seen);
    }
}

// The ordinary life of a program with Hibernate, HikariCP and a JDBC driver:
// java Main.java HOST PORT USER PASSWORD SCHEMA MODE.
//
// The mode is the driver, "mariadb" or "mysql", with "-prepared" for statements prepared on the server.
// Prints "ok <step> <what was seen>"; what is wrong ends the program with status 1.

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.persistence.CascadeType;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.LockModeType;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.SequenceGenerator;
import jakarta.persistence.Version;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.hibernate.SessionFactory;
import org.hibernate.StaleObjectStateException;
import org.hibernate.cfg.Configuration;

public class Main {
    static String host, port, user, password, schema, mode;

    @Entity(name = "author")
    public static class Author {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        @Column(unique = true, length = 99) String name;
        LocalDate born;
        @Version int version;
        @OneToMany(mappedBy = "author", cascade = CascadeType.ALL) List<Book> books = new ArrayList<>();
    }

    @Entity(name = "book")
    public static class Book {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        @Column(length = 99) String title;
        @Column(precision = 20, scale = 6) BigDecimal price;
        LocalDateTime seen;
        @Column(length = 1 << 24) byte[] cover;
        @ManyToOne Author author;
    }

    /** Its ids come from a sequence, or, where there are none, from a table. */
    @Entity(name = "ticket")
    public static class Ticket {
        @Id
        @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "ticket_ids")
        @SequenceGenerator(name = "ticket_ids", sequenceName = "ticket_ids", allocationSize = 3)
        Long id;
        int turn;
    }

    public static void main(String[] arguments) throws Exception {
        host = arguments[0];
        port = arguments[1];
        user = arguments[2];
        password = arguments[3];
        schema = arguments[4];
        mode = arguments[5];
        try (HikariDataSource first = pool("", 1); Connection connection = first.getConnection()) {
            run(connection, "DROP DATABASE IF EXISTS " + schema);
            run(connection, "CREATE DATABASE " + schema + " CHARACTER SET utf8mb4");
        }
        try (HikariDataSource pool = pool(schema, 4)) {
            batches(pool);
            resets(pool);
            parallel(pool);
            lost(pool);
            try (SessionFactory factory = factory(pool)) {
                objects(factory);
                conflicts(factory);
                sequences(factory);
            }
        }
    }

    static HikariDataSource pool(String database, int size) {
        HikariConfig config = new HikariConfig();
        boolean prepared = mode.endsWith("-prepared");
        config.setJdbcUrl("jdbc:" + mode.split("-")[0] + "://" + host + ":" + port + "/" + database);
        config.setUsername(user);
        config.setPassword(password);
        config.setMaximumPoolSize(size);
        config.setMinimumIdle(0);
        config.setConnectionTimeout(20000);
        config.addDataSourceProperty("useServerPrepStmts", prepared);
        config.addDataSourceProperty("cachePrepStmts", prepared);
        if (mode.startsWith("mysql")) {
            config.addDataSourceProperty("allowPublicKeyRetrieval", true);
            config.addDataSourceProperty("rewriteBatchedStatements", !prepared);
            config.addDataSourceProperty("connectionTimeZone", "UTC");
        }
        return new HikariDataSource(config);
    }

    static void ok(String step, Object... seen) {
        System.out.println("ok " + step + " " + Arrays.deepToString(seen));
    }

    static void check(boolean holds, Object... seen) {
        if (!holds) {
            throw new IllegalStateException(Arrays.deepToString(seen));
        }
    }

    static int run(Connection on, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = on.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            return statement.executeUpdate();
        }
    }

    static long number(Connection on, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = on.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            try (ResultSet found = statement.executeQuery()) {
                check(found.next(), sql);
                return found.getLong(1);
            }
        }
    }

    /** Many rows by one statement: each driver sends them in a way of its own. */
    static void batches(HikariDataSource pool) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            run(connection, "CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT, t VARCHAR(50))");
            int sum = 0;
            String insert = "INSERT INTO counted (n, t) VALUES (?, ?)";
            try (PreparedStatement many = connection.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
                for (int n = 0; n < 500; n++) {
                    many.setInt(1, n);
                    many.setString(2, n % 7 == 0 ? null : "ž" + n);
                    many.addBatch();
                }
                sum = many.executeBatch().length;
            }
            long nulls = number(connection, "SELECT COUNT(*) FROM counted WHERE t IS NULL");
            try (Statement statement = connection.createStatement()) {
                statement.addBatch("UPDATE counted SET n = n + 1 WHERE id <= 10");
                statement.addBatch("DELETE FROM counted WHERE id > 490");
                ok("batches", sum, nulls, statement.executeBatch(), number(connection, "SELECT SUM(n) FROM counted"));
            }
        }
    }

    /** What a user of the pool leaves behind is not seen by the next. */
    static void resets(HikariDataSource pool) throws SQLException {
        List<Object> seen = new ArrayList<>();
        for (int turn = 0; turn < 3; turn++) {
            try (Connection connection = pool.getConnection()) {
                seen.add(connection.getAutoCommit());
                seen.add(connection.getTransactionIsolation());
                seen.add(connection.isReadOnly());
                connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                connection.setReadOnly(turn == 1);
                connection.setAutoCommit(false);
                if (turn != 1) {
                    run(connection, "INSERT INTO counted (n) VALUES (?)", 1000 + turn);
                }
            }
        }
        try (Connection connection = pool.getConnection()) {
            // The pool has rolled back.
            seen.add(number(connection, "SELECT COUNT(*) FROM counted WHERE n >= ?", 1000));
        }
        ok("resets", seen);
    }

    static void parallel(HikariDataSource pool) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        List<Future<?>> tasks = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            int worker = i;
            tasks.add(threads.submit(() -> {
                for (int turn = 0; turn < 20; turn++) {
                    try (Connection connection = pool.getConnection()) {
                        connection.setAutoCommit(false);
                        run(connection, "INSERT INTO counted (n) VALUES (?)", 2000 + worker);
                        long mine = number(connection, "SELECT n FROM counted WHERE id = LAST_INSERT_ID()");
                        check(mine == 2000 + worker, mine);
                        if (turn % 2 == 0) {
                            connection.commit();
                        } else {
                            connection.rollback();
                        }
                    }
                }
                return null;
            }));
        }
        threads.shutdown();
        for (Future<?> task : tasks) {
            task.get();
        }
        try (Connection connection = pool.getConnection()) {
            ok("parallel", number(connection, "SELECT COUNT(*) FROM counted WHERE n >= ?", 2000));
        }
    }

    /** The pool finds out that a connection was killed, and makes another. */
    static void lost(HikariDataSource pool) throws SQLException {
        try (Connection victim = pool.getConnection(); Connection other = pool.getConnection()) {
            long id = number(victim, "SELECT CONNECTION_ID()");
            run(other, "KILL " + id);
            try {
                number(victim, "SELECT 1");
                check(false, "it outlived the KILL");
            } catch (SQLException error) {
                check(error.getSQLState().startsWith("08") || error.getErrorCode() > 0, error);
            }
        }
        try (Connection connection = pool.getConnection()) {
            check(number(connection, "SELECT 1") == 1);
        }
        ok("lost");
    }

    static SessionFactory factory(HikariDataSource pool) throws SQLException {
        Configuration configuration = new Configuration();
        try (Connection connection = pool.getConnection()) {
            // With MariaDB's driver it would take every server for one that has sequences, and with MySQL's it cannot ask
            // MariaDB 11, whose list of keywords has other columns.
            String family = number(connection, "SELECT VERSION() LIKE '%MariaDB%'") == 0 ? "MySQL" : "MariaDB";
            configuration.setProperty("hibernate.dialect", "org.hibernate.dialect." + family + "Dialect");
        }
        configuration.addAnnotatedClass(Author.class).addAnnotatedClass(Book.class).addAnnotatedClass(Ticket.class);
        configuration.getProperties().put("hibernate.connection.datasource", pool);
        configuration.setProperty("hibernate.hbm2ddl.auto", "update");
        configuration.setProperty("hibernate.jdbc.batch_size", "50");
        configuration.setProperty("hibernate.jdbc.time_zone", "UTC");
        return configuration.buildSessionFactory();
    }

    static void objects(SessionFactory factory) {
        byte[] cover = new byte[2_000_000];
        Arrays.fill(cover, (byte) 0xFE);
        factory.inTransaction(session -> {
            Author author = new Author();
            author.name = "Karel Čapek 😀";
            author.born = LocalDate.of(1890, 1, 9);
            for (int n = 0; n < 120; n++) {
                Book book = new Book();
                book.title = "Volume " + n;
                book.price = new BigDecimal("1.500001").add(BigDecimal.valueOf(n));
                book.seen = n == 0 ? LocalDateTime.of(2024, 2, 29, 23, 59, 59) : null;
                book.cover = n == 0 ? cover : null;
                book.author = author;
                author.books.add(book);
            }
            session.persist(author);
        });
        factory.inTransaction(session -> {
            Author author = session.createQuery("from author a join fetch a.books where a.name like :name", Author.class)
                    .setParameter("name", "Karel%").getSingleResult();
            Book first = author.books.get(0);
            check(Arrays.equals(first.cover, cover) && first.seen.getSecond() == 59, first.seen);
            check(first.price.compareTo(new BigDecimal("1.500001")) == 0, first.price);
            int changed = session.createMutationQuery("update book set price = price + 1 where price < :most")
                    .setParameter("most", BigDecimal.TEN).executeUpdate();
            int gone = session.createMutationQuery("delete from book where id > :least")
                    .setParameter("least", first.id + 99).executeUpdate();
            session.flush();
            Object[] sums = session.createQuery("select count(b), sum(b.price) from book b", Object[].class)
                    .getSingleResult();
            List<String> titles = session.createQuery("select title from book order by title", String.class)
                    .setFirstResult(5).setMaxResults(3).getResultList();
            session.find(Author.class, author.id, LockModeType.PESSIMISTIC_WRITE);
            ok("objects", changed, gone, sums, titles);
        });
        long streamed = factory.fromSession(session -> session.createQuery("from book", Book.class)
                .setFetchSize(10).getResultStream().count());
        ok("streams", streamed);
    }

    static void conflicts(SessionFactory factory) {
        List<String> seen = new ArrayList<>();
        try {
            factory.inTransaction(session -> {
                Author twin = new Author();
                twin.name = "Karel Čapek 😀";
                session.persist(twin);
            });
        } catch (org.hibernate.exception.ConstraintViolationException error) {
            seen.add(error.getErrorCode() + " " + error.getSQLState());
        }
        try {
            factory.inTransaction(session -> {
                Author author = session.find(Author.class, 1L);
                author.born = LocalDate.of(1900, 1, 1);
                factory.inTransaction(other -> other.find(Author.class, 1L).born = LocalDate.of(1901, 1, 1));
            });
        } catch (jakarta.persistence.OptimisticLockException | StaleObjectStateException error) {
            seen.add("stale");
        }
        String born = factory.fromSession(session -> session.find(Author.class, 1L).born.toString());
        seen.add(born);
        ok("conflicts", seen);
    }

    static void sequences(SessionFactory factory) {
        List<Long> ids = new ArrayList<>();
        for (int turn = 0; turn < 4; turn++) {
            int now = turn;
            factory.inTransaction(session -> {
                for (int n = 0; n < 5; n++) {
                    Ticket ticket = new Ticket();
                    ticket.turn = now;
                    session.persist(ticket);
                    ids.add(ticket.id);
                }
            });
        }
        long count = factory.fromSession(session -> session.createQuery("select count(t) from ticket t", Long.class)
                .getSingleResult());
        check(ids.stream().distinct().count() == 20, ids);
        ok("sequences", ids, count);
    }
}

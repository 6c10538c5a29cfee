<?php
// The ordinary life of PHP's clients: php main.php HOST PORT USER PASSWORD SCHEMA MODE.
//
// The mode is "mysqli" or "pdo", with "-prepared" for statements that are prepared on the server.
// Both stand on mysqlnd. Prints "ok <step> <what was seen>"; what is wrong ends the program with status 1.
declare(strict_types=1);

[, $host, $port, $user, $password, $schema, $mode] = $argv;
const MEGABYTE = 1 << 20;

set_exception_handler(function (Throwable $failure): void {
    fwrite(STDERR, $failure . "\n");
    exit(1);
});

/** What the steps need of a connection. */
interface Client
{
    /** Rows as lists of values; an empty list for what has none. */
    public function ask(string $sql, array $values = []): array;
    /** All results of a text of several statements, or of a procedure. */
    public function several(string $sql): array;
    public function affected(): int;
    public function insertId(): int;
    public function begin(): void;
    public function commit(): void;
    public function rollback(): void;
    public function id(): int;
    public function close(): void;
}

final class Mysqli_ implements Client
{
    private mysqli $link;

    public function __construct(private bool $prepared, ?string $schema)
    {
        global $host, $port, $user, $password;
        mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
        $this->link = mysqli_init();
        $this->link->options(MYSQLI_OPT_CONNECT_TIMEOUT, 10);
        $this->link->options(MYSQLI_OPT_READ_TIMEOUT, 20);
        $this->link->options(MYSQLI_OPT_INT_AND_FLOAT_NATIVE, 1);
        $this->link->real_connect($host, $user, $password, $schema, (int) $port);
        $this->link->set_charset('utf8mb4');
    }

    public function ask(string $sql, array $values = []): array
    {
        if (!$this->prepared) {
            foreach ($values as $value) {
                $text = match (true) {
                    $value === null => 'NULL',
                    is_string($value) => "'" . $this->link->real_escape_string($value) . "'",
                    default => (string) $value,
                };
                $sql = substr_replace($sql, $text, strpos($sql, '?'), 1);
            }
            $result = $this->link->query($sql);
            return $result === true ? [] : $result->fetch_all();
        }
        $statement = $this->link->prepare($sql);
        $kinds = '';
        foreach ($values as $at => $value) {
            $large = is_string($value) && strlen($value) > MEGABYTE;
            $kinds .= $large ? 'b' : (is_int($value) ? 'i' : (is_float($value) ? 'd' : 's'));
        }
        if ($values) {
            $statement->bind_param($kinds, ...$values);
        }
        foreach ($values as $at => $value) {
            if ($kinds[$at] === 'b') {
                foreach (str_split($value, MEGABYTE) as $piece) {
                    $statement->send_long_data($at, $piece);
                }
            }
        }
        $statement->execute();
        $this->affected = (int) $statement->affected_rows;
        $this->insertId = (int) $statement->insert_id;
        $result = $statement->get_result();
        $rows = $result === false ? [] : $result->fetch_all();
        $statement->close();
        return $rows;
    }

    private int $affected = 0;
    private int $insertId = 0;

    public function several(string $sql): array
    {
        $this->link->multi_query($sql);
        $seen = [];
        do {
            $result = $this->link->store_result();
            $seen[] = $result === false ? $this->link->affected_rows : $result->fetch_all();
        } while ($this->link->more_results() && $this->link->next_result());
        return $seen;
    }

    public function affected(): int
    {
        return $this->prepared ? $this->affected : (int) $this->link->affected_rows;
    }

    public function insertId(): int
    {
        return $this->prepared ? $this->insertId : (int) $this->link->insert_id;
    }

    public function begin(): void
    {
        $this->link->begin_transaction();
    }

    public function commit(): void
    {
        $this->link->commit();
    }

    public function rollback(): void
    {
        $this->link->rollback();
    }

    public function id(): int
    {
        return $this->link->thread_id;
    }

    public function close(): void
    {
        $this->link->close();
    }

    /** Another user, or the same afresh. */
    public function changeUser(): void
    {
        global $user, $password, $schema;
        $this->link->change_user($user, $password, $schema);
    }
}

final class Pdo_ implements Client
{
    private ?PDO $link;
    private int $affected = 0;

    public function __construct(bool $prepared, ?string $schema)
    {
        global $host, $port, $user, $password;
        $source = "mysql:host=$host;port=$port;charset=utf8mb4" . ($schema === null ? '' : ";dbname=$schema");
        $this->link = new PDO($source, $user, $password, [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_EMULATE_PREPARES => !$prepared,
            PDO::ATTR_STRINGIFY_FETCHES => false,
            PDO::ATTR_TIMEOUT => 10,
        ]);
    }

    public function ask(string $sql, array $values = []): array
    {
        $statement = $this->link->prepare($sql);
        foreach ($values as $at => $value) {
            $kind = match (true) {
                $value === null => PDO::PARAM_NULL,
                is_int($value) => PDO::PARAM_INT,
                default => PDO::PARAM_STR,
            };
            $statement->bindValue($at + 1, $value, $kind);
        }
        $statement->execute();
        $this->affected = $statement->rowCount();
        return $statement->columnCount() > 0 ? $statement->fetchAll(PDO::FETCH_NUM) : [];
    }

    public function several(string $sql): array
    {
        $statement = $this->link->query($sql);
        $seen = [];
        do {
            $seen[] = $statement->columnCount() > 0 ? $statement->fetchAll(PDO::FETCH_NUM) : $statement->rowCount();
        } while ($statement->nextRowset());
        return $seen;
    }

    public function affected(): int
    {
        return $this->affected;
    }

    public function insertId(): int
    {
        return (int) $this->link->lastInsertId();
    }

    public function begin(): void
    {
        $this->link->beginTransaction();
    }

    public function commit(): void
    {
        $this->link->commit();
    }

    public function rollback(): void
    {
        $this->link->rollBack();
    }

    public function id(): int
    {
        return (int) $this->ask('SELECT CONNECTION_ID()')[0][0];
    }

    public function close(): void
    {
        $this->link = null;
    }
}

function connect(?string $schema): Client
{
    global $mode;
    [$kind, $prepared] = explode('-', $mode . '-');
    return $kind === 'pdo' ? new Pdo_($prepared !== '', $schema) : new Mysqli_($prepared !== '', $schema);
}

function ok(string $step, mixed ...$seen): void
{
    echo "ok $step ", json_encode($seen, JSON_THROW_ON_ERROR), "\n";
}

function check(mixed $wanted, mixed $found, string $what): void
{
    if ($wanted !== $found) {
        throw new RuntimeException("$what: " . var_export($found, true) . ' instead of ' . var_export($wanted, true));
    }
}

function error_of(Client $client, string $sql, array $values = []): array
{
    try {
        $client->ask($sql, $values);
    } catch (mysqli_sql_exception $error) {
        return [$error->getCode(), $error->getSqlState()];
    } catch (PDOException $error) {
        return [$error->errorInfo[1], $error->errorInfo[0]];
    }
    throw new RuntimeException("no error: $sql");
}

function types(Client $client): void
{
    $client->ask('CREATE TABLE kinds (id INT PRIMARY KEY, t VARCHAR(99), d DECIMAL(30, 10), f DOUBLE,'
        . ' at DATETIME(6), day DATE, span TIME(3), b VARBINARY(99), big BIGINT UNSIGNED)');
    $row = [1, "žluťoučký 😀 ' \\ \" %", '-12345678901234567890.0123456789', -1024.5, '2024-02-29 23:59:59.123456',
        '1999-12-31', '-25:00:00.007', implode('', array_map('chr', range(0, 62))), '18446744073709551615'];
    $empty = array_merge([2], array_fill(0, 8, null));
    foreach ([$row, $empty] as $values) {
        $client->ask('INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)', $values);
    }
    check([$row, $empty], $client->ask('SELECT * FROM kinds WHERE id < ? ORDER BY id', [3]), 'types');
    ok('types');
}

function counts(Client $client): void
{
    $client->ask('CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT)');
    for ($n = 0; $n < 6; $n++) {
        $client->ask('INSERT INTO counted (n) VALUES (?)', [$n]);
        check($n + 1, $client->insertId(), 'insert id');
    }
    check([[6]], $client->ask('SELECT LAST_INSERT_ID()'), 'LAST_INSERT_ID()');
    $client->ask('UPDATE counted SET n = 1 WHERE n IN (?, ?)', [1, 2]);
    $changed = $client->affected();
    $client->ask('DELETE FROM counted WHERE n > ?', [3]);
    ok('counts', $changed, $client->affected());
}

function transactions(Client $client, Client $other): void
{
    $client->ask('CREATE TABLE kept (n INT PRIMARY KEY)');
    $client->begin();
    $client->ask('INSERT INTO kept VALUES (?)', [1]);
    check([], $other->ask('SELECT n FROM kept'), 'before the end');
    $client->rollback();
    $client->begin();
    $client->ask('INSERT INTO kept VALUES (?)', [2]);
    // MySQL does not prepare these.
    $client->several('SAVEPOINT here');
    $client->ask('INSERT INTO kept VALUES (?)', [3]);
    $client->several('ROLLBACK TO SAVEPOINT here');
    $client->commit();
    check([[2]], $other->ask('SELECT n FROM kept'), 'after it');
    ok('transactions');
}

function blobs(Client $client): void
{
    $client->ask('CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)');
    foreach ([5 * MEGABYTE, 20 * MEGABYTE + 1] as $id => $size) {
        $blob = substr(str_repeat(implode('', array_map('chr', range(0, 255))), intdiv($size, 256) + 1), 0, $size);
        $client->ask('INSERT INTO large VALUES (?, ?)', [$id, $blob]);
        [[$found, $length]] = $client->ask('SELECT b, LENGTH(b) FROM large WHERE id = ?', [$id]);
        check(true, $found === $blob && $length === $size, 'blob');
        ok('blob', $size);
    }
}

function errors(Client $client): void
{
    $client->ask('INSERT INTO counted VALUES (100, 1)');
    $seen = [
        error_of($client, 'INSERT INTO counted VALUES (?, 1)', [100]),
        error_of($client, 'SELEKT 1'),
        error_of($client, 'SELECT * FROM nowhere WHERE a = ?', [1]),
        error_of($client, 'SELECT nothing FROM counted'),
        error_of($client, 'INSERT INTO counted (n) VALUES (?)', ['x']),
    ];
    check([[1]], $client->ask('SELECT n FROM counted WHERE id = ?', [100]), 'after errors');
    ok('errors', $seen);
}

function procedures(Client $client): void
{
    $text = "CREATE PROCEDURE several(IN n INT) BEGIN SELECT n; SELECT n + 1, 'two'; END";
    $client->several($text);
    $seen = $client->several('CALL several(7)');
    check([[[7]], [[8, 'two']]], array_map(fn ($rows) => array_map(fn ($row) => array_map(
        fn ($value) => is_numeric($value) ? (int) $value : $value, $row), $rows), array_slice($seen, 0, 2)), 'CALL');
    ok('procedures', count($seen));
}

function killed(Client $client, Client $other): void
{
    $other->ask('KILL ' . $client->id());
    try {
        $client->ask('SELECT 1');
        throw new RuntimeException('it outlived the KILL');
    } catch (mysqli_sql_exception | PDOException $error) {
        ok('kill');
    }
}

$first = connect(null);
$first->ask("DROP DATABASE IF EXISTS $schema");
$first->ask("CREATE DATABASE $schema CHARACTER SET utf8mb4");
$first->close();
$client = connect($schema);
$other = connect($schema);
ok('connect', $client->ask('SELECT DATABASE(), @@character_set_client'));
types($client);
counts($client);
transactions($client, $other);
blobs($client);
errors($client);
procedures($client);
if ($client instanceof Mysqli_) {
    $client->ask('CREATE TEMPORARY TABLE own (n INT)');
    $client->changeUser();
    ok('change of user', error_of($client, 'SELECT n FROM own'));
}
killed($client, $other);
$other->close();

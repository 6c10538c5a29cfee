// The ordinary life of a client of MariaDB's connector for Node.js: node main.js HOST PORT USER PASSWORD SCHEMA MODE.
//
// The mode is "text" (`query`), "prepared" (`execute`) or "pipelined" (text, and several statements
// are under way at once). Prints "ok <step> <what was seen>"; what is wrong ends the program with status 1.
'use strict';

const assert = require('node:assert');
const { createRequire } = require('node:module');
// The driver lies where the program is run, not where it stands.
const mariadb = createRequire(`${process.cwd()}/`)('mariadb');

const [host, port, user, password, schema, mode] = process.argv.slice(2);
const MEGABYTE = 1024 * 1024;
const OPTIONS = {
  host, port: Number(port), user, password, connectTimeout: 10000, socketTimeout: 20000, timezone: 'Z',
  rowsAsArray: true, bigIntAsNumber: true, insertIdAsNumber: true, pipelining: mode === 'pipelined',
  permitLocalInfile: mode !== 'pipelined', maxAllowedPacket: 64 * MEGABYTE,
};

function ask(connection, sql, values) {
  return mode === 'prepared' ? connection.execute(sql, values) : connection.query(sql, values);
}

async function rows(connection, sql, values) {
  return [...(await ask(connection, sql, values))];
}

function ok(step, ...seen) {
  console.log('ok', step, JSON.stringify(seen));
}

async function errorOf(promise) {
  try {
    await promise;
  } catch (error) {
    return [error.code, error.errno, error.sqlState, error.fatal];
  }
  throw new Error('no error');
}

async function types(connection) {
  await ask(connection, 'CREATE TABLE kinds (id INT PRIMARY KEY, t VARCHAR(99), d DECIMAL(30, 10),' +
    ' f DOUBLE, at DATETIME(3), span TIME(3), b VARBINARY(99), big BIGINT, j JSON)');
  const row = [1, 'žluťoučký 😀 \' \\ " ?', '-12345678901234567890.0123456789', 1.5e300,
    new Date('2024-02-29T23:59:59.123Z'), mode === 'prepared' ? '-25:00:00.007000' : '-25:00:00.007', Buffer.from([0, 1, 39, 92, 255]), 9007199254740991];
  await ask(connection, 'INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)', row);
  await ask(connection, 'INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)', [2, ...Array(7).fill(null)]);
  const found = await rows(connection, 'SELECT id, t, d, f, at, span, b, big FROM kinds WHERE id < ? ORDER BY id', [3]);
  assert.deepStrictEqual(found, [row, [2, ...Array(7).fill(null)]]);
  const result = await connection.query('SELECT * FROM kinds');
  ok('types', result.meta.map((column) => [column.name(), column.type, column.columnLength, column.flags]));
}

async function batches(connection) {
  await ask(connection, 'CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT)');
  const many = await connection.batch('INSERT INTO counted (n) VALUES (?)', [[0], [1], [null], [3], [4]]);
  // One answer, or one for each where the server knows no INSERT of many rows by one command, or tells them one by one
  // (MariaDB from 11.5 on; the rows are an id and a count).
  const changed = (answer) => (Array.isArray(answer) ? answer[1] : answer.affectedRows);
  assert.strictEqual([many].flat().reduce((sum, answer) => sum + changed(answer), 0), 5);
  const one = await ask(connection, 'INSERT INTO counted (n) VALUES (?)', [9]);
  // Where one INSERT of all rows was made of them, ids were taken in advance.
  assert.ok(one.insertId >= 6 && one.affectedRows === 1);
  assert.deepStrictEqual(await rows(connection, 'SELECT LAST_INSERT_ID()'), [[one.insertId]]);
  const updated = await ask(connection, 'UPDATE counted SET n = 1 WHERE n IN (?, ?)', [1, 3]);
  const deleted = await ask(connection, 'DELETE FROM counted WHERE n > ?', [3]);
  ok('batches', one.insertId, updated.affectedRows, deleted.affectedRows);
}

async function transactions(connection, other) {
  const seen = () => rows(other, 'SELECT n FROM kept ORDER BY n');
  await ask(connection, 'CREATE TABLE kept (n INT PRIMARY KEY)');
  await connection.beginTransaction();
  await ask(connection, 'INSERT INTO kept VALUES (?)', [1]);
  assert.deepStrictEqual(await seen(), []);
  await connection.rollback();
  await connection.beginTransaction();
  await ask(connection, 'INSERT INTO kept VALUES (?)', [2]);
  await connection.commit();
  assert.deepStrictEqual(await seen(), [[2]]);
  ok('transactions');
}

// All are sent before the first is answered, if the mode says so.
async function atOnce(connection) {
  const asked = [];
  for (let n = 0; n < 50; n += 1) {
    asked.push(ask(connection, 'INSERT INTO kept VALUES (?)', [100 + n]));
    asked.push(rows(connection, 'SELECT COUNT(*) FROM kept WHERE n >= ?', [100]));
  }
  const counts = (await Promise.all(asked)).filter((_, at) => at % 2 === 1).map(([[count]]) => count);
  assert.deepStrictEqual(counts, Array.from({ length: 50 }, (_, n) => n + 1));
  ok('at once', counts.length);
}

async function streams(connection) {
  await ask(connection, 'CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)');
  for (const [id, size] of [5 * MEGABYTE, 20 * MEGABYTE + 1].entries()) {
    const blob = Buffer.alloc(size, Buffer.from(Array.from({ length: 256 }, (_, b) => b)));
    await ask(connection, 'INSERT INTO large VALUES (?, ?)', [id, blob]);
    const [[found, length]] = await rows(connection, 'SELECT b, LENGTH(b) FROM large WHERE id = ?', [id]);
    assert.ok(blob.equals(found) && length === size, `${found.length} ${length}`);
  }
  let count = 0;
  const stream = connection.queryStream('SELECT a.n, REPEAT("x", 1000) FROM kept a, kept b');
  for await (const row of stream) {
    assert.strictEqual(row[1].length, 1000);
    count += 1;
  }
  ok('streams', count);
}

async function errors(connection) {
  await ask(connection, 'INSERT INTO counted VALUES (100, 1)');
  ok('errors', [
    await errorOf(ask(connection, 'INSERT INTO counted VALUES (?, 1)', [100])),
    await errorOf(ask(connection, 'SELEKT 1')),
    await errorOf(ask(connection, 'SELECT * FROM nowhere WHERE a = ?', [1])),
    await errorOf(ask(connection, 'INSERT INTO counted (n) VALUES (?)', ['x'])),
  ], await rows(connection, 'SELECT n FROM counted WHERE id = ?', [100]));
}

// Eight tasks on a pool of four connections, each reset when it is given back: before MariaDB only.
async function parallel(connection) {
  await ask(connection, 'CREATE TABLE shared (id INT PRIMARY KEY AUTO_INCREMENT, worker INT, turn INT)');
  const pool = mariadb.createPool({ ...OPTIONS, database: schema, connectionLimit: 4, resetAfterUse: true });
  const work = async (worker) => {
    for (let turn = 0; turn < 10; turn += 1) {
      const taken = await pool.getConnection();
      if (connection.info.isMariaDB()) {
        assert.deepStrictEqual(await rows(taken, 'SELECT @own'), [[null]]);
      }
      await taken.query('SET @own = 1');
      await taken.beginTransaction();
      await ask(taken, 'INSERT INTO shared (worker, turn) VALUES (?, ?)', [worker, turn]);
      const mine = await rows(taken, 'SELECT worker, turn FROM shared WHERE id = LAST_INSERT_ID()');
      assert.deepStrictEqual(mine, [[worker, turn]]);
      await (turn % 2 ? taken.commit() : taken.rollback());
      await taken.release();
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, worker) => work(worker)));
  await pool.end();
  ok('parallel', await rows(connection, 'SELECT worker, COUNT(*) FROM shared GROUP BY worker ORDER BY worker'));
}

async function killed(connection, other) {
  connection.on('error', () => {});
  await other.query(`KILL ${connection.threadId}`);
  await assert.rejects(connection.query('SELECT 1'));
  ok('kill');
}

async function main() {
  const first = await mariadb.createConnection(OPTIONS);
  await first.query(`DROP DATABASE IF EXISTS ${schema}`);
  await first.query(`CREATE DATABASE ${schema} CHARACTER SET utf8mb4`);
  await first.end();
  const [connection, other] = [await mariadb.createConnection({ ...OPTIONS, database: schema }),
    await mariadb.createConnection({ ...OPTIONS, database: schema })];
  ok('connect', await rows(connection, 'SELECT DATABASE(), @@character_set_client'));
  for (const step of [types, batches]) {
    await step(connection);
  }
  await transactions(connection, other);
  for (const step of [atOnce, streams, errors, parallel]) {
    await step(connection);
  }
  await killed(connection, other);
  await other.end();
}

main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});

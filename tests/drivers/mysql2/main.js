// The ordinary life of a mysql2 client: node main.js HOST PORT USER PASSWORD SCHEMA MODE.
//
// The mode is "text" (`query`) or "prepared" (`execute`). Prints "ok <step> <what was seen>"; what is
// wrong ends the program with status 1.
'use strict';

const assert = require('node:assert');
const { createRequire } = require('node:module');
// The driver lies where the program is run, not where it stands.
const mysql = createRequire(`${process.cwd()}/`)('mysql2/promise');

const [host, port, user, password, schema, mode] = process.argv.slice(2);
const MEGABYTE = 1024 * 1024;
const OPTIONS = {
  host, port: Number(port), user, password, charset: 'utf8mb4', connectTimeout: 10000,
  supportBigNumbers: true, timezone: 'Z',
};

async function ask(connection, sql, values = []) {
  const [rows] = mode === 'prepared' ? await connection.execute(sql, values) : await connection.query(sql, values);
  return rows;
}

// The rows as arrays of values.
async function values(connection, sql, wanted) {
  return (await ask(connection, sql, wanted)).map((row) => Object.values(row));
}

function ok(step, ...seen) {
  console.log('ok', step, JSON.stringify(seen));
}

async function errorOf(promise) {
  try {
    await promise;
  } catch (error) {
    return [error.code, error.errno, error.sqlState];
  }
  throw new Error('no error');
}

async function types(connection) {
  await ask(connection, 'CREATE TABLE kinds (id INT PRIMARY KEY, t VARCHAR(99), d DECIMAL(30, 10),' +
    ' f DOUBLE, at DATETIME(3), day DATE, span TIME(3), b VARBINARY(99), big BIGINT UNSIGNED)');
  const row = [1, 'žluťoučký 😀 \' \\ " ?', '-12345678901234567890.0123456789', 1.5e300,
    new Date('2024-02-29T23:59:59.123Z'), new Date('1999-12-31T00:00:00Z'), '-25:00:00.007',
    Buffer.from(Array.from({ length: 90 }, (_, b) => b)), '18446744073709551615'];
  const empty = [2, ...Array(8).fill(null)];
  for (const sent of [row, empty]) {
    await ask(connection, 'INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)', sent);
  }
  assert.deepStrictEqual(await values(connection, 'SELECT * FROM kinds WHERE id < ? ORDER BY id', [3]), [row, empty]);
  const [, fields] = await connection.query('SELECT * FROM kinds');
  ok('types', fields.map((field) => [field.name, field.columnType, field.flags, field.columnLength]));
}

async function counts(connection) {
  await ask(connection, 'CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT)');
  const many = await ask(connection, 'INSERT INTO counted (n) VALUES (?), (?), (?), (?), (?)', [0, 1, 2, 3, 4]);
  assert.deepStrictEqual([many.insertId, many.affectedRows], [1, 5]);
  const one = await ask(connection, 'INSERT INTO counted (n) VALUES (?)', [9]);
  assert.deepStrictEqual([one.insertId, one.affectedRows], [6, 1]);
  assert.deepStrictEqual(await values(connection, 'SELECT LAST_INSERT_ID()'), [[6]]);
  // The driver asks for the rows that were found.
  const updated = await ask(connection, 'UPDATE counted SET n = 1 WHERE n IN (?, ?)', [1, 2]);
  assert.deepStrictEqual([updated.affectedRows, updated.changedRows], [2, 1]);
  const deleted = await ask(connection, 'DELETE FROM counted WHERE n > ?', [3]);
  ok('counts', updated.info, deleted.affectedRows);
}

async function transactions(connection, other) {
  const seen = () => values(other, 'SELECT n FROM kept ORDER BY n');
  await ask(connection, 'CREATE TABLE kept (n INT PRIMARY KEY)');
  await connection.beginTransaction();
  await ask(connection, 'INSERT INTO kept VALUES (?)', [1]);
  assert.deepStrictEqual(await seen(), []);
  await connection.rollback();
  await connection.query('SET autocommit = 0');
  await ask(connection, 'INSERT INTO kept VALUES (?)', [2]);
  assert.deepStrictEqual(await seen(), []);
  await connection.commit();
  await ask(connection, 'INSERT INTO kept VALUES (?)', [3]);
  await connection.rollback();
  await connection.query('SET autocommit = 1');
  await ask(connection, 'INSERT INTO kept VALUES (?)', [4]);
  assert.deepStrictEqual(await seen(), [[2], [4]]);
  ok('transactions');
}

async function blobs(connection) {
  await ask(connection, 'CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)');
  for (const [id, size] of [5 * MEGABYTE, 20 * MEGABYTE + 1].entries()) {
    const blob = Buffer.alloc(size, Buffer.from(Array.from({ length: 256 }, (_, b) => b)));
    await ask(connection, 'INSERT INTO large VALUES (?, ?)', [id, blob]);
    const [[found, length]] = await values(connection, 'SELECT b, LENGTH(b) FROM large WHERE id = ?', [id]);
    assert.ok(blob.equals(found) && length === size, `${found.length} ${length}`);
    ok('blob', size);
  }
}

async function errors(connection) {
  await ask(connection, 'INSERT INTO counted VALUES (100, 1)');
  const seen = [
    await errorOf(ask(connection, 'INSERT INTO counted VALUES (?, 1)', [100])),
    await errorOf(ask(connection, 'SELEKT 1')),
    await errorOf(ask(connection, 'SELECT * FROM nowhere WHERE a = ?', [1])),
    await errorOf(ask(connection, 'SELECT nothing FROM counted')),
    await errorOf(ask(connection, 'INSERT INTO counted (n) VALUES (?)', ['x'])),
  ];
  assert.deepStrictEqual(await values(connection, 'SELECT n FROM counted WHERE id = ?', [100]), [[1]]);
  ok('errors', seen);
}

async function procedures(connection) {
  await ask(connection, 'CREATE PROCEDURE several(IN n INT) BEGIN SELECT n; SELECT n + 1 AS m; END');
  const [one, two, end] = await ask(connection, 'CALL several(?)', [7]);
  assert.deepStrictEqual([one[0].n, two[0].m, end.affectedRows], [7, 8, 0]);
  const several = await mysql.createConnection({ ...OPTIONS, database: schema, multipleStatements: true });
  const [[first, update, last]] = await several.query('SELECT 1; UPDATE counted SET n = 5 WHERE id = 100; SELECT 3');
  assert.deepStrictEqual([first[0]['1'], update.affectedRows, last[0]['3']], [1, 1, 3]);
  await several.end();
  ok('procedures', await errorOf(connection.query('SELECT 1; SELECT 2')));
}

// Eight tasks on a pool of four connections.
async function parallel(connection) {
  await ask(connection, 'CREATE TABLE shared (id INT PRIMARY KEY AUTO_INCREMENT, worker INT, turn INT)');
  const pool = mysql.createPool({ ...OPTIONS, database: schema, connectionLimit: 4 });
  const work = async (worker) => {
    for (let turn = 0; turn < 10; turn += 1) {
      const taken = await pool.getConnection();
      await taken.beginTransaction();
      await ask(taken, 'INSERT INTO shared (worker, turn) VALUES (?, ?)', [worker, turn]);
      const mine = await values(taken, 'SELECT worker, turn FROM shared WHERE id = LAST_INSERT_ID()');
      assert.deepStrictEqual(mine, [[worker, turn]]);
      await (turn % 2 ? taken.commit() : taken.rollback());
      taken.release();
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, worker) => work(worker)));
  await pool.end();
  ok('parallel', await values(connection, 'SELECT worker, COUNT(*) FROM shared GROUP BY worker ORDER BY worker'));
}

async function killed(connection, other) {
  await other.query(`KILL ${connection.threadId}`);
  const seen = await errorOf(connection.query('SELECT 1'));
  const next = await mysql.createConnection({ ...OPTIONS, database: schema });
  assert.deepStrictEqual(await values(next, 'SELECT DATABASE()'), [[schema]]);
  await next.end();
  // Depending on what comes first, the driver tells of the end or of the statement after it.
  ok('kill', seen.length);
}

async function main() {
  const [connection, other] = await Promise.all([mysql.createConnection(OPTIONS), mysql.createConnection(OPTIONS)]);
  await connection.query(`DROP DATABASE IF EXISTS ${schema}`);
  await connection.query(`CREATE DATABASE ${schema} CHARACTER SET utf8mb4`);
  await connection.query(`USE ${schema}`);
  await other.changeUser({ user, password, database: schema });
  // Its end by KILL is told as an event, too; without a listener the program would end.
  connection.on('error', () => {});
  ok('connect', await values(other, 'SELECT DATABASE()'));
  await types(connection);
  await counts(connection);
  await transactions(connection, other);
  await blobs(connection);
  await errors(connection);
  await procedures(connection);
  await parallel(connection);
  await killed(connection, other);
  await other.end();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

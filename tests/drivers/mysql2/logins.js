// What comes of logins with mysql2: node logins.js < LINES.
//
// Each line is a login: "tcp" or "unix", host and port or the socket's path, user, password, and "off" or "required"
// for TLS, with a tab between two. Prints a line for each: who it is, or the error.
'use strict';

const { createRequire } = require('node:module');
const { createInterface } = require('node:readline');
// The driver lies where the program is run, not where it stands.
const mysql = createRequire(`${process.cwd()}/`)('mysql2/promise');

function options([way, address, user, password, tls]) {
  const [host, port] = address.split(' ');
  const place = way === 'unix' ? { socketPath: address } : { host, port: Number(port) };
  const ssl = tls === 'required' ? { rejectUnauthorized: false } : undefined;
  return { ...place, user, password, ssl, connectTimeout: 10000 };
}

async function outcome(login) {
  let connection;
  try {
    connection = await mysql.createConnection(options(login));
    const [rows] = await connection.query('SELECT CURRENT_USER() AS who');
    return `ok ${rows[0].who}`;
  } catch (error) {
    return `${error.code} ${error.errno} ${error.message}`;
  } finally {
    connection?.destroy();
  }
}

(async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(await outcome(line.split('\t')));
  }
})();

// What comes of logins with MariaDB's connector for Node.js: node logins.js < LINES.
//
// Each line is a login: "tcp" or "unix", host and port or the socket's path, user, password, and "off" or "required"
// for TLS, with a tab between two. Prints a line for each: who it is, or the error.
'use strict';

const { createRequire } = require('node:module');
const { createInterface } = require('node:readline');
// The driver lies where the program is run, not where it stands.
const mariadb = createRequire(`${process.cwd()}/`)('mariadb');

function options([way, address, user, password, tls]) {
  const [host, port] = address.split(' ');
  const place = way === 'unix' ? { socketPath: address } : { host, port: Number(port) };
  const ssl = tls === 'required' ? { rejectUnauthorized: false } : false;
  return { ...place, user, password, ssl, connectTimeout: 10000, allowPublicKeyRetrieval: true };
}

async function outcome(login) {
  let connection;
  try {
    connection = await mariadb.createConnection(options(login));
    const [row] = await connection.query('SELECT CURRENT_USER() AS who');
    return `ok ${row.who}`;
  } catch (error) {
    // The connection's id, which each has its own of, stands in the message.
    return `${error.code} ${error.errno} ${error.sqlMessage ?? error.message.replace(/conn:-?\d+/, 'conn')}`;
  } finally {
    connection?.destroy();
  }
}

// With an expired password the driver rejects a promise of its own besides, which nobody awaits.
process.on('unhandledRejection', () => {});

(async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(await outcome(line.split('\t')));
  }
})();

// The ordinary life of a go-sql-driver client: main HOST PORT USER PASSWORD SCHEMA MODE.
//
// The mode is "text" (values are put into the statement) or "prepared". Prints "ok <step> <what was
// seen>"; what is wrong ends the program with status 1.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

const megabyte = 1 << 20

var ctx = context.Background()

func main() {
	schema := os.Args[5]
	db, err := sql.Open("mysql", source(""))
	check(err)
	run(db, "DROP DATABASE IF EXISTS "+schema)
	run(db, "CREATE DATABASE "+schema+" CHARACTER SET utf8mb4")
	check(db.Close())
	db, err = sql.Open("mysql", source(schema))
	check(err)
	db.SetMaxOpenConns(4)
	var selected string
	check(db.QueryRow("SELECT DATABASE()").Scan(&selected))
	ok("connect", selected)
	types(db)
	counts(db)
	transactions(db)
	blobs(db)
	failures(db)
	procedures(db)
	parallel(db)
	killed(db)
	check(db.Close())
}

func source(schema string) string {
	config := mysql.NewConfig()
	config.Net = "tcp"
	config.Addr = os.Args[1] + ":" + os.Args[2]
	config.User, config.Passwd, config.DBName = os.Args[3], os.Args[4], schema
	config.InterpolateParams = os.Args[6] == "text"
	config.ParseTime = true
	config.MultiStatements = true
	config.Timeout, config.ReadTimeout = 10*time.Second, 20*time.Second
	return config.FormatDSN()
}

func ok(step string, seen ...any) {
	fmt.Println(append([]any{"ok", step}, seen...)...)
}

func check(err error) {
	assert(err == nil, err)
}

func assert(holds bool, seen ...any) {
	if !holds {
		panic(fmt.Sprint(seen...))
	}
}

// What runs statements: a pool, a connection or a transaction.
type runner interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

func run(on runner, statement string, values ...any) (id int64, rows int64) {
	result, err := on.ExecContext(ctx, statement, values...)
	check(err)
	id, err = result.LastInsertId()
	check(err)
	rows, err = result.RowsAffected()
	check(err)
	return id, rows
}

func number(on runner, statement string, values ...any) (found int) {
	check(on.QueryRowContext(ctx, statement, values...).Scan(&found))
	return found
}

type kinds struct {
	id   int
	t, d sql.NullString
	f    sql.NullFloat64
	at   sql.NullTime
	day  sql.NullTime
	span sql.NullString
	b    []byte
	big  *uint64
}

func types(db *sql.DB) {
	run(db, "CREATE TABLE kinds (id INT PRIMARY KEY, t VARCHAR(99), d DECIMAL(30, 10),"+
		" f DOUBLE, at DATETIME(6), day DATE, span TIME(3), b VARBINARY(99), big BIGINT UNSIGNED)")
	at := time.Date(2024, 2, 29, 23, 59, 59, 123456000, time.UTC)
	day := time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)
	text, decimal, span := "žluťoučký 😀 ' \\ \" ?", "-12345678901234567890.0123456789", "-25:00:00.007"
	var all []byte
	for b := 0; b < 90; b++ {
		all = append(all, byte(b))
	}
	big := uint64(1<<63) + 1
	statement := "INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	run(db, statement, 1, text, decimal, 1.5e300, at, day, span, all, big)
	run(db, statement, 2, nil, nil, nil, nil, nil, nil, nil, nil)
	rows, err := db.Query("SELECT * FROM kinds WHERE id < ? ORDER BY id", 3)
	check(err)
	columns, err := rows.ColumnTypes()
	check(err)
	var found [2]kinds
	for i := range found {
		k := &found[i]
		assert(rows.Next(), "too few rows")
		check(rows.Scan(&k.id, &k.t, &k.d, &k.f, &k.at, &k.day, &k.span, &k.b, &k.big))
	}
	assert(!rows.Next(), "too many rows")
	check(rows.Err())
	k := found[0]
	assert(k.t.String == text && k.d.String == decimal && k.f.Float64 == 1.5e300, k)
	assert(k.at.Time.Equal(at) && k.day.Time.Equal(day) && k.span.String == span, k)
	assert(bytes.Equal(k.b, all) && *k.big == big, k)
	k = found[1]
	assert(!k.t.Valid && !k.d.Valid && !k.f.Valid && !k.at.Valid && !k.day.Valid, k)
	assert(!k.span.Valid && k.b == nil && k.big == nil, k)
	var names []string
	for _, column := range columns {
		names = append(names, column.Name()+" "+column.DatabaseTypeName())
	}
	ok("types", names)
}

func counts(db *sql.DB) {
	conn, err := db.Conn(ctx)
	check(err)
	defer conn.Close()
	run(conn, "CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT)")
	id, rows := run(conn, "INSERT INTO counted (n) VALUES (?), (?), (?)", 0, 1, 2)
	assert(id == 1 && rows == 3, id, rows)
	insert := func(n int) { id, _ = run(conn, "INSERT INTO counted (n) VALUES (?)", n) }
	if os.Args[6] == "prepared" {
		statement, err := conn.PrepareContext(ctx, "INSERT INTO counted (n) VALUES (?)")
		check(err)
		defer statement.Close()
		insert = func(n int) {
			result, err := statement.Exec(n)
			check(err)
			id, err = result.LastInsertId()
			check(err)
		}
	}
	for n := 3; n < 6; n++ {
		insert(n)
		assert(id == int64(n+1), id)
	}
	assert(number(conn, "SELECT LAST_INSERT_ID()") == 6)
	_, changed := run(conn, "UPDATE counted SET n = 1 WHERE n IN (?, ?)", 1, 2)
	_, deleted := run(conn, "DELETE FROM counted WHERE n > ?", 3)
	assert(changed == 1 && deleted == 2, changed, deleted)
	ok("counts", changed, deleted)
}

func transactions(db *sql.DB) {
	run(db, "CREATE TABLE kept (n INT PRIMARY KEY)")
	for n, commit := range []bool{false, true} {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		check(err)
		run(tx, "INSERT INTO kept VALUES (?)", n)
		assert(number(tx, "SELECT COUNT(*) FROM kept") == 1)
		assert(number(db, "SELECT COUNT(*) FROM kept") == 0)
		if commit {
			check(tx.Commit())
		} else {
			check(tx.Rollback())
		}
	}
	conn, err := db.Conn(ctx)
	check(err)
	run(conn, "SET autocommit = 0")
	run(conn, "INSERT INTO kept VALUES (?)", 2)
	assert(number(db, "SELECT COUNT(*) FROM kept") == 1)
	run(conn, "ROLLBACK")
	run(conn, "SET autocommit = 1")
	check(conn.Close())
	ok("transactions", number(db, "SELECT SUM(n) FROM kept"))
}

func blobs(db *sql.DB) {
	run(db, "CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)")
	for i, size := range []int{5 * megabyte, 20*megabyte + 1} {
		blob := make([]byte, size)
		for at := range blob {
			blob[at] = byte(at)
		}
		run(db, "INSERT INTO large VALUES (?, ?)", i, blob)
		var found []byte
		check(db.QueryRow("SELECT b FROM large WHERE id = ?", i).Scan(&found))
		assert(bytes.Equal(found, blob), len(found))
		ok("blob", size)
	}
}

func failures(db *sql.DB) {
	conn, err := db.Conn(ctx)
	check(err)
	defer conn.Close()
	run(conn, "INSERT INTO counted VALUES (100, 1)")
	var seen []string
	fails := func(statement string, values ...any) {
		_, err := conn.ExecContext(ctx, statement, values...)
		var failure *mysql.MySQLError
		assert(errors.As(err, &failure), statement, err)
		seen = append(seen, fmt.Sprintf("%d %s", failure.Number, failure.SQLState))
	}
	fails("INSERT INTO counted VALUES (?, 1)", 100)
	fails("SELEKT ?", 1)
	fails("SELECT * FROM nowhere WHERE a = ?", 1)
	fails("SELECT nothing FROM counted")
	fails("INSERT INTO counted (n) VALUES (?)", "x")
	assert(number(conn, "SELECT n FROM counted WHERE id = ?", 100) == 1)
	ok("errors", seen)
}

func procedures(db *sql.DB) {
	run(db, "CREATE PROCEDURE several(IN n INT) BEGIN SELECT n; SELECT n + 1; END")
	for _, statement := range []string{"CALL several(7)", "SELECT 7; SELECT 8"} {
		rows, err := db.Query(statement)
		check(err)
		for n := 7; n < 9; n++ {
			var found int
			assert(rows.Next(), "too few rows")
			check(rows.Scan(&found))
			assert(found == n && !rows.Next(), found)
			assert(rows.NextResultSet() == (n == 7), statement, n)
		}
		check(rows.Close())
	}
	ok("procedures")
}

// Eight tasks on a pool of four connections.
func parallel(db *sql.DB) {
	run(db, "CREATE TABLE shared (id INT PRIMARY KEY AUTO_INCREMENT, worker INT, turn INT)")
	var tasks sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		tasks.Add(1)
		go func(worker int) {
			defer tasks.Done()
			for turn := 0; turn < 10; turn++ {
				take(db, worker, turn)
			}
		}(worker)
	}
	tasks.Wait()
	ok("parallel", number(db, "SELECT COUNT(*) FROM shared"))
}

func take(db *sql.DB, worker, turn int) {
	tx, err := db.Begin()
	check(err)
	run(tx, "INSERT INTO shared (worker, turn) VALUES (?, ?)", worker, turn)
	mine := number(tx, "SELECT worker * 100 + turn FROM shared WHERE id = LAST_INSERT_ID()")
	assert(mine == worker*100+turn, mine)
	if turn%2 == 0 {
		check(tx.Commit())
	} else {
		check(tx.Rollback())
	}
}

// A killed connection fails in its transaction; the pool opens another.
func killed(db *sql.DB) {
	tx, err := db.Begin()
	check(err)
	// The driver does not tell the id of its handshake; in a transaction this one holds.
	id := number(tx, "SELECT CONNECTION_ID()")
	run(db, fmt.Sprintf("KILL %d", id))
	_, err = tx.Exec("INSERT INTO kept VALUES (9)")
	assert(err != nil, "it outlived the KILL")
	// Nothing is left to roll back, and saying so fails, too.
	_ = tx.Rollback()
	assert(number(db, "SELECT COUNT(*) FROM kept WHERE n = ?", 9) == 0)
	ok("kill")
}

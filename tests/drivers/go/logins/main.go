// What comes of logins with go-sql-driver: logins < LINES.
//
// Each line is a login: "tcp" or "unix", host and port or the socket's path, user, password, and "off" or "required"
// for TLS, with a tab between two. Prints a line for each: who it is, or the error.
package main

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

func main() {
	// What the driver says besides is no part of the outcome.
	if err := mysql.SetLogger(log.New(io.Discard, "", 0)); err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(outcome(strings.Split(lines.Text(), "\t")))
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
}

func outcome(login []string) string {
	config := mysql.NewConfig()
	config.Net = login[0]
	config.Addr = strings.ReplaceAll(login[1], " ", ":")
	config.User, config.Passwd = login[2], login[3]
	config.Timeout, config.ReadTimeout = 10*time.Second, 20*time.Second
	config.TLSConfig = "false"
	if login[4] == "required" {
		config.TLSConfig = "skip-verify"
	}
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		panic(err)
	}
	defer db.Close()
	var who string
	if err := db.QueryRow("SELECT CURRENT_USER()").Scan(&who); err != nil {
		return err.Error()
	}
	return "ok " + who
}

// The ordinary life of a program with GORM: main HOST PORT USER PASSWORD SCHEMA MODE.
//
// The mode is "text" (values are put into the statement), "prepared", or "cached" (GORM keeps what it has
// prepared). Prints "ok <step> <what was seen>"; what is wrong ends the program with status 1.
package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// An Author has books.
type Author struct {
	ID    uint
	Name  string `gorm:"size:99;uniqueIndex"`
	Born  *time.Time
	Books []Book
}

// A Book has one author and any number of tags.
type Book struct {
	gorm.Model
	Title    string `gorm:"size:99"`
	Price    float64
	Cover    []byte
	AuthorID uint
	Tags     []Tag `gorm:"many2many:book_tags"`
}

// A Tag is shared by books.
type Tag struct {
	ID   uint
	Name string `gorm:"size:50;uniqueIndex"`
}

func main() {
	schema := os.Args[5]
	db := open("")
	check(db.Exec("DROP DATABASE IF EXISTS " + schema).Error)
	check(db.Exec("CREATE DATABASE " + schema + " CHARACTER SET utf8mb4").Error)
	db = open(schema)
	pool, err := db.DB()
	check(err)
	pool.SetMaxOpenConns(4)
	migrate(db)
	create(db)
	find(db)
	change(db)
	transactions(db)
	failures(db)
	parallel(db)
	check(pool.Close())
}

func open(schema string) *gorm.DB {
	config := driver.NewConfig()
	config.Net, config.Addr = "tcp", os.Args[1]+":"+os.Args[2]
	config.User, config.Passwd, config.DBName = os.Args[3], os.Args[4], schema
	config.ParseTime = true
	config.InterpolateParams = os.Args[6] == "text"
	config.Timeout, config.ReadTimeout = 10*time.Second, 20*time.Second
	db, err := gorm.Open(mysql.Open(config.FormatDSN()), &gorm.Config{
		Logger:      logger.Discard,
		PrepareStmt: os.Args[6] == "cached",
	})
	check(err)
	return db
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

func migrate(db *gorm.DB) {
	// The second time it only looks.
	for i := 0; i < 2; i++ {
		check(db.AutoMigrate(&Author{}, &Book{}, &Tag{}))
	}
	tables, err := db.Migrator().GetTables()
	check(err)
	columns, err := db.Migrator().ColumnTypes(&Book{})
	check(err)
	var names []string
	for _, column := range columns {
		kind, _ := column.ColumnType()
		names = append(names, column.Name()+" "+kind)
	}
	ok("migrate", len(tables), names)
}

func create(db *gorm.DB) {
	born := time.Date(1890, 1, 9, 0, 0, 0, 0, time.UTC)
	author := Author{Name: "Karel Čapek 😀", Born: &born, Books: []Book{
		{Title: "R.U.R.", Price: 1.5, Cover: []byte{0, 39, 92, 255}, Tags: []Tag{{Name: "robots"}, {Name: "drama"}}},
		{Title: "Válka s mloky", Price: 2.25, Tags: []Tag{{Name: "newts"}}},
	}}
	check(db.Create(&author).Error)
	assert(author.ID == 1 && author.Books[1].ID == 2, author)
	var many []Book
	for n := 0; n < 250; n++ {
		many = append(many, Book{Title: fmt.Sprintf("Volume %d", n), AuthorID: author.ID})
	}
	check(db.CreateInBatches(&many, 100).Error)
	assert(many[249].ID == 252, many[249].ID)
	ok("create", len(many))
}

func find(db *gorm.DB) {
	var author Author
	check(db.Preload("Books.Tags").First(&author, "name LIKE ?", "Karel%").Error)
	assert(len(author.Books) == 252 && len(author.Books[0].Tags) == 2, len(author.Books))
	assert(string(author.Books[0].Cover) == "\x00'\\\xff" && author.Books[1].Cover == nil)
	var total float64
	check(db.Model(&Book{}).Select("SUM(price)").Scan(&total).Error)
	var batches int
	var few []Book
	result := db.Where("price = ?", 0).FindInBatches(&few, 60, func(*gorm.DB, int) error {
		batches++
		return nil
	})
	check(result.Error)
	rows, err := db.Model(&Book{}).Where("id > ?", 200).Rows()
	check(err)
	count := 0
	for rows.Next() {
		var book Book
		check(db.ScanRows(rows, &book))
		count++
	}
	check(rows.Close())
	ok("find", total, batches, result.RowsAffected, count, author.Born.Year())
}

func change(db *gorm.DB) {
	updated := db.Model(&Book{}).Where("price = ?", 0).Update("price", gorm.Expr("price + ?", 1))
	check(updated.Error)
	deleted := db.Where("id BETWEEN ? AND ?", 10, 19).Delete(&Book{})
	check(deleted.Error)
	var left, all int64
	check(db.Model(&Book{}).Count(&left).Error)
	check(db.Unscoped().Model(&Book{}).Count(&all).Error)
	upsert := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&[]Tag{{ID: 1, Name: "machines"}, {Name: "new"}})
	check(upsert.Error)
	ok("change", updated.RowsAffected, deleted.RowsAffected, left, all, upsert.RowsAffected)
}

func transactions(db *gorm.DB) {
	stop := errors.New("stop")
	err := db.Transaction(func(tx *gorm.DB) error {
		check(tx.Create(&Tag{Name: "lost"}).Error)
		return stop
	})
	assert(errors.Is(err, stop), err)
	check(db.Transaction(func(tx *gorm.DB) error {
		check(tx.Create(&Tag{Name: "kept"}).Error)
		// Inside of a transaction this is a savepoint.
		inner := tx.Transaction(func(tx *gorm.DB) error {
			check(tx.Create(&Tag{Name: "lost, too"}).Error)
			return stop
		})
		assert(errors.Is(inner, stop), inner)
		var locked Tag
		return tx.Clauses(clause.Locking{Strength: "UPDATE"}).First(&locked, "name = ?", "kept").Error
	}))
	var names []string
	check(db.Model(&Tag{}).Order("name").Pluck("name", &names).Error)
	ok("transactions", names)
}

func failures(db *gorm.DB) {
	numbers := func(err error) string {
		var failure *driver.MySQLError
		assert(errors.As(err, &failure), err)
		return fmt.Sprintf("%d %s", failure.Number, failure.SQLState)
	}
	missing := db.First(&Author{}, 99).Error
	assert(errors.Is(missing, gorm.ErrRecordNotFound), missing)
	ok("errors", numbers(db.Create(&Tag{Name: "kept"}).Error), numbers(db.Create(&Book{Title: "x", AuthorID: 99}).Error),
		numbers(db.Exec("SELEKT ?", 1).Error))
}

// Eight tasks on a pool of four connections.
func parallel(db *gorm.DB) {
	var tasks sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		tasks.Add(1)
		go func(worker int) {
			defer tasks.Done()
			for turn := 0; turn < 10; turn++ {
				tag := Tag{Name: fmt.Sprintf("%d of %d", turn, worker)}
				check(db.Create(&tag).Error)
				var found Tag
				check(db.First(&found, tag.ID).Error)
				assert(found.Name == tag.Name, found, tag)
			}
		}(worker)
	}
	tasks.Wait()
	var count int64
	check(db.Model(&Tag{}).Count(&count).Error)
	ok("parallel", count)
}

-- A small shop to look around in, an empty database for sysbench, and an account for both.
-- Safe to run again: nothing that exists is changed, and the rows are the same every time.
-- What stands in comments with an exclamation mark is for MariaDB only (M) or for MySQL only.

CREATE DATABASE IF NOT EXISTS shop CHARACTER SET utf8mb4;
CREATE DATABASE IF NOT EXISTS sbtest CHARACTER SET utf8mb4;

CREATE USER IF NOT EXISTS 'app'@'localhost' IDENTIFIED /*M! VIA mysql_native_password USING PASSWORD('secret') */ /*!80000 BY 'secret' */;
CREATE USER IF NOT EXISTS 'app'@'127.0.0.1' IDENTIFIED /*M! VIA mysql_native_password USING PASSWORD('secret') */ /*!80000 BY 'secret' */;
CREATE USER IF NOT EXISTS 'app'@'%' IDENTIFIED /*M! VIA mysql_native_password USING PASSWORD('secret') */ /*!80000 BY 'secret' */;
GRANT ALL ON shop.* TO 'app'@'localhost', 'app'@'127.0.0.1', 'app'@'%';
GRANT ALL ON sbtest.* TO 'app'@'localhost', 'app'@'127.0.0.1', 'app'@'%';

USE shop;

CREATE TABLE IF NOT EXISTS customer (
  id INT UNSIGNED PRIMARY KEY AUTO_INCREMENT,
  name VARCHAR(80) NOT NULL,
  email VARCHAR(120) NOT NULL UNIQUE,
  city VARCHAR(60) NOT NULL,
  joined_on DATE NOT NULL,
  INDEX by_city (city)
);

CREATE TABLE IF NOT EXISTS product (
  id INT UNSIGNED PRIMARY KEY AUTO_INCREMENT,
  name VARCHAR(80) NOT NULL UNIQUE,
  price DECIMAL(8, 2) NOT NULL,
  stock INT UNSIGNED NOT NULL
);

CREATE TABLE IF NOT EXISTS orders (
  id INT UNSIGNED PRIMARY KEY AUTO_INCREMENT,
  customer_id INT UNSIGNED NOT NULL,
  ordered_at DATETIME NOT NULL,
  status ENUM('open', 'paid', 'shipped') NOT NULL,
  FOREIGN KEY (customer_id) REFERENCES customer (id)
);

CREATE TABLE IF NOT EXISTS order_line (
  order_id INT UNSIGNED NOT NULL,
  line TINYINT UNSIGNED NOT NULL,
  product_id INT UNSIGNED NOT NULL,
  quantity SMALLINT UNSIGNED NOT NULL,
  price DECIMAL(8, 2) NOT NULL,
  PRIMARY KEY (order_id, line),
  FOREIGN KEY (order_id) REFERENCES orders (id),
  FOREIGN KEY (product_id) REFERENCES product (id)
);

-- The transaction keeps a half-filled shop from ever being seen.
START TRANSACTION;

INSERT IGNORE INTO customer (id, name, email, city, joined_on)
WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 200)
SELECT n,
       CONCAT(ELT(1 + n % 10, 'Ada', 'Bela', 'Chen', 'Dora', 'Emil', 'Farah', 'Goran', 'Hana', 'Ines', 'Jonas'), ' ',
              ELT(1 + n DIV 10 % 20, 'Adler', 'Berg', 'Costa', 'Dahl', 'Engel', 'Fuchs', 'Grau', 'Holm', 'Ito', 'Jung',
                  'Kaya', 'Lund', 'Moreau', 'Novak', 'Okoro', 'Petrov', 'Quist', 'Rossi', 'Sato', 'Tran')),
       CONCAT('customer', n, '@shop.example'),
       ELT(1 + n % 8, 'Berlin', 'Lagos', 'Lima', 'Lyon', 'Oslo', 'Osaka', 'Pune', 'Turin'),
       DATE '2023-01-01' + INTERVAL n * 3 DAY
FROM number;

INSERT IGNORE INTO product (id, name, price, stock)
WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 40)
SELECT n,
       CONCAT(ELT(1 + n % 5, 'Small', 'Large', 'Red', 'Blue', 'Folding'), ' ',
              ELT(1 + n DIV 5 % 8, 'lamp', 'chair', 'table', 'kettle', 'mirror', 'shelf', 'clock', 'vase')),
       4.50 + n * 37 % 190,
       20 + n * 13 % 80
FROM number;

INSERT IGNORE INTO orders (id, customer_id, ordered_at, status)
WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 400)
SELECT n,
       1 + n * 7 % 200,
       TIMESTAMP '2025-01-01 08:00:00' + INTERVAL n * 97 MINUTE,
       ELT(1 + n % 3, 'open', 'paid', 'shipped')
FROM number;

INSERT IGNORE INTO order_line (order_id, line, product_id, quantity, price)
WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 3)
SELECT orders.id, number.n, product.id, 1 + (orders.id + number.n) % 4, product.price
FROM orders
JOIN number ON number.n <= 1 + orders.id % 3
JOIN product ON product.id = 1 + (orders.id * 11 + number.n * 17) % 40;

COMMIT;

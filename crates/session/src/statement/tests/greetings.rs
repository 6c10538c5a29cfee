//! What drivers, frameworks and tools say by themselves: when they connect, when a pool lends a connection, and around what
//! an application asks. Whoever did nothing but that must not be pinned.

use super::super::sets_tracked;
use super::*;

const BOTH: [&str; 59] = [
    // MySQL Connector/J, and its `sessionVariables`.
    "/* mysql-connector-j-9.1.0 (Revision: x) */SELECT  @@session.auto_increment_increment AS auto_increment_increment, \
     @@character_set_client AS character_set_client, @@collation_server AS collation_server, @@init_connect AS init_connect, \
     @@interactive_timeout AS interactive_timeout, @@license AS license, @@max_allowed_packet AS max_allowed_packet, \
     @@net_write_timeout AS net_write_timeout, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, \
     @@transaction_isolation AS transaction_isolation, @@wait_timeout AS wait_timeout",
    "SET character_set_results = NULL",
    "SET sql_mode='STRICT_TRANS_TABLES',sql_select_limit=DEFAULT",
    "SELECT @@session.transaction_read_only",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "set session transaction read only",
    "/* ping */ SELECT 1",
    "SHOW WARNINGS",
    "SET max_statement_time = 5",
    "SET MAX_EXECUTION_TIME = 5000",
    // MariaDB Connector/J.
    "set session_track_schema=1, autocommit=1, sql_mode = concat(@@sql_mode,',STRICT_TRANS_TABLES')",
    "set sql_mode=CONCAT(@@sql_mode,',STRICT_TRANS_TABLES'),session_track_system_variables = \
     CONCAT(@@global.session_track_system_variables,',tx_isolation'),NAMES utf8mb4",
    "SELECT @@tx_isolation",
    "SELECT VERSION()",
    "SELECT DATABASE()",
    "SELECT @@max_allowed_packet,@@system_time_zone,@@time_zone,@@auto_increment_increment",
    // HikariCP and other pools.
    "SELECT 1",
    "DO 1",
    "SET autocommit=1",
    "ROLLBACK",
    // Django.
    "SET SQL_AUTO_IS_NULL = 0",
    "SELECT VERSION(), @@sql_mode, @@default_storage_engine, @@sql_auto_is_null, @@lower_case_table_names, \
     CONVERT_TZ('2001-01-01 01:00:00', 'UTC', 'UTC') IS NOT NULL",
    "SELECT engine FROM information_schema.engines WHERE support = 'DEFAULT'",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET foreign_key_checks=0",
    // SQLAlchemy.
    "SELECT CAST('test plain returns' AS CHAR(60)) AS anon_1",
    "SHOW VARIABLES LIKE 'sql_mode'",
    "SHOW VARIABLES LIKE 'lower_case_table_names'",
    "SELECT @@transaction_isolation",
    "SHOW CREATE TABLE `t`",
    // Rails, Laravel, Doctrine, WordPress, Drupal, phpMyAdmin.
    "SET NAMES utf8mb4, @@SESSION.sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), @@SESSION.sql_auto_is_null = 0, \
     @@SESSION.wait_timeout = 2147483",
    "set names 'utf8mb4' collate 'utf8mb4_unicode_ci'",
    "set session sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE'",
    "use `shop`;",
    "SELECT @@SESSION.sql_mode",
    "SET SESSION sql_mode='NO_ZERO_DATE'",
    "SET SESSION sql_mode = 'ANSI,TRADITIONAL'",
    "SELECT @@version, @@version_comment",
    "SET lc_messages = 'en_US'",
    "SELECT CURRENT_USER()",
    "SET SESSION collation_connection = 'utf8mb4_unicode_ci'",
    "SHOW GRANTS",
    // Sequelize, TypeORM, Prisma.
    "SET time_zone = '+00:00'",
    "SELECT VERSION() as `version`",
    "SELECT * FROM `INFORMATION_SCHEMA`.`COLUMNS` WHERE `TABLE_SCHEMA` = 'shop' AND `TABLE_NAME` = 't'",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    // ODBC, ADO.NET.
    "SET NAMES utf8mb4",
    "SET @@sql_select_limit=DEFAULT",
    "SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP())",
    "SHOW COLLATION",
    "SHOW VARIABLES",
    "SELECT CONNECTION_ID(), VERSION()",
    // The command line, dumps and tools.
    "select @@version_comment limit 1",
    "show databases",
    "SET SESSION NET_READ_TIMEOUT= 86400, SESSION NET_WRITE_TIMEOUT= 86400",
    "/*!40100 SET @@SQL_MODE='' */",
    "/*!40103 SET TIME_ZONE='+00:00' */",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION /*!40100 WITH CONSISTENT SNAPSHOT */",
    "SET SQL_QUOTE_SHOW_CREATE=1/*!40102 ,SQL_MODE=concat(@@sql_mode, _utf8 ',NO_KEY_OPTIONS' ) */",
];

#[test]
fn what_is_said_by_itself_pins_nobody() {
    for dialect in [MARIADB, MYSQL] {
        for text in BOTH {
            let pins = classify(text.as_bytes(), &dialect).pins;
            let tracks = pins == PinReason::SessionTracking.into();
            if tracks && sets_tracked(text.as_bytes(), &dialect) {
                continue;
            }
            assert!(pins.is_empty(), "{text}: {pins:?}");
        }
    }
}

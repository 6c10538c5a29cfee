//! The words that may stand before an opening parenthesis, what they mean there, and since which
//! version of either server. A name that a server does not know might be a stored function there.
//! Owns the list; where a call may stand is the expression scanner's to know.

use super::dialect::{Dialect, Flavor};
use super::names::Names;

/// The meaning of a word that is followed by an opening parenthesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// No call: a keyword or a type, as in `IN (`.
    Construct,
    /// A built-in that reads at most.
    Pure,
    /// As [`Call::Pure`], but with a space before the parenthesis the server looks for a stored
    /// function of that name, unless `IGNORE_SPACE` is set.
    PureIfTight,
    /// The same, and `FROM` in it names no table.
    Cuts,
    /// A built-in that waits or reads what lies outside of tables: no plain read, but no write.
    Impure,
    /// `GET_LOCK()`.
    TakesLock,
    /// `RELEASE_LOCK()`, `RELEASE_ALL_LOCKS()`.
    ReleasesLock,
    /// `LAST_INSERT_ID()`, with or without an argument.
    LastInsertId,
    /// `FOUND_ROWS()`, `ROW_COUNT()`.
    RowCounts,
    /// `CONNECTION_ID()` and its kin.
    ConnectionId,
    /// `NEXTVAL()`.
    NextValue,
    /// `LASTVAL()`.
    LastValue,
    /// A built-in that writes: `SETVAL()`, which leaves what `LASTVAL()` says.
    Writes,
    /// No built-in that is known here.
    Unknown,
}

/// Looks up what `word` means before a parenthesis.
pub(super) fn call(word: &[u8], dialect: &Dialect) -> Call {
    let Some(builtin) = TABLE.find(word).and_then(|place| BUILTINS.get(place)) else {
        return Call::Unknown;
    };
    let since = match dialect.flavor {
        Flavor::MariaDb => builtin.mariadb,
        Flavor::MySql => builtin.mysql,
    };
    if since <= dialect.version {
        builtin.call
    } else {
        Call::Unknown
    }
}

struct Builtin {
    call: Call,
    mariadb: u32,
    mysql: u32,
}

const ALWAYS: u32 = 0;
const NEVER: u32 = u32::MAX;

macro_rules! builtins {
    ($($call:ident, $mariadb:expr, $mysql:expr => [$($name:literal)*])*) => {
        const NAMES: &[&str] = &[$($($name,)*)*];
        const BUILTINS: &[Builtin] = &[$($(builtin($name, Call::$call, $mariadb, $mysql),)*)*];
    };
}

/// Takes the name only so that the macro repeats once per name.
const fn builtin(_name: &str, call: Call, mariadb: u32, mysql: u32) -> Builtin {
    Builtin {
        call,
        mariadb,
        mysql,
    }
}

static TABLE: Names<2048> = Names::new(NAMES);

// Meaning, first version of MariaDB, first version of MySQL.
builtins! {
    ConnectionId, ALWAYS, ALWAYS => [
        "connection_id" "ps_current_thread_id" "ps_thread_id"
    ]
    LastInsertId, ALWAYS, ALWAYS => [
        "last_insert_id"
    ]
    ReleasesLock, ALWAYS, ALWAYS => [
        "release_all_locks" "release_lock"
    ]
    RowCounts, ALWAYS, ALWAYS => [
        "found_rows" "row_count"
    ]
    NextValue, ALWAYS, NEVER => [
        "nextval"
    ]
    LastValue, ALWAYS, NEVER => [
        "lastval"
    ]
    Writes, ALWAYS, NEVER => [
        "setval"
    ]
    TakesLock, ALWAYS, ALWAYS => [
        "get_lock"
    ]
    Impure, ALWAYS, ALWAYS => [
        "benchmark" "is_free_lock" "is_used_lock" "load_file" "master_pos_wait" "sleep"
    ]
    Impure, ALWAYS, NEVER => [
        "master_gtid_wait" "wsrep_last_seen_gtid" "wsrep_last_written_gtid"
        "wsrep_sync_wait_upto_gtid"
    ]
    Impure, NEVER, ALWAYS => [
        "source_pos_wait" "wait_for_executed_gtid_set" "wait_until_sql_thread_after_gtids"
    ]
    // A component's, which sees the attributes of the text that it stands in.
    Impure, NEVER, 80_023 => [
        "mysql_query_attribute_string"
    ]
    Construct, ALWAYS, ALWAYS => [
        "all" "and" "any" "as" "between" "bigint" "bit" "blob" "by" "case" "character"
        "datetime" "dec" "decimal" "distinct" "distinctrow" "div" "double" "else" "enum"
        "except" "exists" "float" "from" "group" "having" "high_priority" "in" "index" "int"
        "integer" "intersect" "into" "join" "key" "like" "limit" "lines" "mediumint" "nchar"
        "not" "numeric" "nvarchar" "offset" "on" "or" "over" "partition" "real" "regexp"
        "returning" "rlike" "rows" "select" "set" "signed" "smallint" "some" "sql_big_result"
        "sql_buffer_result" "sql_cache" "sql_calc_found_rows" "sql_no_cache" "sql_small_result"
        "straight_join" "text" "then" "tinyint" "union" "unsigned" "update" "using" "varbinary"
        "varchar" "when" "where" "within" "xor"
    ]
    Construct, NEVER, ALWAYS => [
        "lateral"
    ]
    PureIfTight, ALWAYS, ALWAYS => [
        "adddate" "bit_and" "bit_or" "bit_xor" "cast" "count" "curdate" "curtime" "date_add"
        "date_sub" "group_concat" "json_arrayagg" "json_objectagg" "max" "min" "now" "position"
        "session_user" "std" "stddev" "stddev_pop" "stddev_samp" "subdate" "sum" "sysdate"
        "system_user" "var_pop" "var_samp" "variance"
    ]
    Cuts, ALWAYS, ALWAYS => [
        "extract" "mid" "substr" "substring" "trim"
    ]
    PureIfTight, ALWAYS, 80_004 => [
        "cume_dist" "dense_rank" "first_value" "lag" "lead" "nth_value" "ntile" "percent_rank"
        "rank"
    ]
    PureIfTight, ALWAYS, NEVER => [
        "median" "percentile_cont" "percentile_disc"
    ]
    PureIfTight, 120_100, 80_024 => [
        "st_collect"
    ]
    Pure, ALWAYS, ALWAYS => [
        "abs" "acos" "addtime" "aes_decrypt" "aes_encrypt" "ascii" "asin" "atan" "atan2" "avg"
        "bin" "binary" "bit_count" "bit_length" "ceil" "ceiling" "char" "char_length"
        "character_length" "charset" "coalesce" "coercibility" "collation" "compress" "concat"
        "concat_ws" "conv" "convert" "convert_tz" "cos" "cot" "crc32" "current_date"
        "current_time" "current_timestamp" "current_user" "database" "date" "date_format"
        "datediff" "day" "dayname" "dayofmonth" "dayofweek" "dayofyear" "default" "degrees"
        "elt" "exp" "export_set" "extractvalue" "field" "find_in_set" "floor" "format"
        "from_base64" "from_days" "from_unixtime" "geometrycollection" "get_format" "greatest"
        "hex" "hour" "if" "ifnull" "inet6_aton" "inet6_ntoa" "inet_aton" "inet_ntoa" "insert"
        "instr" "interval" "is_ipv4" "is_ipv4_compat" "is_ipv4_mapped" "is_ipv6" "isnull"
        "json_array" "json_array_append" "json_array_insert" "json_contains"
        "json_contains_path" "json_depth" "json_extract" "json_insert" "json_keys" "json_length"
        "json_merge" "json_merge_patch" "json_merge_preserve" "json_object" "json_quote"
        "json_remove" "json_replace" "json_search" "json_set" "json_type" "json_unquote"
        "json_valid" "last_day" "lcase" "least" "left" "length" "linestring" "ln" "localtime"
        "localtimestamp" "locate" "log" "log10" "log2" "lower" "lpad" "ltrim" "make_set"
        "makedate" "maketime" "match" "mbrcontains" "mbrdisjoint" "mbrequal" "mbrequals"
        "mbrintersects" "mbroverlaps" "mbrtouches" "mbrwithin" "md5" "microsecond" "minute"
        "mod" "month" "monthname" "multilinestring" "multipoint" "multipolygon" "name_const"
        "nullif" "oct" "octet_length" "ord" "password" "period_add" "period_diff" "pi" "point"
        "polygon" "pow" "power" "quarter" "quote" "radians" "rand" "repeat" "replace" "reverse"
        "right" "round" "row" "rpad" "rtrim" "schema" "sec_to_time" "second" "sha" "sha1" "sha2"
        "sign" "sin" "soundex" "space" "sqrt" "st_area" "st_asbinary" "st_asgeojson" "st_astext"
        "st_aswkb" "st_aswkt" "st_buffer" "st_centroid" "st_contains" "st_convexhull"
        "st_crosses" "st_difference" "st_dimension" "st_disjoint" "st_distance"
        "st_distance_sphere" "st_endpoint" "st_envelope" "st_equals" "st_exteriorring"
        "st_geomcollfromtext" "st_geomcollfromwkb" "st_geometrycollectionfromtext"
        "st_geometrycollectionfromwkb" "st_geometryfromtext" "st_geometryfromwkb" "st_geometryn"
        "st_geometrytype" "st_geomfromgeojson" "st_geomfromtext" "st_geomfromwkb"
        "st_interiorringn" "st_intersection" "st_intersects" "st_isclosed" "st_isempty"
        "st_issimple" "st_length" "st_linefromtext" "st_linefromwkb" "st_linestringfromtext"
        "st_linestringfromwkb" "st_mlinefromtext" "st_mlinefromwkb" "st_mpointfromtext"
        "st_mpointfromwkb" "st_mpolyfromtext" "st_mpolyfromwkb" "st_multilinestringfromtext"
        "st_multilinestringfromwkb" "st_multipointfromtext" "st_multipointfromwkb"
        "st_multipolygonfromtext" "st_multipolygonfromwkb" "st_numgeometries"
        "st_numinteriorrings" "st_numpoints" "st_overlaps" "st_pointfromtext" "st_pointfromwkb"
        "st_pointn" "st_polyfromtext" "st_polyfromwkb" "st_polygonfromtext" "st_polygonfromwkb"
        "st_srid" "st_startpoint" "st_symdifference" "st_touches" "st_union" "st_within" "st_x"
        "st_y" "str_to_date" "strcmp" "substring_index" "subtime" "tan" "time" "time_format"
        "time_to_sec" "timediff" "timestamp" "timestampadd" "timestampdiff" "to_base64"
        "to_days" "to_seconds" "truncate" "ucase" "uncompress" "uncompressed_length" "unhex"
        "unix_timestamp" "updatexml" "upper" "user" "utc_date" "utc_time" "utc_timestamp" "uuid"
        "uuid_short" "value" "values" "version" "week" "weekday" "weekofyear" "weight_string"
        "year" "yearweek"
    ]
    Pure, NEVER, ALWAYS => [
        "any_value" "bin_to_uuid" "format_bytes" "geomcollection" "grouping" "gtid_subset"
        "gtid_subtract" "icu_version" "is_uuid" "json_schema_validation_report"
        "json_storage_free" "json_storage_size" "mbrcovers" "regexp_like" "roles_graphml"
        "st_buffer_strategy" "st_frechetdistance" "st_geomcollfromtxt" "st_hausdorffdistance"
        "st_latitude" "st_lineinterpolatepoint" "st_lineinterpolatepoints" "st_longitude"
        "st_makeenvelope" "st_numinteriorring" "st_pointatdistance" "st_swapxy" "st_transform"
        "statement_digest" "statement_digest_text" "uuid_to_bin" "validate_password_strength"
    ]
    Pure, 100_600, 80_004 => [
        "json_table"
    ]
    Pure, ALWAYS, NEVER => [
        "add_months" "area" "asbinary" "astext" "aswkb" "aswkt" "binlog_gtid_pos" "chr"
        "column_add" "column_check" "column_create" "column_delete" "column_exists" "column_get"
        "column_json" "column_list" "decode" "decode_histogram" "des_decrypt" "des_encrypt"
        "dimension" "encode" "encrypt" "envelope" "geometrytype" "geomfromtext" "geomfromwkb"
        "glength" "isempty" "json_compact" "json_detailed" "json_exists" "json_loose"
        "json_query" "lengthb" "linefromtext" "nvl" "nvl2" "old_password" "pointfromtext"
        "pointfromwkb" "polyfromtext" "rownum" "srid" "st_boundary" "st_isring"
        "st_pointonsurface" "st_relate" "sys_guid" "to_char" "x" "y"
    ]
    Pure, 101_003, ALWAYS => [
        "json_pretty"
    ]
    Pure, 101_000, ALWAYS => [
        "random_bytes"
    ]
    Pure, 100_900, 80_017 => [
        "json_overlaps"
    ]
    Pure, 100_800, NEVER => [
        "crc32c"
    ]
    Pure, 100_700, NEVER => [
        "json_equals" "json_normalize" "natural_sort_key" "sformat"
    ]
    Pure, 110_002, 80_016 => [
        "format_pico_time"
    ]
    Pure, 110_100, 80_017 => [
        "json_schema_valid"
    ]
    Pure, 110_200, NEVER => [
        "json_array_intersect" "json_key_value" "json_object_filter_keys" "json_object_to_array"
    ]
    Pure, 110_300, NEVER => [
        "kdf"
    ]
    Pure, 110_701, NEVER => [
        "uuid_v4" "uuid_v7" "vec_distance" "vec_distance_cosine" "vec_distance_euclidean"
        "vec_fromtext" "vec_totext"
    ]
    Pure, 120_100, ALWAYS => [
        "mbrcoveredby" "st_geohash" "st_isvalid" "st_latfromgeohash" "st_longfromgeohash"
        "st_pointfromgeohash" "st_simplify" "st_validate"
    ]
    Pure, NEVER, 90_000 => [
        "from_vector" "string_to_vector" "to_vector" "vector_dim" "vector_to_string"
    ]
    Pure, ALWAYS, 80_004 => [
        "current_role" "last_value" "regexp_instr" "regexp_replace" "regexp_substr" "row_number"
    ]
    Pure, ALWAYS, 80_021 => [
        "json_value"
    ]
}

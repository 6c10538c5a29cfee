//! Reads a line of `SHOW GRANTS`: whether the account may create users.

/// Between the privileges of a line and whom they are granted to, if they are global.
const GLOBALLY: &[u8] = b" ON *.* TO ";

/// Whether a line grants the global privilege CREATE USER, directly or by an active role.
pub(crate) fn creates_users(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"GRANT ") else {
        return false;
    };
    let mut windows = rest.windows(GLOBALLY.len());
    let Some(at) = windows.position(|window| window == GLOBALLY) else {
        return false;
    };
    // Names of roles are quoted: theirs could say anything.
    let privileges = &rest[..at];
    let is_plain = |byte: &u8| byte.is_ascii_uppercase() || b" ,_".contains(byte);
    let mut each = privileges.split(|&byte| byte == b',');
    privileges.iter().all(is_plain)
        && each.any(|one| matches!(one.trim_ascii(), b"CREATE USER" | b"ALL PRIVILEGES"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn global_privileges_count_wherever_they_come_from() {
        for line in [
            "GRANT CREATE USER ON *.* TO `role`",
            "GRANT ALL PRIVILEGES ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*0' WITH GRANT OPTION",
            "GRANT SELECT, CREATE USER, SHOW VIEW ON *.* TO \"a\"@\"%\"",
        ] {
            assert!(creates_users(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn other_privileges_and_other_places_do_not() {
        for line in [
            "",
            "GRANT",
            "GRANT USAGE ON *.* TO `a`@`%`",
            "GRANT ALL PRIVILEGES ON `shop`.* TO `a`@`%`",
            "GRANT CREATE USERS ON *.* TO `a`@`%`",
            "GRANT `CREATE USER` ON *.* TO `a`@`%`",
            "GRANT `x`,CREATE USER ON *.* TO `` TO `a`@`%`",
            "REVOKE CREATE USER ON *.* FROM `a`@`%`",
            "GRANT SELECT (`a`, CREATE USER ON *.* TO `) ON `b`.`c` TO `a`@`%`",
            "G\0R\0A\0N\0T\0",
        ] {
            assert!(!creates_users(line.as_bytes()), "{line}");
        }
    }
}

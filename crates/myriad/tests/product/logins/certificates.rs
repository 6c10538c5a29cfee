//! Certificates that are replaced while a thousand connections begin to speak TLS, again and again.

use super::crowd::Crowd;
use crate::support::{Database, FrontDoor, Pair, eventually};

#[test]
fn certificates_are_replaced_under_a_thousand_connections_and_no_login_fails() {
    let database = Database::private();
    database.execute(
        "CREATE TABLE sbtest.sbtest1 (id INT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60));
         INSERT INTO sbtest.sbtest1 SELECT seq, 0, 'c', 'pad' FROM shop.seq_1_to_100",
    );
    let folder = tempfile::tempdir().unwrap();
    let pair = Pair::in_folder(folder.path());
    let settings = pair.settings();
    let door = FrontDoor::start(database.address(), &settings.each_ref().map(String::as_str));
    let mut crowd = Crowd::reconnecting(&door, folder.path());
    let handshakes = || door.metric("myriad_tls_handshakes_total");
    let mut replaced = 0;
    while crowd.runs() {
        let before = handshakes();
        eventually("handshakes", || {
            (handshakes() > before + 200 || !crowd.runs()).then_some(())
        });
        pair.renew(&format!("number {replaced}"));
        door.reconfigure("admin.sql", "admin.sql");
        let read = "configuration read again";
        eventually("the other certificate", || {
            (door.log().matches(read).count() > replaced).then_some(())
        });
        replaced += 1;
    }
    assert!(replaced > 3, "{replaced}:\n{}", crowd.said());
    println!(
        "{replaced} certificates, {} handshakes\n{}",
        handshakes(),
        crowd.said()
    );
    crowd.assert_undisturbed();
    assert!(
        !door.log().contains("nothing was changed"),
        "{}",
        door.log()
    );
}

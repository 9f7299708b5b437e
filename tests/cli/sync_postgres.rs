//! One memory on several devices, through PostgreSQL: a server of the system's version is started for each test.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::home::Home;
use super::postgres::Server;
use super::sync::{Shared, said};

#[test]
fn devices_meet_in_a_table_of_which_each_role_sees_its_own_part() {
    let Some(server) = Server::start() else { return };
    let home = Home::new();
    let refused = home.fails(&["sync", "init", &server.url("ana")], 1);
    assert!(refused.contains("permission denied") && refused.contains("sync sql"), "{refused}");
    assert!(!refused.contains("ana:ana"), "the password is not shown: {refused}");
    server.sql("owner", &home.ok(&["sync", "sql"]));
    let refused = home.fails(&["sync", "init", &server.url("ana")], 1);
    assert!(refused.contains("permission denied") && refused.contains("GRANT"), "{refused}");
    server.sql("owner", "GRANT SELECT, INSERT, DELETE ON inglenook_piece TO ana, bo");
    // Twice does no harm.
    server.sql("owner", &home.ok(&["sync", "sql"]));

    let mut shared = Shared::through(tempfile::tempdir().unwrap(), server.url("ana"), 2);
    shared.homes[0].import(&[("user", "My lucky word is Quaver.")]);
    shared.homes[1].import(&[("user", "My locker code is 4711.")]);
    shared.exchange();
    shared.add();
    shared.homes[2].ok(&["memory", "forget", "--match", "4711", "--yes"]);
    shared.exchange();
    for home in &shared.homes {
        assert_eq!(said(home), ["My lucky word is Quaver."]);
    }
    let pieces = shared.in_pieces();
    assert!(pieces.contains("Quaver") && !pieces.contains("4711"), "{pieces}");
    let status = shared.homes[0].ok(&["sync", "status"]);
    assert!(status.contains("postgres://ana@127.0.0.1") && !status.contains("ana:ana"), "{status}");

    // Another role has its own, and can't reach these.
    let count = "SELECT count(*) FROM inglenook_piece";
    assert_ne!(server.sql("ana", count), "0");
    assert_eq!(server.sql("bo", count), "0");
    let forged =
        "INSERT INTO inglenook_piece (person, device, piece, bytes) VALUES ('ana', '', 9, '')";
    assert!(!server.psql("bo", "notes", forged).status.success());
    server.sql("bo", "DELETE FROM inglenook_piece");
    let other = Shared::through(tempfile::tempdir().unwrap(), server.url("bo"), 2);
    other.homes[0].import(&[("user", "I am Bo.")]);
    other.exchange();
    assert_eq!(said(&other.homes[1]), ["I am Bo."]);
    let joined = Home::new();
    let wrong = joined.fails(&["sync", "init", &server.url("bo"), "--code", &shared.code], 2);
    assert!(wrong.contains("not the code of this sync"), "{wrong}");

    // As PostgreSQL's own programs find it.
    let passfile = home.file("pgpass", format!("127.0.0.1:{}:notes:ana:ana\n", server.port));
    fs::set_permissions(&passfile, fs::Permissions::from_mode(0o600)).unwrap();
    let url = server.url("ana").replace("ana:ana@", "ana@");
    let mut init = home.command(&["sync", "init", &url, "--code", &shared.code]);
    init.env("PGPASSFILE", passfile).assert().success();
    assert_eq!(said(&home), ["My lucky word is Quaver."]);
}

#[test]
fn a_server_that_is_away_or_refuses_harms_nothing() {
    let Some(server) = Server::start() else { return };
    server.sql("owner", "GRANT CREATE ON SCHEMA public TO ana");
    let shared = Shared::through(tempfile::tempdir().unwrap(), server.url("ana"), 2);
    shared.homes[0].import(&[("user", "My lucky word is Quaver.")]);
    server.control("stop");
    let away = shared.homes[0].fails(&["sync", "now"], 1);
    assert!(away.contains("cannot connect to postgres://ana@127.0.0.1"), "{away}");
    assert!(away.contains("hint:") && !away.contains("ana:ana"), "{away}");
    server.control("start");
    server.sql("owner", "ALTER ROLE ana PASSWORD 'new'");
    let refused = shared.homes[0].fails(&["sync", "now"], 1);
    assert!(refused.contains("password authentication failed"), "{refused}");
    server.sql("owner", "ALTER ROLE ana PASSWORD 'ana'");
    shared.exchange();
    assert_eq!(said(&shared.homes[1]), ["My lucky word is Quaver."]);
    assert!(Path::new(&server.data()).exists());
}

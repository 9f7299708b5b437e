//! One memory on several devices, through a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inglenook::sync::{Code, Place};

use super::PROGRAM;
use super::home::Home;
use super::pieces;
use super::rng::Rng;

/// Devices that share a place.
pub struct Shared {
    dir: tempfile::TempDir,
    pub place: String,
    pub homes: Vec<Home>,
    pub code: String,
}

impl Shared {
    /// `n` devices, in a folder.
    pub fn new(n: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("shared").display().to_string();
        Self::through(dir, place, n)
    }

    pub fn through(dir: tempfile::TempDir, place: String, n: usize) -> Self {
        let mut shared = Self { dir, place, homes: Vec::new(), code: String::new() };
        for _ in 0..n {
            shared.add();
        }
        shared
    }

    pub fn add(&mut self) -> &Home {
        let home = Home::new();
        let name = format!("device{}", self.homes.len());
        let mut init = vec!["sync", "init", &self.place, "--name", &name];
        if self.homes.is_empty() {
            let said = home.ok(&init);
            self.code = said.lines().map(str::trim).find(|line| line.len() == 34).unwrap().into();
        } else {
            init.extend(["--code", &self.code]);
            home.ok(&init);
        }
        self.homes.push(home);
        self.homes.last().unwrap()
    }

    /// Everybody exchanges often enough to have what everybody has.
    pub fn exchange(&self) {
        for home in self.homes.iter().chain(&self.homes) {
            home.ok(&["sync", "now"]);
            home.ok(&["memory", "verify"]);
        }
    }

    /// All that is in the pieces, with the code.
    pub fn in_pieces(&self) -> String {
        pieces::texts(&Place::named(&self.place).unwrap(), &self.code.parse().unwrap())
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for dir in fs::read_dir(&self.place).unwrap().map(|e| e.unwrap().path()) {
            if dir.is_dir() {
                files.extend(fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()));
            }
        }
        files.sort();
        files
    }
}

/// What was said, in no order.
pub fn said(home: &Home) -> Vec<String> {
    let mut said: Vec<String> = home
        .ok(&["export"])
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["content"].as_str().unwrap().to_owned()
        })
        .collect();
    said.sort();
    said
}

fn say(home: &Home, text: &str) {
    home.import(&[("user", text)]);
}

#[test]
fn what_one_device_hears_all_know_and_what_one_forgets_is_nowhere() {
    // Four digits alone are in some digest, too.
    const CODE: &str = "Kiebitz4711";
    let mut shared = Shared::new(2);
    for (i, home) in shared.homes.iter().enumerate() {
        say(home, &format!("My lucky word on device {i} is Quaver{i}."));
    }
    say(&shared.homes[0], &format!("The code of my bicycle lock is {CODE}."));
    shared.exchange();
    shared.add();
    shared.exchange();
    for home in &shared.homes {
        assert_eq!(said(home).len(), 3);
        let answer = home.ok(&["ask", "What is my lucky word on device 1?"]);
        assert!(answer.contains("Quaver1"), "{answer}");
    }
    assert!(shared.in_pieces().contains(CODE));
    let status = shared.homes[2].json(&["sync", "status", "--json"]);
    assert_eq!((&status["devices"], &status["to_read"]), (&3.into(), &0.into()), "{status}");
    assert!(status["code"].is_null());

    shared.homes[2].ok(&["memory", "forget", "--match", CODE, "--yes"]);
    shared.exchange();
    for home in &shared.homes {
        assert!(!said(home).iter().any(|text| text.contains(CODE)));
        for file in fs::read_dir(home.data()).unwrap() {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            assert!(!bytes.windows(CODE.len()).any(|bytes| bytes == CODE.as_bytes()));
        }
    }
    let pieces = shared.in_pieces();
    assert!(pieces.contains("Quaver0") && !pieces.contains(CODE), "{pieces}");
    // Who comes later does not hear of it either.
    shared.add();
    assert_eq!(said(&shared.homes[3]), said(&shared.homes[0]));
    for file in shared.files() {
        let bytes = fs::read(file).unwrap();
        assert!(!bytes.windows(6).any(|bytes| bytes == b"Quaver"), "pieces are sealed");
    }
}

#[test]
fn a_wrong_code_an_empty_place_and_a_second_sync_are_refused() {
    let shared = Shared::new(1);
    let stranger = Home::new();
    let init =
        |place: &str, code: &str| stranger.fails(&["sync", "init", place, "--code", code], 2);
    let code = &shared.code;
    let slip = format!("{}{}", if code.starts_with('7') { '8' } else { '7' }, &code[1..]);
    assert!(init(&shared.place, &slip).contains("a letter or digit of the code is wrong"));
    assert!(init(&shared.place, &code[5..]).contains("has 28 letters and digits, this one 24"));
    let other = Code::random().unwrap().to_text();
    assert!(init(&shared.place, &other).contains("not the code of this sync"));
    let nobody = stranger.fails(&["sync", "init", &shared.place], 2);
    assert!(nobody.contains("nobody to ask") && nobody.contains("--code -"), "{nobody}");
    let empty = shared.dir.path().join("empty").display().to_string();
    assert!(init(&empty, code).contains("there is no sync in"));
    assert!(!Path::new(&empty).exists());
    stranger.fails(&["sync", "now"], 1);
    assert!(stranger.fails(&["sync", "status"], 1).contains("shared with no other device"));

    // By stdin, as people type it.
    let mut joined = stranger.command(&["sync", "init", &shared.place, "--code", "-"]);
    joined.write_stdin(format!("{}\n", code.to_lowercase().replace('-', " "))).assert().success();
    let again = stranger.fails(&["sync", "init", &shared.place, "--code", code], 2);
    assert!(again.contains("shared already"), "{again}");
    let shown = stranger.ok(&["sync", "status", "--show-code"]);
    assert!(shown.contains(code.as_str()), "{shown}");
}

#[test]
fn a_folder_that_is_away_or_another_one_harms_nothing() {
    let shared = Shared::new(2);
    say(&shared.homes[0], "My cello is called Olga.");
    let away = shared.dir.path().join("away");
    fs::rename(&shared.place, &away).unwrap();
    for mount_point_stays in [false, true] {
        if mount_point_stays {
            fs::create_dir(&shared.place).unwrap();
        }
        let gone = shared.homes[0].fails(&["sync", "now"], 1);
        assert!(gone.contains("is not there, or not whole") && gone.contains("hint:"), "{gone}");
        let status = shared.homes[0].run(&["sync", "status"]);
        assert!(String::from_utf8_lossy(&status.stdout).contains("Shared through"));
    }
    fs::remove_dir(&shared.place).unwrap();
    let other = Home::new();
    other.ok(&["sync", "init", &shared.place]);
    let another = shared.homes[0].fails(&["sync", "now"], 1);
    assert!(another.contains("not the code of this sync"), "{another}");
    fs::remove_dir_all(&shared.place).unwrap();
    fs::rename(&away, &shared.place).unwrap();
    shared.exchange();
    assert_eq!(said(&shared.homes[1]), ["My cello is called Olga."]);
}

#[test]
fn damage_is_named_stops_one_device_and_is_mended_by_it() {
    let shared = Shared::new(3);
    for (i, home) in shared.homes.iter().enumerate() {
        say(home, &format!("My number is {i}."));
    }
    let before = shared.files();
    shared.homes[0].ok(&["sync", "now"]);
    let files = shared.files();
    let written = files.iter().find(|file| !before.contains(file)).unwrap();
    let mut bytes = fs::read(written).unwrap();
    bytes[100] ^= 1;
    fs::write(written, &bytes).unwrap();
    for i in [2, 1, 2, 1] {
        let damaged = shared.homes[i].fails(&["sync", "now"], 1);
        assert!(damaged.contains("piece 2 of device0 can't be used"), "{damaged}");
    }
    assert_eq!(said(&shared.homes[1]), ["My number is 1.", "My number is 2."]);
    // In part, it is waited for.
    fs::write(written, &bytes[..200]).unwrap();
    let waiting = shared.homes[1].json(&["sync", "now", "--json"]);
    assert_eq!(waiting["waiting"], 1, "{waiting}");
    fs::remove_file(written).unwrap();
    shared.exchange();
    for home in &shared.homes {
        assert_eq!(said(home), ["My number is 0.", "My number is 1.", "My number is 2."]);
    }
}

#[test]
fn a_restored_backup_and_a_copied_home_lose_nothing_and_bring_nothing_back() {
    let shared = Shared::new(2);
    let home = &shared.homes[0];
    say(home, "My cat is called Minka.");
    say(home, "My dog is called Rex.");
    shared.exchange();
    let backup = home.file("backup.db", "");
    fs::remove_file(&backup).unwrap();
    home.ok(&["backup", backup.to_str().unwrap()]);
    home.ok(&["memory", "forget", "--match", "Rex", "--yes"]);
    say(home, "My fish is called Blub.");
    shared.exchange();
    home.ok_after_unlock(&["restore", backup.to_str().unwrap(), "--replace"]);
    assert!(said(home).contains(&"My dog is called Rex.".to_owned()));
    say(home, "My bird is called Pip.");
    shared.exchange();
    let expected = ["My bird is called Pip.", "My cat is called Minka.", "My fish is called Blub."];
    for home in &shared.homes {
        assert_eq!(said(home), expected);
    }
    let devices = home.json(&["sync", "devices", "--json"]);
    assert_eq!(devices.as_array().unwrap().len(), 3, "it goes on under another id: {devices}");
}

#[test]
fn the_pieces_of_a_lost_device_are_taken_over() {
    let mut shared = Shared::new(3);
    say(&shared.homes[1], "My lost laptop was blue.");
    say(&shared.homes[1], "I left it in the tram.");
    shared.exchange();
    let lost = shared.homes.remove(1);
    shared.homes[0].fails(&["sync", "remove", "device1"], 2);
    let none = shared.homes[0].fails(&["sync", "remove", "device7", "--yes"], 2);
    assert!(none.contains("there is no device device7"), "{none}");
    shared.homes[0].ok(&["memory", "forget", "--match", "tram", "--yes"]);
    shared.homes[0].ok(&["sync", "remove", "device1", "--yes"]);
    let devices = shared.homes[0].json(&["sync", "devices", "--json"]);
    assert_eq!(devices.as_array().unwrap().len(), 2, "{devices}");
    assert!(!shared.in_pieces().contains("tram"));
    shared.add();
    assert_eq!(said(shared.homes.last().unwrap()), ["My lost laptop was blue."]);

    // It was not lost after all.
    say(&lost, "It was found again.");
    shared.homes.push(lost);
    shared.exchange();
    for home in &shared.homes {
        assert_eq!(said(home), ["It was found again.", "My lost laptop was blue."]);
    }
    assert!(!shared.in_pieces().contains("tram"));
    let leaving = shared.homes.pop().unwrap();
    leaving.ok(&["sync", "remove", "device1", "--yes"]);
    leaving.fails(&["sync", "now"], 1);
    assert_eq!(said(&leaving).len(), 2, "what was shared stays");
    leaving.ok(&["memory", "verify"]);
}

#[test]
fn deaths_in_the_middle_of_an_exchange_lose_nothing() {
    let shared = Shared::new(2);
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos().into();
    let (mut rng, mut expected) = (Rng(seed), Vec::new());
    for round in 0..12 {
        for (i, home) in shared.homes.iter().enumerate() {
            let texts: Vec<String> =
                (0..5).map(|n| format!("Note {n} of round {round} on device {i}.")).collect();
            let messages: Vec<_> = texts.iter().map(|text| ("user", text.as_str())).collect();
            home.import(&messages);
            expected.extend(texts);
            if round % 3 == 2 {
                let gone = format!("Note 1 of round {} on device {}.", round - 1, 1 - i);
                // Where it has not come yet, the other device's exchange brings it later.
                if said(home).contains(&gone) {
                    home.ok(&["memory", "forget", "--match", &gone, "--yes"]);
                    expected.retain(|text| *text != gone);
                }
            }
            let mut child = Command::new(PROGRAM)
                .args(["sync", "now"])
                .env("INGLENOOK_HOME", home.data())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(rng.below(120)));
            child.kill().unwrap();
            child.wait().unwrap();
            home.ok_after_unlock(&["memory", "verify"]);
        }
    }
    shared.exchange();
    expected.sort();
    for home in &shared.homes {
        assert_eq!(said(home), expected, "seed {seed}");
    }
    // Nothing is left of what was cut off: neither files nor entries that count no longer.
    let pieces = shared.in_pieces();
    assert_eq!(pieces.matches("Note ").count(), expected.len(), "seed {seed}");
    assert!(shared.files().iter().all(|file| file.extension().is_some_and(|e| e == "piece")));
}

#[test]
fn a_policy_forbids_it() {
    let home = Home::new();
    for (policy, is_allowed) in
        [("sync = false", false), ("export = false", false), ("export = false\nsync = true", true)]
    {
        let file = home.file("policy.toml", policy);
        let place = home.dir.path().join(policy.replace([' ', '\n'], "")).display().to_string();
        let mut init = home.command(&["sync", "init", &place]);
        let output = init.env("INGLENOOK_POLICY", file).output().unwrap();
        assert_eq!(output.status.code(), Some(if is_allowed { 0 } else { 5 }), "{policy}");
    }
}

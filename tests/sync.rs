//! Three devices that write, forget, correct and fork as chance has it, and hear of each other in parts, twice or in another
//! order: in the end they hold the same, nothing is lost, and what was forgotten is nowhere.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "support/devices.rs"]
mod devices;
#[cfg(feature = "postgres")]
#[path = "support/pieces.rs"]
mod pieces;
#[cfg(feature = "postgres")]
#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/worker.rs"]
mod support;

use devices::{Device, World};
use inglenook::interfaces::Embedder as _;
use inglenook::memory::{Role, SemanticId};
use inglenook::store::AnyId;
use inglenook::testing::HashEmbedder;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Others by `INGLENOOK_SCHEDULES`: a number of them (a hundred take two minutes), or which (`52..53`).
const SCHEDULES: u64 = 6;
#[cfg(feature = "postgres")]
const SCHEDULES_ON_POSTGRES: u64 = 4;

/// Everybody hears everything, until nobody has anything to say.
fn settle(devices: &mut [Device]) {
    for _ in 0..20 {
        let mut is_quiet = true;
        for i in 0..devices.len() {
            let heard: Vec<_> = devices
                .iter()
                .enumerate()
                .filter(|(j, _)| *j != i)
                .flat_map(|(_, d)| d.log.concat())
                .collect();
            let applied = devices[i].hear(&heard);
            assert!(applied.held_back.is_empty() && applied.refused.is_empty(), "{applied:?}");
            is_quiet &= !devices[i].tell();
        }
        if is_quiet {
            return;
        }
    }
    panic!("they never come to an end");
}

fn inputs(device: &Device) -> String {
    let log = device.bed.store.read(|r| r.shared_log()).unwrap();
    log.iter().fold(String::new(), |all, entry| all + &format!("{entry:?}\n"))
}

#[track_caller]
fn same(a: &str, b: &str, when: &str) {
    for (n, (a, b)) in a.lines().zip(b.lines()).enumerate() {
        assert_eq!(a, b, "line {n}, {when}");
    }
    assert_eq!(a.lines().count(), b.lines().count(), "{when}");
}

/// Texts of whatever table a device has, in lowercase.
fn all_texts(device: &Device) -> String {
    let store = &device.bed.store;
    let rows = store.read(|r| Ok(serde_json::to_string(&r.rows()?).unwrap())).unwrap();
    format!("{rows}{}", inputs(device)).to_lowercase()
}

fn check(world: &World, devices: &[Device], schedule: &str) {
    for (i, device) in devices.iter().enumerate() {
        same(&inputs(device), &inputs(&devices[0]), schedule);
        let texts = all_texts(device);
        for word in world.forgotten() {
            let at = texts.find(&word.to_lowercase());
            let around = at.map(|at| texts.get(at.saturating_sub(120)..texts.len().min(at + 60)));
            assert!(at.is_none(), "{word} is still there, {schedule}, device {i}: {around:?}");
        }
        for (word, chat) in &world.said {
            assert!(
                world.may_be_gone(word, chat) || texts.contains(&word.to_lowercase()),
                "{word} is lost, {schedule}"
            );
        }
    }
}

/// Returns how many facts there are in the end.
fn run(seed: u64, n_steps: usize) -> usize {
    let mut rng = StdRng::seed_from_u64(seed);
    let schedule = format!("schedule {seed}");
    let mut world = World::default();
    // Every tenth on the disk, to be opened again.
    let mut devices: Vec<Device> =
        (0..3).map(|i| Device::new(i, seed.is_multiple_of(10))).collect();
    for step in 0..n_steps {
        let i = rng.random_range(0..devices.len());
        if rng.random_bool(0.3) {
            let mut heard = Vec::new();
            for (_, other) in devices.iter().enumerate().filter(|(j, _)| *j != i) {
                let share = [0.0, 0.3, 0.9, 1.0][rng.random_range(0..4)];
                // A piece comes whole or not at all.
                for piece in &other.log {
                    let n = if rng.random_bool(share) { rng.random_range(1..3) } else { 0 };
                    heard.extend(std::iter::repeat_n(piece, n).flatten().cloned());
                }
            }
            for at in (1..heard.len()).rev() {
                heard.swap(at, rng.random_range(0..=at));
            }
            devices[i].hear(&heard);
        } else if rng.random_bool(0.2) {
            devices[i].tell();
        } else if rng.random_bool(0.1) {
            let other = &devices[(i + 1) % devices.len()];
            devices[i].redact_both(other, &mut world, &mut rng);
        } else {
            devices[i].act(&mut world, &mut rng);
        }
        let found = devices[i].bed.store.read(|r| r.verify()).unwrap();
        assert!(found.is_empty(), "{schedule}, step {step}: {found:#?}");
    }
    settle(&mut devices);
    check(&world, &devices, &schedule);
    for device in &devices {
        device.bed.work();
    }
    settle(&mut devices);
    check(&world, &devices, &schedule);
    // One that comes later reads what still counts.
    let mut later = Device::new(9, false);
    let counts: Vec<_> = devices.iter().flat_map(Device::compacted).collect();
    let applied = later.hear(&counts);
    assert!(applied.held_back.is_empty() && applied.refused.is_empty(), "{applied:?}");
    later.tell();
    devices.push(later);
    settle(&mut devices);
    check(&world, &devices, &schedule);
    for text in counts.iter().map(|entry| format!("{entry:?}")) {
        let forgotten = world.forgotten().find(|word| text.contains(word.as_str()));
        assert_eq!(forgotten, None, "{schedule}: {text}");
    }
    rebuild(&world, &devices, &schedule)
}

fn rebuild(world: &World, devices: &[Device], schedule: &str) -> usize {
    let dumps: Vec<String> = devices.iter().map(Device::rebuilt).collect();
    for dump in &dumps {
        same(dump, &dumps[0], &format!("rebuilt, {schedule}"));
    }
    check(world, devices, schedule);
    dumps[0].lines().filter(|line| line.starts_with("  s")).count()
}

/// The same through a real server, by the exchanges that the program makes: a device that makes none for a while is cut off.
#[cfg(feature = "postgres")]
fn run_on(server: &postgres::Server, seed: u64, n_steps: usize) -> usize {
    use inglenook::sync::{Code, Place, SyncId};

    let (mut rng, mut world) = (StdRng::seed_from_u64(seed), World::default());
    let schedule = format!("schedule {seed} on PostgreSQL");
    let role = format!("s{seed}");
    server.sql("owner", &format!("CREATE ROLE {role} LOGIN PASSWORD '{role}' IN ROLE devices"));
    let (code, id) = (Code::random().unwrap(), SyncId::random().unwrap());
    let place = Place::Postgres(server.url(&role));
    let device = |n: u8| {
        let device = Device::new(n, seed.is_multiple_of(10));
        device.share(place.clone(), code.clone(), id.clone());
        device
    };
    let settle = |devices: &[Device]| {
        for _ in 0..20 {
            let done: Vec<_> = devices.iter().map(Device::exchange).collect();
            if done.iter().all(|done| done.received + done.sent + done.waiting == 0) {
                return;
            }
        }
        panic!("they never come to an end");
    };
    let mut devices: Vec<Device> = (0..3).map(device).collect();
    for step in 0..n_steps {
        let i = rng.random_range(0..devices.len());
        if rng.random_bool(0.25) {
            devices[i].exchange();
        } else if rng.random_bool(0.1) {
            let other = &devices[(i + 1) % devices.len()];
            devices[i].redact_both(other, &mut world, &mut rng);
        } else {
            devices[i].act(&mut world, &mut rng);
        }
        let found = devices[i].bed.store.read(|r| r.verify()).unwrap();
        assert!(found.is_empty(), "{schedule}, step {step}: {found:#?}");
    }
    settle(&devices);
    check(&world, &devices, &schedule);
    for device in &devices {
        device.bed.work();
    }
    devices.push(device(9));
    settle(&devices);
    check(&world, &devices, &schedule);
    let texts = pieces::texts(&place, &code);
    let forgotten = world.forgotten().find(|word| texts.contains(word.as_str()));
    assert_eq!(forgotten, None, "{schedule}: {texts}");
    rebuild(&world, &devices, &schedule)
}

/// Runs schedules, two at a time, and returns how many facts there are in the end.
fn all(n: u64, run: impl Fn(u64) -> usize + Sync + std::panic::RefUnwindSafe) -> usize {
    let asked = std::env::var("INGLENOOK_SCHEDULES").unwrap_or_else(|_| n.to_string());
    let (from, to) = asked.split_once("..").unwrap_or(("0", &asked));
    let (from, to, run) = (from.parse::<u64>().unwrap(), to.parse::<u64>().unwrap(), &run);
    let runs = |seeds: std::iter::StepBy<std::ops::Range<u64>>| {
        let run = |seed| std::panic::catch_unwind(|| run(seed)).map_err(|_| seed);
        seeds.map(run).collect::<Vec<Result<usize, u64>>>()
    };
    let ends: Vec<Result<usize, u64>> = std::thread::scope(|scope| {
        let threads = [0, 1].map(|n| scope.spawn(move || runs((from + n..to).step_by(2))));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let failed: Vec<u64> = ends.iter().filter_map(|end| end.err()).collect();
    let n_facts: usize = ends.into_iter().flatten().sum();
    println!("schedules {from}..{to}, {n_facts} facts");
    assert!(failed.is_empty(), "schedules {failed:?}");
    n_facts
}

#[test]
fn schedules_end_alike() {
    assert!(all(SCHEDULES, |seed| run(seed, 60)) > 10, "they compare nothing");
}

#[cfg(feature = "postgres")]
#[test]
fn schedules_through_postgresql_end_alike() {
    let Some(server) = postgres::Server::start() else { return };
    server.sql("owner", inglenook::sync::SQL);
    // Two schedules that begin at once would grant at once: "tuple concurrently updated".
    server.sql("owner", "CREATE ROLE devices");
    server.sql("owner", "GRANT SELECT, INSERT, DELETE ON inglenook_piece TO devices");
    let n_facts = all(SCHEDULES_ON_POSTGRES, |seed| run_on(&server, seed, 60));
    assert!(n_facts > 10, "they compare nothing");
}

/// Another device's chat goes on in a fork, which shows what was said there until then and no more.
#[test]
fn who_goes_on_with_anothers_chat_goes_on_in_a_fork() {
    let mut devices: Vec<Device> = (0..2).map(|i| Device::new(i, false)).collect();
    let chat = devices[0].bed.session("Lund");
    devices[0].bed.say(chat, Role::User, "I moved to Lund.");
    devices[0].bed.say(chat, Role::Assistant, "Noted.");
    settle(&mut devices);
    let there = devices[1].bed.store.read(|r| Ok(r.sessions()?[0].id)).unwrap();
    let at = devices[1].now();
    let error = devices[1].bed.store.write(|tx| {
        let new = inglenook::memory::NewMessage::new(Role::User, "No.", at);
        tx.append_message(there, &new)
    });
    assert!(error.unwrap_err().to_string().contains("another device's"));
    let fork = devices[1].bed.store.write(|tx| tx.own_session(there, at)).unwrap();
    devices[1].bed.say(fork, Role::User, "And my sister lives in Oslo.");
    devices[0].bed.say(chat, Role::User, "My dog is called Max.");
    settle(&mut devices);
    for device in &devices {
        let texts: Vec<Vec<String>> = device
            .bed
            .store
            .read(|r| {
                let mut sessions = r.sessions()?;
                sessions.sort_by_key(|s| s.id);
                sessions
                    .iter()
                    .map(|s| {
                        Ok(r.conversation(s.id)?.messages.into_iter().map(|m| m.content).collect())
                    })
                    .collect()
            })
            .unwrap();
        assert_eq!(
            texts,
            [
                vec!["I moved to Lund.", "Noted.", "My dog is called Max."],
                vec!["I moved to Lund.", "Noted.", "And my sister lives in Oslo."],
            ]
        );
    }
    same(&devices[0].rebuilt(), &devices[1].rebuilt(), "rebuilt");
    println!("{}", devices[0].rebuilt());
}

/// Facts that hold on each of the devices, made anew; all have the same.
#[track_caller]
fn facts(devices: &mut [Device]) -> Vec<String> {
    settle(devices);
    let dumps: Vec<String> = devices.iter().map(Device::rebuilt).collect();
    for dump in &dumps {
        same(dump, &dumps[0], "rebuilt");
    }
    settle(devices);
    devices[0].bed.current()
}

fn fact(device: &Device, text: &str) -> SemanticId {
    let facts = device.bed.semantics();
    let found = facts.iter().find(|fact| fact.content == text);
    found.unwrap_or_else(|| panic!("{text} is none of {facts:#?}")).id
}

fn strike(device: &Device, text: &str) {
    let ids = [AnyId::Semantic(fact(device, text))];
    let store = &device.bed.store;
    let plan = store.read(|r| r.plan_strike(&ids)).unwrap();
    store.write(|tx| tx.forget(&plan)).unwrap();
}

fn correct(device: &Device, text: &str, to: &str) {
    let id = fact(device, text);
    let vector = HashEmbedder.embed(&[to]).unwrap().remove(0);
    device.bed.store.write(|tx| tx.edit_semantic(id, to, &vector)).unwrap();
}

/// Of a fact and of what is left of it the person's last word counts, on every device: if they said it, and if it was a correction.
#[test]
fn the_persons_last_word_counts_of_what_is_left_of_a_fact_too() {
    const CATS: &str = "The user has two cats, Fifi and Tom";
    const TOM: &str = "The user has one cat, Tom";
    const MAX: &str = "The user has one cat, Max";
    let said = |is_correction: bool| {
        let mut devices: Vec<Device> = (0..2).map(|i| Device::new(i, false)).collect();
        let say = |device: &Device, text: &str| {
            device.bed.say(device.bed.session("A chat"), Role::User, text);
            device.bed.work();
        };
        if is_correction {
            say(&devices[0], "I adopted a hamster.");
            correct(&devices[0], &devices[0].bed.current().remove(0), CATS);
        } else {
            say(&devices[0], "I have two cats, Fifi and Tom.");
        }
        settle(&mut devices);
        say(&devices[1], "Fifi died last week.");
        let all = facts(&mut devices);
        assert!(all.contains(&TOM.to_owned()) && !all.contains(&CATS.to_owned()), "{all:#?}");
        devices
    };
    for is_correction in [false, true] {
        for (i, deed, text) in [(0, "strike", TOM), (1, "strike", CATS), (0, "correct", TOM)] {
            let mut devices = said(is_correction);
            if deed == "strike" {
                strike(&devices[i], text);
            } else {
                correct(&devices[i], text, MAX);
            }
            let all = facts(&mut devices);
            let about = format!("{deed} {text} {is_correction}: {all:#?}");
            assert!(!all.iter().any(|fact| fact.contains("Tom")), "{about}");
            assert_eq!(all.contains(&MAX.to_owned()), deed == "correct", "{about}");
            assert!(all.iter().any(|fact| fact.starts_with("Fifi died")), "{about}");
            for device in &devices {
                assert_eq!(all_texts(device).contains("tom"), !is_correction, "{about}");
            }
        }
    }
}

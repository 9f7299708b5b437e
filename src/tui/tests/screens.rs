//! Snapshots at 40×12, 80×24 and 200×60.

use super::*;
use crate::chat::sampling::{Setting, SettingValue, Settings};
use crate::chat::{Level, OwnFile as _, Persona, Window};
use crate::interfaces::{LoadProgress, ModelSummary};
use crate::memory::Moment;
use crate::store::{ForgetPlan, Found};
use crate::texts::in_german;
use crate::tui::event::{Greeting, OtherPlan};
use crate::tui::state::{Pane, WhyPane};

const SIZES: [(u16, u16); 3] = [(40, 12), (80, 24), (200, 60)];

/// The screens that are kept in German, too.
const IN_GERMAN: [&str; 12] = [
    "welcome",
    "welcome_back",
    "chat",
    "chosen",
    "completion",
    "help",
    "page_you",
    "memory",
    "why",
    "sessions",
    "models",
    "learned",
];

#[track_caller]
pub(super) fn check(name: &str, start: fn(u16, u16) -> Harness, then: impl Fn(&mut Harness)) {
    for (width, height) in SIZES {
        let size = format!("{width}x{height}");
        let seen = || {
            let mut h = start(width, height);
            then(&mut h);
            // Once to lay it out, once from the cached layout: the second frame must be the same.
            let first = h.screen();
            let text = h.screen();
            assert_eq!(first, text, "{name} at {size} flickers");
            text
        };
        let (english, german) = (seen(), in_german(seen));
        if (width, height) == (80, 24) {
            assert_fits(&english, &german);
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../../../tests/snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| {
            insta::assert_snapshot!(format!("{name}_{size}"), english);
            if IN_GERMAN.contains(&name) {
                insta::assert_snapshot!(format!("{name}_de_{size}"), german);
            }
        });
    }
}

/// German cuts nothing that English shows whole, and leaves out no hint.
#[track_caller]
pub(super) fn assert_fits(english: &str, german: &str) {
    let [e, g] = [english, german]
        .map(|screen| (screen.matches('…').count(), screen.matches(" · ").count()));
    assert!(g.0 <= e.0 && g.1 >= e.1, "{english}\n{german}");
}

fn talked(width: u16, height: u16) -> Harness {
    let mut h = Harness::ready(width, height);
    h.exchange(
        1,
        "I moved to Lund last week. Max came along, he is a Labrador mix.",
        "Noted: you moved to Lund (week of 9 November 2026). Max is a Labrador mix.",
        json!({}),
    );
    h.exchange(
        2,
        "Where do I live?",
        "You moved to **Lund** in the week of 9 November 2026.\n\n- said on 16 November 2026\n\
         - before that: Malmö 日本語 🐕",
        record(),
    );
    h
}

#[test]
fn loading() {
    check("loading", Harness::new, |h| {
        h.chat(Update::Loading { name: Some("qwen3-0.6b".into()) });
        h.chat(Update::LoadProgress(LoadProgress {
            stage: "reading weights".into(),
            fraction: Some(0.43),
        }));
        h.type_str("I can type already");
    });
}

#[test]
fn welcome() {
    check("welcome", Harness::ready, |_| {});
}

#[test]
fn welcome_back() {
    check("welcome_back", Harness::ready, |h| {
        let at = |day: &str| {
            let at = format!("2026-11-{day}T09:00:00Z").parse().unwrap();
            Moment::new(at, jiff::tz::Offset::UTC)
        };
        h.feed(Event::Store(StoreReply::Greeting(Greeting {
            name: Some("Ana".into()),
            chats: vec![
                (SessionId(1), "I moved to Lund last week".into(), at("21")),
                (SessionId(2), "What is Max allergic to?\u{1b}[31m".into(), at("20")),
                (
                    SessionId(3),
                    "A walk along the coast with Max, who would not come out of the water".into(),
                    at("16"),
                ),
            ],
            learned: None,
            facts: vec!["You moved to Lund (week of 9 November 2026).".into()],
        })));
    });
}

#[test]
fn chat() {
    check("chat", talked, |h| {
        h.chat(Update::Window(Window { used_tokens: 412, limit_tokens: 8_192, n_dropped: 0 }));
        h.worker(WorkerState::Working { what: "noting facts".into() }, 2);
    });
}

#[test]
fn streaming() {
    check("streaming", talked, |h| {
        h.chat(Update::Ready(qwen()));
        h.chat(Update::Window(Window { used_tokens: 8_100, limit_tokens: 8_192, n_dropped: 2 }));
        h.enter("And since when?");
        h.chat(Update::UserMessage {
            title: "I moved to Lund last week".into(),
            message: message(9, Role::User, "And since when?"),
        });
        h.chat(Update::Phase(PhaseName::Recalling));
        h.chat(Update::Phase(PhaseName::Replying));
        h.chat(Update::ReplyText("Since the week of 9 Novem".into()));
    });
}

#[test]
fn recalling() {
    check("recalling", talked, |h| {
        h.chat(Update::Notice {
            level: Level::Warning,
            text: "Two memory jobs failed; `inglenook doctor` says why.".into(),
        });
        h.chat(Update::Phase(PhaseName::Recalling));
        h.chat(Update::Progress("3 of 10 episodes".into()));
    });
}

#[test]
fn multi_line_input_and_completion() {
    check("completion", Harness::ready, |h| h.type_str("/m"));
    check("completion_settings", Harness::ready, |h| h.type_str("/set "));
    check("multi_line", talked, |h| {
        h.type_str("one line");
        h.press("alt-enter");
        h.type_str("a second line that is long enough to wrap at forty columns");
        h.press("shift-enter");
        h.paste(&"pasted ".repeat(1_000));
    });
}

#[test]
fn how_replies_are_drawn() {
    check("settings", talked, |h| {
        let mut profile = qwen();
        let text = "---\ntop_p: 0.5\n---\nYou translate.";
        profile.role = Some(Persona::parse("fr", text).unwrap().into());
        h.chat(Update::Ready(profile));
        h.state.sampling.configured.insert(Setting::MinP, SettingValue::Number(0.1));
        h.chat(Update::Sampling(Settings::from([(
            Setting::Temperature,
            SettingValue::Number(0.2),
        )])));
        h.tick(40);
        h.enter("/set");
    });
}

#[test]
fn help() {
    check("help", talked, |h| h.press("f1"));
}

#[test]
fn memory_tree() {
    check("memory", talked, |h| {
        h.press("ctrl-t");
        h.feed(Event::Store(StoreReply::Tree(tree())));
        h.keys("5 right down down right down right");
        h.feed(Event::Store(episode_messages()));
        h.press("up");
    });
    check("memory_empty", Harness::ready, |h| {
        h.press("ctrl-t");
        h.feed(Event::Store(StoreReply::Tree(Tree::default())));
    });
}

#[test]
fn why_pane() {
    let said = |h: &mut Harness| {
        h.press("ctrl-g");
        let Some(Pane::Why(WhyPane { reply: Some(reply), .. })) = h.state.pane else { return };
        let said = vec![
            message(
                1,
                Role::User,
                "I moved to Lund last week. The flat is small, but it has a view of the cathedral.",
            ),
            Message {
                speaker: Some("Clara".into()),
                ..message(2, Role::User, "You live in Lund now?")
            },
        ];
        h.feed(Event::Store(StoreReply::Grounds { reply, said }));
    };
    check("why", talked, said);
    check("why_in_detail", talked, |h| h.keys("ctrl-g ctrl-g"));
    check("why_empty", Harness::ready, |h| h.press("ctrl-g"));
}

#[test]
fn sessions() {
    check("sessions", talked, |h| {
        h.press("ctrl-s");
        h.feed(Event::Store(StoreReply::Sessions(vec![
            session(1, "I moved to Lund last week", "2026-11-21T09:00:00Z", false),
            session(
                12,
                "A title that is much longer than a narrow screen is wide",
                "2026-11-20T09:00:00Z",
                false,
            ),
            session(419, "conv-26, session 3", "2023-05-25T13:14:00Z", true),
        ])));
    });
}

#[test]
fn a_chosen_message_and_found_ones() {
    check("chosen", talked, |h| {
        h.screen();
        h.keys("up up");
    });
    check("code", Harness::ready, |h| {
        h.exchange(
            1,
            "How do I read a file?",
            "Like this:\n\n```rust\nlet text = std::fs::read_to_string(\"notes.md\")?; // all of it\n```\n\n\
             | what | how |\n|---|---|\n| a line | `lines()` |\n\n1. open\n2. read, see [the book](https://doc.rust-lang.org)\n",
            json!({}),
        );
    });
    check("found", talked, |h| {
        h.press("ctrl-s");
        h.feed(Event::Store(StoreReply::Sessions(vec![Session {
            pinned: true,
            ..session(1, "I moved to Lund last week", "2026-11-21T09:00:00Z", false)
        }])));
        h.type_str("lund");
        h.feed(Event::Store(StoreReply::Found { query: "lu".into(), found: Vec::new() }));
        h.feed(Event::Store(StoreReply::Found {
            query: "lund".into(),
            found: vec![Found {
                session: SessionId(12),
                title: "A new bike".into(),
                message: MessageId(40),
                role: Role::User,
                at: super::at("2026-11-20T09:00:00Z"),
                snippet: "…there is a shop in \u{1}Lund\u{2} that repairs them while you wait"
                    .into(),
            }],
        }));
    });
}

#[test]
fn models() {
    check("models", talked, |h| {
        h.press("ctrl-l");
        let model = |name: &str, bytes, starter, in_use| ModelSummary {
            name: name.into(),
            bytes,
            starter,
            in_use,
        };
        let installed = vec![
            model("starter", 92_700_000, true, true),
            model("qwen3-0.6b", 397_000_000, false, false),
        ];
        h.feed(Event::Store(StoreReply::Models { installed, pullable: pullable() }));
        h.press("down");
    });
}

#[test]
fn forget_question() {
    check("forget", talked, |h| {
        h.feed(Event::Store(StoreReply::ForgetPlan {
            plan: ForgetPlan { messages: vec![MessageId(4)], ..ForgetPlan::default() },
            lines: vec![
                "2 messages".into(),
                "  You: I moved to Lund last week. Max came along, he is a Labrador mix.".into(),
                "  Inglenook: Noted: you moved to Lund (week of 9 November 2026).".into(),
                String::new(),
                "1 fact".into(),
                "  The user moved to Lund (week of 9 November 2026)".into(),
                String::new(),
                "Forgetting can't be undone.".into(),
            ],
            other: Some(Box::new(OtherPlan { what: "only the fact", plan: ForgetPlan::default() })),
        }));
    });
}

#[test]
fn incognito() {
    check("incognito", Harness::ready, |h| h.chat(no_session(true)));
}

#[test]
fn errors() {
    check("errors", Harness::ready, |h| {
        h.chat(Update::UserMessage { title: "Hi".into(), message: message(1, Role::User, "Hi") });
        h.chat(Update::Notice {
            level: Level::Error,
            text: "The reply failed: the model computed a value that is not a number (damaged \
                   weights?). Your message is kept; /retry asks again."
                .into(),
        });
        h.chat(Update::LoadFailed { error: "no such file".into(), still: None });
    });
}

//! Roles, downloads, and sentences that ask to forget.

use super::*;
use crate::chat::{Command, Persona, Update};
use crate::tui::event::StoreRequest;

#[test]
fn roles_are_chosen_from_a_list_or_by_name() {
    let read = |name: Option<&str>| Effect::Store(StoreRequest::Roles(name.map(Into::into)));
    for (typed, done) in [
        ("/role fr", read(Some("fr"))),
        ("/role none", Effect::Chat(Command::Role(None))),
        ("/role", read(None)),
    ] {
        let mut h = Harness::ready(80, 24);
        h.paste(typed);
        h.press("enter");
        assert_eq!(h.take(), [done], "{typed}");
    }
    let mut h = Harness::ready(80, 24);
    h.paste("/role");
    h.press("enter");
    h.take();
    let role = Persona::parse("fr", "You translate into French.").unwrap();
    let unusable = vec![("bad".to_owned(), "it says nothing to the model".to_owned())];
    h.feed(Event::Store(StoreReply::Roles { roles: vec![role.clone()], unusable }));
    assert!(h.screen().contains("can't be used: it says nothing"), "{}", h.screen());
    h.keys("down enter");
    assert_eq!(h.take(), [Effect::Chat(Command::Role(Some(role.clone().into())))]);
    h.feed(Event::Store(StoreReply::Role(Ok(role.clone()))));
    assert_eq!(h.take(), [Effect::Chat(Command::Role(Some(role.clone().into())))]);
    let mut profile = starter();
    profile.role = Some(role.into());
    h.chat(Update::Ready(profile));
    assert!(h.screen().contains("As fr. /role none ends it."));
    h.press("x");
    h.feed(Event::Store(StoreReply::Role(Err("there is no role de".into()))));
    assert!(h.screen().contains("there is no role de"));
    h.chat(Update::Ready(starter()));
    assert!(h.screen().contains("An assistant again."));
}

#[test]
fn a_model_is_downloaded_in_the_chat() {
    let mut h = Harness::ready(100, 24);
    h.press("ctrl-l");
    h.take();
    let models = StoreReply::Models { installed: Vec::new(), pullable: pullable() };
    h.feed(Event::Store(models.clone()));
    // What suits this machine stands first; it asks first.
    h.keys("down enter");
    assert!(h.screen().contains("from https://huggingface.co/org/good-4b"), "{}", h.screen());
    assert_eq!(h.take(), []);
    h.press("enter");
    assert_eq!(h.take(), [], "Enter is no");
    h.press("ctrl-l");
    h.take();
    h.feed(Event::Store(models.clone()));
    h.keys("down enter y");
    assert_eq!(h.take(), [Effect::Chat(Command::Pull("good-4b".into()))]);
    let (name, total_bytes) = ("good-4b".to_owned(), 2_500_000_000);
    h.chat(Update::Pulling { name: name.clone(), bytes: 500_000_000, total_bytes });
    assert!(h.screen().contains("↓ good-4b 500.0 MB of 2.5 GB · Esc stops"), "{}", h.screen());
    h.clock.advance(jiff::SignedDuration::from_secs(10));
    h.chat(Update::Pulling { name: name.clone(), bytes: 600_000_000, total_bytes });
    let left = "600.0 MB of 2.5 GB · 10.0 MB/s · 4 min left";
    assert!(h.screen().contains(left), "{}", h.screen());
    // One at a time.
    h.press("ctrl-l");
    h.feed(Event::Store(models));
    h.keys("down down enter y");
    h.take();
    assert!(h.screen().contains("one at a time"), "{}", h.screen());
    h.press("esc");
    assert_eq!(h.take(), [Effect::Chat(Command::StopPull)]);
    h.chat(Update::Pulled { name: name.clone(), result: Ok(false) });
    assert!(h.screen().contains("What has come is kept"));
    h.chat(Update::Pulled { name, result: Err("the hub is silent".into()) });
    assert!(h.screen().contains("the hub is silent"));
}

#[test]
fn a_sentence_that_forgets_nothing_is_not_lost() {
    let mut h = Harness::ready(80, 24);
    let (what, text) = ("my shoe size".to_owned(), "forget my shoe size".to_owned());
    h.feed(Event::Store(StoreReply::NothingAbout { what, text }));
    assert_eq!(h.state.editor.shown(), "forget my shoe size");
    assert!(h.screen().contains("I know nothing of my shoe size."));
}

use super::*;

#[test]
fn what_a_message_wants() {
    assert_eq!(intent(""), Intent::Other);
    for expected in [
        Intent::Question,
        Intent::Statement,
        Intent::Greeting,
        Intent::Thanks,
        Intent::Request,
        Intent::Other,
    ] {
        for (text, _) in cases(include_str!("cases/intents.txt"), &format!("{expected:?}")) {
            assert_eq!(intent(&text), expected, "of {text:?}");
        }
    }
}

#[test]
fn a_request_tells_nothing_unless_it_does() {
    for text in [
        "Write a note to my landlord about the heating.",
        "Plan a Saturday for me.",
        "suggest a dish",
    ] {
        assert!(only_requests(text), "{text}");
    }
    for text in [
        "Suggest a dinner. I am allergic to peanuts.",
        "Forget the name Lantern, I'm calling the side project Firefly.",
        "Plan to see Rome in May.",
        "My landlord is called Mr Vermeulen.",
        "Where do I live?",
    ] {
        assert!(!only_requests(text), "{text}");
    }
}

#[test]
fn who_is_asked_for_in_the_present_may_be_somebody_memory_knows() {
    for text in [
        "who works with wood?",
        "Who's allergic to nuts?",
        "who is vegetarian?",
        "Who plays the cello?",
    ] {
        assert!(asks_who(text), "{text}");
    }
    for text in [
        "Who won the cup in 1998?",
        "who is the president of France?",
        "Who is Einstein?",
        "Who's Ada Lovelace?",
        "who wrote Hamlet",
        "What works with wood?",
        "who",
    ] {
        assert!(!asks_who(text), "{text}");
    }
}

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

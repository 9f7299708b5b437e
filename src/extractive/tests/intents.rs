use super::*;

#[test]
fn what_a_message_wants() {
    use Intent::{Greeting, Other, Question, Request, Statement, Thanks};
    for (text, expected) in [
        ("hi", Greeting),
        ("Hello there!", Greeting),
        ("good morning", Greeting),
        ("bye!", Greeting),
        ("thanks!", Thanks),
        ("thank you so much", Thanks),
        ("ok thanks", Thanks),
        ("What is my dog's name?", Question),
        ("whats my dogs name", Question),
        ("where do i live", Question),
        ("do you know my name", Question),
        ("do you remember when I moved", Question),
        ("tell me what you know about me", Question),
        ("Tell me about Max", Question),
        ("remind me where I parked", Question),
        ("who am I", Question),
        ("how old is max", Question),
        ("is Max a labrador", Question),
        ("What do we know about Max?", Question),
        ("I moved to Lund. Where is a good bakery?", Question),
        ("My dog Max is a golden retriever.", Statement),
        ("im sara and i live in leeds", Statement),
        ("Remember that I'm allergic to nuts", Statement),
        ("my name is Ana", Statement),
        ("Hi, I'm Ana!", Statement),
        ("When I was 12, I lived in Rome", Statement),
        ("What I love most is hiking in the mountains", Statement),
        ("call me Ana", Statement),
        ("Max is now 5 years old.", Statement),
        ("He loves playing fetch", Statement),
        ("write a poem about autumn", Request),
        ("tell me a joke", Request),
        ("Can you help me with my homework?", Request),
        ("summarize this text please", Request),
        ("translate hello into French", Request),
        ("ok", Other),
        ("lol", Other),
        ("", Other),
        ("that's great", Other),
        ("asdf qwer zxcv", Other),
    ] {
        assert_eq!(intent(text), expected, "of {text:?}");
    }
}

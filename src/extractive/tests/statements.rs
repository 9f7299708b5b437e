use super::*;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(of_ana(text), expected, "of {text:?}");
    let route = route(&said("Ana", None, text));
    if !expected.is_empty() {
        assert_eq!(route, Route::Store, "of {text:?}");
    }
}

#[track_caller]
fn nothing(text: &str) {
    assert_eq!(of_ana(text), Vec::<String>::new(), "of {text:?}");
    assert_eq!(route(&said("Ana", None, text)), Route::Discard, "of {text:?}");
}

#[test]
fn one_fact() {
    for (text, expected) in [
        ("I live in Lund.", "Ana lives in Lund"),
        ("i live in Lund", "Ana lives in Lund"),
        ("I'm a nurse", "Ana is a nurse"),
        ("im a nurse", "Ana is a nurse"),
        ("I am 34 years old!", "Ana is 34 years old"),
        ("I work as a nurse at the hospital", "Ana works as a nurse at the hospital"),
        ("I moved to Lund last week", "Ana moved to Lund (week of 9 November 2026)"),
        ("I ran a marathon yesterday!!", "Ana ran a marathon on 20 November 2026"),
        ("I don't eat meat", "Ana doesn't eat meat"),
        ("i dont eat meat", "Ana doesn't eat meat"),
        ("I've been to Japan twice", "Ana has been to Japan twice"),
        ("ive been to Japan twice", "Ana has been to Japan twice"),
        ("I'm allergic to peanuts 🥜", "Ana is allergic to peanuts"),
        ("my favourite colour is blue", "Ana's favourite colour is blue"),
        ("My favorite food is sushi :)", "Ana's favorite food is sushi"),
        ("My birthday is on 3 May", "Ana's birthday is on 3 May"),
        ("my phone number is 555-1234", "Ana's phone number is 555-1234"),
        ("my email is ana@example.org.", "Ana's email is ana@example.org"),
        ("please remember that my wifi password is hunter2", "Ana's wifi password is hunter2"),
        ("Remember: the gate code is 4821", "The gate code is 4821"),
        ("Don't forget that I have an exam tomorrow", "Ana has an exam on 22 November 2026"),
        ("Did you know that I have a cat?", "Ana has a cat"),
        ("btw i hate mushrooms", "Ana hates mushrooms"),
        ("Actually, I prefer tea.", "Ana prefers tea"),
        ("Well, to be honest, I can't stand opera", "Ana can't stand opera"),
        ("By the way, my car is a Volvo", "Ana's car is a Volvo"),
        ("Max gets anxious during thunderstorms.", "Max gets anxious during thunderstorms"),
        ("I used to smoke", "Ana used to smoke"),
        ("I'm not vegetarian anymore", "Ana is not vegetarian anymore"),
        ("I play the violin", "Ana plays the violin"),
        ("I speak Swedish and a bit of German", "Ana speaks Swedish and a bit of German"),
        ("My parents live in Wales", "Ana's parents live in Wales"),
        (
            "my wife and I are expecting a baby in March",
            "Ana's wife and Ana are expecting a baby in March 2027",
        ),
        (
            "Tom and I went to Paris last weekend",
            "Tom and Ana went to Paris (weekend of 14 November 2026)",
        ),
        ("Just got back from Japan!", "Ana just got back from Japan"),
        (
            "Went to the dentist this morning",
            "Ana went to the dentist on the morning of 21 November 2026",
        ),
        (
            "Gonna visit my brother next Friday",
            "Ana is gonna visit Ana's brother on Friday 27 November 2026",
        ),
        ("Been learning Spanish for two years", "Ana has been learning Spanish for two years"),
        (
            "We adopted a puppy on Tuesday",
            "Ana and others adopted a puppy on Tuesday 17 November 2026",
        ),
        ("I live by myself", "Ana lives alone"),
        ("I'd like to visit Iceland someday", "Ana would like to visit Iceland someday"),
        (
            "The meeting with Bob is at 3pm on Friday",
            "The meeting with Bob is at 3pm on Friday 27 November 2026",
        ),
        ("Yesterday I met Tom", "On 20 November 2026 Ana met Tom"),
        ("Last week, I quit my job", "In the week of 9 November 2026, Ana quit Ana's job"),
        (
            "I took Dr. Smith's course at 9 a.m. on Monday",
            "Ana took Dr. Smith's course at 9 a.m. on Monday 16 November 2026",
        ),
        ("My sister just had a baby!", "Ana's sister just had a baby"),
        ("I have 2 kids", "Ana has 2 kids"),
        ("I was born in 1991", "Ana was born in 1991"),
        (
            "I think my landlord is selling the house",
            "Ana thinks Ana's landlord is selling the house",
        ),
        ("no, I live in Oslo now", "Ana lives in Oslo now"),
        ("I read a lot of science fiction", "Ana reads a lot of science fiction"),
        ("hey so I got a new job at Spotify", "Ana got a new job at Spotify"),
        ("I go to the gym three times a week", "Ana goes to the gym three times a week"),
        ("I watch every Arsenal game", "Ana watches every Arsenal game"),
        ("My son's school starts at 8:30", "Ana's son's school starts at 8:30"),
    ] {
        check(text, &[expected]);
    }
}

#[test]
fn several_facts_in_one_message() {
    check("I'm 34 and I live in Lund", &["Ana is 34", "Ana lives in Lund"]);
    check(
        "I'm 34, I live in Lund and work as a nurse",
        &["Ana is 34", "Ana lives in Lund", "Ana works as a nurse"],
    );
    check("I like tea but I hate coffee", &["Ana likes tea", "Ana hates coffee"]);
    check("i like tea and hate coffee", &["Ana likes tea", "Ana hates coffee"]);
    check("I'm vegetarian and allergic to nuts", &["Ana is vegetarian", "Ana is allergic to nuts"]);
    check(
        "I used to live in Rome but now I live in Lund",
        &["Ana used to live in Rome", "Now Ana lives in Lund"],
    );
    check(
        "My favorite book is The Hobbit, and my favorite movie is Alien.",
        &["Ana's favorite book is The Hobbit", "Ana's favorite movie is Alien"],
    );
    check("leo is 6 and mia is 3", &["Leo is 6", "Mia is 3"]);
    check(
        "- I live in Lund\n- I have a cat\n- I hate Mondays",
        &["Ana lives in Lund", "Ana has a cat", "Ana hates Mondays"],
    );
    check("I live in Lund 😀 I love my flat", &["Ana lives in Lund", "Ana loves Ana's flat"]);
    check("I moved to Lund. What's a good restaurant there?", &["Ana moved to Lund"]);
    check("Hi! How are you? I'm a teacher.", &["Ana is a teacher"]);
    check("I'm 25 and i jsut moved to Lund", &["Ana is 25", "Ana jsut moved to Lund"]);
    check("im 25 i live in Paris", &["Ana is 25", "Ana lives in Paris"]);
    check("ive got a dog hes called rex", &["Ana has got a dog", "Ana's dog is called Rex"]);
    check("I love the house I live in", &["Ana loves the house Ana lives in"]);
    check("my dog is sick nice to meet you", &["Ana's dog is sick"]);
    check("Thanks! I live in Lund by the way", &["Ana lives in Lund by the way"]);
}

#[test]
fn names_and_relations_become_facts_of_their_own() {
    check(
        "My dog Max is a golden retriever. He loves playing fetch.",
        &["Ana's dog Max is a golden retriever", "Max is Ana's dog", "Max loves playing fetch"],
    );
    check(
        "my dog max is a golden retriever",
        &["Ana's dog Max is a golden retriever", "Max is Ana's dog"],
    );
    check(
        "Max lives with my sister Emily in Portland.",
        &["Max lives with Ana's sister Emily in Portland", "Emily is Ana's sister"],
    );
    check("My boss, Karen, is strict", &["Ana's boss Karen is strict", "Karen is Ana's boss"]);
    check(
        "I have a dog named Rex and he is 3",
        &["Ana has a dog named Rex", "Rex is Ana's dog", "Rex is 3"],
    );
    check("i have a cat called tom", &["Ana has a cat called Tom", "Tom is Ana's cat"]);
    check(
        "Max, a golden retriever, loves playing fetch",
        &["Max is a golden retriever", "Max loves playing fetch"],
    );
    check(
        "My sister Emily, who lives in Portland, is a nurse",
        &[
            "Ana's sister Emily lives in Portland",
            "Ana's sister Emily is a nurse",
            "Emily is Ana's sister",
        ],
    );
    check(
        "My daughter Mia loves dinosaurs and hates broccoli",
        &[
            "Ana's daughter Mia loves dinosaurs",
            "Ana's daughter Mia hates broccoli",
            "Mia is Ana's daughter",
        ],
    );
}

#[test]
fn pronouns_are_resolved_only_when_clear() {
    check(
        "My dog's name is Rex. he is 3. he's scared of fireworks",
        &["Ana's dog's name is Rex", "Rex is 3", "Rex is scared of fireworks"],
    );
    check("I have a dog. His name is Max.", &["Ana has a dog", "Ana's dog's name is Max"]);
    check(
        "I have two cats. They are called Milo and Otis.",
        &["Ana has two cats", "Ana's cats are called Milo and Otis"],
    );
    check(
        "My best friend is called Priya, she lives in Mumbai",
        &["Ana's best friend is called Priya", "Priya lives in Mumbai"],
    );
    check(
        "Max lives with my sister Emily. She is a nurse.",
        &["Max lives with Ana's sister Emily", "Emily is Ana's sister", "Emily is a nurse"],
    );
    check(
        "My husband's name is Tom. He's a firefighter",
        &["Ana's husband's name is Tom", "Tom is a firefighter"],
    );
    // Two men: whose car it is nobody can tell from here.
    check("Tom met Bob. He bought a car.", &["Tom met Bob; he bought a car"]);
    check("He is 3.", &[]);
    // A continuation stays with what it is about.
    check(
        "I ran a charity race on Saturday. It raised 500 euros for the shelter.",
        &[
            "Ana ran a charity race on Saturday 14 November 2026; it raised 500 euros for the shelter",
        ],
    );
}

#[test]
fn a_pronoun_may_point_to_the_message_before() {
    let first = said("Ana", None, "My dog Max is sick");
    let second = Utterance { message: MessageId(2), ..said("Ana", None, "He has a fever") };
    let got: Vec<String> =
        statements(&[first, second.clone()]).into_iter().map(|s| s.text).collect();
    assert_eq!(got, ["Ana's dog Max is sick", "Max is Ana's dog", "Max has a fever"]);
    // The router keeps it for that.
    assert_eq!(route(&second), Route::Store);
}

#[test]
fn nothing_to_remember() {
    for text in [
        "",
        "   ",
        "?",
        "...",
        "hi",
        "Hello!",
        "hey there",
        "Good morning!",
        "thanks",
        "Thank you so much!",
        "thx 🙏",
        "ok",
        "ok cool",
        "lol",
        "haha that's so funny",
        "yes",
        "no",
        "sure",
        "great",
        "That's awesome!",
        "wow amazing",
        "sounds good",
        "I see",
        "I understand",
        "I agree",
        "I don't know",
        "I'm fine",
        "im good thanks",
        "I'm tired",
        "bye",
        "see you later",
        "good night",
        "What's my dog's name?",
        "whats my dogs name",
        "where do i live",
        "What do we know about Max?",
        "do you remember where I live?",
        "Can you help me with my homework?",
        "Write me a poem about the sea",
        "tell me a joke",
        "Tell me what you know about me",
        "remind me where i parked",
        "Translate this into French",
        "please explain recursion",
        "How are you?",
        "how are you doing today",
        "You are very helpful",
        "you're the best!",
        "I love you",
        "Your answer is wrong",
        "I have a question",
        "I want you to write a story",
        "I need a recipe for pancakes",
        "never mind",
        "no problem",
        "it's raining",
        "good luck!",
        "happy birthday!",
        "same here",
        "me too",
        "asdkjh asdlkjh qwlekj",
        "1234567890",
        "😀😀😀",
        "!!!???",
        "```\nlet x = 1;\nI live in a code block\n```",
        "> I live in a quotation",
    ] {
        nothing(text);
    }
}

#[test]
fn other_languages_are_quoted_never_rewritten() {
    for text in [
        "Ich wohne in Berlin und habe einen Hund.",
        "Vivo en Madrid con mi familia",
        "J'habite à Paris et je suis médecin",
        "私は東京に住んでいます。",
        "Меня зовут Анна, я живу в Москве",
        "Jag bor i Lund och har en katt",
    ] {
        check(text, &[&format!("Ana said: \"{text}\"")]);
    }
    // One English sentence among others is read as English.
    check("Jag bor i Lund. I have a cat.", &["Ana said: \"Jag bor i Lund.\"", "Ana has a cat"]);
}

#[test]
fn the_user_until_the_name_is_known() {
    let got: Vec<String> = super::super::statements(&[said(
        "The user",
        None,
        "My dog Max lives with my sister Emily. I'm Ana.",
    )])
    .into_iter()
    .map(|s| s.text)
    .collect();
    assert_eq!(
        got,
        [
            "The user's dog Max lives with the user's sister Emily",
            "Max is the user's dog",
            "Emily is the user's sister",
            "The user is Ana",
        ]
    );
}

#[test]
fn two_people_keep_their_names() {
    #[track_caller]
    fn between(text: &str, expected: &[&str]) {
        let got: Vec<String> = super::super::statements(&[said("Caroline", Some("Melanie"), text)])
            .into_iter()
            .map(|s| s.text)
            .collect();
        assert_eq!(got, expected, "of {text:?}");
    }
    between("Hey Mel! Good to see you! How have you been?", &[]);
    between(
        "I went to a LGBTQ support group yesterday and it was so powerful.",
        &["Caroline went to a LGBTQ support group on 20 November 2026"],
    );
    between("I really love your painting, Mel!", &["Caroline really loves Melanie's painting"]);
    between("Thanks, Melanie! That's really sweet.", &[]);
    between(
        "I'm off to see my kids. Talk to you soon!",
        &["Caroline is off to see Caroline's kids"],
    );
    between(
        "My kids and I met your sister",
        &["Caroline's kids and Caroline met Melanie's sister"],
    );
    between("You told me that you moved", &["Melanie told Caroline that Melanie moved"]);
    between("Wow, Melanie, that's great!", &[]);
    between(
        "The colors blended nicely in the big mural downtown",
        &["Caroline said: The colors blended nicely in the big mural downtown"],
    );
}

#[test]
fn the_assistant_states_nothing() {
    let mut reply = said("Assistant", None, "I live in a computer. My name is Inglenook.");
    reply.role = Role::Assistant;
    assert_eq!(super::super::statements(&[reply]), []);
}

#[test]
fn statements_name_their_message() {
    let got = super::super::statements(&[said("Ana", None, "I live in Lund")]);
    assert_eq!(
        got,
        [Statement {
            text: "Ana lives in Lund".into(),
            subject: Some("Ana".into()),
            attribute: Some("home".into()),
            value: Some("Lund".into()),
            messages: vec![MessageId(1)],
        }]
    );
}

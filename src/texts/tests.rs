//! Languages, places, and files of the person's own.

use super::*;

#[test]
fn the_environment_names_a_language() {
    let check = |variables: &[(&str, &str)], expected: &str| {
        let env = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(of_environment(&env), expected, "{variables:?}");
    };
    check(&[], "en");
    check(&[("LANG", "de_DE.UTF-8")], "de");
    check(&[("LANG", "de_DE.UTF-8"), ("LC_MESSAGES", "en_GB.UTF-8")], "en");
    check(&[("LANG", "en_US"), ("LC_MESSAGES", ""), ("LC_ALL", "DE@euro")], "de");
    for none in ["C", "C.UTF-8", "", "../de"] {
        check(&[("LANG", none), ("LC_ALL", none)], "en");
    }
    check(&[("LANG", "pt_BR")], "pt");
}

#[test]
fn places_stand_where_the_language_has_them() {
    let (n, of) = (2, "five{n}");
    assert_eq!(text!("{n} of {of}", n, of), "2 of five{n}");
    assert_eq!(in_german(|| text!("{n} of {of}", n = n + 1, of)), "3 von five{n}");
    let facts = |n: usize| plural!("{n} fact", "{n} facts", n);
    assert_eq!([facts(0), facts(1), facts(2)], ["0 facts", "1 fact", "2 facts"]);
    assert_eq!(in_german(|| [facts(1), facts(2)]), ["1 Fakt", "2 Fakten"]);
    assert_eq!((decimal(2.345, 1), in_german(|| decimal(2.345, 1))), ("2.3".into(), "2,3".into()));
    assert_eq!(in_german(|| lookup("what nobody says")), "what nobody says");
}

#[test]
fn a_file_of_the_persons_own_is_data() {
    let check = |language: &str, own: &str, problems: &[&str], reply: &str| {
        let (texts, found) = Texts::of(language, Some(own), "t");
        assert_eq!(found, problems, "{own}");
        assert_eq!(texts.0.get("{n} of {of}").copied().unwrap_or("-"), reply, "{own}");
    };
    check("fr", "\"{n} of {of}\" = \"{n} sur {of}\"", &[], "{n} sur {of}");
    // A place that is left out is no harm; an empty text is still to be translated.
    check("fr", "\"{n} of {of}\" = \"{n}\\u001b[2J\\nici\"", &[], "{n} ici");
    check("fr", "\"{n} of {of}\" = \"\"", &[], "-");
    check("de", "\"{n} of {of}\" = \"\"", &[], "{n} von {of}");
    check("de", "\"{n} of {of}\" = \"{n}/{of}\"", &[], "{n}/{of}");
    let wrong = "\"{n} of {of}\" = \"{n} de {tout}\"\n\"No such text\" = \"x\"";
    let problems = [
        "t: there is no text “No such text”",
        "t: “{n} of {of}” has no place {tout}, so what stands there is not used",
    ];
    check("fr", wrong, &problems, "-");
    let many = (0..9).map(|n| format!("\"no {n}\" = \"x\"")).collect::<Vec<_>>().join("\n");
    let (_, problems) = Texts::of("fr", Some(&many), "t");
    assert_eq!((problems.len(), problems[3].as_str()), (4, "t: and 6 more like that"));
    for broken in ["\n\"a\" = 3", "\n\"a\" = ", "\n\"a\" = \"b\"\n\"a\" = \"c\""] {
        let (texts, problems) = Texts::of("de", Some(broken), "t");
        assert!(problems.len() == 1 && problems[0].starts_with("t, line "), "{problems:?}");
        assert_eq!(texts.0.get("{n} of {of}"), Some(&"{n} von {of}"));
    }
}

//! Word lists: what the rules know of English. Closed classes in full, open classes by frequency.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

type Set = LazyLock<HashSet<&'static str>>;

fn set(words: &'static str) -> HashSet<&'static str> {
    words.split_whitespace().collect()
}

/// Base, past, participle.
const IRREGULAR: &str = "
be was been|be were been|become became become|begin began begun|bend bent bent|bind bound bound
bite bit bitten|bleed bled bled|blow blew blown|break broke broken|breed bred bred
bring brought brought|build built built|burn burnt burnt|buy bought bought|catch caught caught
choose chose chosen|come came come|creep crept crept|deal dealt dealt|dig dug dug|do did done
draw drew drawn|dream dreamt dreamt|drink drank drunk|drive drove driven|eat ate eaten
fall fell fallen|feed fed fed|feel felt felt|fight fought fought|find found found|fly flew flown
forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given
go went gone|grow grew grown|hang hung hung|have had had|hear heard heard|hide hid hidden
hold held held|keep kept kept|know knew known|lay laid laid|lead led led|learn learnt learnt
leave left left|lend lent lent|lie lay lain|light lit lit|lose lost lost|make made made
mean meant meant|meet met met|mistake mistook mistaken|overcome overcame overcome|pay paid paid
prove proved proven|ride rode ridden|ring rang rung|rise rose risen|run ran run|say said said
see saw seen|seek sought sought|sell sold sold|send sent sent|sew sewed sewn|shake shook shaken
shine shone shone|shoot shot shot|show showed shown|shrink shrank shrunk|sing sang sung
sink sank sunk|sit sat sat|sleep slept slept|slide slid slid|speak spoke spoken|spell spelt spelt
spend spent spent|spin spun spun|stand stood stood|steal stole stolen|stick stuck stuck
sting stung stung|strike struck struck|swear swore sworn|sweep swept swept|swim swam swum
swing swung swung|take took taken|teach taught taught|tear tore torn|tell told told
think thought thought|throw threw thrown|understand understood understood|wake woke woken
wear wore worn|weep wept wept|win won won|wind wound wound|write wrote written
rewrite rewrote rewritten|withdraw withdrew withdrawn|undergo underwent undergone|bear bore born";

/// Verbs whose past is their base.
static UNCHANGING: Set = LazyLock::new(|| {
    set(
        "put cut let set read hit quit cost hurt beat bet spread shut split burst cast fit upset rid",
    )
});

/// Base forms that are verbs first, whatever follows.
static VERBS: Set = LazyLock::new(|| {
    set("
call message phone mow vacuum iron park wake stay accept achieve acquire act adapt add admire admit adopt afford agree aim allow announce apologize
apply appreciate approach argue arrange arrive ask assist attend avoid bake battle be become begin
believe belong bend bike bleed blend blow boil book borrow break breathe breed bring build buy
camp cancel care carry catch celebrate change chat check choose clean climb coach code collect come
commute compete complain complete compose compost concentrate conduct confirm connect consider
consult contact continue contribute cook cope count craft create crochet cry cultivate curate
cut cycle dance date deal decide decorate dedicate deliver depend deserve design develop dig dine
direct discover discuss dislike dive divorce do donate draw dread dream dress drink drive drop
drum earn eat embrace emigrate encourage end engage enjoy enroll enter escape establish exercise
exist expect experience experiment explore express face fail fall fear feed feel fight find finish
fish fix fly focus follow forget foster freelance garden gather get give go golf graduate grow guide
handle hang happen hate have hear help hesitate hide hike hold hope hunt hurry identify imagine
immigrate improve include inspire install intend interview introduce invest invite jog join journal
juggle jump keep kick knit know last laugh launch lead lean learn leave lend let lie lift like
listen live loathe look lose love maintain make manage marry massage master mean meditate meet
mentor mind miss mix move name need notice nurse observe offer open operate order organise organize
owe own pack paint park participate pass pay perform pick plan plant play post pour practice
practise pray prefer prepare present pretend produce program promise promote propose protect
prove provide publish pull pursue push put quit race raise reach read realise realize receive
recognize recommend record recover refer reflect refuse relate relax rely relocate remain remember
remind renovate rent repair repeat replace report represent require research rescue resign respect
rest restore retire return reuse review ride rise run sail save say schedule sculpt seek seem sell
send serve set settle sew share ship shoot shop show sign sing sit skate skateboard ski skip sleep
smile smoke snack snore snowboard spar speak specialise specialize spend sponsor stand start
stay stop stream stretch stroll struggle study succeed suffer suggest supervise support suppose
surf survive suspect sweat swim switch take talk teach tell tend test thank think throw train
translate travel treat trust try turn tutor type understand unwind update upgrade use value visit
volunteer vote wait wake walk want wash watch wear weigh welcome win wish wonder work worry
wrap write yearn yell zoom adore crave despise detest commit")
});

/// Base forms that are as often nouns: after "and" they need more evidence to count as verbs.
static NOUN_LIKE: Set = LazyLock::new(|| {
    set("
call message phone vacuum iron act aim battle bike book camp care change chat coach code cook craft cycle dance date deal design
dive dream dress drink drive drop drum end exercise experience experiment face fear fight fish focus
garden golf guide hike hope hunt interview jog journal jump kick last laugh lead lift look love
massage master mentor mind miss mix move name need nurse offer order paint park pass pay plan plant
play post practice present produce program promise push race raise record report research rescue
respect rest return review ride rise run sail ship shop show sign skate ski sleep smile smoke snack
sponsor stand start stay stop stream stretch study support surf swim switch talk test thank train
travel treat trust try turn tutor type update upgrade use value visit volunteer vote walk wash watch
welcome win wish wonder work worry wrap read cut put set fit hit
")
});

/// Infinitives, pasts and participles of the irregular verbs.
struct Irregular {
    past: HashSet<&'static str>,
    participle: HashSet<&'static str>,
    base_of: HashMap<&'static str, &'static str>,
}

static IRREGULARS: LazyLock<Irregular> = LazyLock::new(|| {
    let mut it =
        Irregular { past: HashSet::new(), participle: HashSet::new(), base_of: HashMap::new() };
    for entry in IRREGULAR.split(['|', '\n']) {
        let mut forms = entry.split_whitespace();
        if let (Some(base), Some(past), Some(participle)) =
            (forms.next(), forms.next(), forms.next())
        {
            it.past.insert(past);
            it.participle.insert(participle);
            it.base_of.entry(past).or_insert(base);
            it.base_of.entry(participle).or_insert(base);
        }
    }
    it
});

const ED_BASES: &[&str] = &[
    "need", "feed", "bleed", "breed", "speed", "embed", "heed", "seed", "weed", "exceed",
    "proceed", "succeed", "shed", "wed", "bed", "red", "bred", "fed", "led",
];

pub(super) static MODALS: Set = LazyLock::new(|| {
    set("will would can could shall should may might must won't wouldn't can't cannot couldn't
shan't shouldn't mightn't mustn't gonna gotta better ought")
});

/// Finite auxiliaries and copulas, with their negations.
pub(super) static AUXILIARIES: Set = LazyLock::new(|| {
    set("am is are was were be been being have has had do does did isn't aren't wasn't weren't
haven't hasn't hadn't don't doesn't didn't ain't")
});

pub(super) static ADVERBS: Set = LazyLock::new(|| {
    set("also always never ever often still now just only even already almost really actually usually
sometimes rarely seldom mostly mainly recently lately currently finally eventually soon then
probably maybe perhaps definitely certainly absolutely totally completely truly honestly literally
basically generally normally typically occasionally frequently constantly regularly today
quite rather so too very kinda sorta both all each nearly hardly barely simply once again
originally initially previously formerly formally officially technically personally first later
not no long well far here there myself however instead anyway")
});

/// Words in -ly that are no adverbs.
const LY_WORDS: &[&str] = &[
    "emily",
    "kelly",
    "molly",
    "sally",
    "lily",
    "polly",
    "holly",
    "billy",
    "carly",
    "beverly",
    "kimberly",
    "sicily",
    "nelly",
    "elly",
    "ally",
    "oly",
    "family",
    "italy",
    "july",
    "assembly",
    "jelly",
    "belly",
    "friendly",
    "lovely",
    "lonely",
    "elderly",
    "silly",
    "ugly",
    "curly",
    "butterfly",
    "rely",
    "apply",
    "reply",
    "supply",
    "fly",
    "multiply",
    "comply",
    "imply",
    "ally",
    "bully",
];

/// Function words: may be added, and never say anything by themselves.
pub(super) static STOP: Set = LazyLock::new(|| {
    set("
a about above across after again against ago all almost along already also although always am among
an and another any anyone anything are aren't around as at away back be because been before being
below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't
done down during each either else enough etc even ever every everyone everything few for from
further get gets getting got had hadn't has hasn't have haven't having he her here hers herself him
himself his how however i if in indeed instead into is isn't it its itself just kind let lot lots
many may maybe me might mine more most much must my myself neither never no nobody none nor not
nothing now of off often oh ok okay on once one ones only onto or other others our ours ourselves
out over own perhaps quite rather re really same shall she should shouldn't since so some someone
something somewhat somewhere sort still such than that the their theirs them themself themselves
then there these they thing things this those though through thus till to together too toward
towards under until up upon us very via was wasn't we well were weren't what whatever when whenever
where wherever whether which while who whoever whom whose why will with within without won't would
wouldn't yeah yes yet you your yours yourself yourselves gonna gotta wanna im ive id ill dont
cant wont didnt doesnt isnt wasnt")
});

/// Words of praise, surprise and agreement: a sentence of nothing else is a reaction.
pub(super) static REACTION: Set = LazyLock::new(|| {
    set("
absolutely adorable agree agreed ah aha amazing aw awesome aww awww beautiful best bet bravo breathtaking
brilliant bummer cheers congrats congratulations cool cute dang darn deal definitely delicious
delightful dope dude enjoy exactly excellent exciting excited fab fabulous fair fantastic fine
fingers crossed fire fun funny gah glad goodness gorgeous gosh gotcha great guess haha hahaha hah ha
happy heck hehe hey hm hmm hmmm hope hopefully huge hugs impressive impressed incredible indeed insane
inspiring inspirational inspired interesting jealous kidding kind know like lit lmao lol look looking looks
love loved lovely luck lucky magical man mate meaningful mean means moving neat nice noted omg ooh
oops ouch perfect phew pleasure powerful precious priceless promise proud pumped rad really remarkable
respect rewarding right rip rock sad sake say see seems shame sight sick silly soon sorry sound sounds
special spectacular stunning stoked stuff stunning super superb sure surely sweet terrible terrific
thank thankful thanks think thoughtful thrilled true truly tough ugh unbelievable understand
understandable understood vibe vibes welcome whoa wicked wise wish woah woo wonderful word words worries worry
wow wowza yay yea yeah yep yes yup yikes yum yummy keep going rooting luck hang hear heard imagine
guys buddy bro friend pal folks everyone mention problem course doubt matter way time day job work
nah nope no aight alright kk k thx ty np tysm yw idk totally completely glad happy heartwarming
wonders worth cherish treasure believe pretty hilarious epic sublime lovely touching uplifting
motivating encouraging admirable inspires amazed blown incredible hard good bad better big nicely")
});

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// People that someone has one or several of.
pub(super) static KIN: Set = LazyLock::new(|| {
    set("
mother mom mum mommy father dad daddy parent parents stepmother stepfather stepmom stepdad sister
sisters brother brothers sibling siblings stepsister stepbrother half-sister half-brother twin son
sons daughter daughters child children kid kids stepson stepdaughter baby toddler wife husband spouse
partner boyfriend girlfriend fiancé fiancée fiance fiancee ex ex-wife ex-husband grandmother grandma
granny nana grandfather grandpa grandad granddad grandparents grandson granddaughter grandchild
grandchildren aunt auntie uncle cousin cousins niece nieces nephew nephews mother-in-law
father-in-law sister-in-law brother-in-law in-laws godmother godfather goddaughter godson godchild
friend friends bestie buddy roommate roommates flatmate flatmates housemate neighbour neighbours
neighbor neighbors colleague colleagues coworker coworkers co-worker co-workers boss manager
supervisor mentor teacher coach doctor dentist therapist landlord landlady tenant
classmate teammate bandmate gf bf crush mate bro sis hubby wifey assistant professor tutor
nanny babysitter student students gp physiotherapist counselor counsellor lawyer accountant")
});

pub(super) static PETS: Set = LazyLock::new(|| {
    set("
dog dogs puppy puppies pup pups cat cats kitten kittens kitty pet pets rabbit rabbits bunny bunnies
hamster hamsters guinea-pig parrot parrots bird birds budgie canary fish goldfish turtle turtles tortoise
horse horses pony ponies snake gecko lizard ferret hen hens chicken chickens goat goats cow
rat rats mouse doggo pooch hound snakes pig sheep donkey llama alpaca chinchilla hedgehog cockatiel")
});

/// Kin whose gender the word tells.
pub(super) static FEMALE: Set = LazyLock::new(|| {
    set("mother mom mum mommy stepmother stepmom sister stepsister half-sister daughter stepdaughter wife
girlfriend fiancée fiancee ex-wife grandmother grandma granny nana granddaughter aunt auntie niece
mother-in-law sister-in-law godmother goddaughter landlady sis wifey woman girl lady")
});

pub(super) static MALE: Set = LazyLock::new(|| {
    set("father dad daddy stepfather stepdad brother stepbrother half-brother son stepson husband
boyfriend ex-husband grandfather grandpa grandad granddad grandson uncle nephew father-in-law
brother-in-law godfather godson landlord bro hubby man boy guy")
});

/// Words that end in a breed's name, or are one.
pub(super) static BREEDS: Set = LazyLock::new(|| {
    set("
retriever labrador lab poodle labradoodle goldendoodle bulldog shepherd beagle dachshund husky
corgi boxer rottweiler chihuahua pug terrier spaniel collie dalmatian doberman malamute mastiff
pointer setter schnauzer shiba akita greyhound whippet maltese pomeranian pitbull mutt mongrel
purebred crossbreed mix mixed-breed shih-tzu tzu bichon havanese weimaraner vizsla samoyed newfoundland
bernese cavapoo cockapoo siamese persian tabby calico ragdoll sphynx bengal maine-coon coon
shorthair longhair tortoiseshell tuxedo angora lop sheepdog hound wolfhound bloodhound bernard
cockatoo macaw budgerigar thoroughbred arabian mustang clydesdale")
});

pub(super) static NUMBERS: LazyLock<HashMap<&'static str, i64>> = LazyLock::new(|| {
    [
        ("a", 1),
        ("an", 1),
        ("one", 1),
        ("two", 2),
        ("three", 3),
        ("four", 4),
        ("five", 5),
        ("six", 6),
        ("seven", 7),
        ("eight", 8),
        ("nine", 9),
        ("ten", 10),
        ("eleven", 11),
        ("twelve", 12),
        ("thirteen", 13),
        ("fourteen", 14),
        ("fifteen", 15),
        ("sixteen", 16),
        ("seventeen", 17),
        ("eighteen", 18),
        ("nineteen", 19),
        ("twenty", 20),
        ("thirty", 30),
        ("forty", 40),
        ("fifty", 50),
        ("sixty", 60),
        ("seventy", 70),
        ("eighty", 80),
        ("ninety", 90),
    ]
    .into_iter()
    .collect()
});

/// A number in digits or words, up to 99 in words.
pub(super) fn number(word: &str) -> Option<i64> {
    let word = word.to_lowercase();
    if word.len() <= 6 && word.bytes().all(|b| b.is_ascii_digit()) && !word.is_empty() {
        return word.parse().ok();
    }
    if let Some(&n) = NUMBERS.get(word.as_str()) {
        return Some(n);
    }
    let (tens, ones) = word.split_once('-')?;
    match (NUMBERS.get(tens), NUMBERS.get(ones)) {
        (Some(&t), Some(&o)) if t >= 20 && (1..10).contains(&o) => Some(t + o),
        _ => None,
    }
}

/// True of a base form.
pub(super) fn is_base_verb(lower: &str) -> bool {
    VERBS.contains(lower)
        || UNCHANGING.contains(lower)
        || IRREGULARS.base_of.values().any(|&base| base == lower)
}

pub(super) fn is_noun_like(lower: &str) -> bool {
    NOUN_LIKE.contains(lower)
}

pub(super) fn is_unchanging(lower: &str) -> bool {
    UNCHANGING.contains(lower)
}

/// Past tense, by the table or by -ed.
pub(super) fn is_past(lower: &str) -> bool {
    IRREGULARS.past.contains(lower)
        || matches!(lower, "did" | "had" | "was" | "were" | "used")
        || (lower.len() > 3 && lower.ends_with("ed") && !ED_BASES.contains(&lower))
}

pub(super) fn is_participle(lower: &str) -> bool {
    IRREGULARS.participle.contains(lower)
        || UNCHANGING.contains(lower)
        || (lower.len() > 3 && lower.ends_with("ed") && !ED_BASES.contains(&lower))
}

/// A participle that is no past tense and seldom an adjective: "been", "gone".
pub(super) fn is_only_participle(lower: &str) -> bool {
    matches!(lower, "got" | "had")
        || (IRREGULARS.participle.contains(lower) && !IRREGULARS.past.contains(lower))
            && !matches!(lower, "broken" | "frozen" | "born" | "torn" | "drunk" | "come" | "run")
}

/// "lives", "watches", "has".
pub(super) fn is_third_person(lower: &str) -> bool {
    matches!(lower, "is" | "has" | "does")
        || (lower.len() > 2 && lower.ends_with('s') && is_base_verb(&base_of_third(lower)))
}

pub(super) fn base_of_third(lower: &str) -> String {
    if let Some(stem) = lower.strip_suffix("ies").filter(|s| s.len() > 1) {
        return format!("{stem}y");
    }
    if let Some(stem) = lower.strip_suffix("es")
        && ["s", "sh", "ch", "x", "z", "o"].iter().any(|e| stem.ends_with(e))
    {
        return stem.to_owned();
    }
    lower.strip_suffix('s').unwrap_or(lower).to_owned()
}

/// Any finite verb that the lists know (a base form counts: "they live").
pub(super) fn is_finite(lower: &str) -> bool {
    AUXILIARIES.contains(lower)
        || MODALS.contains(lower)
        || is_past(lower)
        || is_third_person(lower)
        || is_base_verb(lower)
}

/// "live" → "lives".
pub(super) fn third_person(base: &str) -> String {
    match base {
        "be" | "am" | "are" => return "is".into(),
        "have" => return "has".into(),
        "do" => return "does".into(),
        "don't" => return "doesn't".into(),
        "haven't" => return "hasn't".into(),
        "aren't" | "ain't" => return "isn't".into(),
        "were" => return "was".into(),
        "weren't" => return "wasn't".into(),
        "wanna" => return "wants to".into(),
        _ => {}
    }
    let vowel_before_y = base.len() > 1
        && base.ends_with('y')
        && base[..base.len() - 1].ends_with(['a', 'e', 'i', 'o', 'u']);
    if base.ends_with('y') && !vowel_before_y {
        return format!("{}ies", &base[..base.len() - 1]);
    }
    if ["s", "sh", "ch", "x", "z", "o"].iter().any(|e| base.ends_with(e)) {
        return format!("{base}es");
    }
    format!("{base}s")
}

/// True of a word that may stand between a subject and its verb.
pub(super) fn is_adverb(lower: &str) -> bool {
    ADVERBS.contains(lower)
        || (lower.len() > 4 && lower.ends_with("ly") && !LY_WORDS.contains(&lower))
}

/// A stem for comparing words: irregular forms meet their base ("went" = "go").
pub(super) fn stem(word: &str) -> String {
    static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));
    let lower = word.to_lowercase().replace('\u{2019}', "'");
    let lower = lower.strip_suffix("'s").unwrap_or(&lower);
    if lower.chars().count() > 40 {
        return lower.to_owned();
    }
    let base = IRREGULARS.base_of.get(lower).copied().unwrap_or(lower);
    let base = match base {
        "favorite" | "favorites" => "favourite",
        "color" | "colors" => "colour",
        "neighbor" | "neighbors" => "neighbour",
        "mom" | "mommy" | "mum" => "mother",
        "dad" | "daddy" => "father",
        "kids" | "kid" | "children" => "child",
        "bday" => "birthday",
        other => other,
    };
    STEMMER.stem(base).into_owned()
}

/// Stems of the words that carry meaning, in order.
pub(super) fn content_stems(text: &str) -> Vec<String> {
    words(text).filter(|w| !STOP.contains(w.to_lowercase().as_str())).map(stem).collect()
}

/// Runs of letters, digits and inner apostrophes and hyphens.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '\u{2019}' | '-')))
        .map(|w| w.trim_matches(['\'', '\u{2019}', '-']))
        .filter(|w| !w.is_empty())
}

/// "ana" → "Ana".
pub(super) fn capitalise(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(c) => c.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// The first letter small, unless the word is a name or an acronym for all we know.
pub(super) fn starts_upper(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

/// At most `bytes` bytes of `text`, cut at a character.
pub(super) fn clip(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// At most `chars` characters, cut at a word, with an ellipsis.
pub(super) fn clip_words(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.trim().to_owned();
    }
    let cut: String = text.chars().take(chars).collect();
    let cut = cut.rsplit_once(char::is_whitespace).map_or(cut.as_str(), |(head, _)| head);
    format!("{}…", cut.trim_end_matches(|c: char| !c.is_alphanumeric()))
}

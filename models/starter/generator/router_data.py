"""What a memory router must not store, extra messages it should store, and two kinds of replies.

Templates use the `(a|b)` language of grammar.py with the fillers {N} {P} {W}.
"""


def _lines(text):
    return [line.strip() for line in text.strip().splitlines() if line.strip()]


# Messages with no lasting fact about a person.
DISCARD = _lines("""
    (what is|what's) the capital of (Norway|Peru|{P})?
    how (far|long) is it (to|from) {P}( by train| by car|)?
    who (wrote|painted|invented|discovered) (Don Quixote|the Mona Lisa|the telephone|penicillin)?
    how many (people|inhabitants|museums) are there in {P}?
    why do (cats purr|leaves turn red|onions make us cry|birds sing at dawn)?
    what does (osmosis|inflation|irony|photosynthesis) mean?
    how do you spell (necessary|rhythm|accommodation|{N})?
    when does (summer start|spring begin|the clock change)?
    is (a tomato|a banana|a cucumber) a fruit or a vegetable?
    how (tall|old|heavy) is (an elephant|a giraffe|the oldest tree)?
    what is the difference between (a crow and a raven|baking soda and baking powder|its and it's)?
    how does (a fridge|a magnet|the stock market|a violin) work?
    which planet is the (largest|smallest|hottest)?
    can (dogs eat grapes|fish sleep|plants hear|penguins fly)?
    who was the (first|last) (king|queen|president) of (France|Spain|{P})?
    what's a good synonym for (happy|important|beautiful)?
    what is {P} (known|famous) for?
    is there a (train|bus|flight) (from|to) {P} on {W}?
    how many (grams|cups|litres) are in a (pound|pint|gallon)?
    what happens if you mix (vinegar and soda|yellow and blue)?
    explain (quantum physics|the rules of cricket|how interest works|a black hole)( to me|) (please|in simple words).
    describe how (cheese is made|a bill becomes law|rainbows form).
    (tell|teach) me (something|a fact) about (whales|volcanoes|the moon|ancient Egypt).
    is it (true|right) that (goldfish forget everything|we use ten percent of our brain)?
    which (language|currency|religion) do they have in {P}?

    write (a poem|a short story|an email|a speech) about (spring|friendship|rain|a lost key).
    translate (good morning|this sentence|where is the station) into (French|German|Polish).
    (summarise|shorten|rewrite|correct) (this|the following) (text|paragraph|sentence).
    give me (three|five|ten) (ideas|tips|names) for (a party|dinner|a cat|a blog).
    (set|start|stop) (a timer|the timer|an alarm)( for ten minutes| please|).
    play (some music|the radio|something relaxing|the next track).
    turn (the lights|the heating|the volume) (up|down|off|on)( please|).
    open (the window|the settings|my mail|the browser).
    (search|look) for (flights|hotels|a plumber|cheap shoes)( in {P}|).
    (add|multiply|divide) (twelve and nine|these numbers|40 by 8).
    how much is (15 percent of 60|19 times 7|a third of 90)?
    draw (me |)a (cat|map|circle|house).
    (fix|format|translate|check) this (code|table|list|email)( for me|).
    make (it|that|the text) (shorter|longer|nicer|more formal).
    (try|say|do) (it|that) again( please|).
    (show|list|give) me (the commands|all options|the help|an example).
    (close|open|clear) (the chat|this window|the screen|the conversation).
    help me (with this|decide|out|find a title|think).
    (can|could|would) you (please |)(help me|do me a favour|explain that|repeat that)?
    count (to ten|backwards from twenty|the words).
    (stop|cancel|undo|go back|quit|exit)(.|!|)
    (read|say) (that|it) (aloud|out loud|once more).
    tell me (a joke|a story|something nice|a riddle).
    recommend (a book|a film|a podcast|a restaurant in {P}).
    (give|send) me (the link|a summary|the list)( again|).
    put (that|it|this) in (a table|bullet points|one sentence).
    use (simpler|shorter|other) words( please|).
    (book|order|reserve) (a table|a taxi|two tickets) for {W}.
    (call|message|text) {N}( for me| please|).

    (hi|hello|hey)( there|)(!|.|)
    good (morning|evening|afternoon|night)(!|.|)
    how are you( doing| today|)?
    what's up( with you| today|)?
    (nice|good|great) to (see|meet|hear from) you( again|)(.|!)
    are you (there|awake|still here|listening)?
    who are you( really|)?
    what can you do( for me|)?
    (bye|goodbye|see you|see you {W})(!|.|)
    (have a|have a very) (nice|good|lovely) (day|evening|weekend)(!|.)
    do you (like|know|enjoy) (music|cheese|jokes|poems)?
    are you a (robot|human|program)?
    what is your (name|favourite colour|opinion)?
    do you ever (sleep|get tired|dream|make mistakes)?
    can you keep (a secret|secrets)?
    long time no (see|talk)(!|.|)
    (talk|chat|write) to you (later|soon|tomorrow)(.|!|)
    (back|here) again(.|!|)

    (thanks|thank you|thx|cheers)( a lot| so much|)(!|.|)
    (thanks|thank you) for (asking|the help|listening|the answer)(!|.|)
    that's (very |)(kind|nice|sweet|helpful)( of you|)(.|!)
    I appreciate (it|that|your help)(.|)
    (you're|you are) (welcome|great|funny|very helpful)(.|!)
    (good|well|nicely) (job|done|put)(!|.)
    (perfect|great|excellent|brilliant|wonderful)(!|.|)
    (sorry|my bad|oops|whoops)(.|!|)
    (no|don't) (problem|worries|worry)(.|!|)
    please( do|)(.|!|)

    (ok|okay|alright|right|fine)(.|!|)
    (yes|yeah|yep|sure|of course)(.|!|)
    (no|nope|nah|not really)(.|!|)
    (maybe|perhaps|could be|we'll see|who knows)(.|)
    (haha|lol|hehe|rofl)(!|.|)
    (wow|oh|whoa|oh dear|oh no)(!|.|)
    (hm|hmm|um|well|er)(...|.|)
    I (see|guess|suppose)( so|)(.|)
    (really|seriously|honestly)?
    (no way|you're kidding|come on)(!|.)
    (that's|that is|how) (funny|interesting|strange|odd|true)(.|!)
    (that's|this is) (right|wrong|not what I meant|it)(.|!|)
    (makes|that makes) (sense|no sense)(.|)
    (never mind|forget it|whatever|leave it)(.|)
    (exactly|precisely|indeed|absolutely)(.|!|)
    (good|bad|great|interesting|silly) (question|point|idea|answer)(.|!)
    I (don't|didn't) (understand|get it|catch that)(.|)
    (what|how) do you mean( by that|)?
    (go on|carry on|continue|tell me more)(.|!|)
    (wait|hold on|one moment|just a second)(.|!|)
    let me (think|see|check)( for a moment|)(.|)
    (anyway|so|well then|as I said)(...|,|.)
    (fair enough|sounds good|good to know)(.|!|)
    I (agree|disagree|think so too|doubt it)(.|)
    (yay|hooray|ugh|argh|phew|ouch)(!|.)
    (cool|nice|sweet|neat|awesome)(!|.|)
    (what a|such a) (pity|shame|surprise|relief)(.|!)
    (who|I don't) (cares|care|know|mind)(.|)
    it (depends|doesn't matter|is what it is)(.|)
    (my goodness|good grief|oh my|holy moly)(!|.)
    you (said|told me) that (already|before)(.|!)
    (same|me) (here|too)(.|!|)
    (test|testing|one two three|check)(.|)
    (asdf|qwerty|blah blah|...)

    what did I (say|tell you|write) about (my aunt|{N}|the dentist|the holidays|my boss)?
    do you (remember|know|recall) (what I told you|what I said|my plans)( on {W}| about {N}|)?
    where did I (say|tell you|mention) (I live|{N} works|the key is)?
    what('s| is) the name of my (sister|dog|boss|doctor|neighbour)?
    who is {N}( again|)?
    when (is|was) (my|{N}'s) (birthday|appointment|exam|wedding)?
    what do you know about (me|{N}|my family|my work)?
    remind me (what {N} likes|where I parked|who fixed my bike|when {N} comes)(.|)
    have I (ever |)(told|mentioned) (you |)(about {N}|anything about {P}|where I grew up)?
    which (film|book|restaurant) did {N} recommend( to me|)?
    (where|how long|why) did I (go|stay|travel) (last summer|in {P})?
    did I (already |)(tell you|say) (that|this|about {P})?
    how old is (my|{N}'s) (son|daughter|cat|brother)?
    what was (it|the thing) I (wanted|planned|had) to (buy|do|ask)( again|)?
    do I have (a dog|any allergies|an appointment on {W}|any plans)?
    what is my (job|address|favourite film|blood type)( again|)?
    what have we (talked|chatted) about( so far| on {W}| last time|)?
    show me (my memories|what you know about {N}|everything about {P})(.|)
    tell me (about {N}|what you remember|where {N} lives|what I like)(.|)
    how (did I meet|do I know) {N}?
    who (gave|lent|sold) me (the lamp|the bike|that book)?
    does {N} (like|have|want|eat) (fish|children|a car|cheese)?
    is {N} (married|older than me|still in {P}|a vegetarian)?
    why did {N} (leave|move|call|quit)?
    where (is|was) {N} (from|born|working)( now|)?
    (am I|was I) (right|wrong) about {N}?
    (can|could) you remind me (who {N} is|what I said on {W})?

    it's (raining|so hot|freezing|snowing|windy)( outside| right now| again|)(.|!)
    what (lovely|awful|strange) weather( today| right now|)(.|!)
    (the sun|rain|a rainbow) (at last|is out|is here)(.|!)
    I (hate|love|enjoy) this (rain|heat|cold|fog) (today|right now)(.|!)
    it (looks like|smells like) (rain|snow|a storm)(.|)
    (it is|it's) (so |very |)(dark|grey|loud|quiet) (today|outside|in here) (right now|at the moment|)(.)
    (brr|phew), (it's cold|what a heat|so warm)( today|)(!|.)
    will it (rain|snow|be sunny|be warm) (tomorrow|on {W}|in {P})?

    (I'm|I am) (bored|hungry|thirsty|sleepy|cold|tired)( right now|)(.|!|)
    I (need|want|could do with) (a coffee|a break|a nap|a snack)( right now| now|)(.|)
    (I'm|I am) (back|leaving|off|going to bed|just having a tea)(.|!|)
    I('ll| will) (be right back|think about it|try that|have a look)(.|)
    I have to (go|run|hang up|stop) now(.|!|)
    my (tea|lunch|pizza|coffee) is (ready|getting cold)(.|!|)
    (someone|somebody) is (at the door|ringing|knocking)(.|!)
    (I'm|I am) (just |)(testing|looking around|playing with) (this|you)(.|)
    I (have|had) a (question|quick question)( for you| about {P}|)(.|)
    (guess|you know) what(?|!|.)
    (can|may) I (ask|tell) you something?
    (wish me luck|fingers crossed|here goes)(!|.)
    (lunch|coffee|tea) time(!|.|)
    (it's|finally) (weekend|{W}|over|time)(!|.)
    (what if|imagine if|suppose) (cats could talk|it never got dark|everyone lived in {P})(.|?)
    would it be (nice|better|cheaper) (to live in {P}|to fly|by train)?
    (some people|people) (say|think) (money makes happy|{W} is unlucky)(.|)
    (time flies|better late than never|all good things take time|practice makes perfect)(.|!)
    (the news|the internet|the traffic) is (bad|slow|crazy) (today|right now)(.|)
    (love|life|time|money) is (strange|hard|short|everything)(.|)
    (let's|shall we) (start|begin|stop|talk about something else)(.|?|)
    (how|what) about (you|a game|a break|a different topic)?
    where (were we|was I)?
    (you're|you are) (wrong|stupid|useless|too slow|no help)(.|!)
    (shut up|be quiet|leave me alone|go away)(.|!)
    (don't|do not|please don't) (save|store|remember|write down) (this|that|what I said)(.|!)
    (this|that) (song|film|picture) is (great|boring|awful|lovely)(.|!)
    (here|there) (we go|you are|it is)(.|!|)
    (does|will) this (work|help|cost anything)?
""")

DISCARD_UNSEEN = _lines("""
    name the highest waterfall on earth.
    at which speed does light travel?
    did the Vikings reach America?
    how come ice floats on water?
    who scored most goals in the last World Cup?
    could I drive from {P} to the sea in a day?
    is glass a liquid, as people claim?
    what would a ticket to {P} cost these days?
    please proofread my paragraph.
    come up with a slogan for a bakery.
    convert 70 fahrenheit to celsius.
    rhyme something with orange.
    dim the lamp in the hall.
    skip this song.
    delete the last line and start over.
    draft an invitation to a garden party.
    hiya, anybody in?
    pleased to make your acquaintance.
    how's tricks?
    catch you on the flip side.
    much obliged, that did the trick.
    couldn't have asked for better service.
    you're a star.
    oh come off it.
    fat chance!
    gotcha.
    you don't say so.
    beats me.
    touché.
    so what?
    well, that's one way to see it.
    yikes, that escalated.
    any clue what I mentioned concerning {N}?
    which of my friends lives in {P}, can you look it up?
    run through everything I've told you since {W}.
    whose number did I give you the other day?
    was it {N} who borrowed my drill?
    list the people I've spoken of.
    have you got my cousin's date of birth on file?
    the heat is unbearable at this very moment.
    not a single cloud above the roofs now.
    hailstones, look at that!
    be with you in a jiffy, the kettle is whistling.
    my eyelids are drooping.
    scratch that, I typed into the wrong window.
    if pigs could fly, would they migrate?
    an apple a day keeps the doctor away.
    mind if I pick your brain?
    you've got to be the slowest machine alive.
    keep this one out of your notes.
""")

# First-person messages with lasting facts outside of the relations.
STORE_EXTRA = _lines("""
    I (can't stand|can hardly bear) {N}, who always interrupts me.
    I('m| am) (secretly |)a bit afraid of my (mother-in-law|boss|older brother).
    I (really |)admire {N} for (staying so calm|raising three kids alone|never giving up).
    I feel guilty because I haven't (called|visited) {N} (for months|in ages).
    (honestly,|) I'm jealous of {N}'s (garden|career|big family).
    I (trust|rely on) {N} more than anyone else( in the family|).
    {N} and I (haven't spoken|stopped talking) since the (wedding|funeral|party in {P}).
    {N} and I made up (again|at last) after our (long |)quarrel.
    I miss {N} (a lot|terribly) since the move to {P}.
    I('m| am) worried about {N}, who (drinks too much|hardly eats|has lost so much weight).
    I have a crush on {N} from (the choir|work|the gym).
    I never forgave {N} for (lying to me|selling our boat|missing my graduation).
    my (neighbour|flatmate|colleague) {N} gets on my nerves with (loud music|constant questions|smelly lunches).
    I owe {N} an apology for (what I said|shouting) at the dinner on {W}.
    I feel closest to my (grandmother|youngest sister|uncle) of all my relatives.
    {N} is like a (sister|brother|second mother) to me.
    I broke up with {N} (last week|on {W}|after four years).
    {N} and I got (engaged|back together) (last month|in {P}|on {W}).
    I've fallen out with (my whole family|my brother|{N}) over the (house|inheritance|dog).
    I was bullied (at school|in my first job), and I still (think|dream) about it.

    I('ve| have) decided to (quit smoking|stop eating meat|give up alcohol|sell the car).
    we('ve| have) decided not to have (any more |)children.
    I('ve| have) made up my mind: I('m| am) (leaving|handing in my notice) in (spring|January|June).
    I('m| am) going (back to university|part-time|freelance) (next year|in autumn).
    we('re| are) (going to|planning to) (rent out|sell|renovate) the (cottage|attic|upstairs flat).
    I turned down the offer from {P} because of (the kids|my parents|the commute).
    I chose not to (go to the reunion|speak at the funeral|see my father again).
    (I|We) cancelled (our|the) trip to {P} because {N} (fell ill|lost the job|has to work).
    from {W} on I('ll| will) work from home( twice a week|).
    I('ve| have) promised {N} that I('ll| will) (help with the move|be the best man|look after the cats in August).
    I swore never to (lend money|fly|eat oysters|dye my hair) again.
    we('ve| have) agreed that {N} (keeps the flat|gets the piano|takes the dog) after the divorce.
    I took (a|the) decision to (retire early|change doctors|move in with {N}).
    I signed up for a (first-aid course|pottery class|half marathon) (on {W}|in {P}).

    I go (swimming|running|to the sauna) every {W}( before breakfast|).
    every {W} (evening|night) I (call my mother|play cards with {N}|bake bread).
    I (always|usually) (get up|wake) at five( to write| to meditate|).
    I never drink coffee after (noon|three|dinner), (it keeps me awake|or I can't sleep).
    I take the (bus|tram|ferry) to work because (I don't drive|parking is impossible).
    I can't (fall asleep|sleep) without (an audiobook|an open window|earplugs).
    I (keep|have kept) a diary since (I was twelve|my divorce|the accident).
    I bite my nails when(ever|) I('m| am) (nervous|on the phone).
    I (always|only) (shop|buy vegetables) at the market (in {P}|on {W}).
    I write with my left hand (but|and) throw with my right.
    I (always|) put (salt|cinnamon|mustard) on (everything|my popcorn|my eggs).
    I read the last page of a (book|novel) first.
    I talk to my plants (every morning|when nobody is home).
    I don't (eat|touch) (pork|gluten|anything with nuts) (for religious reasons|since my diagnosis|any more).
    I wear the same (red scarf|lucky socks) to every (match|exam|interview).
    we (spend|have spent) every Christmas (in {P}|with {N}'s parents) since (the kids were born|the wedding).
    I get (seasick|carsick|a migraine) (very easily|every time).
    I('m| am) a (night owl|morning person|slow eater|heavy sleeper).
    I('m| am) (colour-blind|left-handed|short-sighted|deaf in one ear).
    I do all my (shopping|banking) by phone because (I'm housebound|the branch closed).

    yesterday I (crashed my bike|lost my wallet|dropped my phone) (near the station|in {P}).
    I (had|just had) (a baby girl|twins|a little boy) (last week|on {W}), we named (her|the first one) {N}.
    I (passed|failed) my (driving test|final exam|swimming badge) (on {W}|last month).
    I got (fired|promoted|laid off) (on {W}|last week|today).
    we (buried|said goodbye to) my (grandfather|aunt|old teacher) on {W}.
    my (cellar|kitchen|office) (was flooded|burned out) (last night|in the storm).
    somebody (broke into|tried to break into) our (flat|shed|car) on {W}.
    I (broke|sprained) my (wrist|ankle|collarbone) (skiing|on the stairs|in {P}).
    I (met|ran into) {N} (by chance|) at (the station|the market|a concert) in {P}, after twenty years.
    I won (second prize|a hamper|a weekend in {P}) in the (raffle|photo contest|village fair).
    (I|we) found (an old letter|a box of photos|a gold ring) (in the attic|under the floor) that belonged to {N}.
    I had an operation on my (knee|eye|shoulder) (last spring|on {W}).
    my (son|daughter|nephew) (lost|has lost) a first tooth (today|on {W}).
    {N} (proposed to me|told me about the affair|came out to us) (in {P}|on {W}).
    our (cat|dog|rabbit) (ran away|had puppies|was run over) (on {W}|last night).
    I saw a (wolf|ghost|shooting star) near {P} (last night|when I was ten), I'll never forget it.
    I (quit|left) the (choir|band|club|party) after a row with {N}.
    I was in (hospital|{P}) for (three weeks|ten days) (last winter|as a child).
    I gave my first (concert|lecture|speech) on {W} (and was terrified|and it went well).

    (on|next) {W} I('m| am) (meeting|having lunch with) {N} (in {P}|at the station).
    I('ve| have) (got |)(a job interview|a blood test|a court date) (on|next) {W}( in {P}|).
    we('re| are) (getting married|moving out|flying to {P}) (next month|in May|on {W}).
    {N} is (coming to stay|visiting us) (for a week|from {W}|over Easter).
    I('m| am) (saving|putting money aside) for (a piano|a camper van|{N}'s studies).
    I('d| would) (love|like) to (write a book|open a cafe in {P}|keep bees) (one day|when I retire).
    (one day|some day) I want to (sail|walk) (all the way |)to {P}.
    next year I('ll| will) turn (thirty|fifty|seventy) and I('m| am) planning a (big party|long hike).
    I('m| am) organising a surprise (party|trip) for {N}, (please don't tell|nobody knows yet).
    we('re| are) building a (treehouse|sauna|henhouse) (this summer|with {N}).
    I('m| am) learning (sign language|to weld|to knit) for {N}('s sake|).
    my (landlord|boss|bank) wants me (out|to decide|to pay) by {W}.
    I have to (give back|return) {N}'s (ladder|car|keys) (before|by|on) {W}.
    (I|we) are hoping to adopt (a child|a greyhound|two cats) (this year|from {P}).

    I('m| am) (deep |)in debt (because of|since) the (divorce|renovation|failed shop).
    I (have|suffer from) (stage fright|panic attacks|vertigo), especially in (lifts|crowds|planes).
    I can't find a (flat|doctor|nursery place) (in {P}|anywhere) (for months|since spring).
    my (marriage|business) is (in trouble|falling apart) and (nobody knows|I don't know what to do).
    my (son|daughter) (skips|is failing at) school and (won't talk to us|blames {N}).
    I (don't|can't) get along with my new (boss|stepson|flatmate), {N}.
    I (can't|cannot) (swim|drive|whistle|read maps), I never learned (it|how).
    I('m| am) being (treated|tested) for (anaemia|asthma|sleep apnoea) in {P}.
    I('ve| have) had (ringing ears|back trouble|a bad knee) (for years|since the accident).
    my (heating|roof|car) has been (broken|leaking|out of order) since {W} and the (repair|part) is too dear.
    I('m| am) (fighting|in a dispute) with the (insurance|neighbours|council) over (a fence|the bill|a tree).
    I('m| am) (terrified|scared) of (dogs|needles|thunderstorms|deep water) since (my childhood|an accident in {P}).
    I (lost|have lost) my (faith|sense of smell|driving licence) (a few years ago|last year).
    I('m| am) (thinking|dreaming) of (emigrating|starting over in {P}) because (of the rents|I feel stuck).

    I was (born|raised) (during a blizzard|on a boat|in a lighthouse) near {P}.
    I (grew up|spent my childhood) without (a father|television|electricity).
    I used to be (a shy child|a heavy smoker|in the navy|a goalkeeper).
    as a (child|teenager) I (stole apples with {N}|wanted to be a clown|ran away to {P}).
    I was named after my (great-aunt|grandfather) {N}.
    I (believe|don't believe) in (horoscopes|ghosts|God|homeopathy).
    I('m| am) (proud|ashamed) of (my accent|my past|how I treated {N}).
    what I (value|treasure) most is (my independence|an old watch from {N}|quiet mornings).
    people (always |)(mistake me for|confuse me with) (my twin|{N}|a policeman).
    my (friends|colleagues) call me (Captain|Bear|Professor), because of (my beard|an old story).
    (I'd|I would) rather (be called|you called me) by my (second|last) name.
    please (always |)(answer me briefly|explain things slowly|call me {N}).
    please remember that I (use a wheelchair|can't hear well|don't eat eggs).
    (note|keep in mind) that I('m| am) (away|on night shift|without a phone) (until|every) {W}.
    (by the way|just so you know), I (moved out|stopped the pills|left {N}) (on {W}|in March).
    (fun fact|believe it or not): I once (met the Queen|won a pig|acted in a film shot in {P}).
""")

STORE_EXTRA_UNSEEN = _lines("""
    {N} makes me so uneasy that I leave the room whenever we're both there.
    deep down, I still love my ex-husband {N}.
    my respect for {N} has grown a lot since the strike.
    nobody has hurt me as much as my own cousin {N} did.
    being around {N} always lifts my spirits.
    no more sugar for me, as of {W}.
    after long talks we're keeping the baby.
    I've withdrawn my application at the firm in {P}.
    my resolution is to phone {N} once a week.
    we settled it: the wedding will be tiny, in {P}.
    before bed, a cold shower, that's been my ritual for years.
    not a {W} passes without a game of darts at the pub with {N}.
    I count stairs, always have.
    skipping breakfast is normal for me.
    ever since the flu I've been unable to taste garlic.
    the police returned my stolen bicycle on {W}.
    a tree fell on our caravan in the gale.
    {N} fainted at my sister's christening and I caught the baby.
    it's official, I'm a grandmother!
    our shop was in the paper in {P}.
    come {W}, the surgeon will take out my tonsils.
    in September I start an evening school for carpenters.
    {N} and I want to cross the Alps on donkeys.
    I'd give a lot to see {P} again before I die.
    the lease runs out and we've nowhere to go.
    stairs have become hard for me because of my hip.
    gambling cost me my savings, few people know.
    heights make my knees go soft.
    the office has treated me like air since I complained about {N}.
    my parents hid from me that I had been adopted.
    a scar on my chin reminds me of a fall in {P}.
    politics is something I never discuss at table.
    my nickname among the lads is Turnip.
    for your information, I can't read small print.
    once, as a student, I shared a room with {N} for a year.
""")

# Replies to a statement: none repeats its content.
ACKNOWLEDGE = _lines("""
    Got it, I'll remember that.
    Noted(, thank you|).
    (Okay|All right), I'll keep that in mind.
    Thanks for telling me(, I'll remember it|).
    I('ll| will) make a note of that.
    Good to know(, thanks|)(.|!)
    That's good to know, I've noted it.
    I've (written that down|made a note).
    (Understood|Understood, and noted).
    I'll remember that for you.
    Thank you for sharing that with me.
    (Right|Okay), that's in my notes now.
    I'm glad you told me.
    Okay, (saved|noted|remembered).
    I won't forget that.
    That's worth remembering, thanks.
    I see(, I'll keep that|). Thanks for letting me know.
    Sure, I'll hold on to that.
    Thanks, now I know( a bit more|).
    You can ask me about that later.
    Consider it noted.
    (Ah, I see|I see). I'll remember.
    Thank you, I've taken that down.
    Got it. (Tell me more if you like|Is there more to tell|How do you feel about it)?
    Okay, I have that. Anything else (I should know|you want me to keep)?
    Noted. (You can correct me any time|You can ask me any time).
    I've put that with (my notes|the things I know about you).
    That's clear, I'll keep it.
    All right, I know that now.
    Thanks, (that helps me|I'm happy to keep that).
    I'll bear that in mind.
    Very well, it's kept.
    (Oh|Ah), good that you mention it. I'll remember.
    I'll have that ready when you ask.
    Message received, I'll remember it.
    Thanks for the update(, noted|).
""")

# Replies to a question whose answer is not among the memories.
UNKNOWN = _lines("""
    I don't know that yet. You can tell me.
    You haven't told me that( yet|).
    I have no (note|memory) of that.
    I don't (have|find) that in my notes.
    That's something I don't know( yet|).
    I'm not sure, I don't think you've told me.
    Sorry, I don't know. (Will|Would) you tell me?
    I can't find (anything|a memory) about that.
    I don't remember you mentioning (it|that).
    Nothing in my memories answers that.
    I have nothing on that( yet|). What is it?
    (Sorry, I|I) have no idea. You can tell me, and I'll remember it.
    As far as I know, you never mentioned (it|that).
    My notes don't say.
    That isn't among the things I know.
    I'd rather not guess. You haven't told me that.
    I (looked|searched), but I (found|have) nothing about that.
    I'm afraid I don't know that.
    I don't know (it|that). If you tell me, I'll keep it in mind.
    We haven't talked about that( yet|).
    No memory of that, sorry.
    I can't say, it's not in my notes.
    That hasn't come up( yet| so far|).
    I don't have the answer. Can you tell me?
    I know nothing about that yet.
    That one is new to me. Tell me?
    I couldn't tell you, sorry. It isn't in my memories.
    Sorry, I have no record of that.
    I wish I knew, but you haven't told me.
    Not that I know of: I have no note about it.
""")

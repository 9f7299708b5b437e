"""Relations about health and care."""
from ..relation import Relation

RELATIONS = [
    Relation(
        name="allergy", topic="health", theme=["{S's} allergies", "{S's} health", "Food and health"], subject="person", value="food", single=False,
        facts=[
            "{S} is allergic to {V}.", "{S} has an allergy to {V}.", "{S's} allergy is to {V}.", "Eating {V} (gives {S} a rash|makes {S's} throat swell), an allergy.",
            "Because of an allergy, {S} (cannot|must not) (eat|touch) {V}.", "The doctor found in {M} that {S} is allergic to {V}.", "Allergy of {S}: {V}.", "{S} (told {N}|said|warned {N}) about {his} allergy to {V}.",
            "{S} reacts badly to {V} because of an allergy.", "Even a small bite of {V} can set off {S's} allergy.", "When cooking for {S}, leave out {V} because of the allergy.", "{S} (developed|was diagnosed with) an allergy to {V} in {Y}.",
        ],
        facts_unseen=["One bite of {V} and {S} comes out in hives.", "{S's} immune system does not tolerate {V}.", "At {P}, {S} had an allergic reaction after tasting {V}.", "It is {V} that sends {S} looking for the allergy pills."],
        questions=[
            "What is {S} allergic to?", "What allergy does {S} have?", "Which food is {S} allergic to?", "Does {S} have an allergy, and to what?", "What food can {S} not eat because of an allergy?", "Tell me what {S} is allergic to.",
            "Do you (know|remember) {S's} allergy?", "What should I leave out when I cook for {S}, given the allergy?", "(Remind me|Again), what is {S} allergic to?", "{S's} allergy: to what?", "What sets off {S's} allergy?", "Which food makes {S} react badly?", "To what does {S} have an allergy?",
        ],
        questions_unseen=["What would give {S} hives?", "I'm baking for {S}, which ingredient would be dangerous?", "Which food does the body of {S} not tolerate?", "What triggers an allergic reaction in {S}?"],
        questions_me=["What am I allergic to?", "Which food am I allergic to?", "What allergy do I have?", "Tell me what I'm allergic to.", "Do you (know|remember) my allergy?", "Remind me what I am allergic to.", "What food must I not eat because of my allergy?", "What sets off my allergy?", "To what do I have an allergy?"],
        questions_me_unseen=["What would give me hives?", "Which ingredient is dangerous for me?", "What does my body not tolerate?"],
        says=["I'm allergic to {V}", "I have an allergy to {V}, unfortunately.", "I can't eat {V} because of my allergy.", "The test says I'm allergic to {V}!", "(Please|Just) remember my allergy to {V}.", "allergy: {V}", "Whenever I eat {V} my allergy (flares up|acts up).", "The doctor told me I'm allergic to {V} (today|last week|)."],
        says_unseen=["One bite of {V} and my whole face swells up", "No {V} for me please, I get hives", "Had an allergic reaction last night, it was {V}"],
        facts_short=["{S} is allergic to {V}.", "{S} has an allergy to {V}.", "{S's} allergy is to {V}."],
    ),
    Relation(
        name="medicine", topic="health", theme=["{S's} medicine", "{S's} health", "Medicines"], subject="person", value="medicine", single=True,
        facts=[
            "{S} takes {V} (every day|every morning|twice a day|before bed).", "{S's} (medicine|medication) is {V}.", "{N} prescribed {V} (for|to) {S} (in {M}|on {D}|).", "The (medicine|medication|drug) {S} takes is (called|) {V}.", "{S} is on {V}, a medicine (from {N}|since {M}|).",
            "Every (evening|morning), {S} swallows a tablet of {V}.", "Medicine of {S}: {V}.", "{S} (told {N}|said) that {he} had to take {V}.", "On {S's} prescription it says {V}.", "{S} picked up {V} for {himself} at the pharmacy.", "Since {Y}, {S} has been taking {V} as a medicine.", "{S} must not forget to take {V}.",
        ],
        facts_unseen=["{S} keeps a packet of {V} by the bed and never misses a dose.", "With a glass of water, {V} goes down {S's} throat each day.", "The pills in {S's} pill box are {V}.", "{S} is being treated with {V}."],
        questions=[
            "What medicine does {S} take?", "Which (medicine|medication|drug) does {S} take?", "What is {S's} (medicine|medication)?", "What is the name of {S's} medicine?", "What (medicine|drug) was {S} prescribed?", "Tell me which medicine {S} takes.", "Do you (know|remember) {S's} medication?",
            "What medication is {S} on?", "(Remind me|Again), which medicine does {S} take?", "{S's} medicine: what is it called?", "What tablets does {S} take?", "What must {S} not forget to take?", "What stands on {S's} prescription?",
        ],
        questions_unseen=["With what is {S} being treated?", "Which pills are in the pill box of {S}?", "The chemist asks what to hand over for {S}, what is it?", "A dose of what does {S} need every day?"],
        questions_me=["What medicine do I take?", "Which medication am I on?", "What is my medicine called?", "What was I prescribed?", "Tell me which medicine I take.", "Do you (know|remember) my medication?", "Remind me what tablets I take.", "What is on my prescription?", "Which drug do I have to take?"],
        questions_me_unseen=["Which pills are in my pill box?", "With what am I being treated?", "What should I ask for at the chemist's?"],
        says=["I take {V} every (day|morning|night)", "My medicine is (called|) {V}.", "The doctor prescribed me {V} (today|).", "I'm on {V} (now|at the moment), my new medication.", "medication: {V}", "Remind me to take my {V}, I always forget my tablets.", "I started taking {V} as a medicine (this week|last month).", "Just picked up my medicine, {V}, at the pharmacy."],
        says_unseen=["A pill of {V} with breakfast, that's my life now", "They are treating me with {V}", "I ran out of {V} and need a new prescription"],
        updates=["{S} stopped taking {V0} and now takes {V}.", "The doctor changed {S's} medicine from {V0} to {V}.", "{S} has a new medicine: {V}.", "{S} was switched to {V} because {V0} did not help."],
        facts_short=["{S} takes {V}.", "{S's} medicine is {V}.", "{S} takes the medicine {V}."],
    ),
    Relation(
        name="illness", topic="health", theme=["{S's} health", "{S's} illness", "Health"], subject="person", value="illness", single=False,
        facts=[
            "{S} (has|suffers from|is ill with|is suffering from) {V}.", "{S} was diagnosed with {V} (in {M}|on {D}|by {N}|).", "{S's} (illness|health problem|complaint) is {V}.", "The doctor says that {S} has {V}.", "(In {M}|Last week|Since {D}), {S} has been troubled by {V}.", "Because of {V}, {S} (stayed at home|went to the doctor|cancelled the trip|could not come).",
            "Illness of {S}: {V}.", "{S} (told {N}|said|mentioned) that {he} had come down with {V}.", "{S} went to see the doctor about {V}.", "A case of {V} kept {S} (in bed|at home) (in {M}|for days).", "{N} visited {S}, who was in bed with {V}.", "{S} is being treated for {V}.", "{S} has health trouble, namely {V}.",
        ],
        facts_unseen=["It is {V} that has been making {S} feel unwell.", "{S} called in sick, citing {V}.", "{S} is not well: the diagnosis was {V}.", "{V} has struck {S}, so the doctor was called."],
        questions=[
            "What illness does {S} have?", "What does {S} suffer from?", "What is wrong with {S}?", "What was {S} diagnosed with?", "What is {S's} (illness|health problem|complaint)?", "What is {S} ill with?", "Tell me what {S} suffers from.", "Do you (know|remember) what {S} was diagnosed with?",
            "For what is {S} being treated?", "(Remind me|Again), what illness does {S} have?", "What health problem does {S} have?", "Why did {S} see the doctor?", "What did {S} come down with?",
        ],
        questions_unseen=["What has been making {S} feel unwell?", "What was the diagnosis for {S}?", "{S} called in sick, with what?", "What is the medical trouble of {S}?"],
        questions_me=["What illness do I have?", "What do I suffer from?", "What was I diagnosed with?", "What is wrong with me?", "What is my health problem?", "Tell me what I'm ill with.", "Do you (know|remember) my diagnosis?", "Remind me what I'm being treated for.", "What did I come down with?"],
        questions_me_unseen=["What has been making me feel unwell?", "I called in sick, with what?", "What is my medical trouble?"],
        says=["I have {V}", "I was diagnosed with {V} (today|last week|).", "I'm suffering from {V} again.", "I've come down with {V}, (ugh|sigh|so annoying).", "Can't come, I'm ill with {V}.", "The doctor says I have {V}.", "I'm being treated for {V}.", "In bed with {V} since (yesterday|Monday).", "health problem: {V}"],
        says_unseen=["Not feeling well at all, it turns out to be {V}", "{V} has got me and I called in sick", "My trouble with {V} won't go away"],
        facts_short=["{S} has {V}.", "{S} suffers from {V}.", "{S} was diagnosed with {V}."],
    ),
    Relation(
        name="doctor", topic="health", theme=["{S's} doctor", "{S's} health", "Doctors"], subject="person", value=["Dr %s" % x for x in (
            "Abelow Brandry Cattus Delmar Elvorn Fassbeck Gorrin Hallowby Imbert Jessop Karlin Lomax Mirrow Nadeem Ostrava Pellham Quillon Rastov Selborn Tamwick Ulrick Vantry Wexley Yardani Zimmel Achterby Bolland Crispen Dunnow Eastly "
            "Farrago Gildan Hesper Ilvane Jorrit Kestrin Lundmoor Mascall Norbeck Oakden Pashley Ravello Sandoz Tillman Umbridge Varnett Wolcott Yelland Zorin Brackwell").split()],
        single=True,
        facts=[
            "{S's} (doctor|GP|physician) is {V}.", "{S} (goes to|sees|is a patient of) {V}, {his} doctor.", "{V} is {S's} (doctor|family doctor|GP).", "The doctor {S} (goes to|trusts|sees) is {V}.", "(In {M}|On {D}|Last week), {S} saw {his} doctor, {V}, about a cough.", "When {S} is ill, the one to call is {V}, the doctor.",
            "Doctor of {S}: {V}.", "{S} (told {N}|mentioned|said) that {his} doctor is {V}.", "{N} recommended {V} to {S}, who has been a patient there since.", "{S} has an appointment with {his} doctor, {V}, in {M}.", "For a check-up {S} visits {V}, the family doctor.", "As a doctor, {S} has {V}.",
        ],
        facts_unseen=["Whenever the fever will not go down, {V} examines {S}.", "Sick or well, {S} has been cared for by {V} for many years.", "{S} is registered with the surgery of {V}.", "It was {V} who wrote {S} a sick note."],
        questions=[
            "Who is {S's} (doctor|GP|physician)?", "What is the name of {S's} doctor?", "Which doctor does {S} (go to|see)?", "What is {S's} doctor called?", "Whose patient is {S}?", "Tell me who {S's} doctor is.", "Do you (know|remember) the name of {S's} doctor?", "(Remind me|Again), who is {S's} doctor?",
            "{S's} family doctor: who is it?", "To which doctor does {S} go?", "Who does {S} see for a check-up?", "Who treats {S} as a GP?",
        ],
        questions_unseen=["Who examines {S} in case of fever?", "Whose surgery is {S} registered with?", "{S} needs a sick note, who writes it?", "By what name is the physician of {S} known?"],
        questions_me=["Who is my (doctor|GP)?", "What is my doctor's name?", "Which doctor do I (go to|see)?", "What is my doctor called?", "Tell me who my doctor is.", "Do you (know|remember) my doctor's name?", "Remind me of the name of my doctor.", "Whose patient am I?", "Who does my check-ups?"],
        questions_me_unseen=["Whose surgery am I registered with?", "I need a sick note, who writes it for me?", "Who examines me when I have a fever?"],
        says=["my doctor is {V}", "I go to {V}, my GP.", "I have an appointment with my doctor, {V}, (tomorrow|on Monday|next week).", "My GP's name is {V}.", "{V} is my new doctor, very kind.", "doctor: {V}", "I saw {V} about my cough, that's my doctor.", "I'm a patient of {V}."],
        says_unseen=["I'm registered at the surgery of {V} now", "When I have a fever I ring {V}", "{V} wrote me a sick note again"],
        updates=["{S} changed doctors from {V0} to {V}.", "{V0} retired and {S's} doctor is now {V}.", "{S} has a new doctor, {V}.", "{S} no longer goes to {V0}; {his} doctor is {V} now."],
        facts_short=["{S's} doctor is {V}.", "{V} is {S's} doctor.", "{S} is a patient of {V}."],
    ),
    Relation(
        name="dentist", topic="health", theme=["{S's} dentist", "{S's} health", "Teeth and dentists"], subject="person", value="fullname", single=True,
        facts=[
            "{S's} dentist is {V}.", "{S} (goes to|sees|has) a dentist called {V}.", "{V} is the dentist (of {S}|who treats {S}|that {S} goes to).", "(In {M}|On {D}|Last week), {V}, {S's} dentist, (filled a tooth|pulled a tooth|took an X-ray).", "{S} lets {V} look after {his} teeth.", "Dentist of {S}: {V}.",
            "{S} (told {N}|said|mentioned) that the dentist is called {V}.", "For {his} teeth, {S} trusts {V}, the dentist.", "{N} recommended the dentist {V} to {S}, who now goes there.", "Twice a year, {S} sits in the dentist's chair of {V}.", "The name of {S's} dentist is {V}.", "{S} has a dental appointment with {V} (in {M}|on {D}|).",
        ],
        facts_unseen=["{S's} teeth are in the hands of {V}.", "It is {V} who drills when {S} has a cavity.", "With a toothache, {S} runs to {V}.", "{S} got a crown fitted by {V}, as always."],
        questions=[
            "Who is {S's} dentist?", "What is the name of {S's} dentist?", "Which dentist does {S} (go to|see)?", "What is {S's} dentist called?", "Who looks after {S's} teeth?", "Tell me who {S's} dentist is.", "Do you (know|remember) {S's} dentist?", "(Remind me|Again), who is the dentist of {S}?",
            "{S's} dentist: what is the name?", "Whose dental patient is {S}?", "To which dentist does {S} go?", "With whom does {S} have a dental appointment?",
        ],
        questions_unseen=["Where would {S} run with a toothache, to whom?", "Who drills when {S} has a cavity?", "In whose hands are the teeth of {S}?", "Who would fit a crown for {S}?"],
        questions_me=["Who is my dentist?", "What is my dentist's name?", "Which dentist do I (go to|see)?", "What is my dentist called?", "Tell me who my dentist is.", "Do you (know|remember) my dentist?", "Remind me of the name of my dentist.", "Who looks after my teeth?", "With whom is my dental appointment?"],
        questions_me_unseen=["I have a toothache, whom do I call?", "Who drills when I have a cavity?", "In whose hands are my teeth?"],
        says=["my dentist is {V}", "I go to a dentist called {V}.", "I have a dentist appointment with {V} (tomorrow|next week|on Friday).", "{V} is my new dentist, very gentle.", "dentist: {V}", "{V} filled one of my teeth today, I like this dentist.", "My dentist's name is {V}.", "I trust only {V} with my teeth."],
        says_unseen=["Had a cavity and {V} fixed it", "Toothache again, so off to {V}", "{V} fitted my crown this morning"],
        updates=["{S} changed dentists from {V0} to {V}.", "{S} has a new dentist: {V}.", "{S's} dentist is no longer {V0} but {V}.", "After {V0} closed the practice, {S} chose {V} as a dentist."],
        facts_short=["{S's} dentist is {V}.", "{V} is {S's} dentist.", "{S} goes to the dentist {V}."],
    ),
    Relation(
        name="blood_type", topic="health", theme=["{S's} blood type", "{S's} health", "Medical data"], subject="person", value=["A positive", "A negative", "B positive", "B negative", "AB positive", "AB negative", "O positive", "O negative"] * 5, single=False,
        facts=[
            "{S's} blood (type|group) is {V}.", "{S} has (the|) blood (type|group) {V}.", "{V} is {S's} blood (type|group).", "The lab found that {S's} blood is {V}.", "Blood type of {S}: {V}.", "{S} gave blood in {M} and learned that it is type {V}.", "On {S's} donor card the blood type {V} is printed.",
            "{S} (told {N}|said|mentioned) that {his} blood group is {V}.", "As for blood type, {S} is {V}.", "In {S's} medical file the blood group is given as {V}.", "If {S} ever needs a transfusion: the blood group is {V}.", "The nurse wrote {V} down as the blood type of {S}.",
        ],
        facts_unseen=["{V} is what runs in {S's} veins, according to the lab.", "{S} carries a donor card that reads {V}.", "A test on {D} sorted {S} into the {V} blood donors.", "The blood of {S} was tested as {V}."],
        questions=["What is {S's} blood (type|group)?", "What blood (type|group) does {S} have?", "Which blood (type|group) does {S} have?", "Tell me {S's} blood type.", "Do you (know|remember) {S's} blood group?", "{S's} blood group: what is it?", "(Remind me|Again), what blood type is {S}?", "What type is {S's} blood?", "What is the blood type of {S}?", "Which blood group is on {S's} donor card?", "What blood would {S} need in a transfusion?", "What does {S's} medical file give as the blood group?"],
        questions_unseen=["The hospital must know: of what group is the blood of {S}?", "Which type runs in the veins of {S}?", "As a donor of what blood is {S} listed?", "How was the blood of {S} classified by the lab?"],
        questions_me=["What is my blood (type|group)?", "What blood type do I have?", "Which blood group am I?", "Tell me my blood type.", "Do you (know|remember) my blood group?", "Remind me of my blood type.", "What type is my blood?", "Which blood type is on my donor card?"],
        questions_me_unseen=["Which type runs in my veins?", "As a donor of what blood am I listed?", "The hospital asks about my blood, what group is it?"],
        says=["my blood type is {V}", "I have blood group {V}.", "I gave blood today, I'm {V}.", "blood type: {V}", "The lab says my blood type is {V}.", "In an emergency: my blood group is {V}.", "My donor card came, blood type {V}.", "I just learned that I'm blood type {V}."],
        says_unseen=["Turns out {V} runs in my veins", "They list me as a donor of type {V}", "They tested my blood: {V}"],
        facts_short=["{S's} blood type is {V}.", "{S} has blood type {V}.", "The blood group of {S} is {V}."],
    ),
    Relation(
        name="bedtime", topic="health", theme=["{S's} sleep", "{S's} bedtime", "Daily routine"], subject="person", value="time", single=True,
        facts=[
            "{S} goes to bed at {V}.", "{S's} (bedtime|usual bedtime) is {V}.", "At {V}, {S} (goes to bed|turns off the light|goes to sleep).", "{S} (usually|always|normally|mostly) goes to (bed|sleep) at {V}.", "Bedtime of {S}: {V}.", "By {V}, {S} is in bed.", "{S} (told {N}|said|mentioned) that {he} would go to bed at {V}.", "On weekdays, {S} turns in at {V}.",
            "Don't call {S} after {V}, that is {his} bedtime.", "{S} reads for a while and falls asleep at {V}.", "Since {M}, {S} has been going to bed at {V}.", "{S} brushes {his} teeth and is in bed at {V}.",
        ],
        facts_unseen=["The lamp in {S's} bedroom goes dark at {V}.", "{V} is when {S} calls it a night.", "{S} hits the pillow at {V}.", "For {S}, the day ends at {V}."],
        questions=["When does {S} go to bed?", "What time does {S} go to (bed|sleep)?", "What is {S's} bedtime?", "At what time does {S} go to bed?", "Tell me when {S} goes to bed.", "Do you (know|remember) {S's} bedtime?", "(Remind me|Again), when does {S} go to sleep?", "{S's} bedtime: when is it?", "Until what time is {S} up?", "When does {S} turn off the light?", "When is {S} in bed?", "At what hour does {S} go to sleep?"],
        questions_unseen=["When does {S} call it a night?", "After what time should I not phone because {S} will be asleep?", "When does the day end for {S}?", "At which hour does {S} hit the pillow?"],
        questions_me=["When do I go to bed?", "What time do I go to sleep?", "What is my bedtime?", "At what time do I go to bed?", "Tell me when I go to bed.", "Do you (know|remember) my bedtime?", "Remind me when I go to bed.", "When do I turn off the light?"],
        questions_me_unseen=["When do I call it a night?", "At which hour do I hit the pillow?", "After what time am I asleep?"],
        says=["I go to bed at {V}", "My bedtime is {V}.", "I'm (always|usually) in bed at {V}.", "I try to go to sleep at {V}.", "bedtime: {V}", "I turn the light off at {V} these days.", "Don't write after {V}, that's my bedtime.", "From now on I go to bed at {V}."],
        says_unseen=["I call it a night at {V}", "My head hits the pillow at {V}", "{V} and I'm asleep, every night"],
        updates=["{S} now goes to bed at {V} instead of {V0}.", "{S's} bedtime changed from {V0} to {V}.", "{S} has a new bedtime: {V}.", "{S} used to go to bed at {V0} but now does so at {V}."],
        facts_short=["{S} goes to bed at {V}.", "{S's} bedtime is {V}.", "The bedtime of {S} is {V}."],
    ),
]

"""Names and values: word lists and invented words, split so that what measures is never trained on.

A string belongs to the held-out part by its own hash, whatever list or rule it comes from.
"""

import hashlib
import re
from datetime import date as Date
from datetime import timedelta

HELD_SHARE = 8  # one in eight


def held_out(text):
    """Whether a value is kept for measuring (case does not matter)."""
    return hashlib.sha256(text.lower().encode()).digest()[0] % HELD_SHARE == 0



def _phrases(text):
    """`a|b c|d`, over several lines."""
    return [" ".join(phrase.split()) for phrase in text.split("|")]


WOMEN = """Anna Maria Wanda Clara Julia Sofia Emma Olivia Mia Lena Nora Ida Elsa Greta Hanna Sara Laura Lisa Eva Nina
Tina Rosa Carla Paula Irene Helen Grace Alice Lucy Ruby Ella Chloe Zoe Amy Kate Jane Mary Ruth Esther Judith Naomi
Tara Priya Anjali Meera Lakshmi Aisha Fatima Leila Yasmin Zahra Noor Mei Yuki Sakura Hana Akiko Linh Thuy Ingrid
Astrid Freya Sigrid Solveig Karin Birgit Ulla Petra Monika Katja Olga Irina Natasha Svetlana Vera Daria Marta Agnes
Beata Ewa Zofia Ana Carmen Lucia Elena Isabel Pilar Ines Beatriz Mariana Joana Giulia Chiara Francesca Bianca Camille
Margot Elodie Juliette Colette Amelie Brigitte Deirdre Siobhan Niamh Aoife Bronwen Megan Rhiannon Tamsin Imogen Beth
Daisy Poppy Hazel Ivy Violet Iris Flora Stella Celia Delia Thea Maud Edith Martha Dorothy Phoebe Rachel Leah Miriam
Hadassah Selma Alma Vilma Tuuli Aino Kaisa Amara Chioma Ngozi Zola Thandi Imani Wangari Adaeze Soraya Parisa Roxana
Melissa Amanda Jessica Ashley Brittany Nicole Heather Tiffany Kimberly Vanessa Monica Angela Patricia Sandra Diana
Teresa Gloria Sylvia Yvonne Renata Viola Ottilie Mathilda Frieda Josefine Luise""".split()
MEN = """Adam Paul Peter Tom Tim Jan Max Felix Oscar Emil Anton Hugo Otto Karl Hans Franz Georg Stefan Martin Markus
Andreas Lukas Jonas Elias Noah Leo Finn Ben Sam Jack Harry George Henry Arthur Edward Albert Walter Ralph Stanley
Frank Bruce Keith Colin Ian Neil Hamish Angus Duncan Callum Rory Liam Sean Patrick Declan Owen Rhys Dylan Gareth
Pierre Luc Marcel Antoine Julien Mathieu Olivier Thierry Marco Luca Matteo Paolo Giorgio Enzo Dario Carlos Miguel
Diego Javier Pablo Rafael Manuel Joao Tiago Duarte Nuno Ivan Boris Dmitri Sergei Yuri Oleg Anatoly Pavel Tomas Milan
Marek Jakub Piotr Tadeusz Zoltan Istvan Bela Laszlo Andrei Radu Stavros Nikos Kostas Yannis Mehmet Emre Kemal Omar
Ali Hassan Karim Tariq Yusuf Ibrahim Amir Reza Farid Ravi Arjun Vikram Sanjay Rohan Anil Deepak Kenji Hiroshi Takeshi
Satoshi Ren Wei Jun Ming Hao Minh Bao Thanh Kwame Kofi Sipho Themba Chidi Emeka Tunde Jabari Mandla Isak Lars Erik
Nils Bjorn Sven Gustav Henrik Mikkel Rasmus Tor Leif Eino Juhani Mika Pekka David Daniel Jacob Isaac Simon Joel Aaron
Nathan Gabriel Raphael Samuel Benjamin Tobias Julian Fabian Dominik Oskar Konrad Ludwig Ernst Werner Jason Kevin
Brian Eric Scott Todd Craig Derek Troy Wayne Doug Greg Kyle Brandon Justin Tyler Ethan Mason Logan""".split()
FAMILY_NAMES = """Smith Jones Taylor Brown Wilson Evans Walker Wright Green Hall Wood Harris Clarke Cooper Ward Turner
Carter Phillips Mitchell Bailey Parker Bennett Foster Hughes Russell Griffin Hayes Meyer Weber Schulz Becker Hoffmann
Koch Richter Klein Wolf Neumann Schwarz Zimmermann Braun Hartmann Lange Krause Lehmann Kaiser Fuchs Vogel Jensen
Nielsen Hansen Larsen Andersen Lindqvist Bergstrom Nyberg Sandberg Virtanen Korhonen Novak Svoboda Dvorak Kowalski
Wojcik Nowak Petrov Ivanov Sokolov Popescu Ionescu Rossi Ferrari Bianchi Romano Moretti Conti Garcia Lopez Martinez
Sanchez Torres Ramirez Silva Santos Pereira Costa Almeida Dubois Moreau Laurent Girard Bonnet Fontaine Patel Sharma
Gupta Singh Khan Ahmed Hussein Nguyen Tran Pham Chen Wang Li Zhang Liu Tanaka Suzuki Sato Yamamoto Kim Park Choi
Okafor Adeyemi Mensah Dlamini Abebe Haile Levy Cohen Katz Stern""".split()
COLOURS = """red blue green yellow orange purple pink brown black white grey turquoise violet crimson scarlet maroon navy
teal beige ivory olive mint lavender lilac coral salmon peach apricot amber gold silver bronze copper rust burgundy
mustard khaki indigo cobalt emerald jade charcoal cream magenta fuchsia plum mauve ochre sand sky-blue lime cherry
chestnut aubergine azure rose ruby sapphire slate cinnamon""".split()
FOODS = _phrases("""lasagne|pancakes|sushi|ramen|tacos|falafel|hummus|goulash|paella|risotto|gnocchi|ravioli|pumpkin soup|lentil
soup|tomato soup|fish and chips|shepherd's pie|apple pie|cheesecake|tiramisu|waffles|crepes|dumplings|pierogi|borscht|
moussaka|kebab|curry|butter chicken|dal|biryani|pad thai|spring rolls|pho|bibimbap|kimchi|tempura|fried rice|meatballs|
pizza|burgers|hot dogs|mac and cheese|scrambled eggs|omelette|porridge|muesli|yoghurt|goat cheese|blue cheese|olives|
mushrooms|peanuts|walnuts|almonds|hazelnuts|shrimp|mussels|oysters|salmon|tuna|herring|trout|strawberries|cherries|
mangoes|figs|dates|apricots|plums|pears|bananas|kiwis|pineapple|watermelon|celery|spinach|broccoli|asparagus|
cauliflower|brussels sprouts|beetroot|carrots|aubergines|courgettes|peppers|leek tart|onion tart|quiche|potato salad|
rice pudding|apple strudel|plum cake|lemon tart|carrot cake|chocolate mousse|gingerbread|cinnamon rolls|rye bread|
garlic bread|bean stew|chili|gazpacho|couscous|tabbouleh|polenta|noodle soup|chicken soup|fondue|raclette|tofu|
mustard|liquorice|marzipan|honey|wheat|soy|sesame|milk|eggs|egg salad|gluten""")
DRINKS = _phrases("""black tea|green tea|mint tea|ginger tea|chamomile tea|coffee|espresso|cappuccino|hot chocolate|lemonade|apple
juice|orange juice|tomato juice|carrot juice|elderflower cordial|iced tea|ginger ale|ginger beer|tonic water|
sparkling water|coconut water|oat milk|almond milk|buttermilk|kefir|mango lassi|cider|stout|wheat beer|red wine|
white wine|port|sherry|mead|sake|whisky|gin and tonic|mulled wine|cocoa|matcha|rooibos|barley tea|root beer|cola|
grape juice|cherry juice|rhubarb soda|malt beer|kombucha|horchata|bubble tea|chai|turmeric latte""")
ANIMALS = _phrases("""dog|cat|parrot|canary|budgie|hamster|guinea pig|rabbit|tortoise|goldfish|gecko|ferret|chinchilla|mouse|rat|
horse|pony|donkey|goat|sheep|hedgehog|snake|frog|axolotl|otter|fox|badger|owl|penguin|elephant|giraffe|tiger|lion|
panda|koala|kangaroo|wolf|bear|deer|squirrel|whale|dolphin|seal|octopus|eagle|falcon|heron|swan|flamingo|crow|
raven|magpie|hummingbird|bee|butterfly|beetle|turtle|lynx|raccoon|llama|alpaca|camel|cockatoo|duck|goose|hen""")
PLANTS = _phrases("""rose|tulip|orchid|cactus|fern|basil|lavender|sunflower|daisy|lily|ivy|bonsai|palm|lemon tree|fig tree|olive
tree|tomato plant|mint|rosemary|thyme|geranium|begonia|violet|peony|dahlia|hydrangea|magnolia|jasmine|aloe|rubber
plant|monstera|poppy|iris|lilac|snowdrop|crocus|daffodil|marigold|petunia|pansy|fuchsia|azalea|camellia|clematis|
wisteria|honeysuckle|amaryllis|cyclamen|heather|succulent""")
INSTRUMENTS = _phrases("""piano|guitar|violin|cello|viola|double bass|flute|oboe|clarinet|bassoon|saxophone|trumpet|trombone|tuba|
French horn|harp|drums|accordion|banjo|mandolin|ukulele|lute|recorder|harmonica|organ|bagpipes|zither|sitar|tabla|
marimba|xylophone|harpsichord|bass guitar|concertina|hurdy-gurdy|kalimba|theremin|balalaika|bouzouki|tin whistle""")
LANGUAGES = """English French German Spanish Italian Portuguese Dutch Danish Swedish Norwegian Finnish Icelandic Polish
Czech Slovak Hungarian Romanian Bulgarian Greek Turkish Arabic Hebrew Persian Hindi Urdu Bengali Tamil Telugu
Japanese Korean Mandarin Cantonese Vietnamese Thai Indonesian Malay Tagalog Swahili Zulu Yoruba Amharic Welsh Irish
Gaelic Basque Catalan Galician Latvian Lithuanian Estonian Russian Ukrainian Serbian Croatian Albanian Armenian
Georgian Latin Esperanto Yiddish Maltese Breton Mongolian""".split()
SUBJECTS = _phrases("""mathematics|physics|chemistry|biology|history|geography|law|medicine|economics|philosophy|psychology|
sociology|linguistics|archaeology|architecture|art history|music theory|computer science|engineering|astronomy|
geology|botany|zoology|marine biology|journalism|political science|theology|education|nursing|pharmacy|dentistry|
veterinary medicine|agriculture|forestry|nutrition|graphic design|fashion design|photography|film studies|statistics|
accounting|marketing|logistics|robotics|genetics|neuroscience|anthropology|classics|literature|translation|
social work|tourism|aviation|oceanography|meteorology""")
JOBS = _phrases("""nurse|teacher|baker|carpenter|plumber|electrician|gardener|farmer|lawyer|doctor|dentist|pharmacist|architect|
engineer|programmer|journalist|photographer|translator|librarian|bus driver|train driver|pilot|flight attendant|
waiter|cook|barista|hairdresser|tailor|shoemaker|watchmaker|goldsmith|potter|painter|sculptor|musician|actor|dancer|
writer|editor|publisher|accountant|bank clerk|estate agent|estate manager|receptionist|secretary|police officer|
firefighter|paramedic|midwife|vet|zookeeper|forester|fisherman|sailor|mechanic|welder|roofer|bricklayer|glazier|
surveyor|geologist|biologist|chemist|physicist|economist|judge|notary|social worker|psychologist|physiotherapist|
optician|florist|butcher|brewer|beekeeper|cheesemaker|tour guide|museum guard|stage designer|sound engineer|
data analyst|web designer|security guard|postman|courier|locksmith|chimney sweep|piano tuner|violin maker""")
HOBBIES = _phrases("""pottery|knitting|crochet|sewing|woodwork|gardening|birdwatching|stargazing|chess|origami|calligraphy|
photography|painting|drawing|baking|brewing beer|beekeeping|fishing|hiking|climbing|cycling|swimming|rowing|sailing|
kayaking|surfing|skating|skiing|fencing|archery|judo|yoga|pilates|running|dancing|tango|choir singing|playing cards|
board games|model trains|model ships|collecting stamps|geocaching|juggling|magic tricks|reading|poetry|creative
writing|blogging|podcasting|genealogy|astronomy|embroidery|quilting|candle making|soap making|leatherwork|metal
detecting|mushroom hunting|foraging|horse riding|badminton|table tennis|volleyball|golf|bowling|darts|snooker|
crossword puzzles|sudoku|bookbinding|glass blowing|macrame|weaving|kite flying|drone racing|parkour""")
SPORTS = _phrases("""football|tennis|basketball|volleyball|handball|rugby|cricket|baseball|hockey|ice hockey|badminton|squash|
table tennis|golf|swimming|diving|water polo|rowing|canoeing|sailing|surfing|cycling|running|triathlon|boxing|judo|
karate|wrestling|fencing|archery|gymnastics|climbing|skiing|snowboarding|skating|curling|bowling|darts|polo|
lacrosse|netball|softball|weightlifting|orienteering|biathlon|bouldering|kendo|aikido|frisbee|parkour""")
ILLNESSES = _phrases("""migraine|asthma|hay fever|diabetes|bronchitis|pneumonia|tonsillitis|the flu|a sprained ankle|a broken arm|
a torn ligament|back pain|sciatica|tinnitus|eczema|psoriasis|anaemia|high blood pressure|a stomach ulcer|gallstones|
kidney stones|arthritis|gout|insomnia|vertigo|a concussion|shingles|measles|chickenpox|whooping cough|a slipped disc|
tennis elbow|a stiff neck|sinusitis|an ear infection|food poisoning|celiac disease|a heart murmur|epilepsy|a hernia""")
ITEMS = _phrases("""umbrella|wallet|passport|bicycle pump|scarf|hat|glove|ring|watch|camera|phone charger|headphones|notebook|
fountain pen|suitcase|backpack|tent|sleeping bag|ladder|drill|hammer|lawn mower|wheelbarrow|sewing machine|iron|
blender|toaster|waffle iron|fondue set|picnic basket|cool box|thermos|guitar tuner|music stand|chess set|skis|
ice skates|helmet|football|tennis racket|yoga mat|dumbbells|binoculars|telescope|compass|torch|lantern|candle holder|
vase|teapot|cake tin|rolling pin|cookbook|dictionary|atlas|library card|season ticket|key ring|earring|necklace|
bracelet|brooch|sunglasses|reading glasses|raincoat|wellingtons|hot-water bottle|travel adapter|power bank|tablet""")
ADJECTIVES = """green red blue yellow white black old new second-hand wooden copper folding woollen leather velvet silk
enormous tiny striped spotted electric vintage hand-made portable ceramic glass steel golden silver patched waterproof
heavy light cheap costly round square crooked Danish Japanese Italian Moroccan Welsh""".split()
WISHES = _phrases("""to learn the harp|to see the northern lights|to write a novel|to sail around the world|to open a bakery|to
run a marathon|to buy a lighthouse|to keep bees|to walk across Spain|to learn to fly|to visit Antarctica|to build a
boat|to plant an orchard|to live by the sea|to speak five languages|to record an album|to climb Kilimanjaro|to study
again|to restore an old car|to found a choir|to raise alpacas|to see a whale|to ride the Trans-Siberian|to swim the
Channel|to bake the perfect loaf|to own a bookshop|to move to the mountains|to adopt a donkey|to learn to tango|to
paint a mural|to learn glass blowing|to see a total eclipse|to cycle to Istanbul|to publish poems|to sing in an
opera|to build a tree house|to retire at fifty|to trace the family tree|to cook in a castle|to learn sign language|to
cross the Gobi desert|to become a judge|to teach in a village|to design a garden|to play at a festival|to ski to the
pole|to dive to a wreck|to drive an ice-cream van|to keep an owl|to build a telescope""")
ACTIVITIES = _phrases("""restoring old clocks|baking sourdough bread|mending bicycles|painting shutters|carving spoons|singing in
a choir|growing chillies|training for a race|repairing radios|writing letters|learning to juggle|building a canoe|
sorting old photographs|translating poems|sewing curtains|tuning pianos|keeping a diary|drawing maps|pickling
vegetables|walking the neighbour's dog|tutoring children|renovating the bathroom|digging a pond|practising headstands|
making jam|recording birdsong|reading to the blind|coaching a team|polishing stones|binding books|feeding stray cats|
cleaning up the beach|planting trees|making puppets|collecting folk songs|brewing cider|dyeing wool|laying bricks|
learning Morse code|folding paper cranes|editing a film|running a book club|cataloguing beetles|weaving baskets""")
REASONS = _phrases("""the rent was too high|the lift was broken|the train was late|the noise was unbearable|the pay was better|
the weather turned bad|the doctor advised it|the cat was ill|the garden was larger|the school was closer|the old one
was broken|a friend insisted|there was no parking|the food was awful|the tickets were cheap|the house was sold|the
boss was unfair|the view was lovely|the contract ended|the roof leaked""")
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = """January February March April May June July August September October November December""".split()
COUNTRIES = """France Spain Italy Portugal Germany Austria Switzerland Belgium Holland Denmark Sweden Norway Finland
Iceland Ireland Scotland Wales England Poland Hungary Romania Bulgaria Greece Turkey Croatia Slovenia Serbia Albania
Estonia Latvia Lithuania Ukraine Georgia Armenia Israel Lebanon Jordan Egypt Morocco Tunisia Senegal Ghana Nigeria
Kenya Tanzania Uganda Ethiopia Namibia Botswana Madagascar India Nepal Bhutan Thailand Vietnam Cambodia Laos Malaysia
Indonesia Japan Korea China Mongolia Taiwan Australia Fiji Samoa Canada Mexico Cuba Jamaica Panama Colombia Ecuador
Peru Bolivia Chile Argentina Uruguay Paraguay Brazil Malta Cyprus""".split()
CITIES = """Paris London Berlin Vienna Rome Madrid Lisbon Porto Seville Valencia Milan Turin Naples Venice Florence Munich
Hamburg Bremen Leipzig Dresden Cologne Zurich Geneva Basel Brussels Antwerp Ghent Amsterdam Utrecht Copenhagen Aarhus
Oslo Bergen Stockholm Lund Malmo Helsinki Turku Tallinn Riga Vilnius Warsaw Krakow Gdansk Prague Brno Budapest Zagreb
Belgrade Athens Istanbul Ankara Cairo Tunis Dakar Accra Lagos Nairobi Mumbai Delhi Chennai Kyoto Osaka Tokyo Seoul
Busan Beijing Shanghai Taipei Hanoi Bangkok Jakarta Sydney Perth Melbourne Auckland Toronto Montreal Vancouver Boston
Chicago Denver Seattle Portland Austin Dallas Atlanta Miami Havana Lima Quito Bogota Santiago York Leeds Bristol Cardiff
Edinburgh Glasgow Dublin Cork Galway Belfast Oxford Cambridge Norwich Exeter""".split()
STREETS = "Street Road Lane Avenue Square Hill Close Row Terrace Gardens".split()
VENUES = "Museum|Theatre|Library|Cafe|Hotel|Gallery|Market|Park|Inn|Hall|Cinema|Baths|Tower|Abbey|Bridge|Restaurant|Bar|Garden".split("|")
FIRMS = "Labs|Works|Systems|Brothers|and Sons|Motors|Bank|Foods|Press|Logistics|Software|Energy|Textiles|Optics|Insurance|Consulting|Media|Airlines|Group|Pharma".split("|")
SCHOOLS = "School|College|University|Academy|Institute|High School|Grammar School|Polytechnic".split("|")
THING_NOUNS = _phrases("""kettle|bicycle|sofa|armchair|lamp|rug|desk|bookcase|bed|mirror|guitar|piano|camera|tent|canoe|teapot|
rucksack|coat|raincoat|jacket|hat|scarf|pair of boots|clock|radio|record player|typewriter|printer|laptop|vase|
painting|carpet|toaster|coffee machine|sewing machine|telescope|chess set|globe|hammock|wheelbarrow|lawn mower|
garden bench|bird house|fish tank|rocking chair|chest of drawers|bread knife|frying pan|wok|umbrella|suitcase""")
CLUBS = "chess club|rowing club|choir|book club|hiking club|film club|cycling club|gardening club|photography club|debating society|theatre group|running club|sailing club|bridge club|chess society|folk dance group|brass band|quiz team".split("|")
TEAMS = "Rovers|United|Tigers|Hawks|Wanderers|Lions|Rangers|Athletic|Bears|Sharks|Falcons|Pirates|Stars|Eagles|Comets|Wolves".split("|")
NATIONALITIES = """French Spanish Italian Portuguese German Austrian Swiss Belgian Dutch Danish Swedish Norwegian Finnish
Icelandic Irish Scottish Welsh English Polish Czech Hungarian Romanian Bulgarian Greek Turkish Croatian Serbian Albanian
Estonian Latvian Lithuanian Ukrainian Georgian Armenian Israeli Lebanese Jordanian Egyptian Moroccan Tunisian Senegalese
Ghanaian Nigerian Kenyan Ethiopian Namibian Indian Nepalese Thai Vietnamese Japanese Korean Chinese Mongolian Australian
Canadian Mexican Cuban Jamaican Colombian Peruvian Bolivian Chilean Argentinian Brazilian Maltese Cypriot""".split()
SIZES = "34 35 36 37 38 39 40 41 42 43 44 45 46 47".split() + ["XS", "S", "M", "L", "XL", "XXL", "small", "medium", "large"]
PET_NAMES = """Biscuit Rex Luna Bella Max Charlie Milo Simba Nala Coco Oreo Pepper Ginger Shadow Smokey Tiger Fluffy Whiskers
Socks Patches Rusty Buddy Rocky Duke Bruno Hector Apollo Zeus Athena Juno Pluto Pixel Waffle Muffin Cookie Peanut Pickle
Noodle Mochi Sushi Truffle Nutmeg Cinnamon Hazel Willow Maple Clover Bramble Thistle Pebble Mittens Felix Garfield Snowball
Captain Admiral Professor Bandit Scout Ranger Dash Ziggy Bowie Elvis Mozart Figaro Tosca Banjo Fiddle Domino Marble""".split()
BREEDS = _phrases("""beagle|poodle|dachshund|labrador|border collie|corgi|terrier|greyhound|spaniel|husky|boxer|bulldog|pug|
chihuahua|whippet|setter|pointer|retriever|shepherd|mastiff|schnauzer|dalmatian|Siamese|Persian|Maine coon|ragdoll|
Bengal|sphynx|Burmese|tabby|lop-eared rabbit|Angora rabbit|Shetland pony|Haflinger|Icelandic horse""")
VEHICLES = "van|estate|hatchback|convertible|scooter|motorbike|pickup|coupe".split("|")
TITLE_NOUNS = _phrases("""river|lantern|orchard|winter|clock|harbour|garden|mirror|stranger|silence|bridge|island|comet|violin|
letter|forest|shadow|kingdom|lighthouse|storm|sparrow|mountain|road|house|well|tower|key|window|train|map|sea|thief|
queen|salt|ember|feather|stone|moon|hill|fox""")
TITLE_ADJECTIVES = """last silent hidden broken golden lost burning crooked distant empty forgotten frozen gentle hollow
little lonely midnight narrow painted quiet red restless secret seventh slow stolen sunken tender white wild""".split()

_ANY = (FOODS, DRINKS, ANIMALS, PLANTS, ITEMS, THING_NOUNS, TITLE_NOUNS, TITLE_ADJECTIVES, COLOURS, JOBS, HOBBIES, ADJECTIVES, "one two three four five six seven eight nine ten eleven twelve".split())

ONSETS = "b c d f g h j k l m n p r s t v w z br cr dr fr gr kr pr tr bl cl fl gl pl sl st sk sp sw sh ch th qu ph kn".split()
VOWELS = "a e i o u a e i o u ai ea ie oa oo ou au ei ia y".split()
CODAS = ["", "", "", "n", "r", "l", "s", "m", "t", "k", "nd", "rn", "lt", "st", "rk", "x", "sh", "ng", "ck", "p", "d", "b", "f", "z"]
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


def invent(rng, syllables=None):
    """A pronounceable word that means nothing, in small letters."""
    syllables = syllables or rng.choice((2, 2, 2, 3, 3, 1))
    word = ""
    for i in range(syllables):
        coda = rng.choice(CODAS) if i == syllables - 1 or rng.random() < 0.3 else ""
        word += rng.choice(ONSETS) + rng.choice(VOWELS) + coda
    return word if len(word) > 2 else word + rng.choice("nrls")


def _name(rng, words, invented=0.5):
    return invent(rng).capitalize() if rng.random() < invented else rng.choice(words)


def date_text(day):
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def random_date(rng, first=2015, last=2027):
    return Date(first, 1, 1) + timedelta(days=rng.randrange(365 * (last - first)))


def _word(rng, words, invented):
    return invent(rng) if rng.random() < invented else rng.choice(words)


def _clock(rng):
    hour = rng.randrange(1, 13)
    spelled = "one two three four five six seven eight nine ten eleven twelve".split()[hour - 1]
    return rng.choice((
        f"{rng.randrange(5, 24)}:{rng.choice(('00', '05', '10', '15', '20', '25', '30', '40', '45', '50', '55'))}",
        f"half past {spelled}", f"quarter to {spelled}", f"quarter past {spelled}", f"{hour} o'clock",
        f"{hour} {rng.choice(('am', 'pm'))}", f"{hour}:{rng.choice(('15', '30', '45'))} {rng.choice(('am', 'pm'))}"))


def _title(rng):
    noun, adjective = rng.choice(TITLE_NOUNS).capitalize(), rng.choice(TITLE_ADJECTIVES).capitalize()
    strange = invent(rng).capitalize()
    return rng.choice((
        f"The {adjective} {noun}", f"{adjective} {noun}s", f"The {noun} of {strange}", f"{strange}", f"{strange} and {_name(rng, WOMEN)}",
        f"A {noun} for {_name(rng, MEN)}", f"The {strange} {noun}", f"{adjective} {strange}", f"Beyond the {noun}", f"{rng.choice(CITIES)} {noun}"))


def _code(rng):
    letters = lambda n: "".join(rng.choice(LETTERS) for _ in range(n))  # noqa: E731
    digits = lambda n: "".join(rng.choice("0123456789") for _ in range(n))  # noqa: E731
    return rng.choice((
        f"{letters(2)}-{digits(4)}", digits(4), digits(6), f"{letters(1)}{digits(3)}", f"{invent(rng)}{digits(2)}",
        f"{invent(rng)}-{invent(rng)}", f"{letters(3)} {digits(3)}", f"{digits(2)}-{digits(2)}-{digits(2)}"))


def _place(rng):
    strange = _name(rng, CITIES, 0.7)
    kind = rng.choice(VENUES)
    return rng.choice((f"the {strange} {kind}", f"{kind} {strange}", f"the {kind} of {strange}", strange, f"{strange} {kind}"))


def _city(rng):
    strange = _name(rng, CITIES, 0.5)
    return strange if rng.random() < 0.8 else rng.choice((f"New {strange}", f"{strange}ville", f"Port {strange}", f"{strange} Bay", f"{strange}ford", f"Saint {strange}"))


def _thing(rng):
    noun = rng.choice(THING_NOUNS)
    if rng.random() < 0.3:
        return f"a {invent(rng).capitalize()} {noun}"
    adjective = rng.choice(ADJECTIVES)
    return f"{'an' if adjective[0] in 'aeiou' else 'a'} {adjective} {noun}"


KINDS = {
    "firstname": lambda r: _name(r, WOMEN + MEN, 0.45),
    "fullname": lambda r: f"{_name(r, WOMEN + MEN, 0.3)} {_name(r, FAMILY_NAMES, 0.5)}",
    "petname": lambda r: _name(r, PET_NAMES, 0.5),
    "company": lambda r: r.choice((
        f"{_name(r, FAMILY_NAMES, 0.7)} {r.choice(FIRMS)}", invent(r).capitalize(), f"{_name(r, FAMILY_NAMES, 0.5)} & {_name(r, FAMILY_NAMES, 0.5)}")),
    "school": lambda r: r.choice((f"{_name(r, CITIES, 0.6)} {r.choice(SCHOOLS)}", f"the {_name(r, CITIES, 0.6)} {r.choice(SCHOOLS)}", f"the {r.choice(SCHOOLS)} of {_name(r, CITIES, 0.6)}")),
    "city": _city,
    "country": lambda r: _name(r, COUNTRIES, 0.35) if r.random() < 0.9 else invent(r).capitalize() + r.choice(("land", "stan", "ia")),
    "street": lambda r: f"{_name(r, FAMILY_NAMES, 0.6)} {r.choice(STREETS)}" + ("" if r.random() < 0.6 else f" {r.randrange(1, 199)}"),
    "place": _place,
    "food": lambda r: r.choice(FOODS) if r.random() < 0.6 else r.choice((invent(r), f"{invent(r)} soup", f"{invent(r)} cake", f"{r.choice(FOODS)} with {r.choice(FOODS)}", f"{invent(r)} pie")),
    "drink": lambda r: r.choice(DRINKS) if r.random() < 0.65 else r.choice((invent(r), f"{invent(r)} tea", f"{invent(r)} juice", f"{invent(r)} wine")),
    "colour": lambda r: r.choice(COLOURS) if r.random() < 0.75 else r.choice((f"dark {r.choice(COLOURS)}", f"light {r.choice(COLOURS)}", f"pale {r.choice(COLOURS)}", f"{invent(r)} {r.choice(COLOURS)}")),
    "book": _title, "film": _title, "song": _title,
    "band": lambda r: r.choice((f"The {invent(r).capitalize()}s", f"{_name(r, WOMEN)} and the {r.choice(TITLE_NOUNS).capitalize()}s", invent(r).capitalize(), f"The {r.choice(TITLE_ADJECTIVES).capitalize()} {r.choice(TITLE_NOUNS).capitalize()}s")),
    "game": lambda r: r.choice((_title(r), invent(r).capitalize(), r.choice("chess|draughts|backgammon|poker|bridge|rummy|dominoes|mahjong|scrabble|hide and seek|charades|canasta|tarot|ludo|go|checkers|whist|hearts|solitaire|darts".split("|")))),
    "sport": lambda r: _word(r, SPORTS, 0.15),
    "animal": lambda r: _word(r, ANIMALS, 0.12),
    "breed": lambda r: _word(r, BREEDS, 0.25),
    "plant": lambda r: _word(r, PLANTS, 0.2),
    "instrument": lambda r: _word(r, INSTRUMENTS, 0.2),
    "language": lambda r: _name(r, LANGUAGES, 0.25),
    "subject": lambda r: _word(r, SUBJECTS, 0.1),
    "job": lambda r: _word(r, JOBS, 0.12),
    "hobby": lambda r: _word(r, HOBBIES, 0.12),
    "thing": _thing,
    "vehicle": lambda r: r.choice((f"a {_name(r, FAMILY_NAMES, 0.8)} {r.randrange(1, 10) * 100}", f"a {r.choice(COLOURS)} {invent(r).capitalize()}", f"a {invent(r).capitalize()} {r.choice(VEHICLES)}", f"a {r.choice(ADJECTIVES[2:6])} {r.choice(VEHICLES)}")),
    "month": lambda r: r.choice(MONTHS), "weekday": lambda r: r.choice(WEEKDAYS), "time": _clock,
    "number": lambda r: str(r.randrange(2, 40)) if r.random() < 0.6 else r.choice("two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen twenty thirty forty".split()),
    "amount": lambda r: r.choice((f"{r.randrange(3, 99) * 10} euros", f"{r.randrange(10, 9900)} dollars", f"{r.randrange(2, 400) * 5} pounds", f"{r.randrange(5, 99)} francs", f"{r.randrange(2, 30)} million crowns")),
    "code": _code, "word": lambda r: invent(r),
    "illness": lambda r: r.choice(ILLNESSES) if r.random() < 0.8 else r.choice((f"{invent(r)} fever", f"{invent(r)} syndrome", f"{invent(r)}itis")),
    "medicine": lambda r: r.choice((f"{invent(r)}in", f"{invent(r)}ol", f"{invent(r).capitalize()}ex", f"{invent(r)} drops", f"{invent(r)}ine", f"{invent(r)} tablets")),
    "date": lambda r: date_text(random_date(r)),
    "age": lambda r: str(r.randrange(2, 99)),
    "duration": lambda r: f"{r.choice('two three four five six seven eight nine ten eleven twelve 15 20 25 30 40 45 50'.split())} {r.choice(('weeks', 'months', 'years', 'days', 'hours', 'minutes'))}",
    "item": lambda r: r.choice(ITEMS) if r.random() < 0.7 else f"{r.choice(ADJECTIVES)} {r.choice(ITEMS)}",
    "wish": lambda r: r.choice(WISHES) if r.random() < 0.6 else r.choice((f"to visit {_city(r)}", f"to learn {_name(r, LANGUAGES, 0.4)}", f"to meet {_name(r, WOMEN)} {invent(r).capitalize()}", f"to work at {invent(r).capitalize()} {r.choice(FIRMS)}", f"to own a {invent(r)}", f"to play the {r.choice(INSTRUMENTS)}")),
    "activity": lambda r: r.choice(ACTIVITIES) if r.random() < 0.8 else f"{r.choice(('repairing', 'building', 'painting', 'collecting', 'selling', 'studying'))} {invent(r)}s",
    "team": lambda r: f"{r.choice(('', 'the '))}{_name(r, CITIES, 0.6)} {r.choice(TEAMS)}",
    "club": lambda r: r.choice((f"the {r.choice(CLUBS)}", f"the {_name(r, CITIES, 0.6)} {r.choice(CLUBS)}", f"a {r.choice(CLUBS)} in {_name(r, CITIES, 0.6)}")),
    "nationality": lambda r: r.choice(NATIONALITIES) if r.random() < 0.8 else invent(r).capitalize() + r.choice(("ian", "ese", "ish")),
    "size": lambda r: r.choice(SIZES),
    "reason": lambda r: r.choice(REASONS),
}
# Kinds with so few values that none can be kept apart.
CLOSED = {"month", "weekday", "number", "age", "size"}


def value(kind, rng, held=False):
    """A value of the kind (or of a list of literals), from the held-out part or from the other."""
    for _ in range(400):
        found = rng.choice(kind) if isinstance(kind, list) else KINDS[kind](rng)
        if (isinstance(kind, str) and kind in CLOSED) or held_out(found) == held:
            return found
    return found  # a short list of literals may have no held-out part


STRANGE = ("word", "word", "firstname", "fullname", "company", "thing", "code", "city", "food", "book", "place", "item", "animal", "time", "drink", "wish")


def strange(rng):
    """A value of any kind, or of none: whoever answers with it has read it."""
    draw = rng.random()
    if draw < 0.75:
        return value(rng.choice(STRANGE), rng)
    words = [invent(rng) if rng.random() < 0.5 else rng.choice(rng.choice(_ANY)).split()[-1].lower() for _ in range(rng.choice((1, 1, 2, 2, 3)))]
    if rng.random() < 0.4:
        words = [w.capitalize() for w in words]
    found = " ".join(words)
    return strange(rng) if held_out(found) else found


def person_name(rng, held=False):
    """A first name and whether it is a woman's, a man's or (invented) anyone's."""
    while True:
        draw = rng.random()
        name, gender = (
            (rng.choice(WOMEN), "f") if draw < 0.35 else (rng.choice(MEN), "m") if draw < 0.7
            else (invent(rng, rng.choice((2, 2, 3))).capitalize(), rng.choice("fm")))
        if held_out(name) == held:
            return name, gender

"""Topics for boundary detection: pairs that may follow one another in any order, and openers.

Each topic is {name, turns, openers, unseen_turns, unseen_openers}; turns are (user, assistant) templates
in the `(a|b)` language of grammar.py with the fillers {N} {P} {W}.
"""

import json
from pathlib import Path

MORE = Path(__file__).parent / "topics_more.json"  # written later, without sight of those kept apart; for training only


def _lines(text):
    return [line.strip() for line in text.strip().splitlines() if line.strip()]


def _turns(text):
    out = []
    for line in _lines(text):
        user, sep, reply = line.partition(" => ")
        if not sep:
            raise ValueError("no ' => ' in: " + line)
        out.append((user.strip(), reply.strip()))
    return out


def _topic(name, turns, openers, unseen_turns, unseen_openers):
    return {"name": name, "turns": _turns(turns), "openers": _lines(openers),
            "unseen_turns": _turns(unseen_turns), "unseen_openers": _lines(unseen_openers), "more_turns": [], "more_openers": []}


TOPICS = [
    _topic("cooking", """
        I'm making a (lentil|leek|pumpkin) soup (tonight|for {W}). => That sounds warming. Do you cook soup often?
        The sauce (burned|curdled) again, I don't know why. => Maybe the heat was too high. Did you stir it all the time?
        {N} doesn't eat (mushrooms|onions), so I have to leave them out. => Good that you think of it. What goes in instead?
        How much salt would you put in? => Less at first. You can always add some at the end.
        I chopped everything very (fine|small) this time. => Then it will cook faster. How does it look?
        The oven takes (ages|forever) to get hot. => Then switch it on early. Is it an old one?
        I bought fresh (basil|thyme|parsley) at the market. => Lovely, fresh herbs make a difference.
        The potatoes are still hard (in the middle|inside). => They need a few more minutes, then.
        I got the recipe from {N}, but I changed half of it. => That's how good recipes grow. What did you change?
        I think it needs something sour, (lemon|vinegar) maybe. => A few drops could round it off. Try a spoonful first.
        My knife is so blunt that I squash the tomatoes. => A sharp knife is safer too. Could you have it sharpened?
        The guests asked for a second helping! => What a compliment for the cook!
        I never manage to time the rice with the (vegetables|meat). => Rice keeps warm under a lid, so start it first.
        There's enough left in the pot for tomorrow. => Good, many dishes taste better the next day.
        I tried frying it in butter instead of oil. => How did the taste change?
    """, """
        By the way, I'm cooking for (six people|{N}'s family) on {W}.
        (What shall I|I wonder what to) make for dinner (tonight|on {W})?
        I burned the (onions|pancakes) this evening.
        Something else: I tried a new recipe (today|on {W}).
        {N} gave me a huge pot for stews.
    """, """
        My casserole came out rather watery. => Perhaps it wanted longer without the lid.
        I peeled two kilos of carrots, my hands are orange. => That's a lot of carrots! What are they for?
        Is it all right to freeze the leftover gravy? => Gravy usually freezes well in a small box.
        We ate it straight from the pan. => Saves the washing up, too.
    """, """
        There's a goulash simmering on my stove right now.
        Changing the subject, I want to learn to make dumplings.
    """),
    _topic("garden", """
        The slugs ate all my (lettuce|seedlings) (overnight|again). => How annoying! Did they leave anything?
        I planted (tulips|beans|a pear tree) along the fence. => That will look nice in a while.
        The roses have black spots on their leaves. => That may be a fungus. Could you cut the bad leaves off?
        I have to water everything (twice a day|every evening) in this heat. => That's work. Do you use a hose or a can?
        My compost heap smells (awful|rotten). => Perhaps it is too wet. Some dry leaves might help.
        The first tomatoes are (ripe|turning red)! => How lovely, the best ones are your own.
        {N} gave me some cuttings from the old (lavender|geranium). => A nice gift. Have they rooted yet?
        I pulled weeds (all morning|for three hours), my back hurts. => Rest a little. The weeds won't run away, sadly.
        A hedgehog has moved in under the shed. => What a charming guest, and it eats slugs.
        The hedge needs cutting, but there are birds nesting in it. => Then it's kinder to wait till they're gone.
        I'd like a small pond behind the (shed|apple tree). => That would bring frogs and dragonflies.
        The lawn is (brown|patchy|full of moss). => Maybe it gets too little water or sun.
        I sowed the carrots too close together. => You could thin them out when they come up.
        Our plum tree carries so much that a branch broke. => What a harvest! Will you make jam?
        The soil here is heavy clay. => Sand or compost can loosen it over time.
    """, """
        By the way, I was in the garden all (day|morning).
        I finally dug up the flower bed on {W}.
        Do you know anything about (pruning|slugs|roses)?
        My allotment in {P} is a jungle after the holidays.
    """, """
        Aphids everywhere, even on the sunflowers. => Ladybirds would enjoy that feast.
        I put up a trellis for the sweet peas. => They'll be glad to climb it.
        Mowing took forever because the grass was knee-high. => I believe it. Is it tidy now?
        {N}'s pumpkins are twice the size of mine. => There may be a secret. Have you asked?
    """, """
        Guess what, my magnolia is in bloom.
        On another note, I bought ten bags of peat-free soil.
    """),
    _topic("football", """
        We lost (three nil|in the last minute|on penalties) on {W}. => Ouch, that hurts. How was the mood after it?
        The referee must have been blind. => Was there a decision that turned the match?
        I stood in goal because our keeper was ill. => Brave of you! How did it go?
        {N} scored from the halfway line! => What a shot! You must have cheered.
        The pitch was (a swamp|frozen|full of holes). => That makes it hard to pass. Did anyone slip?
        The new coach makes us run (laps|up the hill) for an hour. => Sounds tough. Are you getting fitter?
        We've got tickets for the derby in {P}. => Enjoy it! With whom are you going?
        I pulled a muscle in the warm-up. => Oh no. Be careful with it for a while.
        Our striker was sent off after ten minutes. => Then the rest was hard work for ten players.
        I'd rather play in midfield than on the wing. => What do you like better about it?
        The offside trap never works with our defence. => It takes practice. Do you train it?
        If we win on {W}, we go up a league. => That's exciting, fingers crossed!
        The fans sang for (ninety minutes|the whole match), in pouring rain. => That's true support.
        Half the team didn't turn up for training. => That's frustrating. What did you do then?
        My boots fell apart in the second half. => What a moment for it! Time for new ones.
    """, """
        Did I mention there's a match on {W}?
        Anyway, football: we (won|drew) again.
        Our team has a new coach since {W}.
        I watched the cup game (last night|with {N}).
    """, """
        A header in stoppage time saved us a point. => That's what I call dramatic!
        The linesman raised his flag for everything. => It can drive players mad.
        Our captain wants to retire after this season. => A big loss. Who could take over?
        They hit the crossbar twice. => You were lucky there.
    """, """
        We kick off at three against {P}.
        Switching to sport for a second: I've been picked for the squad.
    """),
    _topic("novel", """
        I'm stuck in chapter (four|seven|twelve) of my novel. => What is the trouble there?
        My main character still has no real (goal|secret|enemy). => What does this person fear the most?
        I wrote (two pages|a thousand words) before breakfast. => That's a fine start to the day.
        {N} read the draft and found the middle too slow. => Useful to know. Do you feel the same?
        I think the murderer is too easy to guess. => You could lay a false trail early on.
        I can't decide between first and third person. => Try one scene in both and compare.
        I deleted the whole (prologue|opening) yesterday. => That takes courage. Does it start better now?
        The dialogue sounds (wooden|stiff) when I read it aloud. => Reading aloud is a good test. Shorter lines may help.
        The story is set in a village like {P}. => A place you can picture. What does it look like?
        I need a good (title|ending|last sentence). => Sometimes it hides in the text already.
        An agent asked for the first fifty pages! => That's great news! Are they ready?
        I got another rejection from a publisher. => I'm sorry. Many good books had a stack of those.
        Two of my side characters do the same thing, I might merge them. => That could make the plot clearer.
        I write best at night, when the house is silent. => It sounds like a good hour for scenes.
        The flashbacks confuse everyone. => Maybe fewer of them, or clear dates?
    """, """
        By the way, I'm writing (again|a book).
        I finished the first draft of my novel (on {W}|last night).
        How do other people write a whole book?
        I showed {N} my manuscript.
    """, """
        My heroine needs a reason to board that ship. => What would she lose by staying on land?
        I have far too many adverbs. => You could hunt them down one page at a time.
        The villain turned out more likeable than the hero. => That happens, and readers enjoy it.
        I killed off the uncle and regretted it. => On paper, luckily, one can bring people back.
    """, """
        An idea for a story has been following me around.
        Different matter: my plot has a hole as big as a barn.
    """),
    _topic("exam", """
        The exam is on {W} and I've learned nothing. => There's still some time. Which part scares you most?
        I (blank out|panic) as soon as I see the paper. => A slow breath and an easy question first may help.
        {N} and I quiz each other with flash cards. => A good method, and more fun with two.
        I failed it once already, I can't fail again. => I understand the pressure. You know now what's coming.
        I couldn't sleep because I kept going over the formulas. => Your head needs a rest too. Take the evening off if you can.
        The professor asks the meanest questions. => Do you know some from earlier years?
        I've made a revision plan for (every day|two weeks). => Well done, a plan calms the mind.
        The library is so full that I study in the (canteen|kitchen). => Can you concentrate there?
        I passed the (oral|written) part! => Congratulations! One part less to fear.
        I have (forty|two hundred) pages of notes to get through. => Take them in small bites.
        My parents expect top marks. => That's a weight to carry. What do you expect yourself?
        I always run out of time in the last section. => You could start with the part that gives most points.
        We'll get the results on {W}. => Waiting is hard. I hope they're good.
        I mixed up two dates in the essay. => It's only a detail, the rest may be fine.
        I feel sick when I think of the exam hall. => That's nerves. It often fades once you start writing.
    """, """
        By the way, I'm so afraid of my exam on {W}.
        I have to study (tonight|all weekend).
        Any idea how I can calm down before a test?
        My finals start next week.
    """, """
        The mock test went better than I'd feared. => A good sign for the real one!
        I underlined so much that the whole book is yellow. => Then nothing stands out any more.
        Everybody else seems to have it all in their heads. => They may only look that way.
        They let us bring one sheet of notes. => Writing that sheet is half the studying.
    """, """
        My hands get clammy just picturing the examiner's face.
        New worry: I signed up for the certificate and there's no way back.
    """),
    _topic("leaking_roof", """
        There's a wet patch on the bedroom ceiling again. => Oh no. Is it getting bigger?
        I put (three buckets|pots and pans) under the drips. => A quick help for now. Does it drip much?
        The roofer can only come (on {W}|in two weeks). => That's late. Can something be covered until then?
        {N} climbed up and found (four|several) broken tiles. => At least you know the cause now.
        The insurance wants photos of the damage. => Then take many, from all sides.
        It leaks only when the wind comes from the west. => A useful clue for the roofer.
        The new roof would cost more than my car. => That's a shock. Did you get a second quote?
        The insulation in the attic is soaked. => It should dry soon, or it gets mouldy.
        My landlord says it's not urgent. => With water coming in? You could put it in writing.
        I was up at night emptying the buckets. => You must be tired. I hope it stays dry tonight.
        They fixed it last year and it's leaking in the same spot. => Then the firm ought to come back for it.
        The gutter was full of leaves. => Perhaps the water ran back under the tiles.
        We covered the hole with a tarpaulin. => Good, that should hold for a while.
        The chimney flashing is loose, says the roofer. => That's a common weak point, I think.
        The wallpaper is coming off under the window. => What a pity. It'll have to dry first.
    """, """
        By the way, our roof is leaking (again|since the storm).
        Something is dripping in the attic.
        I need a roofer, (urgently|as soon as possible).
        After the rain on {W} there was water in the hallway.
    """, """
        A whole slate came down into the flower bed. => Lucky that nobody stood there!
        The scaffolding goes up tomorrow morning. => Then things are moving at last.
        It smells musty up there under the rafters. => Some airing might help on dry days.
        They want half of the money in advance. => That's a lot. Do you trust them?
    """, """
        You won't believe it, water is running down my living-room wall.
        Now for the house: the storm took some of our shingles.
    """),
    _topic("car_trouble", """
        The car won't start (in the morning|when it's cold). => It could be the battery. Is it old?
        There's a (rattling|squeaking) noise when I brake. => Better have the brakes looked at soon.
        The garage wants (600|900) euros for the repair. => That's steep. What exactly do they change?
        A red light came on on the motorway. => Scary! Did you stop?
        {N} towed me home with a rope. => Good to have such help.
        I have a flat tyre for the second time (this month|this year). => Bad luck, or a nail in the drive?
        The inspection is due and the exhaust is rusty. => Maybe the garage can check it first.
        I left the lights on all night. => Then the battery is flat. Do you have jump leads?
        Someone scratched the door in the car park. => How rude. Did they leave a note?
        The mechanic found nothing, but the noise is still there. => So annoying. When does it appear?
        The heating blows only cold air. => That's no fun in winter.
        The clutch is slipping on hills. => That sounds like wear. I'd get it checked.
        I'm wondering whether to sell it for scrap. => How many repairs did it need this year?
        It uses far too much oil. => Perhaps there's a leak somewhere.
        They lent me a tiny car until {W}. => At least you can get around.
    """, """
        By the way, my car broke down (on {W}|near {P}).
        The engine is making strange noises.
        My car has to go to the garage (again|tomorrow).
        I got stuck on the road to {P}.
    """, """
        Smoke came out from under the bonnet. => Goodness! I hope you got out quickly.
        The key snapped off in the ignition. => What a mess. Is there a spare one?
        The breakdown service took two hours. => A long wait at the roadside.
        Second gear refuses to go in. => Then the gearbox should be looked at.
    """, """
        I'm at the roadside waiting for a tow truck.
        One more nuisance: the old banger failed its test.
    """),
    _topic("yoga", """
        I still can't touch my toes. => It comes with time. Do your legs feel tight?
        The teacher says I hold my breath in every pose. => Then breathing out slowly may be the first thing to practise.
        I fell over in the tree pose. => It happens to the best. A wall nearby helps.
        I do the sun salutation every morning. => A nice way to begin the day.
        {N} came along to the class on {W}. => How did it go for your companion?
        My wrists hurt in downward dog. => Try spreading your fingers, and rest when it hurts.
        At the end I fell asleep on the mat. => Then you were truly relaxed.
        Since I started, my back pain is (better|almost gone). => How wonderful, keep it up.
        The studio in {P} is too crowded. => Would a smaller group suit you better?
        I bought a thicker mat for my knees. => Your knees will thank you.
        The headstand scares me. => You don't have to do it. There are gentler poses.
        We did an hour of nothing but stretching. => Long, but it must feel good afterwards.
        I like the slow classes better than power yoga. => Slow can be hard too. What do you like about it?
        My hips are so stiff from sitting all day. => A few minutes of stretching each hour might help.
        I wobble more on the left leg than on the right. => Most people have a better side.
    """, """
        By the way, I've started doing yoga.
        My yoga class is on {W} evenings now.
        I hurt my shoulder in yoga.
        {N} talked me into trying a yoga class.
    """, """
        The warrior pose makes my thighs burn. => That's strength in the making.
        They hum at the beginning, which I found odd. => It takes some getting used to.
        I practise with a video on the living-room rug. => A good way, if there's enough space.
        My instructor is seventy and bends like a reed. => What an encouragement!
    """, """
        There's a mat rolled out in my hallway now, a new habit.
        To get calmer I've booked ten lessons of stretching and breathing.
    """),
    _topic("holidays", """
        We can't agree: the sea or the mountains? => What speaks for each of them?
        The flight to {P} leaves at five in the morning. => That's early! Will you sleep near the airport?
        I found a cottage with a view of the (lake|harbour). => That sounds lovely. How long will you stay?
        My passport runs out (in May|a week before the trip). => Better renew it soon.
        I've packed far too much, as always. => What could stay at home?
        {N} wants to lie on the beach, I want to see things. => Perhaps mornings for one, afternoons for the other?
        The hotel was next to a building site. => How unpleasant. Could you change rooms?
        It rained every day in {P}. => What a pity. What did you do instead?
        We lost a suitcase on the way. => Oh no, did it turn up again?
        I got a terrible sunburn on the first day. => Ouch. A hat and shade are in order.
        Who will water the plants while we're away? => Is there a neighbour who could?
        I'd like to go by train this time. => It's slower, but you see more.
        The food there was the best part of it. => What did you like most?
        We met a nice couple at the campsite. => Will you keep in touch?
        I don't want to go home yet. => The last days are the hardest.
    """, """
        By the way, we've booked our holiday in {P}.
        Where should we go this summer?
        Only (two|three) weeks until our trip!
        I've just come back from {P}.
    """, """
        The ferry was cancelled because of the swell. => So you were stranded. What then?
        Our tent leaks at every seam. => Camping with wet socks is no joy.
        I sent postcards to everybody, like in the old days. => They'll be pleased to get them.
        A gull stole my sandwich on the pier. => Cheeky bird!
    """, """
        I keep looking at pictures of beaches.
        Let me tell you about something nicer: a week off in {P}.
    """),
    _topic("music_lessons", """
        My (violin|piano|trumpet) teacher says I should practise more. => How much do you practise now?
        I can't get the (rhythm|left hand) right in the second piece. => Slowly and in small parts, perhaps.
        The recital is on {W}, I'm so nervous. => That's natural. Do you know the piece by heart?
        My fingertips hurt from the strings. => They will harden in a few weeks.
        The neighbours complained about my scales. => Could you agree on certain hours?
        {N} plays the same piece twice as fast. => Speed isn't everything. How does yours sound?
        I finally managed the difficult bar! => Well done! What did the trick?
        Reading notes is harder than I thought. => It's like a new alphabet, it takes time.
        We're playing a duet next month. => Lovely! With whom?
        My teacher moved to {P}, so I need a new one. => That's a pity. Are you looking already?
        A string broke in the middle of the song. => What a fright. Did you play on?
        The metronome drives me crazy. => It is strict, but it helps.
        I'd rather play jazz than (Bach|studies). => Have you told your teacher?
        The instrument is out of tune again. => The weather can do that.
        I started as an adult, it feels so slow. => It's never too late, and you hear the progress later.
    """, """
        By the way, I had my music lesson (today|on {W}).
        I'm taking (cello|guitar|singing) lessons now.
        My piano needs tuning.
        {N} and I want to learn an instrument.
    """, """
        Trills are my nightmare. => Start slow and even, the speed comes by itself.
        The bow squeaks like a mouse. => Perhaps less pressure, or more rosin.
        We sang a canon, and I lost my part. => It's tricky to hold your own line.
        I recorded myself and was shocked. => One always hears the faults first.
    """, """
        There's an accordion standing in my hall, and I'm to learn it.
        Next topic, my chord changes are hopeless.
    """),
    _topic("colleague_quarrel", """
        {N} blamed me in front of the whole team. => That must have been unpleasant. What did you say?
        We haven't said a word to each other since {W}. => The silence sounds heavy. Who could break it?
        My boss pretends not to notice anything. => Could you ask for a talk between the three of you?
        I maybe shouldn't have sent that email. => What did you write in it?
        {N} takes the credit for my ideas. => That's unfair. Do others see it too?
        I'm thinking of asking for another desk. => A little distance could calm things.
        It all began with a (silly remark|missed deadline). => Small things can grow. Can it still be cleared up?
        In the meeting we both raised our voices. => How did the others react?
        I don't sleep well because of this quarrel. => It's weighing on you. What would be a good outcome?
        {N} apologised, but only half-heartedly. => Better than nothing, but I see it isn't enough.
        Everyone in the office has taken sides. => That makes it harder for all.
        I don't want to be the one who gives in. => Perhaps neither has to, if you meet halfway.
        We used to have lunch together every day. => So there's something worth saving.
        The mediator will see us on {W}. => A good step. What do you want to say there?
        I just want to work in peace. => That's a fair wish.
    """, """
        By the way, I had a row with {N} at work.
        There's trouble at the office.
        I could strangle my colleague {N}.
        Can I tell you what happened at work (today|on {W})?
    """, """
        My desk neighbour slammed the door in my face. => How rude. Was there a reason?
        The gossip by the coffee machine is unbearable. => It wears you down, I imagine.
        Human resources asked for my side of the story. => Then write it down calmly, with dates.
        We shook hands in the end. => A relief for everybody!
    """, """
        {N} from accounts has declared war on me.
        Turning to something unpleasant, my workmate is lying about me.
    """),
    _topic("sick_dog", """
        The dog hasn't eaten since {W}. => That's worrying. Does it drink at least?
        The vet took blood and wants to wait for the results. => Waiting is hard. When will they come?
        He just lies in his basket and looks at me. => Poor thing. Your being there helps.
        The tablets have to be hidden in (sausage|cheese). => A good trick. Does it work?
        The operation would cost a fortune. => That's a hard decision. What does the vet advise?
        He limps on his back leg after every walk. => Perhaps shorter walks for a while?
        Today he wagged his tail again! => What a good sign!
        I slept on the floor beside the basket. => You must love that dog very much.
        {N} says he's too old for an operation. => What do you feel is right?
        He threw up (twice|all over the carpet) in the night. => Oh dear. Did you call the vet?
        The vet in {P} found a lump. => I'm sorry. I hope it's harmless.
        The children keep asking whether he'll get well. => What do you tell them?
        He has to wear a plastic collar so he can't lick the wound. => Uncomfortable, but it heals faster.
        His fever is gone, thank goodness. => I'm so glad to hear it.
        He's on a diet of rice and chicken now. => That should be easy on the stomach.
    """, """
        By the way, our dog is ill.
        I have to take the dog to the vet (on {W}|tomorrow).
        The dog was so quiet today.
        I'm worried sick about our old dog.
    """, """
        Her paw is swollen like a balloon. => It might be a sting. Did someone look at it?
        She whimpers whenever she climbs the stairs. => Could you carry her for now?
        We got eye drops that she hates. => Two people and a treat make it easier.
        The X-ray showed nothing bad. => What a relief!
    """, """
        My spaniel swallowed a sock, of all things.
        Not a cheerful one: the puppy has to stay at the animal clinic.
    """),
    _topic("tax_papers", """
        I can't find the receipt for the (laptop|desk). => Could the shop send a copy?
        The deadline is on {W} and I've done nothing. => Start with the pile that's easiest.
        What on earth is line (forty|seventeen) supposed to mean? => I don't know that form, sorry. A helpline may.
        The tax office wants another (200|1500) euros from me. => That's bitter. Did they explain it?
        I sorted the papers into (five piles|shoeboxes). => Half the battle is won.
        {N} knows a good tax adviser in {P}. => Maybe worth a call.
        The online form threw me out and nothing was saved. => How maddening! Save often next time.
        I might get some money back this year. => That would be nice. What for?
        I forgot to enter the (donations|travel costs). => Can you still add them?
        Every year I swear to file things monthly. => A folder by the door could help.
        They asked me for a form from three years ago. => Do you keep old folders somewhere?
        I got an extension until the end of the month. => Good, some room to breathe.
        The ink on the old receipts has faded. => Copies would have lasted longer, for next time.
        I wonder whether my home office counts. => An adviser can tell you for sure.
        It's finally in the post! => Bravo, that's done for a year.
    """, """
        By the way, I still have to do my tax return.
        A letter from the tax office came on {W}.
        I've been looking for receipts all day.
        I hate paperwork, and the taxes are due.
    """, """
        My adviser charges by the quarter of an hour. => Then come with everything in order.
        I declared the rent from the garage too. => Better too honest than too little.
        The assessment notice is seven pages long. => Is the last line good or bad?
        Stapling is forbidden, apparently. => Rules for everything!
    """, """
        The kitchen table has vanished under invoices and forms.
        Now the dull part of life: my declaration isn't filed yet.
    """),
    _topic("moving_house", """
        There are boxes (everywhere|up to the ceiling). => You're well on the way. How many rooms are left?
        The removal van comes on {W} at seven. => Early! Is everything packed?
        The sofa doesn't fit through the door. => Oh no. Can the legs come off?
        {N} promised to help carry things. => Good friends show on moving day.
        I keep finding things I'd forgotten I had. => Treasures or rubbish?
        The new flat has no kitchen yet. => So it's picnics for a while.
        I have to paint the old walls white before I hand over the keys. => Do you have helpers for it?
        I labelled every box with a colour. => You'll be glad of it when unpacking.
        Two plates broke on the way. => Only two? That's not bad.
        The new neighbours brought us bread and salt. => What a warm welcome.
        I can't find the box with the (kettle|bed screws). => It's always the one you need first.
        It feels strange to leave after so many years. => There must be many memories in those walls.
        The internet won't work there before {W}. => A quiet start, then.
        The deposit is still with the old landlord. => I hope you get it back in full.
        The cat hides under the bed in the new place. => It will come out when it smells like home.
    """, """
        By the way, we're moving to {P}.
        I'm packing boxes (all week|again).
        We got the keys to the new flat!
        Do you know how one moves a piano?
    """, """
        The lift is out of order, and we live on the fifth floor. => Your legs will feel it tomorrow.
        We gave half the furniture away. => Less to carry, and somebody's pleased.
        I slept on a mattress among the crates. => A first night to remember.
        The meter readings have to be written down. => Take a photo of each.
    """, """
        In a month my address will be a different one.
        Changing tack: where does one get sturdy cartons?
    """),
    _topic("photography", """
        I took (two hundred|too many) pictures of one bird. => Is there one among them that you love?
        The light was perfect at sunrise. => Worth getting up early, then.
        Most of them are blurred. => Perhaps the shutter was too slow. Did you use a tripod?
        I bought an old film camera at a flea market. => How nice! Does it work?
        {N} hates being photographed. => Maybe catch a moment when nobody poses.
        I can't decide between black and white and colour. => Try both side by side.
        My picture of {P} will hang in an exhibition! => Congratulations, that's an honour!
        The lens has a scratch. => What a pity. Does it show in the pictures?
        I forgot to charge the battery, of course. => It's always at the best moment.
        I spent the evening editing the shots. => Which one came out best?
        The portrait looks stiff somehow. => Talking while shooting can relax the face.
        I'd like to learn how to use the flash properly. => Bouncing it off a wall may be a start.
        The memory card is full and I have no backup. => Then copy it soon, to be safe.
        There was fog over the river, like in a dream. => That must have made lovely pictures.
        I want to make an album for {N}. => A gift that lasts.
    """, """
        By the way, I went out with my camera on {W}.
        I've signed up for a photo course.
        I took a great picture (today|in {P}).
        Which of my photos should I print?
    """, """
        Shooting against the sun gave everyone black faces. => A little fill light would have saved them.
        I developed the negatives in my bathroom. => A darkroom at home, how exciting!
        The jury didn't like my close-up of the beetle. => Their loss. Do you like it?
        My tripod sank into the mud. => I hope the camera stayed dry.
    """, """
        I've been chasing the golden hour with my lens lately.
        Enough of that, look what I snapped: a heron on a rooftop.
    """),
    _topic("wedding", """
        We can't agree on the guest list. => Who is the difficult one?
        The dress has to be altered (again|before {W}). => Is it too wide or too long?
        {N} will be my best man. => A good choice, I'm sure. Is the speech ready?
        My mother wants a big party, we want a small one. => It's your day. Could there be a middle way?
        The band cancelled (two weeks|a month) before the day. => Oh no! Do you know another one?
        We'll marry in a garden near {P}. => How romantic. What if it rains?
        The cake will have (three|four) tiers. => That sounds grand. What flavour?
        I'm more nervous than I thought. => It's a big step. That's quite normal.
        We still have no rings. => Time to look for some. Plain or with a stone?
        The seating plan is a nightmare. => Who must not sit next to whom?
        I've written my vows (at last|on the train). => Will you read them or learn them?
        The invitations went out with the wrong date. => What a mishap! A quick message to all, then.
        Everyone danced until four in the morning. => It must have been a wonderful party.
        The flowers cost more than the food. => Flowers can be dear. Which ones are they?
        My uncle will surely give a much too long speech. => There's one at every wedding.
    """, """
        By the way, we've set a date for the wedding!
        I'm going to {N}'s wedding on {W}.
        We looked at a place for the ceremony (today|in {P}).
        Have I told you about the wedding plans?
    """, """
        The bridesmaids quarrel about the colour. => Could each choose her own shade?
        I cried when the organ began to play. => Happy tears, I hope.
        The registrar got my name wrong. => A story to tell later.
        Somebody caught the bouquet and blushed. => Maybe the next one to marry!
    """, """
        I caught myself practising "I do" before the mirror.
        On to happier things: she said yes, and now we need a venue.
    """),
    _topic("bread_baking", """
        My sourdough starter didn't rise (at all|overnight). => Maybe it was too cold. Where does it stand?
        The crust is perfect, but the inside is gummy. => It might want a longer bake, and time to cool.
        I kneaded the dough for (ten|twenty) minutes. => Good for the arms! Did it turn smooth?
        {N} gave me some starter in a jar. => A living gift. Does it have a name?
        The loaf came out flat like a pancake. => Perhaps it proved too long.
        I baked with (rye|spelt) flour for the first time. => How does it taste compared with wheat?
        The whole flat smells of fresh bread. => There's hardly a better smell.
        I forgot the salt. => Bread without salt is bland. Butter with salt may save it.
        I let it rest in the fridge overnight. => Slow dough gets a better taste.
        I burned my hand on the hot pot. => Ouch! Cool it under water.
        The dough sticks to (everything|my fingers). => Wet hands can help with that.
        I scored a leaf pattern into the top. => How pretty. Did it open well?
        We ate the loaf while it was still warm. => Who could resist?
        I'd like to try rolls with (seeds|walnuts) next. => Good idea for a breakfast.
        The yeast was past its date. => That explains it. Fresh yeast works better.
    """, """
        By the way, I baked bread (today|on {W}).
        I want to make my own sourdough.
        My loaf turned out like a brick.
        Do you know why dough doesn't rise?
    """, """
        The banneton left a pretty spiral on the surface. => It must look like a baker's.
        I use a thermometer to check the crumb. => A safe way to know it's done.
        My pretzels came out pale. => Maybe the oven wasn't hot enough.
        I fed the leaven twice a day for a week. => Patience is half of it.
    """, """
        A jar of something bubbly lives on my windowsill now.
        Here's another matter: I've built a clay oven for loaves.
    """),
    _topic("chess", """
        I lost my queen in the (opening|tenth move). => That hurts. Did you see it coming?
        {N} always plays the same defence. => Then you can prepare for it.
        I'm in time trouble in every game. => Maybe spend less on the early moves.
        The tournament in {P} starts on {W}. => Good luck! How many rounds are there?
        I won with a knight fork! => A neat trick. Your opponent must have groaned.
        I don't know how to play endgames. => King and pawn endings are a good start.
        I solved (twenty|ten) puzzles on the train. => Good training for the eye.
        We agreed on a draw after (four|five) hours. => What a marathon. Were you content?
        An eight-year-old beat me. => Children see things fast. It's no shame.
        I castled right into the attack. => That was bad luck. The other side was safer?
        My club meets in a cafe in {P}. => Chess and coffee go well together.
        I sacrificed a rook, and it didn't work. => It was brave, though.
        My rating dropped by (fifty|thirty) points. => It will climb again.
        I should study the games of the old masters. => Which of them do you like?
        I overlooked a mate in two. => It happens, even to good players.
    """, """
        By the way, I played chess with {N} on {W}.
        I've joined a chess club.
        Want to hear about my chess game?
        I'm teaching {N} how to play chess.
    """, """
        My bishop was locked in behind its own pawns all game. => A sad piece. Could you have freed it?
        I prefer blitz to the long games. => Quick hands, quick thoughts.
        He resigned after I pinned his rook. => A clean finish!
        The board at the park is missing a pawn. => A bottle cap will do.
    """, """
        Checkmate in nineteen, and it was me who got mated.
        Leaving that aside, I've a rematch on the black-and-white squares.
    """),
    _topic("new_phone", """
        My new phone is too big for my (hand|pocket). => That's a nuisance. Could you swap it?
        I can't get my contacts over from the old one. => The shop may help with that.
        The battery is empty by (noon|evening). => Odd for a new one. Does something run in the background?
        {N} set it up for me in ten minutes. => Handy to know someone like that.
        I dropped it on the second day. => Oh no! Is the screen whole?
        It asks me for a password I've never had. => How annoying. Maybe there's a reset.
        The camera is much better than before. => Then you'll take more pictures.
        I miss real buttons. => You're not the only one.
        I don't want to give it my fingerprint. => A code works as well.
        The keyboard changes my words into nonsense. => You may be able to turn the correction off.
        It was on offer for (300|199) euros. => A good price?
        It rings and I don't know how to pick up. => Perhaps you have to swipe.
        I've lost all my old messages. => I'm sorry, that hurts. Is there a backup?
        The old one lasted (six|eight) years. => A faithful companion.
        I spend too much time on it already. => You could leave it in another room at night.
    """, """
        By the way, I've bought a new phone.
        My phone died (yesterday|on {W}).
        I need a new mobile, this one is slow.
        Why are phones so complicated?
    """, """
        The charger plug doesn't fit any of my old cables. => Typical. One more cable in the drawer.
        I accidentally called my boss at midnight. => Oh dear! Was he awake?
        There are forty apps I never asked for. => Some of them can be removed.
        Text is tiny, I need my reading glasses. => There should be a setting for larger letters.
    """, """
        My handset took a bath in the sink.
        Speaking of something different, I've switched from Android to an iPhone.
    """),
    _topic("hiking", """
        We walked (eighteen|twenty-five) kilometres on {W}. => Impressive! How are the feet?
        I've got blisters on both heels. => Ouch. Are the boots new?
        The hut was full, so we slept on the floor. => An adventure! Did you sleep at all?
        The view from the top was worth every step. => How far could you see?
        {N} lost the map on the way. => How did you find the path then?
        A thunderstorm caught us on the ridge. => That's dangerous. I'm glad you are safe.
        My rucksack is too heavy, but what can I leave out? => Every bit counts. What did you not use last time?
        We met cows that blocked the path. => Did they let you pass?
        I need new walking boots before (summer|the next tour). => Break them in on short walks.
        The trail to {P} is closed because of a landslide. => Is there another way round?
        My knees hurt more going down than up. => Poles may take off some weight.
        We ate our sandwiches by a waterfall. => That sounds like the best lunch spot.
        We took a wrong turn and walked two hours more. => A long day. Did you get back in daylight?
        The last bus had gone when we came down. => Oh no. How did you get home?
        I'd like to do the whole long-distance path one day. => A fine goal. How long would it take?
    """, """
        By the way, we're going hiking on {W}.
        I went up a mountain near {P}.
        My legs are so sore from the hike.
        {N} invited me to a week in the mountains.
    """, """
        Chamois were standing on the scree above us. => What a sight!
        I ran out of water halfway up. => In the heat that's hard. Was there a spring?
        The summit book was soaked. => So no entry for you.
        We had to wade through an icy stream. => Brr! Wet boots for the rest?
    """, """
        Five peaks in three days, that's what I'm after.
        Something outdoorsy: which trail would you suggest to a beginner?
    """),
    _topic("sick_parent", """
        My (mother|father) is in hospital since {W}. => I'm sorry. How serious is it?
        The doctors don't tell us anything. => The uncertainty is hard. Could you ask for a talk?
        I drive to {P} every evening to visit. => That's a lot. Who helps you?
        Today (she|he) didn't recognise me. => That must have hurt. I'm sorry.
        We have to decide about a care home. => A heavy decision. What does your family think?
        {N} says I should look after myself as well. => There's truth in that. Do you get any rest?
        The operation went well. => What a relief!
        (She|He) refuses to eat the hospital food. => Perhaps something from home would help.
        My (brother|sister) leaves everything to me. => That's unfair. Have you talked about it?
        We sat and held hands for an hour. => Those moments count.
        The new medicine makes (her|him) so tired. => Could the doctor change the dose?
        I'm afraid of the phone ringing at night. => I understand. That's a hard time.
        The nurse is very kind. => Good people make it easier.
        I feel helpless. => You're there, and that's a lot.
        (She|He) can come home on {W}. => Wonderful! Is everything ready at home?
    """, """
        By the way, my father isn't well.
        My mother had a fall on {W}.
        I was at the hospital (all day|in {P}).
        I'm so worried about my mum.
    """, """
        The stroke took away Dad's speech. => I'm very sorry. Speech can come back with practice, sometimes.
        We take turns at the bedside, my cousins and I. => It's good that you share it.
        Mum joked with the ward doctor this morning. => Her humour is still there, how nice.
        I've filled in the forms for a carer's allowance. => A wise step.
    """, """
        The ward rang, my dad has been admitted.
        There's something heavier on my mind, my mum's illness.
    """),
    _topic("sleep", """
        I was awake from (two|three) until five again. => That's exhausting. What went through your mind?
        My {W} nights are the worst. => Is something special about that day?
        The neighbours' music keeps me awake. => Have you talked to them?
        {N} snores like a saw. => Earplugs may save the night.
        I've tried (warm milk|valerian), it doesn't help. => A pity. Some people like a quiet routine before bed.
        I had a strange dream about a (train|flood|lift). => How did it end?
        I fall asleep on the sofa and lie awake in bed. => Perhaps go to bed at the first yawn.
        I slept nine hours, what a gift! => How good! You must feel fresh.
        My mattress is too soft. => Your back won't like that.
        I look at the clock all night. => Turn it to the wall, maybe.
        The doctor says no screens after nine. => Hard, but worth a try.
        I need three alarms to wake up. => Mornings are not your friend, it seems.
        Since I walk in the evening, I sleep better. => A good habit, keep it.
        The street lamp shines right into my room. => Thicker curtains could help.
        A short nap after lunch saves my day. => Short naps are lovely.
    """, """
        By the way, I can't sleep these days.
        I had such a bad night.
        What helps against lying awake?
        I was tired all day because I slept so little.
    """, """
        Counting sheep made me hungry instead. => At least it's a new effect.
        I wake at dawn with my jaw clenched. => You may be grinding your teeth. A dentist could check.
        Melatonin gave me headaches. => Then better ask a doctor about it.
        I dozed off in the middle of the concert. => Your body wanted its due.
    """, """
        It's four in the morning and I'm staring into the dark.
        Bags under my eyes again, insomnia is back.
    """),
    _topic("budget", """
        There's nothing left of my salary by the (20th|middle of the month). => Do you know where most of it goes?
        The rent goes up in (January|May). => By how much?
        I write down every (coffee|penny) now. => A good way to see the leaks.
        I cancelled two subscriptions. => Well done, that adds up.
        {N} owes me (50|200) euros since {W}. => Have you asked for it?
        I bought shoes I didn't need. => It happens. Can you return them?
        The electricity bill is twice as high. => Was there a change in the price or the use?
        I've put (100|30) euros aside this month. => A start! What are you saving for?
        The bank charges me for everything. => Perhaps there's a cheaper account.
        I'm thinking of selling the car to save money. => What would you use instead?
        We eat at home all week now. => Cheaper, and often better.
        My overdraft is my constant companion. => Paying it off little by little may help.
        I use envelopes with cash for each week. => A simple and clear method.
        The washing machine broke, of all things. => Such costs come at the wrong time.
        I got a raise, but it's gone already. => Money finds its ways.
    """, """
        By the way, I have to save money.
        I looked at my bank account (today|on {W}) and was shocked.
        How can I spend less?
        I've made a budget for the month.
    """, """
        Heating oil has eaten up our reserves. => A hard winter for the wallet.
        I pay off the loan until next spring. => Then you'll have room to breathe.
        Shopping with a list cut our groceries by a third. => That's a good saving!
        Aunt's birthday, a school trip, the plumber: all in one week. => Everything at once, as usual.
    """, """
        My purse is empty, and it's only the tenth.
        Let's talk pounds and pence, I've drawn up a spreadsheet.
    """),
    _topic("childhood_memories", """
        We used to play by the river until dark. => That sounds like a free childhood.
        My grandmother's kitchen smelled of (cinnamon|apples|coal). => Smells bring everything back.
        I had a secret den in the (attic|woods). => Who was allowed in?
        {N} and I were inseparable at the age of seven. => Do you still see each other?
        I was afraid of the cellar stairs. => Many children are. What did you think lived there?
        Every summer we stayed with relatives in {P}. => What do you remember best?
        My father taught me to ride a bike on that street. => Did he run behind you?
        I found my old (teddy bear|school report) in a box. => What a find! How did it feel?
        We had no television, so we invented plays. => Much more fun, perhaps.
        The teacher made me stand in the corner. => What had you done?
        I collected (marbles|stamps|bottle tops) in a tin. => Do you still have it?
        The village shop sold sweets from glass jars. => Which were the best?
        Once I ran away from home, as far as the bus stop. => Who found you?
        My mother sang to us in the evening. => Do you still know the songs?
        In winter we skated on the pond behind the church. => A picture like from an old book.
    """, """
        By the way, I was thinking of my childhood today.
        I saw my old school in {P} on {W}.
        When I was little, everything seemed bigger.
        {N} sent me a photo from when we were children.
    """, """
        Grandpa let us ride on the hay cart. => How exciting for a child!
        I still recall the pattern of our kitchen tiles. => Odd what stays with us.
        My sister cut my fringe before picture day. => The photo must be funny now.
        At seven I believed the moon followed our car. => A lovely belief.
    """, """
        Today a smell of chalk took me back forty years.
        Long before all this, at primary school, I had a tin sword.
    """),
    _topic("school_play", """
        My daughter has the part of the (witch|moon|queen). => Wonderful! Does she know her lines?
        I have to sew a costume until {W}. => What will it look like?
        {N} forgot the text in the dress rehearsal. => Then the first night will go well, they say.
        The teacher asked me to help with the stage set. => What are you building?
        The curtain got stuck halfway. => Did the audience laugh?
        We rehearse every {W} in the gym. => How far along are you?
        The child playing the lead has the mumps. => Oh no! Is there an understudy?
        All the parents had tears in their eyes. => It must have been touching.
        The donkey's head is too heavy to wear. => Maybe make one of paper?
        They changed the ending so that nobody dies. => A kinder version.
        He only has one line and practises it all day. => Which line is it?
        The tickets were gone in (an hour|two days). => A great success already.
        The lights went out in the second act. => How did they save it?
        She has stage fright and wants to stay at home. => A hug and a calm word may help.
        They got a standing ovation. => Well deserved, I'm sure!
    """, """
        By the way, the school play is on {W}.
        My son got a role in the school theatre.
        I was at the rehearsal (today|with {N}).
        The kids are putting on a play.
    """, """
        Cardboard trees are drying all over our garage. => A whole forest! Who paints them?
        The prompter whispered louder than the actors. => At least everybody heard the lines.
        My twins are the front and back of a horse. => I hope they trot in step.
        Applause went on until the head teacher bowed. => What a night!
    """, """
        There's glitter and papier-mâché everywhere, the drama group meets at ours.
        My youngest will be a talking tree before the whole school.
    """),
    _topic("job_hunt", """
        I've sent out (twenty|thirty) applications. => That takes stamina. Any answers yet?
        The interview in {P} is on {W}. => Good luck! How do you prepare?
        They asked me about my weaknesses. => The classic. What did you say?
        Another rejection came this morning. => I'm sorry. It says little about you.
        {N} put in a good word for me at the firm. => That can open a door.
        I don't know what to write about the gap in my CV. => Short and honest is best, perhaps.
        They offered me less than I earn now. => Is there room to bargain?
        I have nothing to wear for the interview. => Clean and comfortable will do.
        They invited me to a second round! => A very good sign!
        I'd have to commute (two hours|ninety minutes) a day. => That's long. Would it be worth it?
        My certificates are in a folder I can't find. => Could you ask for copies?
        The adviser at the job centre was quite helpful. => Nice to hear. What was the advice?
        I'd like to do something completely different. => What draws you?
        I should hear from them by {W}. => Waiting is the worst part.
        I got the contract in the post! => Congratulations! Will you sign?
    """, """
        By the way, I'm looking for a new job.
        I had a job interview (today|on {W}).
        I've just written another application.
        What do people ask in job interviews?
    """, """
        The recruiter mixed me up with another candidate. => How awkward. Did they notice?
        My covering letter sounds like everyone else's. => One true little story could help.
        A trial day at the nursery went nicely. => Could you see yourself there?
        They ghosted me after three conversations. => That's poor style.
    """, """
        I've polished my CV, now somebody has to read it.
        Being unemployed gets on my nerves, so I rang five firms.
    """),
    _topic("knitting_crafts", """
        I dropped a stitch (ten rows|way) back. => Oh no. Can you catch it with a hook?
        The scarf is already (two metres|as tall as I am) long. => A scarf for a giant!
        {N} wants a jumper like mine. => A big order. When should it be ready?
        The wool scratches too much. => A wash might soften it.
        I undid the whole sleeve last night. => That takes patience. What was wrong?
        The pattern is in Danish and I guess my way. => Brave! Does it look right?
        I found beautiful wool at a market in {P}. => What colour is it?
        Socks are easy until you reach the heel. => The heel is the art of it.
        My knitting group meets on {W}. => Do you help each other?
        I ran out of yarn just before the end. => How annoying. Can you get the same shade?
        The cat plays with the ball of wool. => Of course it does.
        I made a blanket from leftover squares. => It must be wonderfully colourful.
        My hands ache when I knit too long. => A break now and then does good.
        The buttons cost more than the wool. => Fine buttons make a garment, though.
        I gave the first pair of mittens to {N}. => I'm sure they're warm and welcome.
    """, """
        By the way, I've started knitting.
        I finished the cardigan on {W}!
        What could I make from a lot of blue wool?
        I sat down with my knitting (last night|by the stove).
    """, """
        Crocheted hats for newborns keep me busy at present. => How sweet. Where do they go?
        Cable needles and I will never be friends. => They need a third hand.
        The tension got looser with every row. => Perhaps you were relaxing too well.
        I blocked the shawl on the spare bed. => It'll be lovely when it's dry.
    """, """
        My needles have been clicking all evening, a waistcoat this time.
        Something cosy instead: skeins of mohair arrived in the post.
    """),
    _topic("baby", """
        The baby cried (all night|until four). => You must be worn out. Is there a tooth coming?
        She smiled at me for the first time! => What a moment!
        {N} takes the night feed on {W}. => Good that you share it.
        He refuses the (bottle|mashed carrots). => Maybe try again another day.
        I haven't had a hot coffee for weeks. => A small wish, and so hard to get.
        The pram doesn't fit into the (lift|boot). => How annoying. Does it fold?
        She has outgrown all her clothes again. => They grow so fast.
        The midwife says everything is fine. => That's good to hear.
        He only falls asleep in the car. => So you drive around at night?
        My mother gives advice all the time. => Well meant, but tiring, I imagine.
        We still haven't found a nursery place in {P}. => That's hard. Are you on a list?
        She tries to crawl, but only goes backwards. => Backwards is a beginning.
        I'm going back to work in (spring|March). => How do you feel about it?
        The first tooth is here! => Hooray! No wonder there were tears.
        I forgot the nappies at home, of course. => It happens to all parents once.
    """, """
        By the way, the baby is (six weeks|five months) old now.
        We were at the children's doctor on {W}.
        The little one kept us awake again.
        {N} came to see the baby.
    """, """
        Colic, says the health visitor. => Poor little thing. It passes, they say.
        I fell asleep with the rattle in my hand. => You deserved that sleep.
        Her first word sounded like "lamp". => A bright start!
        Our cot squeaks with every move. => A drop of oil might do wonders.
    """, """
        Nobody warned me how loud newborns are.
        In other news, our toddler has learned to open the fridge.
    """),
]


def names():
    """The topic names."""
    return [t["name"] for t in TOPICS]


def add_more():
    """Adds the turns and openers that were written later; what measures goes without them."""
    more = json.loads(MORE.read_text())
    for topic in TOPICS:
        topic["more_turns"], topic["more_openers"] = more[topic["name"]]["turns"], more[topic["name"]]["openers"]


def pool(rng, topic, kind, unseen=False):
    """The `kind` ("turns" or "openers") of a topic to draw from: in training half the time those written later."""
    if unseen:
        return topic["unseen_" + kind]
    return topic["more_" + kind] if topic["more_" + kind] and rng.random() < 0.5 else topic[kind]

"""Everyday and interface language by template: sentences, two-sentence texts and very short phrases.

Deterministic for a given random.Random. Held-out sentences are never produced.
"""
from __future__ import annotations

import re

from .numbers import ONES, Spoken, ordinal

WORDS = {
    "name": "Alice Anna Ben Carlos Chloe Daniel David Elena Emily Emma Ethan Fatima Grace Hannah Henry Isabel Jack James "
            "Jane John Julia Kevin Laura Leo Liam Linda Lucas Lucy Maria Mark Martin Mary Mia Michael Nina Noah Nora "
            "Oliver Olivia Paul Peter Priya Rachel Robert Rosa Ryan Sam Sara Simon Sofia Steven Susan Thomas Tom Victor "
            "William Yusuf Zoe Alex Andrea Brian Diana Eric Frank Helen Ivan Karen Max Monica Oscar Philip Ruth Theo",
    "surname": "Smith Jones Brown Miller Davis Wilson Anderson Taylor Moore Jackson White Harris Clark Lewis Walker Hall "
               "Young King Wright Green Baker Adams Nelson Carter Mitchell Roberts Turner Phillips Parker Evans",
    "city": "London|Paris|Berlin|Madrid|Rome|Tokyo|Boston|Chicago|Seattle|Denver|Toronto|Sydney|Dublin|Vienna|Oslo|Lisbon|"
            "Prague|Cairo|Delhi|Singapore|New York|San Francisco|Los Angeles|Hong Kong|Amsterdam|Barcelona|Houston|Miami",
    "wday": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday today tomorrow tonight",
    "thing": "file|folder|message|photo|document|report|playlist|backup|invoice|email|recording|project|calendar|account|"
             "password|profile|update|download|playground|voice|model|dashboard|browser|server|website|network|printer|"
             "keyboard|headset|speaker|battery|screen|camera|microphone|notebook|spreadsheet|presentation|contract|ticket|"
             "package|order|payment|subscription|reminder|alarm|timer|shopping list|home page|search engine|"
             "user interface|app|device|phone|laptop|tablet|letter|question|answer|picture|song|story|letterbox|sample",
    "app": "settings calendar music weather maps mail notes camera messages photos clock recorder editor terminal browser "
           "studio library gallery",
    "adj": "new old quick simple beautiful bright quiet gentle warm cool clear strong smart modern local private secure "
           "public small large short long fresh happy calm perfect better different important interesting wonderful "
           "reliable natural open empty broken heavy narrow curious expensive familiar",
    "verb": "open close save send share delete rename copy move print check review update upload download record play "
            "pause stop start restart edit create find show schedule cancel export import install",
    "verbed": "opened closed saved sent shared deleted renamed copied moved printed checked reviewed updated uploaded "
              "recorded played paused stopped started edited created",
    "food": "coffee|green tea|orange juice|bread|butter|cheese|apples|bananas|pasta|rice|chicken soup|salad|chocolate|"
            "yogurt|tomatoes|potatoes|olive oil|honey|pancakes|strawberries|milk|sugar|flour|eggs",
    "weather": "sunny|cloudy|rainy|windy|foggy|snowy|mild|clear|stormy|humid|partly cloudy|freezing",
    "part": "morning afternoon evening",
    "lang": "English French German Spanish Italian Japanese Chinese Korean Arabic Portuguese Hindi Swedish",
    "place": "office|kitchen|living room|bedroom|garden|garage|library|airport|station|museum|restaurant|hotel|bank|"
             "pharmacy|supermarket|park|school|hospital|beach|conference room|bridge|theater|market",
    "topic": "speech synthesis|machine learning|open source software|web design|music theory|climate change|modern art|"
             "space travel|healthy cooking|personal finance|computer graphics|natural language|digital privacy|"
             "renewable energy|city planning|ancient history|audio processing|voice cloning|data science|human anatomy",
    "unit": "minutes seconds hours days weeks items pages files messages degrees miles people votes points",
    "news": "messages emails notifications comments followers",
    "span": "minutes hours days weeks months years",
    "title": "Doctor|Professor|Mister|Missus|Miss|Captain|Saint|Mr|Mrs|Ms|Dr",
    "letters": "A P I|U R L|H T M L|P D F|U S B|C P U|G P U|T V|D J|U S A|U K|I D|F A Q|A I|Wi-Fi|API|URL|PDF|USB|"
               "CPU|GPU|TV|ID",
    "street": "Main Street|Park Avenue|Oak Road|High Street|Church Lane|River Drive|Station Road|Fifth Avenue|Mill Lane",
}
WORDS = {k: v.split("|") if "|" in v else v.split() for k, v in WORDS.items()}

SENTENCES = """Your {thing} is ready to {verb}.|Please {verb} the {thing} before {day}.|I have set a reminder for {day} at {time}.
The weather in {city} is {weather} with a high of {n} degrees.|Would you like me to {verb} the {thing}?|You have {n} new {news}.
{name} sent you a message about the {thing}.|Your meeting with {name} starts in {n} minutes.|The next train to {city} leaves at {time}.
Turn on the lights in the {place}.|I could not find any {thing} with that name.|How can I help you this {part}?
Good {part}, {name}, how are you today?|Thank you for calling, please hold the line.|Please say that again, I did not understand.
The {thing} was {verbed} {n} {span} ago.|Click the button to {verb} your {thing}.|Tap here to {verb} a {adj} {thing}.
Select a voice and type some text to hear it.|This voice was created from {n} seconds of audio.|The model runs locally, so your {thing} stays private.
Here is a short summary of the {adj} {thing}.|Do you want to {verb} it now or later?|I will call {name} on {wday} {part}.
The flight from {city} to {city} takes about {n} hours.|Add {food} and {food} to my shopping list.|Let me read the {ord} paragraph for you.
There are {n} {unit} left.|The battery is at {percent}.|Your order will arrive on {wday}, {date}.|Welcome back, {name}.
Something went wrong, please try again later.|The {thing} has been saved to your {adj} folder.|{name} and {name} are waiting in the {place}.
My favorite topic is {topic}.|Let's talk about {topic} for a few minutes.|What do you know about {topic}?|Can you explain {topic} in simple words?
I am learning {lang} with a {adj} app.|Translate this sentence into {lang}.|The {place} closes at {time} on {wday}.|Open the {app} app and {verb} the {thing}.
Speak clearly into the microphone for {n} seconds.|Upload a short recording to clone a voice.|The download will finish in about {n} minutes.
Adjust the speed and the volume to your liking.|It is {time} in {city}.|The total is {money}.|Turn left in {n} meters, then continue straight.
At the roundabout, take the {ord} exit.|You are {n} minutes away from the {place}.|Press {digit} to {verb} the {thing}, or press {digit} for more options.
Your verification code is {digits4}.|Chapter {n}.|Page {n} of {n}.|Version {decimal} is now available.|We had {food} and {food} for breakfast.
{name} lives near the {place} in {city}.|I think {name} would love some {food}.|The {adj} {thing} is on the {adj} table.|Could you please {verb} the {ord} {thing} again?
Everything looks {adj} to me.|Nothing is more {adj} than a {adj} {part}.|We should meet at the {place} around {time}.|It will be {weather} in {city} on {wday}.
The {ord} chapter is about {topic}.|Are you sure you want to {verb} this {thing}?|This {thing} cannot be {verbed} without permission.
Remember to {verb} your {thing} every {wday}.|She said the {thing} was {adj} and {adj}.|He put the {thing} back in the {place}.|They walked to the {place} in the {part}.
Why is the {thing} so {adj}?|When does the {place} open on {wday}?|Where did you put the {adj} {thing}?|Who wants to {verb} the {thing} with {name}?
The quick brown fox jumps over the lazy dog.|A gentle breeze moved through the {adj} garden.|Our team built a {adj} tool for {topic}.|Listen carefully and repeat after me.
Happy birthday, {name}!|Congratulations, you have reached level {n}.|Warning, the {thing} is almost full.|The doctor will see you at {time}.|Your table for {digit} is ready.
I am sorry, but I cannot do that right now.|Of course, I will {verb} it right away.|Sure, here is the {thing} you asked for.|One moment please, I am looking for the {thing}.
The museum has a {adj} collection of {adj} paintings.|Once upon a time there was a {adj} king who lived in a {adj} castle.|In the year {year}, {name} moved to {city}.
The population of {city} is about {n} thousand.|Mix the {food} with the {food} and wait {n} minutes.|{title} {surname} will see you on {date}.
The appointment with {title} {surname} was moved to {time}.|Please call {phone}.|My number is {phone}.|It costs {money} a month.|The price went up by {percent} last year.
The {thing} weighs {measure}.|We drove {measure} before lunch.|Add {fraction} cup of {food}.|About {fraction} of the {unit} were {verbed}.|She was born on {date}.
The meeting is on {wday}, {date}, at {time}.|He lives at {n} {street}.|Room {digits3} is on the {ord} floor.|The answer is {decimal}.|The temperature dropped to {measure}.
Connect the {letters} cable to the {thing}.|The {letters} returned an error after {measure}.|Open the {letters} and scroll to page {n}.|Your score is {n} out of one hundred.
Chapter {n} begins on page {n}.|Set a timer for {n} minutes and {n} seconds.|Flight {digits3} to {city} boards at gate {digit}.|Between {year} and {year} the city grew quickly.
I would like {n} of those, please.|No, {name}, that is not what I meant.|Yes, the {thing} is {adj}.|If it rains on {wday}, we will stay in the {place}.
After the {thing} was {verbed}, everything was {adj} again.|Hello, my name is {name}, and I will read this text for you.|This is {name} from {city}.
Could you repeat the last number, please?|What time is it in {city}?|How much does the {thing} cost?|Which {thing} do you like best, {name}?
We finished in {ord} place.|I need {written} {unit} for the {thing}.|Order number {written} is ready.|Our {adj} {thing} opens in {year}.|Wait, is that your {thing}?
Thank you so much for your help, {name}.|Please turn the volume down a little.|You can change this in the {app} at any time.|Let's start with something {adj}.
The sun was shining and the birds were singing.|Everyone in the {place} was {adj}.|My brother plays the piano, and my sister sings.|Nobody knew where the {thing} was."""

PHRASES = """{Verb} the {thing}.|{Adj} {thing}.|{Wday} {part}.|At {time}.|{Time}.|{Number}.|{Number} {unit}.|{Date}.|{Money}.|{Percent}.|{Ordinal}.|Hi.|Hi, {name}.|Hello, {name}.|Hello!|Hey.
Yes, please.|No, thanks.|Ready.|Go.|Not now.|In {city}.|{Name}?|{Digits}.|{Year}.|{Measure}.|Good {part}.|Chapter {n}.|Step {n}.|Level {n}.|Next, please.|Thanks, {name}.|Bye, {name}.|See you {day}.
{Name} and {name}.|Very {adj}.|Too {adj}.|So {adj}!|All done.|Let's go, {name}.|Really, {name}?|How {adj}!|{Fraction}.|{Letters}.|The {thing}.|Try the {thing}.|I can't {verb} it.|It's {adj}.|That's {adj}."""

OPENERS = ("Hello.|Hi there.|Okay.|Yes.|No.|Sure.|Of course.|Thank you.|Sorry.|Please wait.|Well done.|One moment.|Great.|"
           "All right.|Good news.|Listen.|Wait.|I see.|Welcome.|Right.|Look at this.|That's fine.").split("|")


class Grammar:
    def __init__(self, rng, banned=()):
        self.rng, self.say = rng, Spoken(rng)
        self.sentences = SENTENCES.replace("\n", "|").split("|")
        self.phrases = PHRASES.replace("\n", "|").split("|")
        self.banned = {self.key(t) for t in banned}

    @staticmethod
    def key(text):
        return re.sub(r"[^a-z]", "", text.lower())

    def slot(self, kind):
        r, say = self.rng, self.say
        if kind in WORDS:
            return r.choice(WORDS[kind])
        make = dict(n=lambda: say.number(), number=lambda: say.number(0, 120), digit=lambda: r.choice(ONES[1:10]),
                    digits3=lambda: say.digits(3), digits4=lambda: say.digits(r.choice((4, 4, 6))), time=say.time,
                    digits=lambda: say.digits(r.randint(2, 5)), date=say.date, year=say.year, money=say.money,
                    percent=say.percent, measure=say.measure, fraction=say.fraction, phone=say.phone,
                    decimal=say.decimal, written=say.written, ordinal=lambda: ordinal(r.randint(1, 60)),
                    ord=lambda: r.choice(("last", "next", ordinal(r.randint(1, 12)))))
        return make[kind]()

    def fill(self, template):
        while True:
            t = re.sub(r"\{(\w+)\}", lambda m: self.slot(m.group(1).lower()), template)
            t = re.sub(r"\b([Aa]) ([aeio])", r"\1n \2", t)
            t = t[0].upper() + t[1:]
            if self.key(t) not in self.banned:
                return t
            template = self.rng.choice(self.sentences)

    def sentence(self):
        return self.fill(self.rng.choice(self.sentences))

    def phrase(self):
        return self.fill(self.rng.choice(self.phrases))

    def pair(self):
        first = self.rng.choice(OPENERS) if self.rng.random() < 0.5 else self.sentence()
        return first + " " + self.sentence()

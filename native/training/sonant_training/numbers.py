"""Numbers, dates, times and amounts as people say them, and now and then as they write them."""
from __future__ import annotations

ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen").split()
TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
ORDINALS = dict(one="first", two="second", three="third", five="fifth", eight="eighth", nine="ninth", twelve="twelfth")
MONTHS = "January February March April May June July August September October November December".split()


def cardinal(n, hyphen=False, conjunction=False):
    """1234567 -> one million two hundred thirty four thousand five hundred sixty seven."""
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10] + ("" if n % 10 == 0 else ("-" if hyphen else " ") + ONES[n % 10])
    for size, word in ((10 ** 9, "billion"), (10 ** 6, "million"), (1000, "thousand"), (100, "hundred")):
        if n >= size:
            rest = n % size
            glue = " and " if conjunction and rest and rest < 100 else " "
            return cardinal(n // size, hyphen) + " " + word + (glue + cardinal(rest, hyphen, conjunction) if rest else "")
    raise ValueError(n)


def ordinal(n, hyphen=False):
    words = cardinal(n, hyphen)
    cut = max(words.rfind(" "), words.rfind("-")) + 1
    last = words[cut:]
    if last in ORDINALS:
        last = ORDINALS[last]
    else:
        last = last[:-1] + "ieth" if last.endswith("y") else last + "th"
    return words[:cut] + last


def year(n):
    """1984 -> nineteen eighty four; 2007 -> two thousand seven; 2026 -> twenty twenty six."""
    if 2000 <= n < 2010:
        return cardinal(n)
    high, low = divmod(n, 100)
    if low == 0:
        return cardinal(high) + " hundred"
    return cardinal(high) + " " + ("oh " + ONES[low] if low < 10 else cardinal(low))


class Spoken:
    """Random quantities in words; `rng` is a random.Random."""

    def __init__(self, rng):
        self.rng = rng

    def number(self, low=2, high=99):
        r = self.rng
        u = r.random()
        top = high if u < 0.75 else 999 if u < 0.93 else 99999
        return cardinal(r.randint(low, max(low + 1, top)), r.random() < 0.4, r.random() < 0.2)

    def digits(self, count):
        words = [self.rng.choice(ONES[:10]) for _ in range(count)]
        if self.rng.random() < 0.25:
            words = ["oh" if w == "zero" else w for w in words]
        return " ".join(words)

    def decimal(self):
        return f"{cardinal(self.rng.randint(0, 99))} point {self.digits(self.rng.choice((1, 1, 2)))}"

    def time(self):
        r = self.rng
        h, m = r.randint(1, 12), r.choice((0, 0, 15, 30, 45, 10, 20, 40, 50, 5, 25, r.randint(1, 59)))
        if r.random() < 0.2:
            return r.choice(("half past ", "quarter past ", "quarter to ", "ten to ", "twenty past ")) + cardinal(h)
        t = cardinal(h) + ("" if m == 0 else " oh " + ONES[m] if m < 10 else " " + cardinal(m, r.random() < 0.3))
        return t + r.choice(("", " in the morning", " in the evening", " a m", " p m", " AM", " PM",
                             " o'clock" if m == 0 else ""))

    def date(self):
        r = self.rng
        m, d = r.choice(MONTHS), ordinal(r.randint(1, 31), r.random() < 0.3)
        t = r.choice((f"{m} {d}", f"the {d} of {m}", f"{m} {d}"))
        return t + (r.choice((", ", " ")) + self.year() if r.random() < 0.35 else "")

    def year(self):
        r = self.rng
        return year(r.choice((r.randint(1900, 1999), r.randint(2000, 2035), r.randint(1400, 1899))))

    def money(self):
        r = self.rng
        n, c = r.choice((r.randint(2, 99), r.randint(100, 2500))), r.randint(1, 99)
        unit, part = r.choice((("dollars", "cents"), ("dollars", "cents"), ("pounds", "pence"), ("euros", "cents")))
        return cardinal(n) + " " + unit + (f" and {cardinal(c)} {part}" if r.random() < 0.5 else "")

    def percent(self):
        return (self.decimal() if self.rng.random() < 0.25 else cardinal(self.rng.randint(1, 100))) + " percent"

    def measure(self):
        unit = self.rng.choice("kilometers miles meters feet inches pounds kilograms grams liters degrees Celsius "
                               "megabytes gigabytes milliseconds minutes hertz kilohertz volts watts".split())
        unit = {"Celsius": "degrees Celsius", "degrees": "degrees Fahrenheit"}.get(unit, unit)
        return (self.decimal() if self.rng.random() < 0.25 else self.number(2, 300)) + " " + unit

    def fraction(self):
        return self.rng.choice(("one half", "a quarter", "two thirds", "three quarters", "one third", "five eighths",
                                "one and a half", "two and a half", "three and a quarter", "a tenth"))

    def phone(self):
        r = self.rng
        return ", ".join(self.digits(k) for k in r.choice(((3, 3, 4), (3, 4), (4, 3, 3))))

    def written(self):
        """The same kinds of things in digits, for text that reaches the model as it was typed."""
        r = self.rng
        return r.choice((str(r.randint(2, 99)), str(r.randint(2, 99)), str(r.randint(100, 999)),
                         f"{r.randint(1, 12)}:{r.choice((15, 30, 45))}", str(r.randint(1900, 2035)),
                         f"{r.randint(1, 99)}%"))

/** Written English and how it is said. The pairs were written down from how people say these things. */
import { describe, expect, it } from "vitest";
import { normalise } from "./normalise.ts";
import { cardinal, ordinal, roman, year } from "./normalise-en-numbers.ts";

/** Groups of pairs; the full stop at the end is added here where the pair leaves it out. */
const PAIRS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  cardinals: [
    ["I have 2 cats", "I have two cats"],
    ["There are 15 of them", "There are fifteen of them"],
    ["21 people", "twenty one people"],
    ["100 ways", "one hundred ways"],
    ["105 ways", "one hundred and five ways"],
    ["1,001 nights", "one thousand and one nights"],
    [
      "1,234,567 people",
      "one million two hundred and thirty four thousand five hundred and sixty seven people",
    ],
    ["2048 items", "two thousand and forty eight items"],
    ["It has 1000000 rows", "It has one million rows"],
    ["Zero is 0", "Zero is zero"],
  ],
  decimals: [
    ["Pi is 3.14", "Pi is three point one four"],
    ["0.05 more", "zero point zero five more"],
    [".5 more", "zero point five more"],
    ["It weighs 1,234.5", "It weighs one thousand two hundred and thirty four point five"],
  ],
  negatives: [
    ["It is -5 outside", "It is minus five outside"],
    ["\u221212.5 points", "minus twelve point five points"],
    ["a +3 bonus", "a plus three bonus"],
  ],
  ordinals: [
    ["the 1st time", "the first time"],
    ["the 2nd of 3", "the second of three"],
    ["her 23rd book", "her twenty third book"],
    ["the 40th day", "the fortieth day"],
    ["the 112th", "the one hundred and twelfth"],
  ],
  fractions: [
    ["1/2 cup", "one half cup"],
    ["3/4 of it", "three quarters of it"],
    ["2/3 done", "two thirds done"],
    ["1 1/2 cups", "one and a half cups"],
    ["\u00bd cup", "one half cup"],
    ["2\u00bc miles", "two and a quarter miles"],
    ["open 24/7", "open twenty four seven"],
  ],
  percent: [
    ["50% off", "fifty percent off"],
    ["up 3.5%", "up three point five percent"],
    ["10-20% less", "ten to twenty percent less"],
  ],
  money: [
    [
      "It costs $1,234.50",
      "It costs one thousand two hundred and thirty four dollars and fifty cents",
    ],
    ["$1", "one dollar"],
    ["$0.99", "ninety nine cents"],
    ["$9.99 each", "nine dollars and ninety nine cents each"],
    ["$5.00", "five dollars"],
    ["\u20ac27", "twenty seven euros"],
    ["27,50 \u20ac", "twenty seven euros and fifty cents"],
    ["\u00a33m", "three million pounds"],
    ["\u00a31.01", "one pound and one penny"],
    ["\u00a5500", "five hundred yen"],
    ["$3.5 million", "three point five million dollars"],
    ["$2bn", "two billion dollars"],
    ["US$5", "five U S dollars"],
    ["-$5", "minus five dollars"],
    ["100 USD", "one hundred U S dollars"],
    ["EUR 20", "twenty euros"],
    ["$10-12", "ten to twelve dollars"],
    ["$10-$12", "ten to twelve dollars"],
    ["99\u00a2", "ninety nine cents"],
  ],
  years: [
    ["in 1984", "in nineteen eighty four"],
    ["since 2005", "since two thousand and five"],
    ["by 2026", "by twenty twenty six"],
    ["in 1900", "in nineteen hundred"],
    ["in 1907", "in nineteen oh seven"],
    ["the year 2000", "the year two thousand"],
    ["from 1914-1918", "from nineteen fourteen to nineteen eighteen"],
    ["2019\u201321", "twenty nineteen to twenty one"],
    ["the 1990s", "the nineteen nineties"],
    ["the '80s", "the eighties"],
    ["44 BC", "forty four B C"],
    ["In Q3 2024 we grew", "In Q three twenty twenty four we grew"],
    ["mid-1990s", "mid-nineteen nineties"],
    ["2024 was warm", "twenty twenty four was warm"],
  ],
  dates: [
    ["on 2026-11-29", "on November twenty ninth, twenty twenty six"],
    ["on 11/29/2026", "on November twenty ninth, twenty twenty six"],
    ["on 29/11/2026", "on November twenty ninth, twenty twenty six"],
    ["on 29 November 2026", "on the twenty ninth of November twenty twenty six"],
    ["on the 1st of May", "on the first of May"],
    ["Nov. 29", "November twenty ninth"],
    ["Nov 29, 2026", "November twenty ninth, twenty twenty six"],
    ["November 29th, 2026", "November twenty ninth, twenty twenty six"],
    ["March 2021", "March twenty twenty one"],
    ["July 4", "July fourth"],
    ["2026-11-29T09:30:00Z", "November twenty ninth, twenty twenty six at nine thirty"],
  ],
  times: [
    ["at 3:30pm", "at three thirty p m"],
    ["at 15:45", "at fifteen forty five"],
    ["at 9:05", "at nine oh five"],
    ["at 10:00", "at ten o'clock"],
    ["at 10:00 am", "at ten a m"],
    ["at 3pm", "at three p m"],
    ["at 5 p.m. sharp", "at five p m sharp"],
    ["a 3:1 lead", "a three to one lead"],
    ["at 12:30:45", "at twelve thirty and forty five seconds"],
    ["from 9-5", "from nine to five"],
  ],
  ranges: [
    ["10-12 people", "ten to twelve people"],
    ["pages 5\u20137", "pages five to seven"],
    ["10 - 12", "ten to twelve"],
    ["a 5-star hotel", "a five star hotel"],
    ["5-10 km", "five to ten kilometers"],
  ],
  phones: [
    ["Call 555-123-4567", "Call five five five, one two three, four five six seven"],
    ["Call (555) 123-4567", "Call five five five, one two three, four five six seven"],
    ["Call 555-1234", "Call five five five, one two three four"],
    ["+1 555 123 4567", "plus one, five five five, one two three, four five six seven"],
    ["order 48291037", "order four eight two nine one zero three seven"],
    ["code 0427", "code zero four two seven"],
  ],
  versions: [
    ["v2.3.1 is out", "version two point three point one is out"],
    ["version 2.10", "version two point ten"],
    ["Python 3.12.1", "Python three point twelve point one"],
    ["v2", "version two"],
    ["192.168.0.1", "one hundred and ninety two dot one hundred and sixty eight dot zero dot one"],
  ],
  units: [
    ["5 km away", "five kilometers away"],
    ["1 km away", "one kilometer away"],
    ["20 \u00b0C", "twenty degrees Celsius"],
    ["-3\u00b0C", "minus three degrees Celsius"],
    ["70\u00b0F", "seventy degrees Fahrenheit"],
    ["3GB of RAM", "three gigabytes of RAM"],
    ["100 km/h", "one hundred kilometers per hour"],
    ["2.5 kg", "two point five kilograms"],
    ["30 min. later", "thirty minutes later"],
    ["it takes 1m 40s", "it takes one minute forty seconds"],
    ["\u00a312.50/kg", "twelve pounds and fifty pence per kilogram"],
    ["$5/month", "five dollars per month"],
    ["48 kHz", "forty eight kilohertz"],
    ["80 ms", "eighty milliseconds"],
    ["5'10\"", "five foot ten"],
    ["a 10-km run", "a ten kilometer run"],
    ["50 m\u00b2", "fifty square meters"],
    ["a 90\u00b0 turn", "a ninety degrees turn"],
  ],
  abbreviations: [
    ["Dr. Smith", "Doctor Smith"],
    ["Mr. and Mrs. Jones", "Mister and Missus Jones"],
    ["fruit, e.g. apples", "fruit, for example, apples"],
    ["the last, i.e. the third", "the last, that is, the third"],
    ["cats, dogs, etc.", "cats, dogs, et cetera"],
    ["approx. 5", "approximately five"],
    ["Main St. is long", "Main Street is long"],
    ["St. Louis", "Saint Louis"],
    ["No. 5", "number five"],
    ["No. I will not", "No. I will not"],
    ["see p. 5 and pp. 7-9", "see page five and pages seven to nine"],
    ["see Fig. 3", "see figure three"],
    ["Prof. Lee", "Professor Lee"],
    ["Acme Inc. sells", "Acme Incorporated sells"],
    ["cats vs. dogs", "cats versus dogs"],
    ["John Smith Jr. won", "John Smith Junior won"],
    ["tea w/ milk w/o sugar", "tea with milk without sugar"],
    ["the U.S. Army", "the U S Army"],
    ["a Ph.D. student", "a P H D student"],
    ["question #5", "question number five"],
  ],
  acronyms: [
    ["the API", "the A P I"],
    ["two GPUs", "two G P Us"],
    ["NASA said", "NASA said"],
    ["the FBI and CIA", "the F B I and C I A"],
    ["an MP3 file", "an M P three file"],
    ["OK then", "okay then"],
    ["STOP DOING THAT NOW", "STOP DOING THAT NOW"],
    ["HTML and CSS", "H T M L and C S S"],
    ["COVID-19", "COVID nineteen"],
    ["a 4K film", "a four K film"],
    ["in 3D", "in three D"],
  ],
  roman: [
    ["Henry VIII", "Henry the eighth"],
    ["World War II", "World War two"],
    ["Chapter IV", "Chapter four"],
    ["Queen Elizabeth II died", "Queen Elizabeth the second died"],
    ["I am here", "I am here"],
    ["vitamin C", "vitamin C"],
    ["Part I", "Part one"],
  ],
  web: [
    ["see https://example.com/docs/start?x=1#y", "see example dot com slash docs slash start"],
    ["go to www.example.org.", "go to example dot org."],
    ["on example.co.uk", "on example dot co dot U K"],
    ["mail bob.smith@example.org", "mail bob dot smith at example dot org"],
    ["@anna_b wrote", "at anna b wrote"],
    ["#OpenSource wins", "hashtag Open Source wins"],
    ["open report.pdf", "open report dot P D F"],
    ["edit config.json", "edit config dot jason"],
    ["the .env file", "the dot env file"],
    ["in /usr/local/bin", "in slash usr slash local slash bin"],
    ["C++ and C#", "C plus plus and C sharp"],
    ["use Node.js", "use Node dot J S"],
  ],
  maths: [
    ["2+2=4", "two plus two equals four"],
    ["5 - 3 = 2", "five minus three equals two"],
    ["x <= 10", "x less than or equal to ten"],
    ["a != b", "a is not equal to b"],
    ["3 \u00d7 4", "three by four"],
    ["8 \u00f7 2", "eight divided by two"],
    ["x\u00b2 + 1", "x squared plus one"],
    ["1920x1080", "one thousand nine hundred and twenty by one thousand and eighty"],
    ["\u00b15", "plus or minus five"],
    ["~20 people", "about twenty people"],
    ["R&D", "R and D"],
    ["and/or", "and or"],
    ["x = (a + b) / 2", "x equals, a plus b, divided by two"],
    ["3,5 or so", "three, five or so"],
    ["client/server", "client server"],
    ["5k users", "five thousand users"],
    ["10x faster", "ten times faster"],
  ],
};

describe.each(Object.entries(PAIRS))("%s", (_group, pairs) => {
  it.each(pairs)("%s", (text, spoken) => {
    const ended = /[.?!]$/.test(spoken) ? spoken : `${spoken}.`;
    expect(normalise(text, { language: "en" }).spoken).toBe(ended);
  });
});

it("leaves no digit unread", () => {
  const texts = [
    "A1B2C3",
    "x1y2",
    "12abc34",
    "1.2.3.4.5",
    "00:00:00.000",
    "1e10",
    "0x1F",
    "$1$2",
    "5'6'7",
  ];
  for (const text of texts) {
    expect(normalise(text, { language: "en" }).spoken).not.toMatch(/\d/);
  }
});

describe("numbers", () => {
  it.each([
    ["0", "zero"],
    ["19", "nineteen"],
    ["90", "ninety"],
    ["1000", "one thousand"],
    ["1100", "one thousand one hundred"],
    ["1000000007", "one billion and seven"],
    ["9".repeat(22), "nine ".repeat(22).trim()],
  ])("cardinal(%s)", (digits, words) => {
    expect(cardinal(digits)).toBe(words);
  });

  it("ordinals, years and Roman numerals", () => {
    expect([3, 5, 8, 9, 12, 20, 30, 101].map(ordinal)).toEqual([
      ..."third fifth eighth ninth twelfth twentieth thirtieth".split(" "),
      "one hundred and first",
    ]);
    expect([1066, 1800, 2010, 2100, 800].map(year)).toEqual([
      "ten sixty six",
      "eighteen hundred",
      "twenty ten",
      "twenty one hundred",
      "eight hundred",
    ]);
    expect(["IV", "XIX", "XL", "CCC", "IIII", "VX", ""].map(roman)).toEqual([
      ...[4, 19, 40, 300],
      ...[undefined, undefined, undefined],
    ]);
  });
});

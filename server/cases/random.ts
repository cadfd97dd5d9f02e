/** Repeatable randomness for cases: numbers of a seed, and text that looks written. */

/** Numbers from 0 up to 1 that depend on the seed alone. */
export function randomNumbers(seed: string): () => number {
  let state = 2_166_136_261;
  for (const character of seed) {
    state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16_777_619) >>> 0;
  }
  return () => {
    // A 32-bit mix of a counter, so that the seeds "1" and "2" have nothing in common.
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** What a splitter has to keep in one piece, among plain words. */
const PIECES = [
  ..."river stone garden window letter winter market engine paper silver morning bridge".split(" "),
  ..."walks holds opens brings under over after before near and but then".split(" "),
  ...[
    "3.14",
    "1,250",
    "9.15",
    "Dr. Hale",
    "Mrs. Fox",
    "e.g. tea",
    "example.org/a?b=1",
    "a.b@c.org",
  ],
  ...["U.S. post", "No. 7", "half-way", "it's", "(see below)", '"quite"'],
];
const ENDS = [". ", ". ", ". ", "! ", "? ", "?! ", ", ", "; ", ": ", "\n"];

/** Text of about that many characters: sentences with numbers, addresses and abbreviations in them. */
export function randomText(random: () => number, length: number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  let text = "";
  while (text.length < length) {
    const words = Array.from({ length: 2 + Math.floor(random() * 9) }, () => pick(PIECES));
    text += words.join(" ") + pick(ENDS);
  }
  return `${text.trim()}.`;
}

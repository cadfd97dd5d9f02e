/** The arithmetic of a blind comparison: which pairs, in which order, and what their outcome says. Pure. */

export interface Pair {
  readonly first: string;
  readonly second: string;
}

export type Choice = "first" | "second" | "tie";

export interface Standing {
  readonly id: string;
  /** Pairs that it was preferred in; a tie counts half. */
  readonly wins: number;
  readonly rounds: number;
  /** 95 % interval of its share of preferences, 0 to 1 (Wilson's, which holds for few rounds). */
  readonly low: number;
  readonly high: number;
}

/** Two takes are compared this often, since once says nothing. */
const ROUNDS_OF_TWO = 5;

/**
 * Every pair once, or a single pair several times, in random order and with random sides.
 * @param random from 0 to below 1
 */
export function makePairs(ids: readonly string[], random: () => number = Math.random): Pair[] {
  const pairs: Pair[] = [];
  ids.forEach((first, index) => {
    for (const second of ids.slice(index + 1)) pairs.push({ first, second });
  });
  const all = ids.length === 2 ? new Array<Pair[]>(ROUNDS_OF_TWO).fill(pairs).flat() : pairs;
  return shuffled(all, random).map((pair) =>
    random() < 0.5 ? pair : { first: pair.second, second: pair.first },
  );
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}

/** What each take won, the most preferred first. */
export function standings(pairs: readonly Pair[], choices: readonly Choice[]): Standing[] {
  const wins = new Map<string, number>();
  const rounds = new Map<string, number>();
  choices.forEach((choice, index) => {
    const pair = pairs[index];
    if (pair === undefined) return;
    for (const side of ["first", "second"] as const) {
      const won = choice === "tie" ? 0.5 : Number(choice === side);
      wins.set(pair[side], (wins.get(pair[side]) ?? 0) + won);
      rounds.set(pair[side], (rounds.get(pair[side]) ?? 0) + 1);
    }
  });
  return [...rounds]
    .map(([id, count]) => {
      const won = wins.get(id) ?? 0;
      return { id, wins: won, rounds: count, ...wilson(won, count) };
    })
    .sort((a, b) => b.wins / b.rounds - a.wins / a.rounds);
}

const Z95 = 1.96;

/** Wilson's score interval of a share. */
function wilson(wins: number, rounds: number): { low: number; high: number } {
  const share = wins / rounds;
  const z2 = Z95 ** 2;
  const middle = (share + z2 / (2 * rounds)) / (1 + z2 / rounds);
  const half =
    (Z95 / (1 + z2 / rounds)) * Math.sqrt((share * (1 - share)) / rounds + z2 / (4 * rounds ** 2));
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

/** Whether the best is told from the rest: its interval lies above one half. */
export function hasWinner([best]: readonly Standing[]): boolean {
  return best !== undefined && best.low > 0.5;
}

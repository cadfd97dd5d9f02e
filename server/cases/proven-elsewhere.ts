/**
 * Cases that cannot be driven over the wire, each with the test that proves it, or with the reason why nothing does yet. A
 * test checks that the files still name the cases.
 */

/** A test file that names the case, from the root of the checkout. */
export interface Proof {
  readonly file: string;
  /** What the file says where it proves the case. */
  readonly words: string;
}

export const PROVEN: Readonly<Record<string, Proof>> = {
  B114: { file: "server/engine/leaving.int.test.ts", words: "B114" },
  B115: { file: "server/engine/leaving.int.test.ts", words: "B115" },
  B044: { file: "server/voices/fetch-guard.test.ts", words: "checks where a redirect leads" },
  B081: { file: "server/speech/service.test.ts", words: "goes on with an engine that failed once" },
};

/** Cases that say something only in their full length; where there is no time for that, another test proves them. */
export const PROVEN_FASTER: Readonly<Record<string, Proof>> = {
  // Memory is looked at after the caches are full, which takes hundreds of clips of half a minute.
  B161: { file: "server/speech/load.int.test.ts", words: "B161" },
};

/** Cases that nothing proves yet. */
export const OPEN: Readonly<Record<string, string>> = {
  B030: "reloading in place is the page's development server, seen through a browser",
  B082: "graphs are recorded on a GPU only, where native/parity and native/bench run them; docs/measurements.md has the figures",
  B120: "two hours of mixed load are a test of their own, not one of this suite",
};

/** Why a case is not driven over the wire, or not in a quick run; undefined for one that is. */
export function elsewhere(id: string, isQuick: boolean): string | undefined {
  const proof = PROVEN[id] ?? (isQuick ? PROVEN_FASTER[id] : undefined);
  return proof === undefined ? OPEN[id] : `proven by "${proof.words}" in ${proof.file}`;
}

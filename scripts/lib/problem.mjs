/**
 * An expected obstacle (a missing tool, a failed build). Its message is one sentence for the person at the terminal;
 * scripts print it without a stack trace.
 */
export class Problem extends Error {
  /** @param {string} message @param {string[]} [details] lines shown before the message */
  constructor(message, details = []) {
    super(message);
    this.name = "Problem";
    this.details = details;
  }
}

/**
 * Prints a failure for a person: details and one sentence for a {@link Problem}, the whole stack for anything else.
 * @param {unknown} error
 */
export function reportProblem(error) {
  if (error instanceof Problem) {
    for (const line of error.details) console.error(line);
    console.error(error.message);
  } else {
    console.error(error);
  }
}

/**
 * Runs a script's main function and turns its result into the exit status.
 * @param {() => Promise<number>} main
 */
export async function runMain(main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    reportProblem(error);
    process.exitCode = 1;
  }
}

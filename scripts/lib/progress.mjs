/**
 * Shows how far a build is. A terminal gets one line that is rewritten; a log gets one line for every ten per cent,
 * so that it stays readable.
 */

/**
 * How far a line of make or Ninja output says the build is, in per cent.
 * @param {string} line
 * @returns {number | undefined}
 */
export function buildPercent(line) {
  const percent = /^\[\s*(\d+)%\]/.exec(line);
  if (percent) return Number(percent[1]);
  const steps = /^\[(\d+)\/(\d+)\]/.exec(line);
  if (steps) return Math.floor((100 * Number(steps[1])) / Number(steps[2]));
  return undefined;
}

/**
 * A consumer of build output that prints progress. Nothing is printed for a build that compiles nothing.
 * @param {string} title
 * @param {{ isTTY?: boolean, columns?: number, write: (text: string) => unknown }} out
 */
export function progressPrinter(title, out) {
  let lastTen = -1;
  let shown = false;
  return {
    /** @param {string} line */
    line(line) {
      const percent = buildPercent(line);
      const works = /\b(Building|Linking|Generating)\b/.test(line);
      if (percent === undefined || (!works && !shown)) return;
      if (out.isTTY) {
        const text = `${title} ${String(percent).padStart(3)} %  ${line.replace(/^\[[^\]]*\]\s*/, "")}`;
        out.write(`\r\u001b[K${text.slice(0, (out.columns ?? 80) - 1)}`);
      } else if (Math.floor(percent / 10) > lastTen) {
        lastTen = Math.floor(percent / 10);
        out.write(`${title} ${lastTen * 10} %\n`);
      }
      shown = true;
    },
    /** Ends the progress line. Returns whether anything was built. */
    end() {
      if (shown && out.isTTY) out.write("\r\u001b[K");
      return shown;
    },
  };
}

/**
 * `npm run bench:page -- [--takes N] [--long N] [--keys N] [--json FILE]`: what a visitor of the playground waits for, on
 * the real server and in the real browser: click to first sample out of the worklet, underruns, script, layout shift, and
 * the answer to a key while a take streams. Prints a Markdown table; asserts nothing.
 */
import { writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import type { Browser, Page } from "playwright";
import { startBrowser, startServer } from "./house.ts";
import {
  arriveAt,
  type Figures,
  firstLoadBytes,
  layoutShift,
  readFigures,
  speakButton,
  type Visit,
  visit,
  waitForSound,
  watchLayoutShift,
} from "./playground-page.ts";

const SHORT = "The morning train leaves at seven.";
/** About 10 s of sound. */
const TEN_SECONDS =
  "The morning train leaves at seven. Bring a coat, because the wind from the lake is cold. " +
  "We will have breakfast on the way, and talk about the plan. There is time enough for that.";
/** Longer than all keys together take. */
const ENDLESS = `${TEN_SECONDS} `.repeat(20);
const WARM_UP = 3;
/** Takes that are listed while keys are pressed. */
const LISTED = 10;
/** About as fast as people type. */
const KEY_EVERY_MS = 120;
/** After the last sample of a take has been due. */
const SPARE_MS = 1500;
const PARTS = ["network", "queue", "prefill", "firstFrame", "codec", "client"];

/** Milliseconds. */
interface Spread {
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

interface Keys {
  /** From the event of each key to the end of the frame that shows it. */
  readonly frames: readonly number[];
  /** What Event Timing says of those key events that took 16 ms and more, in steps of 8 ms. */
  readonly slowEvents: readonly number[];
}

interface Results {
  readonly takes: readonly Figures[];
  readonly long: readonly Figures[];
  readonly scriptBytes: number;
  readonly shiftAtLoad: number;
  readonly shiftAtEnd: number;
  readonly keys: Keys;
}

const { values } = parseArgs({
  options: {
    takes: { type: "string", default: "30" },
    long: { type: "string", default: "5" },
    keys: { type: "string", default: "100" },
    json: { type: "string" },
  },
});

/** @throws Error if a number of the command line is none */
function countOf(option: "takes" | "long" | "keys"): number {
  const count = Number(values[option]);
  if (Number.isInteger(count) && count > 0) return count;
  throw new Error(`--${option} takes a whole number above 0, not '${values[option]}'`);
}

function spreadOf(numbers: readonly number[]): Spread {
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95), max: at(1) };
}

/** Says the text in the field and waits until the take is complete. */
async function speakOnce(page: Page): Promise<Figures> {
  await speakButton(page).click();
  await page.waitForFunction(() => {
    const first = document.querySelector<HTMLElement>("[data-testid=take]");
    return first !== null && ["done", "failed"].includes(first.dataset.state ?? "");
  });
  const figures = await readFigures(page);
  if (figures.state !== "done") throw new Error(`A take ended as '${figures.state}'`);
  return figures;
}

async function measureTakes(page: Page, count: number): Promise<Figures[]> {
  await page.getByLabel("Text to speak").fill(SHORT);
  for (let i = 0; i < WARM_UP; i++) {
    const { durationMs } = await speakOnce(page);
    await page.waitForTimeout(durationMs);
  }
  const all: Figures[] = [];
  for (let i = 0; i < count; i++) {
    process.stderr.write(`\rtake ${i + 1} of ${count}`);
    const figures = await speakOnce(page);
    all.push(figures);
    // As a visitor does, who listens to the end before asking for another.
    await page.waitForTimeout(figures.durationMs);
  }
  process.stderr.write("\n");
  return all;
}

/** Takes that are heard to their end, so that every underrun shows. */
async function measureLong(page: Page, count: number): Promise<Figures[]> {
  await page.getByLabel("Text to speak").fill(TEN_SECONDS);
  const all: Figures[] = [];
  for (let i = 0; i < count; i++) {
    process.stderr.write(`\rlong take ${i + 1} of ${count}`);
    const { durationMs } = await speakOnce(page);
    await page.waitForTimeout(durationMs + SPARE_MS);
    all.push(await readFigures(page));
  }
  process.stderr.write("\n");
  return all;
}

interface Pressed {
  frames: number[];
  slowEvents: number[];
}

/** Presses keys in the script while ten takes are listed and one streams. */
async function measureKeys(page: Page, count: number): Promise<Keys> {
  const field = page.getByLabel("Text to speak");
  await field.fill(SHORT);
  for (let i = 0; i < LISTED; i++) await speakOnce(page);
  await field.fill(ENDLESS);
  await speakButton(page).click();
  await waitForSound(page);
  await field.fill("");
  await page.evaluate(() => {
    const pressed: Pressed = { frames: [], slowEvents: [] };
    Object.assign(globalThis, { pressed });
    const options = { capture: true };
    addEventListener(
      "keydown",
      ({ timeStamp }) => {
        requestAnimationFrame(() => {
          // A message comes after the frame has been drawn.
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = () => pressed.frames.push(performance.now() - timeStamp);
          port2.postMessage(undefined);
        });
      },
      options,
    );
    new PerformanceObserver((list) => {
      for (const { name, duration } of list.getEntries()) {
        if (/^(key|input|beforeinput)/.test(name)) pressed.slowEvents.push(duration);
      }
    }).observe({ type: "event", durationThreshold: 16 } as PerformanceObserverInit);
  });
  const words = SHORT.toLowerCase()
    .repeat(Math.ceil(count / SHORT.length))
    .slice(0, count);
  await field.pressSequentially(words, { delay: KEY_EVERY_MS });
  await page.waitForTimeout(500);
  const { state, underruns } = await readFigures(page);
  process.stderr.write(`keys pressed while the take was ${state}, underruns ${underruns.length}\n`);
  return page.evaluate(() => (globalThis as unknown as { pressed: Pressed }).pressed);
}

/** A visitor's page that is watched from its first byte. */
async function watchedVisit(browser: Browser, url: string): Promise<Visit> {
  const arrived = await arriveAt(browser, "about:blank");
  await watchLayoutShift(arrived.page);
  await arrived.page.goto(url);
  await arrived.page.locator("[role=option]").first().waitFor();
  await arrived.page.locator("[data-state=ready]").waitFor();
  await arrived.page.waitForLoadState("networkidle");
  return arrived;
}

async function measureAll(): Promise<Results> {
  const [takeCount, longCount, keyCount] = [countOf("takes"), countOf("long"), countOf("keys")];
  const [server, browser] = await Promise.all([startServer(), startBrowser()]);
  try {
    const scriptBytes = await firstLoadBytes(server.url);
    const first = await watchedVisit(browser, server.url);
    const shiftAtLoad = await layoutShift(first.page);
    const takes = await measureTakes(first.page, takeCount);
    const long = await measureLong(first.page, longCount);
    const shiftAtEnd = await layoutShift(first.page);
    await first.context.close();
    const second = await visit(browser, server.url);
    const keys = await measureKeys(second.page, keyCount);
    await second.context.close();
    return { takes, long, scriptBytes, shiftAtLoad, shiftAtEnd, keys };
  } finally {
    await browser.close();
    await server.stop();
  }
}

function rowOf(name: string, count: number, { p50, p95, max }: Spread): string {
  return `| ${name} | ${count} | ${p50.toFixed(1)} | ${p95.toFixed(1)} | ${max.toFixed(1)} |`;
}

function summaryOf(results: Results) {
  const { takes, long, keys } = results;
  const seconds = long.reduce((sum, { durationMs }) => sum + durationMs / 1000, 0);
  return {
    clickToFirstSample: spreadOf(takes.flatMap(({ ttfpMs }) => ttfpMs ?? [])),
    parts: Object.fromEntries(
      PARTS.map((part) => [part, spreadOf(takes.flatMap(({ split }) => split?.[part] ?? []))]),
    ),
    keyToFrame: spreadOf(keys.frames),
    slowKeyEvents: { count: keys.slowEvents.length, ...spreadOf(keys.slowEvents) },
    underruns: long.reduce((sum, { underruns }) => sum + underruns.length, 0),
    longTakes: { count: long.length, seconds },
    scriptKilobytes: results.scriptBytes / 1024,
    layoutShift: { load: results.shiftAtLoad, all: results.shiftAtEnd },
  };
}

const loadBefore = loadavg();
const results = await measureAll();
const summary = summaryOf(results);
const where = {
  date: new Date().toISOString(),
  processor: `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`,
  loadBefore: loadBefore.map((load) => load.toFixed(2)).join(" "),
  loadAfter: loadavg()
    .map((load) => load.toFixed(2))
    .join(" "),
  command: ["npm run bench:page --", ...process.argv.slice(2)].join(" "),
};
const takeCount = results.takes.length;
const { longTakes, slowKeyEvents } = summary;
console.log(
  [
    `${where.date}, ${where.processor}, load ${where.loadBefore} before and ${where.loadAfter} after, \`${where.command}\``,
    "",
    "| ms | n | p50 | p95 | max |",
    "| --- | ---: | ---: | ---: | ---: |",
    rowOf("click to first sample", takeCount, summary.clickToFirstSample),
    ...PARTS.map((part) => rowOf(`- ${part}`, takeCount, summary.parts[part] ?? spreadOf([]))),
    rowOf(
      "key to frame, ten takes listed, one streaming",
      results.keys.frames.length,
      summary.keyToFrame,
    ),
    rowOf("key events of 16 ms and more", slowKeyEvents.count, slowKeyEvents),
    "",
    "| figure | value |",
    "| --- | ---: |",
    `| underruns in ${longTakes.count} takes of ${(longTakes.seconds / longTakes.count).toFixed(1)} s | ${summary.underruns} |`,
    `| script of the first load, compressed | ${summary.scriptKilobytes.toFixed(1)} KB |`,
    `| layout shift of the load | ${summary.layoutShift.load.toFixed(4)} |`,
    `| layout shift of the load and all takes | ${summary.layoutShift.all.toFixed(4)} |`,
  ].join("\n"),
);
if (values.json !== undefined) {
  await writeFile(
    values.json,
    `${JSON.stringify({ ...where, ...summary, raw: results }, null, 2)}\n`,
  );
}

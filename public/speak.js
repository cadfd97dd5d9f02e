/** The plain page: one request at a time, from the button to the loudspeaker. */
import { Player } from "./player.js";

const SAMPLE_RATE = 48_000;
/** Fields of the API by the control that fills them. */
const CONTROLS = /** @type {Record<string, string>} */ ({ input: "text" });

/**
 * The element with an id, which the page is known to have.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
function element(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`The page has no ${type.name} #${id}`);
  return found;
}

const form = element("form", HTMLFormElement);
const text = element("text", HTMLTextAreaElement);
const voice = element("voice", HTMLSelectElement);
const seed = element("seed", HTMLInputElement);
const speakButton = element("speak", HTMLButtonElement);
const stopButton = element("stop", HTMLButtonElement);
const level = element("level", HTMLMeterElement);
const problem = element("problem", HTMLParagraphElement);
const status = element("status", HTMLParagraphElement);

/** @type {{ abort: AbortController, player: Player } | undefined} */
let session;

/**
 * Shows a figure.
 * @param {string} id
 * @param {string} value
 */
function show(id, value) {
  element(id, HTMLElement).textContent = value;
}

/**
 * Says what is wrong, beside the control that has to change.
 * @param {string} message
 * @param {string | null} [field]
 */
function complain(message, field = null) {
  problem.textContent = message;
  for (const control of [text, voice, seed]) {
    control.setAttribute("aria-invalid", String(control.id === field));
    if (control.id === field) control.focus();
  }
}

/** What the form asks for, or undefined when it is incomplete (and says so). */
function readForm() {
  if (text.value.trim() === "") {
    complain("There is nothing to say yet: type some text.", "text");
    return undefined;
  }
  const wanted = seed.value.trim();
  if (!/^\d*$/.test(wanted) || !Number.isSafeInteger(Number(wanted))) {
    complain("A seed is a whole number, 0 or more.", "seed");
    return undefined;
  }
  complain("");
  const drawn = wanted === "" ? {} : { seed: Number(wanted) };
  return { input: text.value, voice: voice.value, ...drawn };
}

/** Speaks what the form holds, in place of anything that is being spoken. */
async function speak() {
  const body = readForm();
  if (body === undefined) return;
  stop();
  const current = { abort: new AbortController(), player: new Player(SAMPLE_RATE) };
  session = current;
  stopButton.disabled = false;
  if (document.activeElement === speakButton) stopButton.focus();
  speakButton.disabled = true;
  for (const id of ["ttfp", "rtf", "length", "underruns", "used-seed"]) show(id, "–");
  status.textContent = "Generating …";
  drawLevel();
  try {
    await current.player.context.resume();
    await stream(body, current);
    await played(current);
    if (session === current) status.textContent = "Done.";
  } catch (error) {
    if (session === current) {
      status.textContent = "Stopped.";
      const { message = "Speech failed.", field = null } = /** @type {any} */ (error);
      complain(message, field);
    }
  } finally {
    if (session === current) stop();
  }
}

/**
 * Requests speech and plays it while it arrives.
 * @param {{ input: string, voice: string, seed?: number }} body
 * @param {{ abort: AbortController, player: Player }} session
 */
async function stream(body, { abort, player }) {
  const started = performance.now();
  const form = { stream: true, stream_format: "audio", response_format: "pcm", channels: 2 };
  const response = await fetch("/v1/audio/speech", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...body, ...form, sample_rate: SAMPLE_RATE }),
    signal: abort.signal,
  }).catch(() => {
    throw new Error("The server does not answer.");
  });
  if (!response.ok || response.body === null) {
    const { error } = await response.json();
    const field = CONTROLS[error.param] ?? error.param;
    throw Object.assign(new Error(error.message ?? error), { field });
  }
  show("used-seed", response.headers.get("x-seed") ?? "–");
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new Error("The speech broke off before its end.");
    });
    if (done) break;
    const delay = player.push(value);
    if (delay !== undefined) {
      show("ttfp", `${Math.round(performance.now() - started + delay)} ms`);
      status.textContent = "Speaking …";
    }
    show("rtf", ((performance.now() - started) / 1000 / player.seconds).toFixed(2));
    show("length", `${player.seconds.toFixed(1)} s`);
    show("underruns", String(player.underruns));
  }
}

/**
 * Waits until what is scheduled has been heard, or the session is stopped.
 * @param {{ abort: AbortController, player: Player }} session
 */
async function played({ abort, player }) {
  while (player.ahead() > 0 && !abort.signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * Math.min(0.1, player.ahead()) + 20));
  }
}

/** Ends the session, if there is one: no more sound, and the server stops generating. */
function stop() {
  const ended = session;
  session = undefined;
  speakButton.disabled = false;
  if (document.activeElement === stopButton) speakButton.focus();
  stopButton.disabled = true;
  level.value = 0;
  if (ended === undefined) return;
  ended.abort.abort();
  ended.player.close();
}

/** Moves the level meter while a session lives. */
function drawLevel() {
  if (session === undefined) return;
  level.value = session.player.level();
  requestAnimationFrame(drawLevel);
}

/** Fills the voice menu. */
async function loadVoices() {
  const list = await (await fetch("/v1/audio/voices")).json();
  for (const preset of list.presets) {
    const { name, description } = preset;
    const label = description === "" ? name : `${name}: ${description}`;
    voice.add(new Option(label, name, preset.default, preset.default));
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  speak();
});

function stopByHand() {
  if (session === undefined) return;
  stop();
  status.textContent = "Stopped.";
}

stopButton.addEventListener("click", stopByHand);

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    speak();
  } else if (event.key === "Escape") {
    stopByHand();
  }
});

loadVoices().catch(() => complain("The server does not answer: reload the page.", "voice"));

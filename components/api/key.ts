/**
 * The API key of servers that ask for one, and whether the visitor has to be asked for it. The key lives in this browser
 * tab and is sent to this server only.
 */
import { create } from "zustand";

const STORED = "sonant-api-key";

interface KeyState {
  /** The server refused a request for want of the right key. */
  readonly isAsked: boolean;
  /** It refused one that had a key. */
  readonly wasWrong: boolean;
  /** Grows with every key that is entered, so that what failed can be read again. */
  readonly changes: number;
}

export const useKey = create<KeyState>()(() => ({ isAsked: false, wasWrong: false, changes: 0 }));

/** The key that was entered, or an empty string. */
export function apiKey(): string {
  return typeof sessionStorage === "undefined" ? "" : (sessionStorage.getItem(STORED) ?? "");
}

export function setApiKey(key: string): void {
  sessionStorage.setItem(STORED, key);
  useKey.setState(({ changes }) => ({ isAsked: false, wasWrong: false, changes: changes + 1 }));
}

/** The server wants a key, or another one. */
export function askForKey(): void {
  useKey.setState({ isAsked: true, wasWrong: apiKey() !== "" });
}

/** The visitor has none at hand; the next refusal asks again. */
export function dismissKey(): void {
  useKey.setState({ isAsked: false });
}

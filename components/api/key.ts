/** The API key of servers that ask for one. It lives in this browser tab and is sent to this server only. */

const STORED = "sonant-api-key";

/** The key that was entered, or an empty string. */
export function apiKey(): string {
  return typeof sessionStorage === "undefined" ? "" : (sessionStorage.getItem(STORED) ?? "");
}

export function setApiKey(key: string): void {
  sessionStorage.setItem(STORED, key);
}

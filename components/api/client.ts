/** The page's client of its own server. */
import { SpeechClient } from "../../server/protocol/client/index.ts";
import { apiKey } from "./key.ts";

/** A client with the key that is known now. */
export function client(): SpeechClient {
  return new SpeechClient({ baseUrl: "", apiKey: apiKey() || undefined });
}

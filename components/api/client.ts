/** The page's client of its own server. */
import { SpeechClient, type SpeechClientOptions } from "../../server/protocol/client/index.ts";
import { apiKey, askForKey } from "./key.ts";

/** A client with the key that is known now. A refusal for want of one has the visitor asked for it. */
export function client(options: Pick<SpeechClientOptions, "fetch"> = {}): SpeechClient {
  return new SpeechClient({
    baseUrl: "",
    apiKey: apiKey() || undefined,
    onRefusal: ({ status }) => {
      if (status === 401) askForKey();
    },
    ...options,
  });
}

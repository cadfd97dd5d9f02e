/**
 * Where the speech socket is and how its newer dialect is asked for in the handshake. Apart from the schemas, so that a
 * browser gets these names without the library behind the schemas.
 */

/** Subprotocol that asks for dialect 2 in the handshake. */
export const SUBPROTOCOL = "voice-speech.v2";

/**
 * Begins the subprotocol in which a page sends its API key, since browsers let it set no header: the key in base64url
 * without padding follows. It stands beside the dialect's name and is never chosen by the server.
 */
export const KEY_SUBPROTOCOL = "sonant.key.";

/** Paths of the socket; one handler serves both. */
export const SOCKET_PATHS = ["/v1/audio/speech/stream", "/v1/audio/speech/ws"] as const;

/**
 * Where the speech socket is and how its newer dialect is asked for in the handshake. Apart from the schemas, so that a
 * browser gets these names without the library behind the schemas.
 */

/** Subprotocol that asks for dialect 2 in the handshake. */
export const SUBPROTOCOL = "voice-speech.v2";

/** Paths of the socket; one handler serves both. */
export const SOCKET_PATHS = ["/v1/audio/speech/stream", "/v1/audio/speech/ws"] as const;

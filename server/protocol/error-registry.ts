/**
 * The one list of everything that can go wrong in front of a client: for each code the HTTP status, the name clients
 * know it by, the close code of a socket, whether trying again can help, one sentence for a person and what to do next.
 * Adding a failure is one entry here; nothing else chooses statuses or close codes.
 */

export interface ErrorEntry {
  readonly status: number;
  /** The `type` of the error envelope. */
  readonly type: string;
  /** Close code of a dialect-2 socket, where the failure ends the connection. */
  readonly close: number;
  /** True if the same request may succeed later. */
  readonly retryable: boolean;
  /** One sentence; more precise messages replace it where more is known. */
  readonly text: string;
  readonly next: string;
}

const PHRASE = "Bad Request";
const BAD = "BadRequestError";
const INTERNAL = "InternalServerError";
const UNAVAILABLE = "ServiceUnavailableError";
const LIMITED = "RateLimitError";

const CORRECT = "Correct the field that is named and send the request again.";
const RETRY = "Try again; if it happens again, report the request id.";
const WAIT = "Wait as long as Retry-After says, then try again.";

function entry(
  status: number,
  type: string,
  close: number,
  retryable: boolean,
  text: string,
  next: string,
): ErrorEntry {
  return { status, type, close, retryable, text, next };
}

export const ERRORS = {
  schema_violation: entry(
    400,
    PHRASE,
    4400,
    false,
    "The request does not fit its schema.",
    CORRECT,
  ),
  invalid_json: entry(400, PHRASE, 4400, false, "The body is not valid JSON.", "Send valid JSON."),
  unsupported_media_type: entry(
    400,
    PHRASE,
    4400,
    false,
    "Unsupported Media Type: Only 'application/json' is allowed.",
    "Set the Content-Type header to application/json.",
  ),
  body_too_large: entry(
    413,
    BAD,
    1009,
    false,
    "The request body is larger than this server accepts.",
    "Send less at once; GET /v1/audio/speech/limits lists the limits.",
  ),
  invalid_value: entry(400, BAD, 4400, false, "A value breaks a rule of this server.", CORRECT),
  input_empty: entry(400, BAD, 4400, false, "Input text cannot be empty", "Send some text."),
  input_too_long: entry(
    400,
    BAD,
    4400,
    false,
    "The input text is longer than this server accepts.",
    "Cut the text into several requests.",
  ),
  batch_too_large: entry(
    400,
    PHRASE,
    4400,
    false,
    "The batch has more items than this server accepts.",
    "Send the items in several batches.",
  ),
  invalid_voice: entry(
    400,
    BAD,
    4400,
    false,
    "There is no such voice.",
    "GET /v1/audio/voices lists the voices of this server.",
  ),
  unsupported_format: entry(
    400,
    BAD,
    4400,
    false,
    "This server cannot make that audio format.",
    "Ask for one of the formats that the message lists.",
  ),
  invalid_reference: entry(
    400,
    BAD,
    4400,
    false,
    "ref_audio cannot be used as a voice reference.",
    "Send 1 to 30 seconds of clear speech as wav, flac, mp3 or ogg.",
  ),
  reference_unreachable: entry(
    400,
    BAD,
    4400,
    false,
    "ref_audio could not be fetched.",
    "Use a public http or https address, or send the audio itself as a data URL.",
  ),
  upload_too_large: entry(
    400,
    BAD,
    4400,
    false,
    "File size exceeds maximum limit of 10MB",
    "Send a shorter clip or a compressed one.",
  ),
  voice_limit_reached: entry(
    400,
    BAD,
    4400,
    false,
    "Uploaded voice limit reached.",
    "Delete a voice that is no longer needed.",
  ),
  blend_unsupported: entry(
    400,
    BAD,
    4400,
    false,
    "Voice blending needs an embedding-based model",
    "Use one of the voices as it is.",
  ),
  unauthorized: entry(
    401,
    "AuthenticationError",
    4401,
    false,
    "Unauthorized",
    "Send the API key as Authorization: Bearer KEY.",
  ),
  forbidden_origin: entry(
    403,
    "PermissionDeniedError",
    4401,
    false,
    "This origin may not open a socket here.",
    "Ask the operator to add the origin to server.cors_origins.",
  ),
  model_not_found: entry(
    404,
    "NotFoundError",
    4404,
    false,
    "The model does not exist.",
    "GET /v1/models lists the models of this server.",
  ),
  voice_not_found: entry(
    404,
    "NotFoundError",
    4404,
    false,
    "The voice does not exist.",
    "GET /v1/audio/voices lists the voices of this server.",
  ),
  voice_name_taken: entry(
    409,
    "ConflictError",
    4409,
    false,
    "Another voice has that name.",
    "Choose another name, or delete the voice that has it.",
  ),
  route_reserved: entry(
    404,
    "NotFoundError",
    4404,
    false,
    "This route is reserved and not served.",
    "GET /openapi.json lists the routes of this server.",
  ),
  not_implemented: entry(
    501,
    "NotImplementedError",
    4400,
    false,
    "This server does not offer that.",
    "GET /v1/audio/speech/limits tells what it offers.",
  ),
  generation_failed: entry(500, INTERNAL, 1011, true, "Speech generation failed.", RETRY),
  no_audio: entry(
    500,
    INTERNAL,
    1011,
    true,
    "TTS model did not produce audio output.",
    "Try again, or reword the text.",
  ),
  engine_dead: entry(
    500,
    INTERNAL,
    1011,
    true,
    "The engine stopped and is being restarted: engine dead.",
    "Try again in a few seconds.",
  ),
  internal: entry(500, INTERNAL, 1011, true, "The server made a mistake.", RETRY),
  overloaded: entry(
    503,
    UNAVAILABLE,
    1013,
    true,
    "The server has more requests than it can serve in time.",
    WAIT,
  ),
  warming_up: entry(503, UNAVAILABLE, 1013, true, "The server is still warming up.", WAIT),
  model_failed: entry(
    503,
    UNAVAILABLE,
    1013,
    true,
    "The model could not be loaded.",
    "Use another model of this server; GET /v1/models lists them with their states.",
  ),
  model_unloaded: entry(
    503,
    UNAVAILABLE,
    1013,
    true,
    "The model of this session was unloaded.",
    "Open a new session; the model is loaded again for it.",
  ),
  shutting_down: entry(
    503,
    UNAVAILABLE,
    1001,
    true,
    "The server is shutting down.",
    "Connect again; another server will answer.",
  ),
  voices_unavailable: entry(
    503,
    UNAVAILABLE,
    1013,
    true,
    "Uploaded voices cannot be reached at the moment.",
    "Wait as long as Retry-After says, then try again, or use one of the built-in voices.",
  ),
  rate_limited: entry(429, LIMITED, 4429, true, "Too many requests from this client.", WAIT),
  too_many_sessions: entry(
    429,
    LIMITED,
    4429,
    true,
    "Too many open sessions from this client.",
    "Close a session, then try again.",
  ),
  request_timeout: entry(
    503,
    UNAVAILABLE,
    4408,
    true,
    "The request took longer than this server allows.",
    "Send a shorter text or try again when the server is less busy.",
  ),
  config_timeout: entry(
    408,
    BAD,
    4408,
    true,
    "Timeout waiting for session.config",
    "Send session.config as soon as the socket is open.",
  ),
  idle_timeout: entry(
    408,
    BAD,
    4408,
    true,
    "Idle timeout: no message received",
    "Open a new connection; send ping to keep one open.",
  ),
  stalled_reader: entry(
    408,
    BAD,
    4408,
    true,
    "The client stopped reading its socket.",
    "Open a new connection and read faster than the speech plays.",
  ),
  invalid_message: entry(400, BAD, 4400, false, "Invalid JSON message", "Send JSON objects only."),
  unknown_message: entry(
    400,
    BAD,
    4400,
    false,
    "Unknown message type.",
    "The API document lists the messages of each protocol version.",
  ),
  invalid_config: entry(400, BAD, 4400, false, "Invalid session config", CORRECT),
  config_in_utterance: entry(
    400,
    BAD,
    4400,
    false,
    "session.config cannot be applied while an utterance is in progress; send input.done first",
    "Send input.done, or use session.update.",
  ),
  message_too_large: entry(
    400,
    BAD,
    4400,
    false,
    "The message is larger than this server accepts.",
    "Send the text in smaller pieces.",
  ),
  input_overflow: entry(
    429,
    LIMITED,
    4429,
    true,
    "More text is waiting than this session may hold; the message was dropped.",
    "Send it again when some of the text has been spoken.",
  ),
  binary_message: entry(
    400,
    BAD,
    1003,
    false,
    "Binary messages are not accepted from clients.",
    "Send JSON text messages.",
  ),
  frame_too_large: entry(
    413,
    BAD,
    1009,
    false,
    "The frame is larger than this server accepts.",
    "Send smaller messages.",
  ),
  taken_over: entry(
    409,
    "ConflictError",
    4409,
    false,
    "The session continues on another connection.",
    "Use the newer connection.",
  ),
  resume_unavailable: entry(
    410,
    "GoneError",
    4410,
    false,
    "The session cannot be resumed.",
    "Start over with session.config.",
  ),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** An entry of the registry under its code, as documents list it. */
export interface ErrorReference extends ErrorEntry {
  readonly code: ErrorCode;
}

/** The whole registry, in its own order. */
export function errorReferences(): ErrorReference[] {
  return Object.entries(ERRORS).map(([code, entry]) => ({ code: code as ErrorCode, ...entry }));
}

/** Close code of an orderly end. */
export const CLOSE_NORMAL = 1000;

/** Codes that the WebSocket standard gives a meaning: dialect 1 keeps them, since any client knows them. */
const STANDARD_CLOSES = new Set([1001, 1003, 1009]);

/** The close code for a failure that ends a connection. Dialect 1 ends normally after its `error` message. */
export function closeCode(code: ErrorCode, dialect: 1 | 2): number {
  const { close } = ERRORS[code];
  return dialect === 2 || STANDARD_CLOSES.has(close) ? close : CLOSE_NORMAL;
}

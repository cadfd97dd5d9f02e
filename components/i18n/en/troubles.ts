/** Words for failures that are found in the browser; what the server says is shown as it came. */
import type { TroubleWords } from "../../api/trouble.ts";

export const troubles: TroubleWords = {
  network: {
    text: "The server cannot be reached.",
    next: "Check that it runs and that this device is online, then try again.",
  },
  interrupted: {
    text: "The connection broke before everything had arrived.",
    next: "Try again; with the same seed the sound is the same.",
  },
  aborted: {
    text: "This was stopped.",
    next: "Start it again if it is still wanted.",
  },
  malformed_answer: {
    text: "The server sent something that this page does not understand.",
    next: "Reload the page. If that does not help, what answers here is another server, or another version of it.",
  },
  unavailable: {
    text: "The server cannot take requests now.",
    next: "Wait a moment, then try again.",
  },
  refused: {
    text: "The server refused the request.",
    next: "Change the text or the settings, then try again.",
  },
  not_found: {
    text: "The server has no such address.",
    next: "Reload the page: the server may have another version by now.",
  },
  closed: {
    text: "The session was closed.",
    next: "Start again.",
  },
  not_open: {
    text: "The session is not open.",
    next: "Start again.",
  },
  audio_lost: {
    text: "Some of the sound was lost with the connection.",
    next: "Speak the text again to have all of it.",
  },
  buffer_full: {
    text: "The sound arrived faster than this page could take it.",
    next: "Close what keeps this browser busy, then try again.",
  },
  insecure_context: {
    text: "Sound needs an https address, or the page on localhost.",
    next: "Open this page over https.",
  },
  unsupported: {
    text: "This browser cannot play sound in the way this page needs.",
    next: "Use a current version of Chrome, Edge, Firefox or Safari.",
  },
  worklet_failed: {
    text: "The player could not be loaded.",
    next: "Reload the page.",
  },
  device_failed: {
    text: "The sound output of this device failed.",
    next: "Check the output device, then try again.",
  },
  unreadable: {
    text: "This browser cannot decode the sound.",
    next: "Listen to it in another browser, or choose another format.",
  },
  sound_gone: {
    text: "The sound of this take is no longer kept.",
    next: "Speak it again with the same seed: the sound is the same.",
  },
  unknown: {
    text: "Something went wrong in this page.",
    next: "Try again; if that does not help, reload the page.",
  },
};

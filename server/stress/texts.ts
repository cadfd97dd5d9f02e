/** Sets of texts that load is made of. */

/** From a word to a long sentence, as an assistant would say them. */
const MIXED = [
  "Your order has been confirmed.",
  "The next train to Lyon leaves at nine fifteen from platform four.",
  "I am sorry, I did not understand that. Could you say it again?",
  "Turn left at the next light, and then keep right.",
  "Good morning.",
  "The meeting was moved to Thursday afternoon, because two of the speakers are still travelling.",
  "Please hold the line.",
  "Tomorrow will be sunny, with a light wind from the west.",
  "There are three new messages, and one of them is marked as urgent.",
  "The lamp in the hall was lit. Nobody had come home yet, and the soup was cold.",
  "Done. Is there anything else?",
  "We have received your request and will answer within two working days.",
] as const;

const SHORT = [
  "Good morning.",
  "Please hold the line.",
  "Done.",
  "Turn left.",
  "You are welcome.",
  "Just a moment.",
] as const;

const LONG = [
  "The ferry to the islands leaves at half past seven. Please be at the pier twenty minutes before, with your ticket at hand. Bicycles travel for free, and dogs are welcome on the upper deck. If the wind turns in the afternoon, the last crossing may leave an hour earlier; the board at the harbour office shows the time.",
  "Nobody had lived in the house for years. The garden had grown over the wall, and in autumn the apples fell on the road. One morning a light was on in the kitchen. By noon the whole village had found a reason to walk past, and in the evening somebody knocked at the door with a loaf of bread.",
  "To descale the machine, empty the tray and fill the tank with half a litre of water. Add the powder, wait until it has dissolved, and hold both buttons for three seconds. The cycle takes a quarter of an hour. Rinse the tank twice before you make the next cup, and throw the first one away.",
] as const;

/** Texts by the name of their set. */
export const TEXT_SETS: Readonly<Record<"mixed" | "short" | "long", readonly string[]>> = {
  mixed: MIXED,
  short: SHORT,
  long: LONG,
};

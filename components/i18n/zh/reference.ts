import type { reference as English } from "../en/reference.ts";

export const reference: typeof English = { title: "reference" };

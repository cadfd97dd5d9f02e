import type { status as English } from "../en/status.ts";

export const status: typeof English = { title: "status" };

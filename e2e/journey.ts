/** What a file of journeys stands on: a server and a browser for all of its tests, and visitors who leave after each. */
import type { Browser } from "playwright";
import { afterAll, afterEach, beforeAll } from "vitest";
import { type RunningServer, startBrowser, startServer } from "./house.ts";
import type { Visit } from "./playground-page.ts";

export interface House {
  readonly server: RunningServer;
  readonly browser: Browser;
  /** Visits that end with the test; add one that was begun elsewhere. */
  readonly visits: Visit[];
}

/** Sets all of it up and takes it down again; call it once, at the top of the file. It is there when tests run. */
export function openHouse(): House {
  const house = { visits: [] as Visit[] } as {
    server: RunningServer;
    browser: Browser;
    visits: Visit[];
  };
  beforeAll(async () => {
    [house.server, house.browser] = await Promise.all([startServer(), startBrowser()]);
  });
  afterAll(async () => {
    await house.browser?.close();
    await house.server?.stop();
  });
  afterEach(async () => {
    await Promise.all(house.visits.splice(0).map(({ context }) => context.close()));
  });
  return house;
}

/** Asks the server whether it is ready, without a key and without the standing connection, while that one has nothing to say. */
"use client";
import { useEffect, useState } from "react";
import { client } from "../api/client.ts";
import { useServer } from "../store/server.ts";
import type { Asked } from "./readiness.ts";

const EVERY_MS = 3000;

/** Ticks are worth more than answers: nothing is asked while they come. */
export function useAsked(): Asked {
  const isLive = useServer(({ state }) => state !== "offline" && state !== "connecting");
  const [asked, setAsked] = useState<Asked>();
  useEffect(() => {
    if (isLive) {
      setAsked(undefined);
      return;
    }
    let isOver = false;
    const ask = async () => {
      const answer = await askOnce();
      if (!isOver) setAsked(answer);
    };
    void ask();
    const timer = setInterval(() => void ask(), EVERY_MS);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [isLive]);
  return asked;
}

async function askOnce(): Promise<Asked> {
  try {
    const own = client();
    const [ready, health, about] = await Promise.all([own.ready(), own.health(), own.version()]);
    useServer.setState({ about, device: about.device, version: about.version });
    return { ready, health };
  } catch {
    return "unreachable";
  }
}

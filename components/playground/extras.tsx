/** The tools beside the takes, each loaded when it is opened: live typing, blind comparison, the frames of the socket. */
"use client";
import { Ear, Keyboard } from "lucide-react";
import dynamic from "next/dynamic";
import { useState } from "react";
import { useStrings } from "../i18n/provider.tsx";
import { useTakes } from "../store/takes.ts";
import { Boundary } from "../ui/boundary.tsx";
import { Button } from "../ui/button.tsx";
import { useKeys } from "../ui/keys.ts";

const LiveTyping = dynamic(() => import("./live-typing.tsx").then(({ LiveTyping }) => LiveTyping), {
  ssr: false,
});
const BlindCompare = dynamic(
  () => import("./blind-compare.tsx").then(({ BlindCompare }) => BlindCompare),
  { ssr: false },
);

export function Extras() {
  const { live, blind } = useStrings("playground");
  const [isLive, setLive] = useState(false);
  const [isBlind, setBlind] = useState(false);
  const canCompare = useTakes(
    ({ takes }) => takes.filter(({ state }) => state === "done").length > 1,
  );
  useKeys({
    l: (event) => {
      // The letter would be the first that is typed.
      event.preventDefault();
      setLive(!isLive);
    },
    b: () => canCompare && setBlind(true),
  });
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap gap-2">
        <Button aria-expanded={isLive} onClick={() => setLive(!isLive)}>
          <Keyboard size={15} aria-hidden />
          {live.toggle}
        </Button>
        <Button
          aria-haspopup="dialog"
          disabled={!canCompare}
          title={canCompare ? undefined : blind.need}
          onClick={() => setBlind(true)}
        >
          <Ear size={15} aria-hidden />
          {blind.title}
        </Button>
      </div>
      {isLive && (
        <Boundary>
          <LiveTyping />
        </Boundary>
      )}
      {isBlind && (
        <Boundary>
          <BlindCompare onClose={() => setBlind(false)} />
        </Boundary>
      )}
    </div>
  );
}

/** What a blind comparison came to: names revealed, shares with their intervals, and a file to keep. */
"use client";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Button } from "../ui/button.tsx";
import { save } from "../ui/save-file.ts";
import type { Candidate } from "./blind-candidate.ts";
import { type Choice, hasWinner, type Pair, standings } from "./blind-rounds.ts";

interface BlindResultProps {
  readonly candidates: readonly Candidate[];
  readonly pairs: readonly Pair[];
  readonly choices: readonly Choice[];
  readonly onAgain: () => void;
}

export function BlindResult({ candidates, pairs, choices, onAgain }: BlindResultProps) {
  const words = useStrings("playground").blind;
  const ranking = standings(pairs, choices);
  const nameOf = (id: string) => {
    const request = candidates.find(({ take }) => take.id === id)?.take.request;
    return request === undefined ? id : `${request.voiceName} · ${request.seed}`;
  };
  const percent = (share: number) => Math.round(100 * share);
  const gains = candidates.map(({ gainDb }) => gainDb.toFixed(1)).join(", ");
  const file = () =>
    new Blob(
      [
        JSON.stringify(
          {
            comparedAt: new Date().toISOString(),
            takes: candidates.map(({ take, gainDb }) => ({
              id: take.id,
              request: take.request,
              hash: take.hash,
              gainDb,
            })),
            rounds: pairs.map((pair, index) => ({ ...pair, choice: choices[index] })),
            ranking,
          },
          null,
          2,
        ),
      ],
      { type: "application/json" },
    );
  return (
    <div className="grid gap-4" data-testid="blind-result">
      <h3 className="text-base font-semibold">{words.result}</h3>
      <ol className="grid gap-2">
        {ranking.map(({ id, wins, rounds, low, high }) => (
          <li key={id} className="card grid gap-1 p-3">
            <p className="font-medium">{nameOf(id)}</p>
            <p className="text-sm">{fill(words.wins, { wins, rounds })}</p>
            <div aria-hidden className="relative h-2 rounded-full bg-sunken">
              <div
                className="absolute inset-y-0 rounded-full bg-accent"
                style={{ left: `${100 * low}%`, right: `${100 * (1 - high)}%` }}
              />
            </div>
            <p className="text-xs text-muted">
              {fill(words.interval, { low: percent(low), high: percent(high) })}
            </p>
          </li>
        ))}
      </ol>
      {!hasWinner(ranking) && <p className="text-sm">{words.few}</p>}
      <p className="text-xs text-muted">{fill(words.matched, { gains })}</p>
      <div className="flex gap-2">
        <Button onClick={onAgain}>{words.again}</Button>
        <Button onClick={() => save(file(), "blind-compare.json")}>{words.exportResult}</Button>
      </div>
    </div>
  );
}

/** The last hour and day as rows of text, one column a window. Pure. */
import type { PastWindow } from "../../server/protocol/playground.ts";
import { fill } from "../i18n/format.ts";
import type { Strings } from "../i18n/strings.ts";
import { durationText } from "./gauges.ts";

const HOUR_S = 3600;
const UNKNOWN = "–";

interface PastColumn {
  readonly name: string;
  /** Said where the server has not been running for the whole window. */
  readonly note: string | undefined;
}

interface PastRow {
  readonly id: string;
  readonly name: string;
  /** One a column. */
  readonly values: readonly string[];
}

/** @param units words of units, in the reader's language */
export function pastTable(
  { past: words, units: ownUnits }: Strings["status"],
  units: Strings["common"]["units"],
  windows: readonly PastWindow[],
): { readonly columns: readonly PastColumn[]; readonly rows: readonly PastRow[] } {
  const ms = (value: number) =>
    value === 0
      ? UNKNOWN
      : fill(units.ms, { n: value < 10 ? value.toFixed(1) : Math.round(value) });
  const row = (id: string, name: string, text: (window: PastWindow) => string): PastRow => ({
    id,
    name,
    values: windows.map(text),
  });
  const columns = windows.map(({ window_s, covered_s }) => ({
    name: window_s === HOUR_S ? words.hour : words.day,
    note:
      covered_s < window_s
        ? fill(words.sinceStart, { time: durationText(covered_s, ownUnits) })
        : undefined,
  }));
  const rows = [
    row("median", words.median, ({ ttfa_p50_ms }) => ms(ttfa_p50_ms)),
    row("p95", words.p95, ({ ttfa_p95_ms }) => ms(ttfa_p95_ms)),
    row("p99", words.p99, ({ ttfa_p99_ms }) => ms(ttfa_p99_ms)),
    row("continuity", words.continuity, ({ streams: all, streams_continuous: part }) => {
      if (all === 0) return UNKNOWN;
      // Rounded down: one stream with a gap among ten thousand is not none.
      const percent = fill(ownUnits.percent, { n: Math.floor((1000 * part) / all) / 10 });
      return fill(words.share, { percent, part, all });
    }),
    row("failed", words.failed, ({ failed: part, requests: all }) =>
      fill(words.part, { part, all }),
    ),
    row("refused", words.refused, ({ refused }) => String(refused)),
  ];
  return { columns, rows };
}

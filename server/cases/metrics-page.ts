/** The metrics page as numbers, read by the names of the mapping. */
import { SERIES, type Series, type SeriesName } from "./mapping.ts";

interface Sample {
  readonly name: string;
  readonly labels: string;
  readonly value: number;
}

const LINE = /^([\w:]+)(?:\{(.*)\})? (\S+)$/;

export class MetricsPage {
  readonly samples: readonly Sample[];

  constructor(text: string) {
    this.samples = text.split("\n").flatMap((line) => {
      const [, name, labels = "", value] = LINE.exec(line) ?? [];
      return name === undefined ? [] : [{ name, labels, value: Number(value) }];
    });
  }

  /** Sum of all samples of a series. */
  sum(name: SeriesName): number {
    const { name: metric, labels = {} }: Series = SERIES[name];
    return this.samples
      .filter((sample) => sample.name === metric && hasLabels(sample, labels))
      .reduce((sum, { value }) => sum + value, 0);
  }

  /** Sum of all samples with that name. */
  total(metric: string): number {
    const found = this.samples.filter(({ name }) => name === metric);
    return found.reduce((sum, { value }) => sum + value, 0);
  }

  /** Names of counts, sums and times that are below zero, which none of them may ever be. */
  negative(): string[] {
    return this.samples.filter(({ value }) => value < 0).map(({ name }) => name);
  }

  /** Histograms whose last bucket is not their count. */
  uneven(): string[] {
    const counts = this.samples.filter(({ name }) => name.endsWith("_count"));
    return counts
      .filter(({ name, labels, value }) => {
        const bucket = name.replace(/_count$/, "_bucket");
        const last = this.samples.find(
          (sample) => sample.name === bucket && without(sample.labels, 'le="+Inf"') === labels,
        );
        return last !== undefined && last.value !== value;
      })
      .map(({ name }) => name);
  }
}

/** Labels without that one; undefined when they do not have it. */
function without(labels: string, label: string): string | undefined {
  const parts = labels.split(",");
  return parts.includes(label) ? parts.filter((part) => part !== label).join(",") : undefined;
}

function hasLabels(sample: Sample, labels: NonNullable<Series["labels"]>): boolean {
  return Object.entries(labels).every(([name, values]) =>
    values.some((value) => sample.labels.includes(`${name}="${value}"`)),
  );
}

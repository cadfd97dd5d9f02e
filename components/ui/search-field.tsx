/** A field that narrows a list while it is typed into. */
import { Search } from "lucide-react";
import type { Ref } from "react";

interface SearchFieldProps {
  /** What it searches; also shown while it is empty. */
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly ref?: Ref<HTMLInputElement>;
}

export function SearchField({ label, value, onChange, ref }: SearchFieldProps) {
  return (
    <>
      <Search
        size={14}
        aria-hidden
        className="absolute left-2.5 top-1/2 -translate-y-1/2 text-muted"
      />
      <input
        ref={ref}
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className="min-h-9 w-full rounded-lg border border-line bg-surface pl-8 pr-2 text-sm placeholder:text-muted hover:border-line-strong"
      />
    </>
  );
}

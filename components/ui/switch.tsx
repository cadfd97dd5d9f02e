/** An on-off control with its label. */
"use client";
import { Switch as Primitive } from "radix-ui";
import { type ReactNode, useId } from "react";

interface SwitchProps {
  readonly label: ReactNode;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}

export function Switch({ label, checked, onChange, disabled = false }: SwitchProps) {
  const id = useId();
  return (
    <span className="inline-flex items-center gap-2">
      <Primitive.Root
        id={id}
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        className="relative h-6 w-10 shrink-0 rounded-full border border-line-strong bg-sunken transition-colors data-[state=checked]:border-accent data-[state=checked]:bg-accent"
      >
        <Primitive.Thumb className="block size-4 translate-x-1 rounded-full bg-line-strong transition-transform data-[state=checked]:translate-x-[1.15rem] data-[state=checked]:bg-on-accent" />
      </Primitive.Root>
      <label htmlFor={id} className="text-sm">
        {label}
      </label>
    </span>
  );
}

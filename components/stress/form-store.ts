/** The set-up as it was left; survives a reload. */
import { create } from "zustand";
import { persist } from "zustand/middleware";
import type { StressForm } from "./form.ts";
import { FIRST_FORM } from "./presets.ts";

export const useForm = create<StressForm>()(
  persist((): StressForm => FIRST_FORM, { name: "sonant-stress", version: 1 }),
);

export function changeForm(change: Partial<StressForm>): void {
  useForm.setState(change);
}

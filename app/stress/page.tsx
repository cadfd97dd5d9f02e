import type { Metadata } from "next";
import { StressPage } from "../../components/stress/stress-page.tsx";

export const metadata: Metadata = { title: "Stress" };

export default function Page() {
  return <StressPage />;
}

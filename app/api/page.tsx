import type { Metadata } from "next";
import { Reference } from "../../components/reference/reference.tsx";

export const metadata: Metadata = { title: "API" };

export default function Page() {
  return <Reference />;
}

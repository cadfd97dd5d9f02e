import type { Metadata } from "next";
import { VoicesPage } from "../../components/voices/voices-page.tsx";

export const metadata: Metadata = { title: "Voices" };

export default function Page() {
  return <VoicesPage />;
}

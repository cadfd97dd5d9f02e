import { Playground } from "../components/playground/playground.tsx";

export default function Page() {
  return <Playground />;
}

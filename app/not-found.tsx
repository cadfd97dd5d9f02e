import { MissingPage } from "../components/frame/missing-page.tsx";

export default function NotFound() {
  return <MissingPage />;
}

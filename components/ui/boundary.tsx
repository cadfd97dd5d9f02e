/** Keeps the failure of one part, such as code that could not be loaded, from taking the page with it. */
"use client";
import { Component, type ReactNode } from "react";
import { useStrings } from "../i18n/provider.tsx";
import { Problem } from "./problem.tsx";

interface BoundaryProps {
  readonly children: ReactNode;
}

interface BoundaryState {
  readonly hasFailed: boolean;
}

export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { hasFailed: false };

  static getDerivedStateFromError(): BoundaryState {
    return { hasFailed: true };
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children;
    return <Failed onRetry={() => this.setState({ hasFailed: false })} />;
  }
}

function Failed({ onRetry }: { readonly onRetry: () => void }) {
  const { failure } = useStrings("common");
  const trouble = { code: "part_failed", message: failure.part, hint: failure.networkNext };
  return <Problem trouble={trouble} onRetry={onRetry} />;
}

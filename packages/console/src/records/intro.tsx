/** The text that introduces a form, a dialog or the button of a panel. It has one style, wherever it stands. */
import { Text } from "@mantine/core";
import type { ReactNode } from "react";

export function Intro({ children }: { readonly children: ReactNode }) {
  return (
    <Text size="sm" c="dimmed" className="intro">
      {children}
    </Text>
  );
}

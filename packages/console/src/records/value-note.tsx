/** The explanation below a value. It has one size and one distance, on every page. */
import { Text } from "@mantine/core";
import type { ReactNode } from "react";

export function ValueNote({ children }: { readonly children: ReactNode }) {
  return (
    <Text size="xs" fw={400} c="dimmed" className="value-note">
      {children}
    </Text>
  );
}

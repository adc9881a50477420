/** A fact that a device reported. A text is the value that admission rules compare, so it stands as it is. */
import { Code } from "@mantine/core";
import { formatFact } from "./format-fact.ts";
import type { Fact } from "./record-page.tsx";

export function factOf(name: string, value: unknown): Fact {
  const fact = formatFact(name, value);
  return typeof value === "string" ? { ...fact, value: <Code>{value}</Code> } : fact;
}

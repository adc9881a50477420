/** A state as a word with a dot: the colour never says it alone. */
import { Group } from "@mantine/core";

const colors = {
  good: "var(--mantine-color-green-7)",
  bad: "var(--mantine-color-red-7)",
  waiting: "var(--mantine-color-yellow-7)",
  idle: "var(--mantine-color-gray-6)",
} as const;

export type Mood = keyof typeof colors;

export function Status({ mood, children }: { readonly mood: Mood; readonly children: string }) {
  return (
    <Group gap={8} wrap="nowrap" component="span" className="status" display="inline-flex">
      <span className="dot" style={{ background: colors[mood] }} aria-hidden />
      <span>{children}</span>
    </Group>
  );
}

const moods: Readonly<Record<string, Mood>> = {
  active: "good",
  ONLINE: "good",
  Online: "good",
  pending: "waiting",
  PENDING: "waiting",
  MAINTENANCE: "waiting",
  OFFLINE: "bad",
  ERROR: "bad",
  inactive: "idle",
  Offline: "idle",
  Deactivated: "idle",
};

/** The API's own word for a state, as people write. */
export function StatusOf({ value }: { readonly value: string }) {
  const text = value.charAt(0).toUpperCase() + value.slice(1).toLowerCase();
  return <Status mood={moods[value] ?? "idle"}>{text}</Status>;
}

import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

export function RecordLink({ to, children }: { readonly to: string; readonly children: ReactNode }) {
  return (
    <Anchor component={Link} to={to} inherit>
      {children}
    </Anchor>
  );
}

/** Names of records, each a link; the first of many. */
export function RecordLinks({
  path,
  records,
  none = "None",
}: {
  readonly path: string;
  readonly records: readonly { readonly id: string; readonly name: string }[];
  readonly none?: string;
}) {
  if (records.length === 0) return <Text c="dimmed">{none}</Text>;
  const shown = records.slice(0, 50);
  return (
    <>
      {shown.map(({ id, name }, index) => (
        <span key={id}>
          {index > 0 && ", "}
          <RecordLink to={`/${path}/${id}`}>{name}</RecordLink>
        </span>
      ))}
      {records.length > shown.length && ` and ${records.length - shown.length} more`}
    </>
  );
}

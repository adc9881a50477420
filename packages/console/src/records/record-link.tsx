import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

interface RecordLinkProps {
  readonly to: string;
  readonly children: ReactNode;
  /** Beside words that are no link, the colour alone does not tell it. */
  readonly inText?: boolean;
}

export function RecordLink({ to, children, inText = false }: RecordLinkProps) {
  return (
    <Anchor component={Link} to={to} inherit underline={inText ? "always" : "hover"}>
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

import { Anchor, Skeleton, Stack } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ProblemNotice } from "../../app/problem-notice.tsx";

interface QueryPanelProps<T> {
  readonly query: { readonly data: T | undefined; readonly error: Error | null; readonly refetch: () => unknown };
  readonly children: (data: T) => ReactNode;
}

/** The data of a query, or its error, or a skeleton while it loads. */
export function QueryPanel<T>({ query: { data, error, refetch }, children }: QueryPanelProps<T>) {
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) {
    return (
      <Stack gap="xs" aria-busy>
        <Skeleton height={14} width="60%" />
        <Skeleton height={14} width="40%" />
      </Stack>
    );
  }
  return children(data);
}

/** A link to the page with the whole list. */
export function More({ to, children }: { readonly to: string; readonly children: string }) {
  return (
    <Anchor component={Link} to={to} size="sm">
      {children}
    </Anchor>
  );
}

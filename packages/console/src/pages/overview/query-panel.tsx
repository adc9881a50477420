import { Anchor, Skeleton, Stack } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ProblemNotice } from "../../app/problem-notice.tsx";

/** What a panel shows of a question, or in the place of its answer. */
interface AnsweredProps<T> {
  readonly query: { readonly data: T | undefined; readonly error: Error | null; readonly refetch: () => unknown };
  readonly children: (data: T) => ReactNode;
}

export function QueryPanel<T>({ query: { data, error, refetch }, children }: AnsweredProps<T>) {
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

export function More({ to, children }: { readonly to: string; readonly children: string }) {
  return (
    <Anchor component={Link} to={to} size="sm">
      {children}
    </Anchor>
  );
}

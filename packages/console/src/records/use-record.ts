/** Reads one record with its version, and runs actions on it. */
import type { RecordPath, ResultOf } from "@gatehouse/client/calls";
import { GatehouseError } from "@gatehouse/client/errors";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../app/api.ts";
import { describeProblem } from "../app/problem-notice.tsx";
import { t } from "../messages/i18n.ts";

export interface Versioned<T> {
  readonly record: T;
  readonly etag: string;
}

export async function readRecord<P extends RecordPath>(
  path: P,
  id: string,
  signal?: AbortSignal,
): Promise<Versioned<ResultOf<P, "get">>> {
  const read = api.read as unknown as (path: P, options: object) => Promise<Versioned<ResultOf<P, "get">>>;
  return read(path, { path: { id }, signal }); // every path of this type has one parameter
}

/** @param refreshMs the polling interval in milliseconds, for records that change by themselves */
export function useRecord<P extends RecordPath>(path: P, id: string, refreshMs?: number) {
  return useQuery({
    queryKey: [path, id],
    queryFn: ({ signal }) => readRecord(path, id, signal),
    ...(refreshMs === undefined ? {} : { refetchInterval: refreshMs }),
  });
}

interface Action<T> {
  readonly run: (given: T) => Promise<unknown>;
  /** The notification after success. Absent if the page shows the result, which the notification could cover. */
  readonly done?: string;
  readonly then?: () => void;
}

/** A change that a button makes. Any query may depend on it, so all are invalidated. */
export function useAction<T = void>({ run, done, then }: Action<T>) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSuccess: async () => {
      if (done !== undefined) notifications.show({ message: done, color: "green" });
      then?.();
      await queryClient.invalidateQueries();
    },
    onError: (error) => notifyProblem(error),
  });
}

/** @param heading replaces the title of the error */
export function notifyProblem(error: unknown, heading?: string): void {
  const { title, detail } = describeProblem(error);
  const message = error instanceof GatehouseError ? t("app.problem.request", { detail, id: error.requestId }) : detail;
  // Not at the bottom right, where forms have the buttons that a person needs next.
  notifications.show({ title: heading ?? title, message, color: "red", autoClose: 15_000, position: "top-center" });
}

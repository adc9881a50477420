/** Reading one record with its version, and doing something to it. */
import type { RecordPath, ResultOf } from "@gatehouse/client/calls";
import { GatehouseError } from "@gatehouse/client/errors";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../app/api.ts";
import { toldOf } from "../app/problem-notice.tsx";

export interface Versioned<T> {
  readonly record: T;
  readonly etag: string;
}

export async function readRecord<P extends RecordPath>(path: P, id: string): Promise<Versioned<ResultOf<P, "get">>> {
  const read = api.read as unknown as (path: P, options: object) => Promise<Versioned<ResultOf<P, "get">>>;
  return read(path, { path: { id } }); // every path here has this one parameter
}

/** @param refreshMs how often it is read anew, in milliseconds, where it changes by itself */
export function useRecord<P extends RecordPath>(path: P, id: string, refreshMs?: number) {
  return useQuery({
    queryKey: [path, id],
    queryFn: () => readRecord(path, id),
    ...(refreshMs === undefined ? {} : { refetchInterval: refreshMs }),
  });
}

interface Action<T> {
  readonly run: (given: T) => Promise<unknown>;
  /** What is said when it is done. */
  readonly done: string;
  readonly then?: () => void;
}

/** A change at the push of a button. What any page shows may follow from it, so all of it is read anew. */
export function useAction<T = void>({ run, done, then }: Action<T>) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSuccess: async () => {
      notifications.show({ message: done, color: "green" });
      then?.();
      await queryClient.invalidateQueries();
    },
    onError: tellProblem,
  });
}

export function tellProblem(error: unknown): void {
  const { title, detail } = toldOf(error);
  const request = error instanceof GatehouseError ? ` (request ${error.requestId})` : "";
  notifications.show({ title, message: `${detail}${request}`, color: "red", autoClose: 15_000 });
}

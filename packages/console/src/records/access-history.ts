/** The history of access: its start, and the generation in force at a time. */
import type { ResultOf } from "@gatehouse/client/calls";
import { useQuery } from "@tanstack/react-query";
import { api } from "../app/api.ts";

/** @returns undefined while the start loads; `begins` is absent if there is no history, or if the request fails */
export function useAccessHistory(enabled: boolean): { readonly begins?: string } | undefined {
  const { data, isError } = useQuery({
    queryKey: ["/tenants/access/history"],
    enabled,
    staleTime: 3_600_000,
    queryFn: ({ signal }) => api.get("/tenants/access/history", { signal }),
  });
  return isError ? {} : data;
}

/** The configuration that an answer uses. */
export interface AnswerTime {
  /** The time of the answer in ISO 8601, by the clock of the server. */
  readonly at: string;
  /** Undefined if there is no history, or if changes kept arriving while the answer was read. */
  readonly generation: number | undefined;
}

const mostTries = 3;

/**
 * Reads access together with the generation that it was read from.
 *
 * @param at the time of the question in ISO 8601; undefined for now
 * @param read may be called again if the configuration changes meanwhile
 */
export async function readWithGeneration<T>(
  at: string | undefined,
  read: () => Promise<T>,
  signal: AbortSignal,
): Promise<readonly [answer: T, time: AnswerTime]> {
  const query = at === undefined ? {} : { at };
  const readHistory = (): Promise<ResultOf<"/tenants/access/history", "get">> =>
    api.get("/tenants/access/history", { query, signal });
  let before = await readHistory();
  for (let tries = 1; ; tries += 1) {
    const answer = await read();
    // The past does not change.
    const after = at === undefined ? await readHistory() : before;
    const isSame = after.generation === before.generation;
    if (isSame || tries === mostTries) {
      return [answer, { at: before.at, generation: isSame ? before.generation : undefined }];
    }
    before = after;
  }
}

/** Refetches what the page shows when the tenant's audit record says that it changed. */
import { type QueryClient, type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { usePermission } from "./session.ts";

/** Changes arrive in bursts, for example when a configuration is applied. */
const gatherMs = 300;

export function useLiveUpdates(): void {
  const queryClient = useQueryClient();
  const canReadEvents = usePermission("events:read");
  useEffect(() => {
    if (!canReadEvents || typeof EventSource === "undefined") return;
    const stream = new EventSource("/tenants/events/stream");
    const update = gatherUpdates(queryClient);
    stream.addEventListener("event", update.add);
    return () => {
      stream.close();
      update.stop();
    };
  }, [canReadEvents, queryClient]);
}

/** The path of the records of a target type, such as `/tenants/access-tests` for `access-test`. */
export function pathOfTarget(type: string): string {
  if (type === "tenant-settings") return "/tenants/settings";
  if (/[^aeiou]y$/.test(type)) return `/tenants/${type.slice(0, -1)}ies`;
  return `/tenants/${type}${type.endsWith("ss") ? "es" : "s"}`;
}

/** Records that the pages of other records show. */
const shownBy: Readonly<Record<string, readonly string[]>> = {
  address: ["/tenants/resources"],
  device: ["/tenants/device-sessions"],
  "enrolment-link": ["/tenants/users"],
  gateway: ["/tenants/resources"],
  group: ["/tenants/users"],
  passkey: ["/tenants/users"],
};

/** Records that this page deletes before it leaves. To refetch them would answer 404. */
const deletions = new Set<string>();

/**
 * Stops reading records that are going to be deleted. Call before the request.
 *
 * @returns a function to call if the request fails
 */
export async function expectDeletions(queryClient: QueryClient, paths: readonly string[]): Promise<() => void> {
  for (const path of paths) deletions.add(path);
  if (paths.length > 0) {
    await queryClient.cancelQueries({ predicate: ({ queryKey }) => isDeleted(queryKey) });
  }
  return () => {
    for (const path of paths) deletions.delete(path);
  };
}

/** @param queryKey the path of an operation, and the id that it contains if it has a parameter */
function isDeleted([template, id]: QueryKey): boolean {
  const path = String(template).replace("{id}", String(id));
  for (const deleted of deletions) if (isBelow(path, deleted)) return true;
  return false;
}

function pathsOf(data: unknown): readonly string[] {
  try {
    const { target } = JSON.parse(String(data)) as { readonly target: { readonly type: string } }; // an audit entry
    return [pathOfTarget(target.type), ...(shownBy[target.type] ?? [])];
  } catch {
    return [];
  }
}

/** Collects events, and then invalidates the queries that they concern. */
export function gatherUpdates(queryClient: QueryClient) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let paths = new Set<string>();
  const refetch = () => {
    const changed = [...paths, "/tenants/events"];
    timer = undefined;
    paths = new Set();
    // Answers about access take longer to compute. Their pages refetch them at their own pace.
    void queryClient.invalidateQueries({
      predicate: ({ queryKey, meta }) => {
        const key = String(queryKey[0]);
        if (key.endsWith("/check") || isDeleted(queryKey)) return false;
        const followed = (meta?.follows ?? []) as readonly string[]; // only followChanges sets it
        return changed.some((path) => isBelow(key, path) || followed.includes(path));
      },
    });
  };
  return {
    add({ data }: { readonly data?: unknown }) {
      for (const path of pathsOf(data)) paths.add(path);
      timer ??= setTimeout(refetch, gatherMs);
    },
    stop() {
      clearTimeout(timer);
    },
  };
}

/** The `meta` of a query that is refetched when records of other paths change, too. */
export function followChanges(...paths: readonly string[]) {
  return { follows: paths };
}

function isBelow(key: string, path: string): boolean {
  return key === path || key.startsWith(`${path}/`);
}

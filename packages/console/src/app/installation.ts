/** Facts about this server: its public address, and which optional parts it has. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { type Installation, readInstallation } from "./passkeys.ts";

export const installationQuery = queryOptions({
  queryKey: ["session", "place"],
  queryFn: readInstallation,
  staleTime: Number.POSITIVE_INFINITY,
});

/** Undefined while unknown. */
export function useInstallation(): Installation | undefined {
  return useQuery(installationQuery).data;
}

/** Whether only this machine can reach an address. */
export function isLoopback(url: string): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

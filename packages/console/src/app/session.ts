/** The session: the API key that is signed in, its tenant and its permissions. */
import { GatehouseError, type Problem } from "@gatehouse/client/errors";
import type { Permission } from "@gatehouse/contract/permissions";
import { queryOptions, useQuery } from "@tanstack/react-query";

export interface Session {
  readonly apiKey: { readonly id: string; readonly name: string };
  readonly tenant: { readonly id: string; readonly name: string };
  readonly permissions: readonly Permission[];
  readonly expiresAt: string;
}

/** A route of the console itself. It is not part of the API, so the client does not cover it. */
const path = "/console/session";

async function request(method: "GET" | "POST" | "DELETE", apiKey?: string): Promise<Session | null> {
  const headers = apiKey === undefined ? {} : { apikey: apiKey };
  const response = await fetch(path, { method, headers, credentials: "same-origin" });
  if (response.status === 204) return null;
  const body: unknown = await response.json();
  if (!response.ok) throw new GatehouseError(body as Problem); // Gatehouse returns every error in this form
  return body as Session;
}

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: () => request("GET"),
  staleTime: Number.POSITIVE_INFINITY,
});

/** @throws GatehouseError if the key is rejected */
export async function signIn(apiKey: string): Promise<Session> {
  const session = await request("POST", apiKey);
  if (session === null) throw new Error("sign-in returned no session");
  return session;
}

export async function signOut(): Promise<void> {
  await request("DELETE");
}

/** The session. Only for components behind the sign-in page. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new Error("no session");
  return data;
}

/** Whether the key has a permission. Pages hide actions that the key cannot perform. */
export function usePermission(permission: Permission | undefined): boolean {
  const { permissions } = useSession();
  return permission === undefined || permissions.includes(permission);
}

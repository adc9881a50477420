/** Who is signed in, and what they may do. */
import { GatehouseError, type Problem } from "@gatehouse/client/errors";
import type { Permission } from "@gatehouse/contract/permissions";
import { queryOptions, useQuery } from "@tanstack/react-query";

export interface Session {
  readonly apiKey: { readonly id: string; readonly name: string };
  readonly tenant: { readonly id: string; readonly name: string };
  readonly permissions: readonly Permission[];
  readonly expiresAt: string;
}

/** The console's own routes: no part of the API, and so not of its client. */
const path = "/console/session";

async function ask(method: "GET" | "POST" | "DELETE", apiKey?: string): Promise<Session | null> {
  const headers = apiKey === undefined ? {} : { apikey: apiKey };
  const response = await fetch(path, { method, headers, credentials: "same-origin" });
  if (response.status === 204) return null;
  const body: unknown = await response.json();
  if (!response.ok) throw new GatehouseError(body as Problem); // Gatehouse answers errors in this form alone
  return body as Session;
}

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: () => ask("GET"),
  staleTime: Number.POSITIVE_INFINITY,
});

/** @throws GatehouseError when the key is refused */
export async function signIn(apiKey: string): Promise<Session> {
  const session = await ask("POST", apiKey);
  if (session === null) throw new Error("signing in gave no session");
  return session;
}

export async function signOut(): Promise<void> {
  await ask("DELETE");
}

/** Of a page behind the sign-in page: there is a session. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new Error("nobody is signed in");
  return data;
}

/** Whether the key holds a permission; what it may not do is not offered. */
export function useMay(permission: Permission | undefined): boolean {
  const { permissions } = useSession();
  return permission === undefined || permissions.includes(permission);
}

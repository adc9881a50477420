/** Requests about the session. They are routes of the console itself and not part of the API. */
import { GatehouseError, type Problem } from "@gatehouse/client/errors";
import type { Permission } from "@gatehouse/contract/permissions";

export interface Session {
  /** Undefined for a person's session. */
  readonly apiKey?: { readonly id: string; readonly name: string };
  /** Undefined for a session that represents an API key. */
  readonly user?: { readonly id: string; readonly email: string; readonly name: string };
  /** The path of sign-ins with the session's identity provider. Undefined for sessions without a provider. */
  readonly providerPath?: string;
  /** The time of the person's latest authentication. */
  readonly authenticatedAt?: string;
  /** The slug is the short name by which people find the sign-in. */
  readonly tenant: { readonly id: string; readonly name: string; readonly slug: string };
  readonly permissions: readonly Permission[];
  readonly expiresAt: string;
}

const path = "/console/session";

async function request(method: "GET" | "POST" | "DELETE", apiKey?: string): Promise<Session | null> {
  const headers = apiKey === undefined ? {} : { apikey: apiKey };
  const response = await fetch(path, { method, headers, credentials: "same-origin" });
  if (response.status === 204) return null;
  const body: unknown = await response.json();
  if (!response.ok) throw new GatehouseError(body as Problem); // Gatehouse returns every error in this form
  return body as Session;
}

/** @throws GatehouseError with the status 401 if nobody is signed in */
export function readSession(): Promise<Session | null> {
  return request("GET");
}

/** @throws GatehouseError if the key is rejected */
export async function signIn(apiKey: string): Promise<Session> {
  const session = await request("POST", apiKey);
  if (session === null) throw new Error("sign-in returned no session");
  return session;
}

export async function signOut(): Promise<void> {
  await request("DELETE");
}

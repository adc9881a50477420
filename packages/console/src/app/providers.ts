/** Signing in with identity providers: the steps before the browser goes to the provider. */
import { GatehouseError, type Problem } from "@gatehouse/client/errors";
import { signedInPath } from "./entrance/entrance-paths.ts";
import type { Session } from "./session-requests.ts";

/** A provider that a tenant offers. */
export interface OfferedProvider {
  readonly name: string;
  readonly path: string;
}

/**
 * Finds the providers of a tenant by its short name, by a domain, or by an address in the domain.
 *
 * @throws GatehouseError
 */
export async function findProviders(name: string): Promise<readonly OfferedProvider[]> {
  const response = await fetch("/console/sign-in/providers", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name }),
    credentials: "same-origin",
  });
  const body: unknown = await response.json();
  if (!response.ok) throw new GatehouseError(body as Problem); // Gatehouse returns every error in this form
  return (body as { readonly providers: readonly OfferedProvider[] }).providers; // as the server sends it
}

/** The address at which a sign-in at the provider starts. The person returns to the current page. */
export function signInPath({ path }: OfferedProvider): string {
  const { pathname, search, hash } = globalThis.location;
  return `${path}?${new URLSearchParams({ return: `${pathname}${search}${hash}` })}`;
}

/** The address at which a sign-in starts in its own tab. The tab then says that it can be closed. */
export function signInPathOfTab({ path }: OfferedProvider): string {
  return `${path}?${new URLSearchParams({ return: signedInPath })}`;
}

/** The address at which the person of the session confirms their identity; undefined without a provider. */
export function confirmationPath(session: Session | null | undefined): string | undefined {
  return session?.providerPath === undefined ? undefined : `${session.providerPath}?confirm=1`;
}

/** The address at which the person signs out at the provider; undefined without a provider. */
export function providerSignOutPath(session: Session): string | undefined {
  return session.providerPath === undefined ? undefined : `${session.providerPath}/sign-out`;
}

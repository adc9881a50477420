/** The session: the person or the API key that is signed in, the tenant and the permissions. */
import type { Permission } from "@gatehouse/contract/permissions";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { readSession, type Session } from "./session-requests.ts";

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: readSession,
  staleTime: Number.POSITIVE_INFINITY,
});

/** The session. Only for components behind the sign-in page. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new Error("no session");
  return data;
}

/** The permissions of the session. None after its end, while the page is still rendered. */
export function usePermissions(): readonly Permission[] {
  return useQuery(sessionQuery).data?.permissions ?? [];
}

/** Whether a person without any permission is signed in, who sees only `/my/`. */
export function useIsVisitor(): boolean {
  const { user, permissions } = useSession();
  return user !== undefined && permissions.length === 0;
}

/** Whether the key has a permission. Pages hide actions that the key cannot perform. */
export function usePermission(permission: Permission | undefined): boolean {
  const { permissions } = useSession();
  return permission === undefined || permissions.includes(permission);
}

/** The resource that an address belongs to. */
import type { ItemAt } from "@gatehouse/client/calls";
import { useQuery } from "@tanstack/react-query";
import { paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { absent } from "../../records/absent.tsx";
import { RecordLink } from "../../records/record-link.tsx";

const resources = paged("/tenants/resources");
/** The maximum number of values in a filter. */
const mostAtOnce = 100;

type Owner = Pick<ItemAt<"/tenants/resources">, "id" | "name" | "loadBalancingMode">;

export function useResourceOf(address: string) {
  const canRead = usePermission("resources:read");
  return useQuery({
    queryKey: [resources.path, "of address", address],
    enabled: canRead,
    staleTime: 60_000,
    queryFn: () => ownerOf(address),
  });
}

/** Addresses do not say which resource they belong to. Resources list their addresses. */
export function ResourceOfAddress({ id }: { readonly id: string }) {
  const { data: owner, isLoading } = useResourceOf(id);
  if (isLoading) return "…";
  return owner === undefined || owner === null ? (
    absent
  ) : (
    <RecordLink to={`/resources/${owner.id}`}>{owner.name}</RecordLink>
  );
}

/** The request that waits for more addresses. */
let next: { readonly ids: string[]; readonly owners: Promise<ReadonlyMap<string, Owner>> } | undefined;

/** The resource that has the address. The rows of a list call this at the same time, and share requests. */
async function ownerOf(id: string): Promise<Owner | null> {
  if (next === undefined || next.ids.length === mostAtOnce) {
    const ids: string[] = [];
    const owners = new Promise((resolve) => setTimeout(resolve)).then(() => {
      if (next?.ids === ids) next = undefined;
      return ownersOf(ids);
    });
    next = { ids, owners };
  }
  next.ids.push(id);
  return (await next.owners).get(id) ?? null;
}

async function ownersOf(ids: readonly string[]): Promise<ReadonlyMap<string, Owner>> {
  const { data } = await resources.read({ "filter[addresses.id][in]": ids.join(","), limit: mostAtOnce });
  return new Map(data.flatMap((resource) => resource.addresses.map((address) => [address.id, resource] as const)));
}

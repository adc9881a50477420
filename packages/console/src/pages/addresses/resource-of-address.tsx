/** The resource that an address belongs to. */
import { useQuery } from "@tanstack/react-query";
import { paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { RecordLink } from "../../records/record-link.tsx";

const resources = paged("/tenants/resources");
/** Each page is one request. The owners of other addresses cost a request each. */
const mostPages = 3;

type Owner = { readonly id: string; readonly name: string };

/** Addresses do not say which resource they belong to. Resources list their addresses. */
export function ResourceOfAddress({ id }: { readonly id: string }) {
  const canRead = usePermission("resources:read");
  const { data, isError } = useQuery({
    queryKey: [resources.path, "of addresses"],
    enabled: canRead,
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const owners = new Map<string, Owner>();
      for (let page = 0; page < mostPages; page++) {
        const { data: rows, total } = await resources.read({ sort: "name", limit: 100, offset: page * 100 }, signal);
        for (const resource of rows) for (const address of resource.addresses) owners.set(address.id, resource);
        if ((page + 1) * 100 >= total) break;
      }
      return owners;
    },
  });
  const owner = data?.get(id);
  // An address of one of the other resources.
  const { data: found, isError: isNotFound } = useQuery({
    queryKey: [resources.path, "of address", id],
    enabled: data !== undefined && owner === undefined,
    staleTime: 60_000,
    queryFn: async ({ signal }): Promise<Owner | null> =>
      (await resources.read({ "filter[addresses.id]": id, limit: 1 }, signal)).data[0] ?? null,
  });
  const shown = owner ?? found;
  if (shown === undefined && canRead && !isError && !isNotFound) return "…";
  if (shown === undefined || shown === null) return "–";
  return <RecordLink to={`/resources/${shown.id}`}>{shown.name}</RecordLink>;
}

/** The resource that an address belongs to. */
import { useQuery } from "@tanstack/react-query";
import { paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { RecordLink } from "../../records/record-link.tsx";

const resources = paged("/tenants/resources");
/** Each page is one request. The owners of other addresses stay unknown. */
const mostPages = 3;

/** Addresses do not say which resource they belong to. Resources list their addresses. */
export function ResourceOfAddress({ id }: { readonly id: string }) {
  const canRead = usePermission("resources:read");
  const { data } = useQuery({
    queryKey: [resources.path, "of addresses"],
    enabled: canRead,
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const owners = new Map<string, { readonly id: string; readonly name: string }>();
      for (let page = 0; page < mostPages; page++) {
        const { data: rows, total } = await resources.read({ sort: "name", limit: 100, offset: page * 100 }, signal);
        for (const resource of rows) for (const address of resource.addresses) owners.set(address.id, resource);
        if ((page + 1) * 100 >= total) break;
      }
      return owners;
    },
  });
  const owner = data?.get(id);
  if (owner === undefined) return "–";
  return <RecordLink to={`/resources/${owner.id}`}>{owner.name}</RecordLink>;
}

import { useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";

/** The resource of a decision, with its gateways. Undefined without permission. @param id empty for none */
export function useResource(id: string) {
  const canRead = usePermission("resources:read");
  const { data } = useQuery({
    queryKey: ["/tenants/resources/{id}", id, "gateways"],
    enabled: canRead && id !== "",
    queryFn: ({ signal }) => api.get("/tenants/resources/{id}", { path: { id }, signal }),
  });
  return data;
}

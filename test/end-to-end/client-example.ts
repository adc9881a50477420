import { GatehouseError } from "@gatehouse/client/errors";
import { createGatehouse } from "@gatehouse/client/gatehouse";

const gatehouse = createGatehouse({
  url: process.env.GATEHOUSE_URL ?? "http://127.0.0.1:8080",
  apiKey: process.env.GATEHOUSE_API_KEY ?? "",
});

// The path determines the types of the options and the result.
const group = await gatehouse.post("/tenants/groups", { body: { name: "Engineering" } });
await gatehouse.postMany("/tenants/users", {
  body: [
    { email: "builds@example.com", groups: [group.id] },
    { email: "tests@example.com", groups: [group.id] },
  ],
});

// A complete list, page by page.
for await (const user of gatehouse.list("/tenants/users", { query: { "filter[groups.id]": group.id } })) {
  console.log(user.email, user.status);
}

// A change that fails if someone else changed the record first.
const { id } = await gatehouse.post("/tenants/gateways", { body: { name: "Office", wireguardPort: "51820" } });
const { record, etag } = await gatehouse.read("/tenants/gateways/{id}", { path: { id } });
const body = { name: `${record.name} North` };
await gatehouse.put("/tenants/gateways/{id}", { path: { id }, body, ifMatch: etag });

try {
  await gatehouse.put("/tenants/gateways/{id}", { path: { id }, body, ifMatch: etag });
} catch (error) {
  if (!(error instanceof GatehouseError) || error.code !== "precondition_failed") throw error;
  console.log(error.message);
}

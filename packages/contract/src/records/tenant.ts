import Type, { type Static } from "typebox";
import { component, identity, Name } from "../schema.ts";
import { NewApiKey } from "./api-key.ts";

export const Tenant = component("Tenant", "An organisation whose network is administered separately from all others.", {
  ...identity,
  name: Name,
  slug: Type.String({ description: "The tenant's name in addresses, by which people find its sign-in." }),
  ownerEmail: Type.String(),
});
export type Tenant = Static<typeof Tenant>;

export const NewTenant = component("NewTenant", "A tenant with its first API key.", {
  tenant: Tenant,
  apiKey: NewApiKey,
});
export type NewTenant = Static<typeof NewTenant>;

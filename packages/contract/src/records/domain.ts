import Type, { type Static } from "typebox";
import { component, identity, nullable, Timestamp } from "../schema.ts";

/** The most domains of a tenant. */
export const maxDomains = 50;

export const Domain = component("Domain", "An email domain of the tenant.", {
  ...identity,
  domain: Type.String({ description: "The domain in lower case. International names are in ASCII (`xn--`)." }),
  verifiedAt: nullable(
    Type.Unsafe<string>({ ...Timestamp, description: "When the tenant proved that it owns the domain." }),
  ),
  recordName: Type.String({ description: "The name of the TXT record that proves the ownership." }),
  recordValue: Type.String({ description: "The value of the TXT record." }),
});
export type Domain = Static<typeof Domain>;

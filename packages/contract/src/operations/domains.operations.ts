import Type from "typebox";
import { operation } from "../operation.ts";
import { Domain } from "../records/domain.ts";
import { closedObject } from "../schema.ts";

const tag = "Identity providers";

export const listDomains = operation({
  id: "listDomains",
  method: "GET",
  path: "/tenants/domains",
  tag,
  summary: "List domains",
  access: "identity-providers:read",
  success: { status: 200, kind: "array", item: Domain },
});

export const createDomain = operation({
  id: "createDomain",
  method: "POST",
  path: "/tenants/domains",
  tag,
  summary: "Add a domain",
  description:
    "Returns the TXT record that proves the ownership. The domain has no effect until `POST /tenants/domains/{id}/verify` finds the record.",
  access: "identity-providers:write",
  body: closedObject({
    domain: Type.String({
      minLength: 3,
      maxLength: 253,
      pattern: "^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])$",
      description: "A domain name in ASCII, such as `example.com`. Subdomains are separate domains.",
    }),
  }),
  refusedInSets: "it has no effect before DNS proves the domain",
  success: { status: 201, kind: "record", body: Domain },
  errors: ["domain_taken", "domain_limit_reached"],
});

export const readDomain = operation({
  id: "readDomain",
  method: "GET",
  path: "/tenants/domains/{id}",
  tag,
  summary: "Read a domain",
  access: "identity-providers:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Domain },
});

export const verifyDomain = operation({
  id: "verifyDomain",
  method: "POST",
  path: "/tenants/domains/{id}/verify",
  tag,
  summary: "Verify a domain",
  description:
    "Looks for the TXT record. Once the domain is verified, people find the tenant's identity providers by it, and providers with `firstSignIn: OWN_DOMAINS` admit people with verified addresses in it.",
  access: "identity-providers:write",
  dangerous: "it decides who can sign in",
  parameters: { id: "uuid" },
  bodyOptional: true,
  body: closedObject({}),
  refusedInSets: "it depends on an answer of DNS",
  success: { status: 200, kind: "record", body: Domain },
  errors: ["domain_not_proven", "domain_taken"],
});

export const deleteDomain = operation({
  id: "deleteDomain",
  method: "DELETE",
  path: "/tenants/domains/{id}",
  tag,
  summary: "Delete a domain",
  description: "Users and their accounts remain.",
  access: "identity-providers:write",
  dangerous: "it decides who can sign in",
  parameters: { id: "uuid" },
  refusedInSets: "it decides who can sign in",
  success: { status: 204, kind: "empty" },
});

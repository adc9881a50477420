import Type from "typebox";
import { operation } from "../operation.ts";
import {
  ClientId,
  ClientSecret,
  firstSignIns,
  GroupsClaim,
  IdentityProvider,
  Issuer,
  Scopes,
} from "../records/identity-provider.ts";
import { closedObject, component, Name, oneOf } from "../schema.ts";

const tag = "Identity providers";

const settings = {
  name: Type.Optional(Name),
  clientSecret: Type.Optional(ClientSecret),
  scopes: Type.Optional(Scopes),
  groupsClaim: Type.Optional(GroupsClaim),
  firstSignIn: Type.Optional(oneOf(firstSignIns, { description: "`NEVER` if omitted." })),
  linkVerifiedEmail: Type.Optional(Type.Boolean({ description: "`false` if omitted." })),
};

export const listIdentityProviders = operation({
  id: "listIdentityProviders",
  method: "GET",
  path: "/tenants/identity-providers",
  tag,
  summary: "List identity providers",
  access: "identity-providers:read",
  success: { status: 200, kind: "array", item: IdentityProvider },
});

export const createIdentityProvider = operation({
  id: "createIdentityProvider",
  method: "POST",
  path: "/tenants/identity-providers",
  tag,
  summary: "Create an OpenID Connect provider",
  description:
    "A new provider is disabled. Test it with `POST /tenants/identity-providers/{id}/test`, then set `enabled` to true.",
  access: "identity-providers:write",
  dangerous: "people can sign in with the provider",
  body: closedObject({ ...settings, name: Name, issuer: Issuer, clientId: ClientId }),
  refusedInSets: "its body contains a secret",
  success: { status: 201, kind: "record", body: IdentityProvider },
  errors: ["name_taken", "invalid_issuer", "identity_provider_limit_reached"],
});

export const readIdentityProvider = operation({
  id: "readIdentityProvider",
  method: "GET",
  path: "/tenants/identity-providers/{id}",
  tag,
  summary: "Read an identity provider",
  access: "identity-providers:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: IdentityProvider },
});

export const patchIdentityProvider = operation({
  id: "patchIdentityProvider",
  method: "PATCH",
  path: "/tenants/identity-providers/{id}",
  tag,
  summary: "Update an identity provider",
  description:
    "Omitted fields stay unchanged. `issuer`, `clientId`, `clientSecret`, `scopes` and `groupsClaim` can change only while the provider is disabled, and the provider must then be tested again. To replace them without interruption, create a second provider, test and enable it, and disable the first one. A provider that is or becomes enabled can be updated only by callers that hold every permission, because it decides who signs in as whom.",
  access: "identity-providers:write",
  dangerous: "people can sign in with the provider",
  parameters: { id: "uuid" },
  body: closedObject({
    ...settings,
    issuer: Type.Optional(Issuer),
    clientId: Type.Optional(ClientId),
    enabled: Type.Optional(Type.Boolean()),
  }),
  refusedInSets: "its body contains a secret",
  success: { status: 200, kind: "record", body: IdentityProvider },
  errors: [
    "name_taken",
    "invalid_issuer",
    "identity_provider_untested",
    "identity_provider_enabled",
    "grants_exceed_caller",
    "last_way_in",
  ],
});

export const deleteIdentityProvider = operation({
  id: "deleteIdentityProvider",
  method: "DELETE",
  path: "/tenants/identity-providers/{id}",
  tag,
  summary: "Delete an identity provider",
  description:
    "Ends all sessions of people who signed in with the provider, and the sessions that their devices began with it, and unlinks their accounts. The owner's last sign-in method cannot be deleted.",
  access: "identity-providers:write",
  dangerous: "people can no longer sign in with the provider",
  changesAccess: true,
  parameters: { id: "uuid" },
  refusedInSets: "it ends sessions",
  success: { status: 204, kind: "empty" },
  errors: ["last_way_in"],
});

const ProviderTest = component("IdentityProviderTest", "A test sign-in.", {
  url: Type.String({
    description:
      "Open this address in a browser within 10 minutes, and sign in at the provider. It signs nobody in here.",
  }),
});

export const testIdentityProvider = operation({
  id: "testIdentityProvider",
  method: "POST",
  path: "/tenants/identity-providers/{id}/test",
  tag,
  summary: "Start a test sign-in",
  description:
    "Returns the address of a test sign-in. Once the test succeeds, `testedAt` is set and the provider can be enabled.",
  access: "identity-providers:write",
  dangerous: "it precedes enabling a provider",
  parameters: { id: "uuid" },
  bodyOptional: true,
  body: closedObject({}),
  success: { status: 200, kind: "report", body: ProviderTest },
});

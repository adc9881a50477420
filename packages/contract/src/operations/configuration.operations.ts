import { operation } from "../operation.ts";
import { Configuration, ConfigurationPlan, configurationLimitBytes } from "../records/configuration.ts";

const tag = "Configuration";

export const readConfiguration = operation({
  id: "readConfiguration",
  method: "GET",
  path: "/tenants/configuration",
  tag,
  summary: "Export the tenant's configuration as one document",
  description:
    "Records refer to each other by name, not by id. Sections that the key cannot read are omitted. The ETag is the tenant's generation, which every command in the tenant increments.",
  access: "configuration:read",
  wholeTenant: true,
  success: { status: 200, kind: "record", body: Configuration },
  errors: ["configuration_too_large"],
});

export const planConfiguration = operation({
  id: "planConfiguration",
  method: "POST",
  path: "/tenants/configuration/plan",
  tag,
  summary: "Plan a configuration",
  description:
    "Returns the changes that applying the document would make. Stores nothing. Requires read permission for each kind of record in the document. The body can have at most 32 MiB.",
  access: "configuration:read",
  harmless: "it shows fields of the document, which contains no credentials",
  wholeTenant: true,
  body: Configuration,
  bodyLimitBytes: configurationLimitBytes,
  success: { status: 200, kind: "report", body: ConfigurationPlan },
  errors: ["configuration_too_large", "invalid_configuration"],
});

export const applyConfiguration = operation({
  id: "applyConfiguration",
  method: "POST",
  path: "/tenants/configuration/apply",
  tag,
  summary: "Apply a configuration",
  description:
    "Changes the tenant's records to match the document, in one transaction. Requires write permission for each kind of record that changes. `If-Match` takes the ETag of a plan or an export, and ensures that nothing has changed since. The body can have at most 32 MiB.",
  access: "configuration:write",
  wholeTenant: true,
  dangerous: "it can create gateways and identity providers",
  changesAccess: true,
  body: Configuration,
  bodyLimitBytes: configurationLimitBytes,
  conditional: true,
  refusedInSets: "it replaces whole parts of the tenant, and is a change set of its own",
  success: { status: 200, kind: "record", body: ConfigurationPlan },
  errors: ["configuration_too_large", "invalid_configuration", "grants_exceed_caller", "last_way_in"],
});

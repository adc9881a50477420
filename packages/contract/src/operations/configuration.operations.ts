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
    "Names, not ids. Sections that the key may not read are left out. The ETag is the tenant's generation: it changes with every command in the tenant.",
  access: "configuration:read",
  success: { status: 200, kind: "record", body: Configuration },
  errors: ["configuration_too_large"],
});

export const planConfiguration = operation({
  id: "planConfiguration",
  method: "POST",
  path: "/tenants/configuration/plan",
  tag,
  summary: "Show what applying a document would change",
  description:
    "Stores nothing. Needs the right to read each kind of record that the document has a section of. Takes up to 32 MiB.",
  access: "configuration:read",
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
  summary: "Make the tenant as a document says",
  description:
    "All or nothing, in one transaction. Needs the right to write each kind of record that changes. With `If-Match`, the ETag of a plan or an export, what was shown is what is applied. Takes up to 32 MiB.",
  access: "configuration:write",
  changesAccess: true,
  body: Configuration,
  bodyLimitBytes: configurationLimitBytes,
  conditional: true,
  success: { status: 200, kind: "record", body: ConfigurationPlan },
  errors: ["configuration_too_large", "invalid_configuration", "grants_exceed_caller"],
});

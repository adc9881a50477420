import Type, { type Static } from "typebox";
import { closedObject, component, nullable, oneOf } from "../schema.ts";

/** Limits and default of the lifetime of signed configurations, in seconds. */
export const configurationLifetime = { minimum: 600, maximum: 604_800, default: 86_400 } as const;

/** Limits of the lifetimes of sessions, in seconds: 5 minutes to 30 days. */
export const sessionSeconds = { minimum: 300, maximum: 2_592_000 } as const;

/** Limits of the lifetime of device sessions, in seconds: 15 minutes to a year. */
export const deviceSessionSeconds = { minimum: 900, maximum: 31_536_000 } as const;

/** The ways to approve the devices that people enrol by signing in. */
export const deviceApprovalModes = ["automatic", "administrator"] as const;

/** The fields of the settings of a tenant. */
export const tenantSettingsFields = {
  configurationLifetime: Type.Integer({
    minimum: configurationLifetime.minimum,
    maximum: configurationLifetime.maximum,
    description:
      "How long gateways and devices may enforce a signed configuration without the control plane, in seconds: 10 minutes to 7 days; one day by default.",
  }),
  sessionLifetime: Type.Integer({
    ...sessionSeconds,
    description:
      "Maximum duration of a session, in seconds: 5 minutes to 30 days; 12 hours by default. A shorter time also ends existing sessions earlier.",
  }),
  sessionIdleTime: Type.Integer({
    ...sessionSeconds,
    description:
      "How long a session can be without a request before it ends, in seconds: 5 minutes to 30 days; 1 hour by default. A shorter time applies to existing sessions too.",
  }),
  singleSignOnOnly: Type.Boolean({
    description:
      "Whether people sign in only through identity providers. Recovery codes remain, so that the owner is never locked out.",
  }),
  deviceApproval: Type.Unsafe<(typeof deviceApprovalModes)[number]>({
    ...oneOf(deviceApprovalModes),
    description:
      "Whether a device that its user enrols by signing in is active at once (`automatic`, the default), or waits for an administrator.",
  }),
  deviceSessionLifetime: nullable(
    Type.Integer({
      ...deviceSessionSeconds,
      description:
        "How long a device is trusted after its user signed in on it, in seconds: 15 minutes to a year; null (the default): until it is deactivated. Groups can have shorter lifetimes. When a lifetime is first set, existing devices are trusted for this time from then on. A device on which nobody has signed in is trusted for this time after its enrolment.",
    }),
  ),
};

export const TenantSettings = component(
  "TenantSettings",
  "Settings that apply to the tenant as a whole.",
  tenantSettingsFields,
);
export type TenantSettings = Static<typeof TenantSettings>;

/** Settings of a tenant to change. An omitted field keeps its value. */
export const NewTenantSettings = closedObject({
  configurationLifetime: Type.Optional(tenantSettingsFields.configurationLifetime),
  sessionLifetime: Type.Optional(tenantSettingsFields.sessionLifetime),
  sessionIdleTime: Type.Optional(tenantSettingsFields.sessionIdleTime),
  singleSignOnOnly: Type.Optional(tenantSettingsFields.singleSignOnOnly),
  deviceApproval: Type.Optional(tenantSettingsFields.deviceApproval),
  deviceSessionLifetime: Type.Optional(tenantSettingsFields.deviceSessionLifetime),
});
export type NewTenantSettings = Static<typeof NewTenantSettings>;

/** The settings of a new tenant. */
export const defaultTenantSettings: TenantSettings = {
  configurationLifetime: configurationLifetime.default,
  sessionLifetime: 43_200,
  sessionIdleTime: 3_600,
  singleSignOnOnly: false,
  deviceApproval: "automatic",
  deviceSessionLifetime: null,
};

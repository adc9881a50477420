import type { ResultOf } from "@gatehouse/client/calls";
import { type ProviderPreset, unfilledPlaceholder } from "@gatehouse/contract/records/provider-presets";
import { PasswordInput } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
import { textWithCode } from "../../messages/text-with-code.tsx";
import { type Field, nameField, type Values } from "../../records/form-fields.tsx";
import { Status } from "../../records/status.tsx";

export type IdentityProvider = ResultOf<"/tenants/identity-providers/{id}", "get">;

function stateOf({ enabled, testedAt }: IdentityProvider): "enabled" | "disabled" | "untested" {
  if (enabled) return "enabled";
  return testedAt === null ? "untested" : "disabled";
}

const tones = { enabled: "good", disabled: "idle", untested: "waiting" } as const;

export function formatState(provider: IdentityProvider): string {
  return t(`identityProviders.state.${stateOf(provider)}`);
}

export function StateOfProvider({ provider }: { readonly provider: IdentityProvider }) {
  return <Status tone={tones[stateOf(provider)]}>{formatState(provider)}</Status>;
}

const name = nameField(t("identityProviders.fields.nameExample"));

const admission: readonly Field[] = [
  {
    kind: "choice",
    name: "firstSignIn",
    label: t("identityProviders.fields.firstSignIn"),
    description: t("identityProviders.fields.firstSignInHelp"),
    options: (["NEVER", "INVITED", "OWN_DOMAINS"] as const).map((value) => ({
      value,
      label: t(`identityProviders.firstSignIns.${value}`),
    })),
  },
  {
    kind: "switch",
    name: "linkVerifiedEmail",
    label: t("identityProviders.fields.linkVerifiedEmail"),
    description: t("identityProviders.fields.linkVerifiedEmailHelp"),
  },
];

/** @param hasSecret whether the provider has a secret, which an empty field keeps */
function connection(hasSecret: boolean): readonly Field[] {
  const secretLabel = t("identityProviders.fields.clientSecret");
  const secretHelp = t(`identityProviders.fields.${hasSecret ? "clientSecretKept" : "clientSecretHelp"}`);
  return [
    {
      kind: "text",
      name: "issuer",
      label: t("identityProviders.fields.issuer"),
      description: t("identityProviders.fields.issuerHelp"),
      example: "https://login.example.com",
      required: true,
      maxLength: 500,
      validate: (value) => {
        const placeholder = unfilledPlaceholder(String(value));
        return placeholder === undefined ? undefined : t("identityProviders.fields.issuerPlaceholder", { placeholder });
      },
    },
    {
      kind: "text",
      name: "clientId",
      label: t("identityProviders.fields.clientId"),
      required: true,
      maxLength: 255,
    },
    {
      kind: "custom",
      name: "clientSecret",
      label: secretLabel,
      description: secretHelp,
      render: ({ value, onChange, error }) => (
        <PasswordInput
          label={secretLabel}
          description={secretHelp}
          value={value as string} // as the field's initial value
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
          error={error}
          autoComplete="off"
          maxLength={1000}
          visibilityToggleButtonProps={{ "aria-label": t("identityProviders.fields.showSecret") }}
        />
      ),
      format: (value) => t(value === "" ? "common.no" : "common.yes"),
    },
    {
      kind: "words",
      name: "scopes",
      label: t("identityProviders.fields.scopes"),
      description: textWithCode("identityProviders.fields.scopesHelp"),
      example: "profile",
      suggestions: ["email", "profile", "groups"],
    },
    {
      kind: "text",
      name: "groupsClaim",
      label: t("identityProviders.fields.groupsClaim"),
      description: t("identityProviders.fields.groupsClaimHelp"),
      required: true,
      maxLength: 100,
    },
  ];
}

export const newProviderFields: readonly Field[] = [name, ...connection(false), ...admission];

/** The connection of an enabled provider cannot change. */
export function fieldsOf({ enabled, hasClientSecret }: IdentityProvider): readonly Field[] {
  return [name, ...(enabled ? [] : connection(hasClientSecret)), ...admission];
}

export function newProvider(preset: ProviderPreset | undefined): Values {
  return {
    name: preset?.title ?? "",
    issuer: preset?.issuer ?? "",
    clientId: "",
    clientSecret: "",
    scopes: [...(preset?.scopes ?? ["email", "profile"])],
    groupsClaim: preset?.groupsClaim ?? "groups",
    firstSignIn: "INVITED",
    linkVerifiedEmail: false,
  };
}

export function providerValues(provider: IdentityProvider): Values {
  const { issuer, clientId, scopes, groupsClaim, firstSignIn, linkVerifiedEmail } = provider;
  const settings = { name: provider.name, firstSignIn, linkVerifiedEmail };
  if (provider.enabled) return settings;
  return { ...settings, issuer, clientId, clientSecret: "", scopes: [...scopes], groupsClaim };
}

export interface ProviderBody {
  name: string;
  issuer: string;
  clientId: string;
  clientSecret?: string;
  scopes: string[];
  groupsClaim: string;
  firstSignIn: IdentityProvider["firstSignIn"];
  linkVerifiedEmail: boolean;
}

export function bodyOf(values: Values): ProviderBody {
  const { clientSecret, ...rest } = values as unknown as ProviderBody; // as the fields define them
  return clientSecret === undefined || clientSecret === "" ? rest : { ...rest, clientSecret };
}

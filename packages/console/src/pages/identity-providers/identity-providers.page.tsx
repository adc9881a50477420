import { type ProviderPreset, providerPresets } from "@gatehouse/contract/records/provider-presets";
import { Button, Group, Stack } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { Dialog } from "../../records/dialog.tsx";
import { Intro } from "../../records/intro.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { UrlValue } from "../../records/url-value.tsx";
import {
  bodyOf,
  formatState,
  type IdentityProvider,
  newProvider,
  newProviderFields,
  StateOfProvider,
} from "./provider-fields.tsx";

const definition: ListDefinition<IdentityProvider> = {
  source: whole("/tenants/identity-providers"),
  noun: t("identityProviders.noun"),
  search: { label: t("identityProviders.searchLabel"), by: ({ name, issuer }) => `${name} ${issuer}` },
  defaultSort: "name",
  columns: [
    nameColumn("identity-providers", "whole"),
    {
      key: "state",
      title: t("identityProviders.state.label"),
      sortBy: formatState,
      cell: (provider) => <StateOfProvider provider={provider} />,
    },
    {
      key: "issuer",
      title: t("identityProviders.fields.issuer"),
      sortBy: ({ issuer }) => issuer,
      isBelow: true,
      cell: ({ issuer }) => <UrlValue url={issuer} isInList />,
    },
    {
      key: "testedAt",
      title: t("identityProviders.fields.testedAt"),
      sortBy: ({ testedAt }) => testedAt ?? "",
      visibleFrom: "md",
      cell: ({ testedAt }) => <RelativeTime at={testedAt} />,
    },
  ],
  filters: [
    {
      field: "state",
      title: t("identityProviders.state.label"),
      options: [
        { value: "enabled", label: t("identityProviders.state.enabled") },
        { value: "disabled", label: t("identityProviders.state.disabled") },
      ],
      matches: ({ enabled }, value) => value === (enabled ? "enabled" : "disabled"),
    },
  ],
  empty: {
    title: t("identityProviders.empty.title"),
    text: t("identityProviders.empty.text"),
    action: {
      label: t("identityProviders.create"),
      to: "/identity-providers?new=1",
      permission: "identity-providers:write",
    },
    guide: "identity-providers#connect-a-provider",
  },
};

export function IdentityProvidersListPage() {
  return (
    <RecordList
      title={t("identityProviders.title")}
      definition={definition}
      actions={
        <NewButton
          label={t("identityProviders.create")}
          permission="identity-providers:write"
          dialog={(close) => <NewProvider close={close} />}
        />
      }
    />
  );
}

/** Asks for the kind of provider first, because its settings fill in the form. */
function NewProvider({ close }: { readonly close: () => void }) {
  const navigate = useNavigate();
  const [chosen, choose] = useState<{ readonly preset: ProviderPreset | undefined }>();
  if (chosen === undefined) {
    return (
      <Dialog title={t("identityProviders.create")} onClose={close}>
        <Stack>
          <Intro>{t("identityProviders.presets.text")}</Intro>
          {Object.values(providerPresets).map((preset, index) => (
            <Button
              key={preset.title}
              variant="default"
              {...(index === 0 ? { "data-autofocus": true } : {})}
              onClick={() => choose({ preset })}
            >
              {preset.title}
            </Button>
          ))}
          <Button variant="default" onClick={() => choose({ preset: undefined })}>
            {t("identityProviders.presets.other")}
          </Button>
          <Group justify="flex-end" className="form-actions">
            <Button variant="default" onClick={close}>
              {t("common.cancel")}
            </Button>
          </Group>
        </Stack>
      </Dialog>
    );
  }
  return (
    <RecordForm
      title={t("identityProviders.create")}
      fields={newProviderFields}
      initial={newProvider(chosen.preset)}
      submitLabel={t("common.add")}
      submit={async (values) => {
        const { id } = await api.post("/tenants/identity-providers", { body: bodyOf(values) });
        void navigate({ to: `/identity-providers/${id}` });
      }}
      close={close}
    />
  );
}

import { Alert, Button, Code, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Info } from "lucide-react";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { CopiedValue } from "../../records/copied-value.tsx";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { Dialog } from "../../records/dialog.tsx";
import { Intro } from "../../records/intro.tsx";
import { Literals } from "../../records/literals.tsx";
import { MoreActions } from "../../records/more-actions.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { UrlValue } from "../../records/url-value.tsx";
import { readRecord, useAction, useRecord } from "../../records/use-record.ts";
import { bodyOf, fieldsOf, type IdentityProvider, providerValues, StateOfProvider } from "./provider-fields.tsx";

const path = "/tenants/identity-providers/{id}";

/** The values to enter at the identity provider. */
const toCopy = ["redirectUri", "signInUrl", "backChannelLogoutUri", "postLogoutRedirectUri"] as const;

export function IdentityProviderPage() {
  const { id = "" } = useParams({ strict: false });
  // A test succeeds in another tab.
  const { data, error, refetch } = useRecord(path, id, 5_000);
  const provider = data?.record;
  return (
    <RecordPage
      list={{ to: "/identity-providers", title: t("identityProviders.title") }}
      title={provider?.name}
      status={provider && <StateOfProvider provider={provider} />}
      actions={data && <Actions provider={data.record} etag={data.etag} />}
      error={error}
      retry={refetch}
    >
      {provider && (
        <>
          <NextStep provider={provider} />
          <Panel title={t("common.about")}>
            <Facts facts={factsOf(provider)} />
          </Panel>
        </>
      )}
    </RecordPage>
  );
}

function NextStep({ provider: { enabled, testedAt } }: { readonly provider: IdentityProvider }) {
  const canWrite = usePermission("identity-providers:write");
  if (enabled || !canWrite) return null;
  return (
    <Alert color="blue" icon={<Info aria-hidden />} title={t("identityProviders.nextStep.title")} role="note">
      {t(`identityProviders.nextStep.${testedAt === null ? "test" : "enable"}`)}
    </Alert>
  );
}

function factsOf(provider: IdentityProvider) {
  const { issuer, clientId, hasClientSecret, scopes, groupsClaim, firstSignIn, linkVerifiedEmail } = provider;
  const yesNo = (is: boolean) => t(is ? "common.yes" : "common.no");
  return [
    ...toCopy.map((name) => {
      const label = t(`identityProviders.fields.${name}`);
      return { label, value: <CopiedValue label={label} text={provider[name]} /> };
    }),
    { label: t("identityProviders.fields.issuer"), value: <UrlValue url={issuer} /> },
    { label: t("identityProviders.fields.clientId"), value: <Code>{clientId}</Code> },
    { label: t("identityProviders.fields.hasClientSecret"), value: yesNo(hasClientSecret) },
    { label: t("identityProviders.fields.scopes"), value: scopes.length > 0 && <Literals texts={scopes} /> },
    { label: t("identityProviders.fields.groupsClaim"), value: <Code>{groupsClaim}</Code> },
    {
      label: t("identityProviders.fields.firstSignIn"),
      value: t(`identityProviders.firstSignIns.${firstSignIn}`),
    },
    { label: t("identityProviders.fields.linkVerifiedEmail"), value: yesNo(linkVerifiedEmail) },
    { label: t("identityProviders.fields.testedAt"), value: <RelativeTime at={provider.testedAt} /> },
    { label: t("common.created"), value: <RelativeTime at={provider.createdAt} /> },
    { label: t("common.changed"), value: <RelativeTime at={provider.updatedAt} /> },
  ];
}

interface ActionsProps {
  readonly provider: IdentityProvider;
  readonly etag: string;
}

function Actions({ provider, etag }: ActionsProps) {
  const canWrite = usePermission("identity-providers:write");
  const navigate = useNavigate();
  const [editing, edit] = useDisclosure(false);
  const [testUrl, setTestUrl] = useState<string>();
  const { id, enabled, testedAt } = provider;
  const test = useAction({
    run: async () => {
      const { url } = await api.post("/tenants/identity-providers/{id}/test", { path: { id } });
      setTestUrl(url);
    },
    done: t("identityProviders.testStarted"),
  });
  const change = useAction({
    run: () => api.patch(path, { path: { id }, body: { enabled: !enabled }, ifMatch: etag }),
    done: t(`identityProviders.${enabled ? "disabled" : "enabled"}`),
  });
  if (!canWrite) return null;
  const testButton = (
    <Button
      key="test"
      variant={testedAt === null ? "filled" : "default"}
      loading={test.isPending}
      onClick={() => test.mutate()}
    >
      {t("identityProviders.test")}
    </Button>
  );
  const editButton = (
    <Button key="edit" variant={testedAt === null ? "default" : "filled"} onClick={edit.open}>
      {t("common.edit")}
    </Button>
  );
  return (
    <>
      {testedAt !== null && testButton}
      {(enabled || testedAt !== null) && (
        <Button variant="default" loading={change.isPending} onClick={() => change.mutate()}>
          {t(`identityProviders.${enabled ? "disable" : "enable"}`)}
        </Button>
      )}
      {testedAt === null && editButton}
      <MoreActions>
        <DeleteRecord
          title={t("identityProviders.delete.title", { name: provider.name })}
          effect={t("identityProviders.delete.effect")}
          path={`/tenants/identity-providers/${id}`}
          etag={etag}
          changesAccess={false}
          done={() => void navigate({ to: "/identity-providers" })}
        />
      </MoreActions>
      {/* The last action is the primary one, the next step: an untested provider cannot be enabled. */}
      {testedAt === null ? testButton : editButton}
      {testUrl !== undefined && (
        <Dialog title={t("identityProviders.test")} onClose={() => setTestUrl(undefined)}>
          <Stack align="flex-start">
            <Intro>{t("identityProviders.testText")}</Intro>
            <Button component="a" href={testUrl} target="_blank" rel="noopener" onClick={() => setTestUrl(undefined)}>
              {t("identityProviders.openTest")}
            </Button>
          </Stack>
        </Dialog>
      )}
      {editing && (
        <RecordForm
          title={t("identityProviders.edit", { name: provider.name })}
          fields={fieldsOf(provider)}
          initial={providerValues(provider)}
          submitLabel={t("common.save")}
          submit={(values, ifMatch) => api.patch(path, { path: { id }, body: bodyOf(values), ifMatch })}
          close={edit.close}
          edits={{
            etag,
            reload: async () => {
              const stored = await readRecord(path, id);
              return { values: providerValues(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}

import { Button, Code, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { usePermission } from "../../app/session.ts";
import { Warning } from "../../app/warning.tsx";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { EmptyState } from "../../records/empty-list.tsx";
import { Intro } from "../../records/intro.tsx";
import { MoreActions } from "../../records/more-actions.tsx";
import { PoliciesTab } from "../../records/policies-tab.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RecordTabs } from "../../records/record-tabs.tsx";
import { ExactTime, RelativeTime } from "../../records/relative-time.tsx";
import { removeGateway } from "../../records/remove-from-policies.ts";
import { ReviewedButton } from "../../records/reviewed-change.tsx";
import { StatusOf } from "../../records/status.tsx";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { DeployCommand } from "./deploy-command.tsx";
import { bodyOf, type Gateway, gatewayFields, gatewayValues, isDeployed } from "./gateway-fields.ts";
import { GatewaySettingsPanel } from "./gateway-settings.tsx";
import { GatewaySyncPanel } from "./gateway-sync.tsx";

const path = "/tenants/gateways/{id}";

/** Short, because people wait on this page for the gateway to connect. */
const refreshMs = 2_000;

export function GatewayPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id, refreshMs);
  const gateway = data?.record;
  const [revokedAt, setRevokedAt] = useState<string>();
  const canReadPolicies = usePermission("policies:read");
  const behind = new Set(gateway?.resources?.map((resource) => resource.id));
  return (
    <RecordPage
      list={{ to: "/gateways", title: t("gateways.title") }}
      title={gateway?.name}
      status={
        gateway && (
          <span aria-live="polite">
            <StatusOf value={gateway.status} />
          </span>
        )
      }
      actions={data && <Actions gateway={data.record} etag={data.etag} tokenRevoked={() => setRevokedAt(id)} />}
      graph={gateway && `/access?view=graph&focus=gateway:${gateway.id}`}
      error={error}
      retry={refetch}
    >
      {gateway && (
        <RecordTabs
          access={
            canReadPolicies ? (
              <PoliciesTab
                title={t("records.policiesTab.gateway")}
                empty={t("records.policiesTab.gatewayEmpty")}
                concerns={({ resources, allResources, isDefault }) =>
                  !isDefault && (allResources || resources.some(({ id: named }) => behind.has(named)))
                }
              />
            ) : undefined
          }
        >
          <About gateway={gateway} isRevoked={revokedAt === id} />
        </RecordTabs>
      )}
    </RecordPage>
  );
}

interface AboutProps {
  readonly gateway: Gateway;
  /** Whether the previous token was revoked on this page. The API keeps no trace of that token. */
  readonly isRevoked: boolean;
}

function About({ gateway, isRevoked }: AboutProps) {
  const isFirst = !isDeployed(gateway);
  const formerTokensEndAt = endOfFormerTokens(gateway);
  // A new token must get to the machine in time.
  const isAbove = isFirst || isRevoked || formerTokensEndAt !== undefined;
  const deployment = (
    <Deployment
      key={`${isFirst} ${isRevoked} ${formerTokensEndAt}`}
      gateway={gateway}
      isFirst={isFirst}
      isRevoked={isRevoked}
      formerTokensEndAt={formerTokensEndAt}
    />
  );
  return (
    <>
      {isAbove && deployment}
      {gateway.status !== "PENDING" && <GatewaySyncPanel id={gateway.id} refreshMs={refreshMs} />}
      <Panel title={t("common.about")}>
        <Facts
          facts={[
            { label: t("common.description"), value: gateway.description },
            {
              label: t("gateways.fields.endpoint"),
              value:
                gateway.endpoint === undefined ? (
                  t("gateways.fields.endpointDetected")
                ) : (
                  <Code>{gateway.endpoint}</Code>
                ),
            },
            { label: t("gateways.fields.port"), value: gateway.wireguardPort },
            {
              label: t("gateways.fields.relay"),
              value: gateway.relayEnabled === true ? t("common.yes") : t("common.no"),
            },
            { label: t("gateways.fields.lastOnline"), value: <RelativeTime at={gateway.lastOnline} /> },
            {
              label: t("gateways.fields.deployedOn"),
              value: <RelativeTime at={gateway.deployedOn} never={t("gateways.fields.deployedNever")} />,
            },
            { label: t("common.created"), value: <RelativeTime at={gateway.createdAt} /> },
            { label: t("common.changed"), value: <RelativeTime at={gateway.updatedAt} /> },
          ]}
        />
      </Panel>
      <GatewaySettingsPanel id={gateway.id} name={gateway.name} />
      <Panel title={t("gateways.resources", { count: gateway.resources?.length ?? 0 })}>
        {(gateway.resources ?? []).length === 0 ? (
          <EmptyState
            isPart
            empty={{
              title: t("resources.empty.title"),
              text: t("gateways.resourcesEmpty"),
              action: { label: t("publish.title"), to: "/publish", permission: "resources:write" },
              guide: "console#publish-a-resource",
            }}
          />
        ) : (
          <Stack gap="xs">
            <div>
              <RecordLinks path="resources" records={gateway.resources ?? []} />
            </div>
            <Text size="sm" c="dimmed">
              {t("gateways.resourcesNote")}
            </Text>
          </Stack>
        )}
      </Panel>
      {!isAbove && deployment}
    </>
  );
}

/** When the previous tokens stop working. Undefined if none of them works. */
function endOfFormerTokens({ formerTokensEndAt }: Gateway): string | undefined {
  return formerTokensEndAt !== undefined && Date.parse(formerTokensEndAt) > Date.now() ? formerTokensEndAt : undefined;
}

interface DeploymentProps {
  readonly gateway: Gateway;
  /** Whether the gateway was never deployed. */
  readonly isFirst: boolean;
  readonly isRevoked: boolean;
  readonly formerTokensEndAt: string | undefined;
}

/** After the first deployment, commands are needed again for a new token, and for a new machine. */
function Deployment({ gateway, isFirst, isRevoked, formerTokensEndAt }: DeploymentProps) {
  const isUpdateDue = isRevoked || formerTokensEndAt !== undefined;
  const [shown, setShown] = useState<"deploy" | "update" | undefined>(isUpdateDue ? "update" : undefined);
  if (isFirst) {
    return (
      <Panel title={t("gateways.deploy.title")}>
        <DeployCommand gateway={gateway} />
      </Panel>
    );
  }
  return (
    <Panel title={t("gateways.deploy.title")}>
      <Stack gap="sm">
        {formerTokensEndAt === undefined ? (
          isRevoked ? (
            <Warning>{t("gateways.deploy.revoked")}</Warning>
          ) : (
            <Intro>{t("gateways.deploy.again")}</Intro>
          )
        ) : (
          <Warning>
            <RichText message="gateways.deploy.rotated" elements={{ time: <ExactTime at={formerTokensEndAt} /> }} />
          </Warning>
        )}
        <Group gap="xs">
          {(["update", "deploy"] as const).map((purpose) => (
            <Button
              key={purpose}
              size="xs"
              variant={shown === purpose ? "light" : "default"}
              aria-pressed={shown === purpose}
              onClick={() => setShown(shown === purpose ? undefined : purpose)}
            >
              {purpose === "update" ? t("gateways.deploy.update") : t("gateways.deploy.show")}
            </Button>
          ))}
        </Group>
        {shown !== undefined && <DeployCommand key={shown} gateway={gateway} purpose={shown} />}
      </Stack>
    </Panel>
  );
}

interface Step {
  readonly label: string;
  readonly verb: string;
  readonly note: string;
  readonly done: string;
  readonly changesAccess?: boolean;
  readonly body?: object;
  readonly danger?: boolean;
  /** The query parameter that opens the dialog. */
  readonly action?: string;
}

const steps = {
  enter: {
    label: t("gateways.steps.enterMaintenance.label"),
    verb: "enter-maintenance",
    note: t("gateways.steps.enterMaintenance.note"),
    done: t("gateways.steps.enterMaintenance.done"),
  },
  exit: {
    label: t("gateways.steps.exitMaintenance.label"),
    verb: "exit-maintenance",
    note: t("gateways.steps.exitMaintenance.note"),
    done: t("gateways.steps.exitMaintenance.done"),
  },
  relay: {
    label: t("gateways.steps.enableRelay.label"),
    verb: "enable-relay",
    note: t("gateways.steps.enableRelay.note"),
    done: t("gateways.steps.enableRelay.done"),
  },
  noRelay: {
    label: t("gateways.steps.disableRelay.label"),
    verb: "disable-relay",
    note: t("gateways.steps.disableRelay.note"),
    done: t("gateways.steps.disableRelay.done"),
  },
  rotate: {
    label: t("gateways.steps.rotateToken.label"),
    verb: "rotate-token",
    note: t("gateways.steps.rotateToken.note"),
    done: t("gateways.steps.rotateToken.done"),
    changesAccess: false,
    action: "rotate",
  },
  revoke: {
    label: t("gateways.steps.revokeToken.label"),
    verb: "rotate-token",
    body: { graceSeconds: 0 },
    note: t("gateways.steps.revokeToken.note"),
    done: t("gateways.steps.revokeToken.done"),
    changesAccess: false,
    danger: true,
  },
  resetKey: {
    label: t("gateways.steps.resetKey.label"),
    verb: "reset-key",
    note: t("gateways.steps.resetKey.note"),
    done: t("gateways.steps.resetKey.done"),
    changesAccess: false,
  },
} as const satisfies Readonly<Record<string, Step>>;

interface ActionsProps {
  readonly gateway: Gateway;
  readonly etag: string;
  readonly tokenRevoked: () => void;
}

function Actions({ gateway, etag, tokenRevoked }: ActionsProps) {
  const canWrite = usePermission("gateways:write");
  const canWritePolicies = usePermission("policies:write");
  const navigate = useNavigate();
  const [editing, { open, close }] = useDisclosure(false);
  const at = `/tenants/gateways/${gateway.id}`;
  if (!canWrite) return null;
  const offered: readonly Step[] = [
    gateway.status === "MAINTENANCE" ? steps.exit : steps.enter,
    gateway.relayEnabled === true ? steps.noRelay : steps.relay,
    steps.rotate,
    steps.revoke,
    steps.resetKey,
  ];
  return (
    <>
      <MoreActions>
        {offered.map((step) => (
          <ReviewedButton
            key={step.label}
            label={step.label}
            title={t("gateways.steps.title", { step: step.label, name: gateway.name })}
            note={step.note}
            changes={[{ method: "POST", path: `${at}/${step.verb}`, ...(step.body && { body: step.body }) }]}
            changesAccess={step.changesAccess ?? true}
            etag={etag}
            doneMessage={step.done}
            danger={step.danger ?? false}
            {...(step.action === undefined ? {} : { action: step.action })}
            {...(step === steps.revoke && { done: tokenRevoked })}
          />
        ))}
        <DeleteRecord
          title={t("gateways.delete.title", { name: gateway.name })}
          effect={t("gateways.delete.effect", { count: gateway.resources?.length ?? 0 })}
          path={at}
          etag={etag}
          remedy={(error) => (canWritePolicies ? removeGateway({ record: gateway, etag }, error) : undefined)}
          done={() => void navigate({ to: "/gateways" })}
        />
      </MoreActions>
      <Button onClick={open}>{t("common.edit")}</Button>
      {editing && (
        <RecordForm
          title={t("gateways.edit", { name: gateway.name })}
          fields={gatewayFields}
          initial={gatewayValues(gateway)}
          submitLabel={t("common.save")}
          plan={(values) => [{ method: "PUT", path: at, body: bodyOf(values) }]}
          close={close}
          edits={{
            etag,
            reload: async () => {
              const stored = await readRecord(path, gateway.id);
              return { values: gatewayValues(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}

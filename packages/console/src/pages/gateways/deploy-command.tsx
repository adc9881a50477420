/** The commands and files that deploy a gateway: one tab for each kind of machine. */
import {
  gatewaySnippets,
  packageSnippetKinds,
  type SnippetKind,
  snippetKinds,
  tokenUpdateKinds,
  tokenUpdateSnippets,
} from "@gatehouse/contract/deployment-snippets";
import { Button, Group, Loader, Skeleton, Stack, Tabs, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { CopyText } from "../../app/copy.tsx";
import { installationQuery, isLoopback } from "../../app/installation.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { nextConfirmation } from "../../app/step-up.ts";
import { Warning } from "../../app/warning.tsx";
import { t } from "../../messages/i18n.ts";
import { textWithCode } from "../../messages/text-with-code.tsx";
import { CodeLines } from "../../records/code-lines.tsx";
import { GuideLink, type GuidePart } from "../../records/guide-link.tsx";
import { LoopbackNote } from "../../records/loopback-note.tsx";
import { ScrollingTabs } from "../../records/scrolling-tabs.tsx";
import { type Gateway, isDeployed } from "./gateway-fields.ts";

/** The token in the answers to callers without `gateways:token`, and to people who authenticated too long ago. */
const hidden = "<redacted>";

type Purpose = "deploy" | "update";

const guides: Readonly<Record<SnippetKind, GuidePart>> = {
  debian: "gateway#install",
  debianFile: "gateway#install",
  cloudInit: "gateway#containers-and-clusters",
  container: "gateway#containers-and-clusters",
  compose: "gateway#containers-and-clusters",
  helm: "gateway#containers-and-clusters",
  checkout: "gateway#install",
};

/** The snippets that work with this server, the usual one first, and the one for developers last. */
function offeredKinds(purpose: Purpose, hasAgentPackages: boolean): readonly SnippetKind[] {
  if (purpose === "update") return tokenUpdateKinds;
  return snippetKinds.filter((kind) =>
    hasAgentPackages ? kind !== "debianFile" : !packageSnippetKinds.includes(kind),
  );
}

interface DeployCommandProps {
  readonly gateway: Gateway;
  /** Whether to deploy the gateway on a machine, or to update its token there. */
  readonly purpose?: Purpose;
}

export function DeployCommand({ gateway, purpose = "deploy" }: DeployCommandProps) {
  const [isRevealed, setRevealed] = useState(false);
  const [chosen, setChosen] = useState<SnippetKind>();
  const { data: installation, error, refetch } = useQuery(installationQuery);
  const maySeeTokens = usePermission("gateways:token");
  if (gateway.token === hidden) {
    if (maySeeTokens) return <ConfirmationForToken />;
    return <Text c="dimmed">{textWithCode("gateways.deploy.noPermission")}</Text>;
  }
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (installation === undefined) return <Skeleton height={120} aria-busy />;
  const { publicUrl: url, hasAgentPackages } = installation;
  const kinds = offeredKinds(purpose, hasAgentPackages);
  const kind = chosen ?? kinds[0] ?? "checkout";
  const updated = tokenUpdateKinds.find((each) => each === kind);
  const isUpdate = purpose === "update" && updated !== undefined;
  const snippet = isUpdate ? tokenUpdateSnippets[updated] : gatewaySnippets[kind];
  const masked = snippet({ url, token: "•".repeat(12) });
  const containsUrl = masked.includes(url);
  return (
    <Stack gap="sm">
      {!hasAgentPackages && purpose === "deploy" && (
        <Warning>
          {textWithCode("gateways.deploy.noPackages")} <GuideLink to="deployment#packages-for-agents" isNamed />
        </Warning>
      )}
      {containsUrl && <LoopbackNote url={url} about="command" />}
      {containsUrl && !isLoopback(url) && url.startsWith("http://") && (
        <Warning>
          {textWithCode("gateways.deploy.plainHttp")} <GuideLink to="configuration#server" isNamed />
        </Warning>
      )}
      <Tabs value={kind} onChange={(next) => setChosen(kinds.find((known) => known === next))}>
        <ScrollingTabs
          tabs={kinds.map((value) => ({ value, label: t(`gateways.deploy.kinds.${value}`) }))}
          selected={kind}
        />
        <Tabs.Panel value={kind} pt="sm">
          <Stack gap="sm">
            <Text size="sm">
              {textWithCode(
                isUpdate ? `gateways.deploy.updateInstructions.${updated}` : `gateways.deploy.instructions.${kind}`,
              )}{" "}
              <GuideLink to={isUpdate ? "gateway#rotate-the-token" : guides[kind]} isNamed />
            </Text>
            <CodeLines>{isRevealed ? snippet({ url, token: gateway.token }) : masked}</CodeLines>
          </Stack>
        </Tabs.Panel>
      </Tabs>
      <Group>
        <CopyText text={snippet({ url, token: gateway.token })} size="xs">
          {t("gateways.deploy.copy")}
        </CopyText>
        <Button size="xs" variant="default" aria-pressed={isRevealed} onClick={() => setRevealed(!isRevealed)}>
          {isRevealed ? t("gateways.deploy.hide") : t("gateways.deploy.reveal")}
        </Button>
        {purpose === "deploy" && !isDeployed(gateway) && (
          <Group gap={8} component="span" wrap="nowrap">
            <Loader size={16} aria-hidden />
            <Text size="sm" component="span">
              {t("gateways.deploy.waiting")}
            </Text>
          </Group>
        )}
      </Group>
    </Stack>
  );
}

/** Reads the token again after the person has confirmed. */
function ConfirmationForToken() {
  const client = useQueryClient();
  const confirm = async () => {
    if (await nextConfirmation()) await client.invalidateQueries();
  };
  return (
    <Stack gap="sm" align="start">
      <Text c="dimmed">{t("gateways.deploy.hiddenToken")}</Text>
      <Button size="xs" variant="default" onClick={() => void confirm()}>
        {t("gateways.deploy.confirm")}
      </Button>
    </Stack>
  );
}

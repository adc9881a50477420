/** The commands and files that deploy a gateway: one tab for each kind of machine. */
import { gatewaySnippets, type SnippetKind, snippetKinds } from "@gatehouse/contract/deployment-snippets";
import { Alert, Button, Code, Group, Loader, Stack, Tabs, Text } from "@mantine/core";
import { useState } from "react";
import { CopyText } from "../../app/copy.tsx";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import type { Gateway } from "./gateway-fields.ts";

/** The token in the answers to keys without the permission `gateways:token`. */
const hidden = "<redacted>";

export function DeployCommand({ gateway }: { readonly gateway: Gateway }) {
  const [isRevealed, setRevealed] = useState(false);
  const [kind, setKind] = useState<SnippetKind>("debian");
  if (gateway.token === hidden) {
    return (
      <Text c="dimmed">
        <RichText message="gateways.deploy.noPermission" elements={{ code: <Code /> }} />
      </Text>
    );
  }
  const { origin: url } = globalThis.location;
  const snippet = gatewaySnippets[kind];
  return (
    <Stack gap="sm">
      <Tabs value={kind} onChange={(next) => setKind(snippetKinds.find((known) => known === next) ?? "debian")}>
        <Tabs.List>
          {snippetKinds.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {t(`gateways.deploy.kinds.${each}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={kind} pt="sm">
          <Stack gap="sm">
            <Text size="sm">
              <RichText message={`gateways.deploy.instructions.${kind}`} elements={{ code: <Code /> }} />
            </Text>
            <Code block style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
              {snippet({ url, token: isRevealed ? gateway.token : "•".repeat(12) })}
            </Code>
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
        {gateway.status === "PENDING" && (
          <Group gap={8} component="span">
            <Loader size={14} aria-hidden />
            <Text size="sm" component="span">
              {t("gateways.deploy.waiting")}
            </Text>
          </Group>
        )}
      </Group>
      {url.startsWith("http://") && (
        <Alert color="yellow" variant="outline">
          {t("gateways.deploy.plainHttp")}
        </Alert>
      )}
    </Stack>
  );
}

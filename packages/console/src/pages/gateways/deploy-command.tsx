/** The command that deploys a gateway. */
import { Alert, Button, Code, Group, Loader, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { CopyText } from "../../app/copy.tsx";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import type { Gateway } from "./gateway-fields.ts";

/** @param origin of the Gatehouse server, such as https://gatehouse.example.com */
export function deployCommand(origin: string, token: string): string {
  return `(umask 077 && printf %s '${token}' > gatehouse-gateway.token) && gatehouse-gateway --url ${origin} --token-file gatehouse-gateway.token`;
}

/** The token in the answers to keys without the permission `gateways:token`. */
const hidden = "<redacted>";

export function DeployCommand({ gateway }: { readonly gateway: Gateway }) {
  const [isRevealed, setRevealed] = useState(false);
  if (gateway.token === hidden) {
    return (
      <Text c="dimmed">
        <RichText message="gateways.deploy.noPermission" elements={{ code: <Code /> }} />
      </Text>
    );
  }
  const { origin } = globalThis.location;
  return (
    <Stack gap="sm">
      <Text size="sm">
        <RichText message="gateways.deploy.instructions" elements={{ code: <Code /> }} />
      </Text>
      <Code block style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {deployCommand(origin, isRevealed ? gateway.token : "•".repeat(12))}
      </Code>
      <Group>
        <CopyText text={deployCommand(origin, gateway.token)} size="xs">
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
      {origin.startsWith("http://") && (
        <Alert color="yellow" variant="outline">
          {t("gateways.deploy.plainHttp")}
        </Alert>
      )}
    </Stack>
  );
}

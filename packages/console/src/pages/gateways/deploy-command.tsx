/** The one command that brings a gateway into service. */
import { Alert, Button, Code, CopyButton, Group, Loader, Stack, Text } from "@mantine/core";
import type { Gateway } from "./gateway-fields.ts";

/** @param origin where Gatehouse answers, such as https://gatehouse.example.com */
export function deployCommand(origin: string, token: string): string {
  return `(umask 077 && printf %s '${token}' > gatehouse-gateway.token) && gatehouse-gateway --url ${origin} --token-file gatehouse-gateway.token`;
}

const hidden = "<redacted>";

export function DeployCommand({ gateway }: { readonly gateway: Gateway }) {
  if (gateway.token === hidden) {
    return (
      <Text c="dimmed">
        The command holds the gateway's token, which your key may not see. Ask somebody whose key holds{" "}
        <Code>gateways:token</Code>.
      </Text>
    );
  }
  const { origin } = globalThis.location;
  return (
    <Stack gap="sm">
      <Text size="sm">
        Run this as root on the machine that is to be the gateway: Linux, with <Code>gatehouse-gateway</Code> installed.
      </Text>
      <Code block style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {deployCommand(origin, "•".repeat(12))}
      </Code>
      <Group>
        <CopyButton value={deployCommand(origin, gateway.token)}>
          {({ copied, copy }) => (
            <Button size="xs" onClick={copy}>
              {copied ? "Copied" : "Copy the command with its token"}
            </Button>
          )}
        </CopyButton>
        {gateway.status === "PENDING" && (
          <Group gap={8} component="span">
            <Loader size={14} aria-hidden />
            <Text size="sm" component="span">
              Waiting for it to connect. This page shows when it does.
            </Text>
          </Group>
        )}
      </Group>
      {origin.startsWith("http://") && (
        <Alert color="yellow" variant="outline">
          This page came without TLS, so its address may not be the one that gateways should use.
        </Alert>
      )}
    </Stack>
  );
}

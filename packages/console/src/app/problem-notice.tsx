/** What went wrong, in words, with the request id for whoever looks into the log. */
import { GatehouseError, NoResponseError } from "@gatehouse/client/errors";
import { Alert, Anchor, Button, Code, CopyButton, Group, Text } from "@mantine/core";
import { TriangleAlert } from "lucide-react";

interface Told {
  readonly title: string;
  readonly detail: string;
}

export function toldOf(error: unknown): Told {
  if (error instanceof GatehouseError) {
    // Of a preview, the request that it is about stands before: the page knows which it asked for.
    const detail = error.problem.detail.replace(/^(?:POST|PUT|PATCH|DELETE) \/tenants\/\S+: /, "");
    return { title: error.problem.title, detail };
  }
  if (error instanceof NoResponseError) {
    return {
      title: "Gatehouse does not answer",
      detail: error.timedOut
        ? "No whole answer came in time. Of a change it is not known whether it was made: look before you repeat it."
        : "The connection failed. Check the network, and whether the server runs.",
    };
  }
  return { title: "Something went wrong", detail: error instanceof Error ? error.message : String(error) };
}

interface ProblemNoticeProps {
  readonly error: unknown;
  readonly retry?: (() => unknown) | undefined;
}

export function ProblemNotice({ error, retry }: ProblemNoticeProps) {
  const { title, detail } = toldOf(error);
  const known = error instanceof GatehouseError ? error : undefined;
  // What is said of a whole change of a preview is what the detail says.
  const told = known?.errors.filter(({ pointer }) => !/^\/changes\/\d+$/.test(pointer)) ?? [];
  return (
    <Alert color="red" variant="outline" icon={<TriangleAlert aria-hidden />} title={title} role="alert" maw={720}>
      <Text size="sm">{detail}</Text>
      {told.length > 1 && (
        <ul>
          {told.map(({ pointer, message }) => (
            <li key={`${pointer} ${message}`}>
              <Place pointer={pointer} message={message} />
            </li>
          ))}
        </ul>
      )}
      <Group mt="sm" gap="sm">
        {retry !== undefined && (
          <Button size="xs" variant="default" onClick={() => retry()}>
            Try again
          </Button>
        )}
        {known !== undefined && (
          <>
            <Anchor size="sm" href={`/errors/${known.code}`} target="_blank">
              What this means
            </Anchor>
            <CopyButton value={known.requestId}>
              {({ copied, copy }) => (
                <Button size="xs" variant="subtle" color="gray" c="var(--mantine-color-text)" onClick={copy}>
                  {copied ? "Copied" : `Copy request id ${known.requestId.slice(0, 8)}…`}
                </Button>
              )}
            </CopyButton>
          </>
        )}
      </Group>
    </Alert>
  );
}

interface PlaceProps {
  readonly pointer: string;
  readonly message: string;
}

/** Where something is wrong: a record that stands in the way, or a field. */
function Place({ pointer, message }: PlaceProps) {
  const record = /^\/tenants(\/[a-z-]+\/[0-9a-f-]{36})$/.exec(pointer)?.[1];
  if (record !== undefined) {
    return (
      <Anchor href={`/console${record}`} size="sm">
        {message}
      </Anchor>
    );
  }
  return (
    <>
      <Code>{pointer.replace(/^\/changes\/\d+\/body/, "")}</Code> {message}
    </>
  );
}

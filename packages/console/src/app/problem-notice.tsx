/** What went wrong, in words, with the request id for whoever looks into the log. */
import { GatehouseError, NoAnswerError } from "@gatehouse/client/errors";
import { Alert, Anchor, Button, Code, CopyButton, Group, Text } from "@mantine/core";
import { TriangleAlert } from "lucide-react";

interface Told {
  readonly title: string;
  readonly detail: string;
}

export function toldOf(error: unknown): Told {
  if (error instanceof GatehouseError) return { title: error.problem.title, detail: error.problem.detail };
  if (error instanceof NoAnswerError) {
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
  return (
    <Alert color="red" variant="outline" icon={<TriangleAlert aria-hidden />} title={title} role="alert" maw={720}>
      <Text size="sm">{detail}</Text>
      {known !== undefined && known.errors.length > 1 && (
        <ul>
          {known.errors.map(({ pointer, message }) => (
            <li key={`${pointer} ${message}`}>
              <Code>{pointer}</Code> {message}
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

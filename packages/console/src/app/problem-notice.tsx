/** An error notice with the request id, which identifies the request in the server's log. */
import { GatehouseError, NoAnswerError } from "@gatehouse/client/errors";
import { Alert, Anchor, Button, Code, CopyButton, Group, Text } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import { t } from "../messages/i18n.ts";

interface Description {
  readonly title: string;
  readonly detail: string;
}

export function describeProblem(error: unknown): Description {
  if (error instanceof GatehouseError) {
    // An error of a preview starts with the request that it concerns. The page knows that request.
    const detail = error.problem.detail.replace(/^(?:POST|PUT|PATCH|DELETE) \/tenants\/\S+: /, "");
    return { title: error.problem.title, detail };
  }
  if (error instanceof NoAnswerError) {
    return {
      title: t("app.problem.noResponse"),
      detail: error.timedOut ? t("app.problem.timedOut") : t("app.problem.connectionFailed"),
    };
  }
  return { title: t("app.problem.unexpected"), detail: error instanceof Error ? error.message : String(error) };
}

interface ProblemNoticeProps {
  readonly error: unknown;
  readonly retry?: (() => unknown) | undefined;
}

export function ProblemNotice({ error, retry }: ProblemNoticeProps) {
  const { title, detail } = describeProblem(error);
  const known = error instanceof GatehouseError ? error : undefined;
  // An error about a whole change of a preview repeats the detail.
  const fieldErrors = known?.errors.filter(({ pointer }) => !/^\/changes\/\d+$/.test(pointer)) ?? [];
  return (
    <Alert color="red" variant="outline" icon={<TriangleAlert aria-hidden />} title={title} role="alert" maw={720}>
      <Text size="sm">{detail}</Text>
      {fieldErrors.length > 1 && (
        <ul>
          {fieldErrors.map(({ pointer, message }) => (
            <li key={`${pointer} ${message}`}>
              <FieldError pointer={pointer} message={message} />
            </li>
          ))}
        </ul>
      )}
      <Group mt="sm" gap="sm">
        {retry !== undefined && (
          <Button size="xs" variant="default" onClick={() => retry()}>
            {t("app.problem.retry")}
          </Button>
        )}
        {known !== undefined && (
          <>
            <Anchor size="sm" href={`/errors/${known.code}`} target="_blank">
              {t("app.problem.explain")}
            </Anchor>
            <CopyButton value={known.requestId}>
              {({ copied, copy }) => (
                <Button size="xs" variant="subtle" color="gray" c="var(--mantine-color-text)" onClick={copy}>
                  {copied ? t("common.copied") : t("app.problem.copyRequestId", { id: known.requestId.slice(0, 8) })}
                </Button>
              )}
            </CopyButton>
          </>
        )}
      </Group>
    </Alert>
  );
}

interface FieldErrorProps {
  readonly pointer: string;
  readonly message: string;
}

/** One error, at a field or about a record that prevents the change. */
function FieldError({ pointer, message }: FieldErrorProps) {
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

/** An error notice with the request id, which identifies the request in the server's log. */
import { GatehouseError, NoResponseError, UnexpectedResponseError } from "@gatehouse/client/errors";
import { Alert, Anchor, Button, Group, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { t } from "../messages/i18n.ts";
import { CopyText } from "./copy.tsx";

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
  if (error instanceof NoResponseError) {
    return {
      title: t("app.problem.noResponse"),
      detail: error.timedOut ? t("app.problem.timedOut") : t("app.problem.connectionFailed"),
    };
  }
  if (isUnavailable(error)) {
    return { title: t("app.problem.unavailable", { status: error.status }), detail: t("app.problem.unavailableText") };
  }
  return { title: t("app.problem.unexpected"), detail: error instanceof Error ? error.message : String(error) };
}

/** Whether something in front of Gatehouse answered that the server is not available. */
function isUnavailable(error: unknown): error is UnexpectedResponseError {
  return error instanceof UnexpectedResponseError && error.status >= 500;
}

/** The maximum number of listed errors. A configuration document can have hundreds. */
const mostErrors = 10;

interface ProblemNoticeProps {
  readonly error: unknown;
  readonly retry?: (() => unknown) | undefined;
}

export function ProblemNotice({ error, retry }: ProblemNoticeProps) {
  const { title, detail } = describeProblem(error);
  const known = error instanceof GatehouseError ? error : undefined;
  // An error about a whole change of a preview repeats the detail.
  const fieldErrors = known?.errors.filter(({ pointer }) => !/^\/changes\/\d+$/.test(pointer)) ?? [];
  const namesRecords = fieldErrors.some(({ pointer }) => recordAt(pointer) !== undefined);
  const hasReport = known !== undefined && !namesRecords;
  const isListed = fieldErrors.length > 1 || namesRecords;
  return (
    <Alert
      // Records that prevent a change are an expected answer, not a failure.
      color={namesRecords ? "yellow" : "red"}
      title={title}
      role="alert"
      maw={760}
    >
      {/* The detail may end with the first error at its JSON Pointer, or repeats the records. The list shows both. */}
      {!namesRecords && <Text size="sm">{isListed ? detail.replace(/ \/\S*: .*$/s, "") : detail}</Text>}
      {isListed && (
        <ul className="bullets">
          {fieldErrors.slice(0, mostErrors).map(({ pointer, message }) => (
            <li key={`${pointer} ${message}`}>
              <FieldError pointer={pointer} message={message} />
            </li>
          ))}
          {fieldErrors.length > mostErrors && (
            <li>{t("common.andMore", { count: fieldErrors.length - mostErrors })}</li>
          )}
        </ul>
      )}
      {(retry !== undefined || hasReport) && (
        <Group mt="sm" gap="sm">
          {retry !== undefined && (
            <Button size="xs" variant="default" onClick={() => retry()}>
              {t("app.problem.retry")}
            </Button>
          )}
          {retry !== undefined && isUnavailable(error) && <Countdown retry={retry} />}
          {hasReport && (
            <>
              <Anchor size="sm" href={`/errors/${known.code}`} target="_blank">
                {t("app.problem.explain")}
              </Anchor>
              <CopyText text={known.requestId} size="xs" variant="default">
                {t("app.problem.copyRequestId", { id: known.requestId.slice(0, 8) })}
              </CopyText>
            </>
          )}
        </Group>
      )}
    </Alert>
  );
}

const retryAfterSeconds = 5;

/** Repeats the request, and shows when. */
function Countdown({ retry }: { readonly retry: () => unknown }) {
  const [seconds, setSeconds] = useState(retryAfterSeconds);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (seconds > 1) setSeconds(seconds - 1);
      else {
        setSeconds(retryAfterSeconds);
        retry();
      }
    }, 1_000);
    return () => clearTimeout(timer);
  }, [seconds, retry]);
  return (
    <Text size="sm" c="dimmed">
      {t("app.problem.retryIn", { count: seconds })}
    </Text>
  );
}

/** The path of the record that prevents a change, in the console. */
function recordAt(pointer: string): string | undefined {
  return /^\/tenants(\/[a-z-]+\/[0-9a-f-]{36})$/.exec(pointer)?.[1];
}

interface FieldErrorProps {
  readonly pointer: string;
  readonly message: string;
}

/** One error, at a field or about a record that prevents the change. */
function FieldError({ pointer, message }: FieldErrorProps) {
  const record = recordAt(pointer);
  if (record !== undefined) {
    return (
      <Anchor href={`/console${record}`} size="sm">
        <bdi>{message}</bdi>
      </Anchor>
    );
  }
  return (
    <>
      <strong>{formatPointer(pointer)}</strong> {message}
    </>
  );
}

/** A JSON Pointer in words: `/changes/0/body/addresses/0/address` as "Addresses 1, address:". */
function formatPointer(pointer: string): string {
  const words = pointer
    .replace(/^\/changes\/\d+\/body/, "")
    .slice(1)
    .replaceAll(/\/(\d+)/g, (_, index: string) => ` ${Number(index) + 1}`)
    .replaceAll("/", ", ")
    .replaceAll(/([a-z])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`);
  return words === "" ? "" : `${words.charAt(0).toUpperCase()}${words.slice(1)}:`;
}

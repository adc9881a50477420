/** Whether the latest mail to a user was sent. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Alert, Text } from "@mantine/core";
import { t } from "../../messages/i18n.ts";

type Mail = NonNullable<ResultOf<"/tenants/users/{id}", "get">["mail"]>;

export function MailState({ mail: { status, error } }: { readonly mail: Mail }) {
  return (
    <Text size="sm" title={error}>
      {t(`enrolmentLinks.mailStates.${status}`)}
    </Text>
  );
}

/** Warns that a mail did not arrive. */
export function MailWarning({ mail }: { readonly mail: Mail | undefined }) {
  if (mail === undefined || mail.error === undefined) return null;
  const title = mail.status === "failed" ? t("enrolmentLinks.mailFailed") : t("enrolmentLinks.mailDelayed");
  return (
    <Alert color={mail.status === "failed" ? "red" : "yellow"} title={title}>
      {mail.error}
    </Alert>
  );
}

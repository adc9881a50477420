/** An enrolment link that was just created: as a link, as a QR code, and as a code to type. It is shown once. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Button, Center, Code, Group, Stack } from "@mantine/core";
import { CopyText } from "../app/copy.tsx";
import { Warning } from "../app/warning.tsx";
import { t } from "../messages/i18n.ts";
import { Dialog } from "./dialog.tsx";
import { Intro } from "./intro.tsx";
import { LoopbackNote } from "./loopback-note.tsx";
import { QrCode } from "./qr-code.tsx";

interface NewEnrolmentLinkProps {
  readonly name: string;
  readonly link: Pick<ResultOf<"/tenants/users/{id}/enrolment-links", "post">, "url" | "code">;
  readonly close: () => void;
}

export function NewLink({ close, ...link }: NewEnrolmentLinkProps) {
  return (
    <Dialog onClose={() => undefined} title={t("enrolmentLinks.created", { name: link.name })} closable={false}>
      <LinkDetails {...link} close={close} />
    </Dialog>
  );
}

export function LinkDetails({ link: { url, code }, close }: NewEnrolmentLinkProps) {
  return (
    <Stack>
      <LoopbackNote url={url} about="link" />
      <Intro>{t("enrolmentLinks.createdText")}</Intro>
      <Code block aria-label={t("enrolmentLinks.link")} className="secret">
        {url}
      </Code>
      <Center>
        <QrCode text={url} label={t("enrolmentLinks.qr")} />
      </Center>
      <Intro>{t("enrolmentLinks.codeText", { address: new URL("/console/enrol", url).href })}</Intro>
      <Code block aria-label={t("enrolmentLinks.code")} className="secret">
        {code}
      </Code>
      <Warning>{t("enrolmentLinks.warning")}</Warning>
      <Group justify="flex-end" className="form-actions">
        <Button variant="default" onClick={close}>
          {t("records.secret.saved")}
        </Button>
        <CopyText text={code} variant="default">
          {t("enrolmentLinks.copyCode")}
        </CopyText>
        <CopyText text={url} data-autofocus>
          {t("enrolmentLinks.copyLink")}
        </CopyText>
      </Group>
    </Stack>
  );
}

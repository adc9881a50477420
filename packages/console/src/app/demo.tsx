/** The mark of demo mode on every page. */
import { Alert, Text } from "@mantine/core";
import { t } from "../messages/i18n.ts";
import { useInstallation } from "./installation.ts";

/** Says on every page that this is a demo. */
export function DemoNotice() {
  if (useInstallation()?.demo === undefined) return null;
  return (
    <Alert color="orange" mb="md" py={6}>
      <Text span inherit fw={600}>
        {t("signIn.demo.title")}
      </Text>{" "}
      {t("signIn.demo.text")}
    </Alert>
  );
}

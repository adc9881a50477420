import "@mantine/notifications/styles.css";
import { Notifications } from "@mantine/notifications";

export function NoticesContainer() {
  return <Notifications position="bottom-right" />;
}

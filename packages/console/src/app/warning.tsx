/** A notice of something that a person should know before going on. */
import { Alert, type AlertProps } from "@mantine/core";
import { TriangleAlert } from "lucide-react";

export function Warning(props: AlertProps) {
  return <Alert color="yellow" variant="outline" icon={<TriangleAlert aria-hidden />} {...props} />;
}

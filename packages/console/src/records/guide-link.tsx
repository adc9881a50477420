/** A link to a guide: a document of this repository, which the console shows at `/guides/<name>`. */
import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { t } from "../messages/i18n.ts";

/** The documents in `docs` that the console shows. */
export const guideNames = [
  "console",
  "tour",
  "gateway",
  "device",
  "invitations",
  "identity-providers",
  "access",
  "access-impact",
  "declarative",
  "change-sets",
  "revert",
  "webhooks",
  "deployment",
  "configuration",
  "command-line",
  "operations",
  "keys",
  "sizing",
  "glossary",
] as const;

export type GuideName = (typeof guideNames)[number];

/** A guide, or the part of it below a heading, such as `gateway#install`. */
export type GuidePart = GuideName | `${GuideName}#${string}`;

export function GuideLink({ to }: { readonly to: GuidePart }) {
  const [name, section] = to.split("#");
  return (
    <Anchor
      component={Link}
      to={`/guides/${name}`}
      {...(section === undefined ? {} : { hash: section })}
      inherit
      className="one-line"
      underline="always"
    >
      {t("records.guideLink")}
    </Anchor>
  );
}

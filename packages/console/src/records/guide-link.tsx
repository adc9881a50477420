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

interface GuideLinkProps {
  readonly to: GuidePart;
  /** Names the guide, where links to several guides stand together. */
  readonly isNamed?: boolean;
}

export function GuideLink({ to, isNamed = false }: GuideLinkProps) {
  const [name, section] = to.split("#") as [GuideName, string?]; // the type of the part says so
  return (
    <Anchor
      component={Link}
      to={`/guides/${name}`}
      {...(section === undefined ? {} : { hash: section })}
      inherit
      className="one-line"
      underline="always"
    >
      {isNamed ? t("records.guideLinkTo", { name: t(`guides.names.${name}`) }) : t("records.guideLink")}
    </Anchor>
  );
}

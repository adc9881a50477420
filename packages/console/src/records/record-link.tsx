import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Fragment, type ReactNode } from "react";
import { t } from "../messages/i18n.ts";
import { Absent } from "./absent.tsx";
import { WholeWords } from "./whole-words.tsx";

/** Tables may truncate longer names, so these have a tooltip. */
const longName = 40;
/** Links in text with at most this many characters stay on one line. */
const shortText = 20;

interface RecordLinkProps {
  readonly to: string;
  /** Absent if a rich-text message inserts it. */
  readonly children?: ReactNode;
  /** Underlines a link inside text, where its colour alone does not distinguish it. */
  readonly inText?: boolean;
}

export function RecordLink({ to, children, inText = false }: RecordLinkProps) {
  return (
    <Anchor
      component={Link}
      to={to}
      inherit
      underline={inText ? "always" : "hover"}
      {...(inText && typeof children === "string" && children.length <= shortText ? { className: "one-line" } : {})}
    >
      {typeof children === "string" ? (
        <bdi {...(children.length > longName ? { title: children } : {})}>
          <WholeWords text={children} />
        </bdi>
      ) : (
        children
      )}
    </Anchor>
  );
}

interface RecordLinksProps {
  /** The path for records without their own `path`. */
  readonly path?: string;
  readonly records: readonly { readonly id: string; readonly name: string; readonly path?: string }[];
  readonly none?: string;
}

/** The names of records as links, up to a limit. */
export function RecordLinks({ path = "", records, none = t("common.none") }: RecordLinksProps) {
  if (records.length === 0) return <Absent>{none}</Absent>;
  const shown = records.slice(0, 50);
  return (
    <>
      {shown.map(({ id, name, path: own = path }, index) => (
        <Fragment key={id}>
          {index > 0 && " "}
          <span className="record-name">
            <RecordLink to={`/${own}/${id}`}>{name}</RecordLink>
            {index < shown.length - 1 && ","}
          </span>
        </Fragment>
      ))}
      {records.length > shown.length && ` ${t("common.andMore", { count: records.length - shown.length })}`}
    </>
  );
}

/** A URL that people compare with one elsewhere, such as the issuer of an identity provider. */
import { Code } from "@mantine/core";
import { Fragment } from "react";

interface UrlValueProps {
  readonly url: string;
  /** A long URL in the table of a list ends in an ellipsis. Its title has the whole URL. */
  readonly isInList?: boolean;
}

export function UrlValue({ url, isInList = false }: UrlValueProps) {
  if (!isInList) {
    return (
      <Code className="url">
        <BreakingUrl url={url} />
      </Code>
    );
  }
  // Without places to break, because a browser would break there even on the line of a list.
  return (
    <Code className="url truncated-in-list" title={url}>
      {url}
    </Code>
  );
}

/** A URL, or the value of a DNS record, that breaks between its segments. */
export function BreakingUrl({ url }: { readonly url: string }) {
  return url.split(/(?<=[^/]\/)(?!\/)|(?<==)/).map((segment, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: segments repeat, and have no identity
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {segment}
    </Fragment>
  ));
}

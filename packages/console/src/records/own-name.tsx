/** The name of a record without a page, such as a passkey. It stands out from the facts below and beside it. */
import type { ReactNode } from "react";

export function OwnName({ children }: { readonly children: ReactNode }) {
  return (
    <span className="own-name">
      <bdi>{children}</bdi>
    </span>
  );
}

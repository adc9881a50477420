import { Fragment } from "react";
import { textWithCode } from "../../messages/text-with-code.tsx";
import { type Condition, observedOf } from "./format-access.ts";

/** The values that the condition read, such as " (device.posture.diskEncrypted is false)". */
export function Observed({ condition }: { readonly condition: Condition }) {
  const observed = observedOf(condition);
  if (observed.length === 0) return null;
  return (
    <>
      {" ("}
      {observed.map(({ name, value }, index) => (
        <Fragment key={name}>
          {index > 0 && "; "}
          {textWithCode("access.evaluated.value", { name, value })}
        </Fragment>
      ))}
      )
    </>
  );
}

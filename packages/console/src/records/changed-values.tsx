/** The values of a changed field, a chip for each. A sign distinguishes removed values from added ones. */
import { Code } from "@mantine/core";
import { Fragment } from "react";
import { t } from "../messages/i18n.ts";

interface ChangedValuesProps {
  readonly change: "added" | "removed";
  readonly values: readonly string[];
}

export function ChangedValues({ change, values }: ChangedValuesProps) {
  if (values.length === 0) return null;
  const sign = change === "added" ? "+" : "−";
  return (
    <span className={`values ${change}`}>
      <span className="unseen">{t(`records.changes.${change}`)} </span>
      <Chips values={values} sign={sign} />
    </span>
  );
}

interface ChipsProps {
  readonly values: readonly string[];
  readonly sign?: string;
}

/** A chip for each value, for the content of an element with the class `values`. */
export function Chips({ values, sign }: ChipsProps) {
  return values.map((value, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: two records of a list can have the same name
    <Fragment key={index}>
      <Code className="value">
        {sign !== undefined && <span aria-hidden>{sign} </span>}
        {value}
      </Code>{" "}
    </Fragment>
  ));
}

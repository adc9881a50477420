/** Addresses that several resources have, and the resource that connections reach. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Stack, Text } from "@mantine/core";
import { Warning } from "../app/warning.tsx";
import { t } from "../messages/i18n.ts";
import { RichText } from "../messages/rich-text.tsx";
import { RecordLinks } from "./record-link.tsx";

type Shared = NonNullable<ResultOf<"/tenants/policies/preview", "post">["sharedAddresses"]>[number];

export function SharedAddresses({ shared = [] }: { readonly shared?: readonly Shared[] | undefined }) {
  if (shared.length === 0) return null;
  return (
    <Warning title={t("records.sharedAddress.title", { count: shared.length })} mt="sm">
      <Stack gap={4}>
        {shared.flatMap((each) =>
          sentencesOf(each).map(({ message, records }) => (
            <Text key={message + each.resource.id + each.address} component="div">
              <RichText
                message={message}
                values={{ address: each.address, name: each.resource.name }}
                elements={{ others: <RecordLinks path="resources" records={records} /> }}
              />
            </Text>
          )),
        )}
      </Stack>
    </Warning>
  );
}

function sentencesOf({ resource, resources, enclosing }: Shared) {
  const [first, ...later] = resources;
  return [
    ...(first === undefined
      ? []
      : first.id === resource.id
        ? [{ message: "records.sharedAddress.first", records: later } as const]
        : [{ message: "records.sharedAddress.later", records: [first] } as const]),
    ...(enclosing.length === 0 ? [] : [{ message: "records.sharedAddress.enclosing", records: enclosing } as const]),
  ];
}

/** Addresses of an allowed resource whose packets go to a gateway that does not carry the resource. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Stack, Text } from "@mantine/core";
import { Warning } from "../app/warning.tsx";
import { t } from "../messages/i18n.ts";
import { RichText } from "../messages/rich-text.tsx";
import { RecordLinks } from "./record-link.tsx";

type Explanation = NonNullable<ResultOf<"/access/v1/evaluation", "post">["context"]["explanation"]>;

interface DivertedAddressesProps {
  /** The name of the resource. */
  readonly name: string | undefined;
  readonly diverted: Explanation["divertedAddresses"];
}

export function DivertedAddresses({ name = "", diverted = [] }: DivertedAddressesProps) {
  if (diverted.length === 0) return null;
  return (
    <Warning title={t("records.divertedAddress.title", { count: diverted.length })} mt="sm">
      <Stack gap={4}>
        {diverted.map(({ address, routedFor }) => (
          <Text key={address} component="div">
            <RichText
              message="records.divertedAddress.text"
              values={{ address, name }}
              elements={{ other: <RecordLinks path="resources" records={[routedFor]} /> }}
            />
          </Text>
        ))}
      </Stack>
    </Warning>
  );
}

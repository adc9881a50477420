import type { ResultOf } from "@gatehouse/client/calls";
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { addressBody, addressFields } from "../../records/address-fields.tsx";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { EmptyState } from "../../records/empty-list.tsx";
import type { Values } from "../../records/form-fields.tsx";
import { orderGateways } from "../../records/gateway-order.ts";
import { MoreActions } from "../../records/more-actions.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { formatResourceType } from "../resources/format-resource-type.ts";
import { AnswersWithin, useGatewaysOf } from "./answers-within.tsx";
import { formatAddressKind } from "./format-address-kind.ts";
import { ResourceOfAddress, useResourceOf } from "./resource-of-address.tsx";

const path = "/tenants/addresses/{id}";

type Address = ResultOf<typeof path, "get">;

function valuesOf({ address, protocols, answersWithin = [] }: Address): Values {
  return { address, protocols: protocols.map(({ id }) => id), answersWithin };
}

export function AddressPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const address = data?.record;
  return (
    <RecordPage
      list={{ to: "/addresses", title: t("addresses.title") }}
      title={address?.address}
      actions={data && <Actions address={data.record} etag={data.etag} />}
      error={error}
      retry={refetch}
    >
      {address && (
        <>
          <Panel title={t("common.about")}>
            <Facts
              facts={[
                { label: t("addresses.fields.resource"), value: <ResourceOfAddress id={id} /> },
                { label: t("addresses.fields.resourceType"), value: formatResourceType(address.type) },
                {
                  label: t("addresses.fields.kind"),
                  value: formatAddressKind(address),
                },
                {
                  label: t("addresses.fields.protocols"),
                  value: <RecordLinks path="protocols" records={address.protocols} />,
                },
                ...(address.type === "PRIVATE" && !address.isIp
                  ? [
                      {
                        label: t("addresses.fields.answersWithin"),
                        value: <AnswersWithin id={id} own={address.answersWithin} />,
                      },
                    ]
                  : []),
              ]}
            />
          </Panel>
          <Gateways id={id} />
        </>
      )}
    </RecordPage>
  );
}

function Gateways({ id }: { readonly id: string }) {
  const { data } = useGatewaysOf(id);
  const { data: resource, isLoading } = useResourceOf(id);
  if (data === undefined || isLoading) return null;
  return (
    <Panel title={t("addresses.gateways", { count: data.length })}>
      {data.length === 0 ? (
        <EmptyState
          isPart
          empty={{
            title: t("gateways.empty.title"),
            text: t("addresses.gatewaysEmpty"),
            guide: "gateway#install",
          }}
        />
      ) : (
        <RecordLinks path="gateways" records={orderGateways(data, resource?.loadBalancingMode ?? "MANUAL")} />
      )}
    </Panel>
  );
}

function Actions({ address, etag }: { readonly address: Address; readonly etag: string }) {
  const canWrite = usePermission("addresses:write");
  const navigate = useNavigate();
  const [editing, { open, close }] = useDisclosure(false);
  const at = `/tenants/addresses/${address.id}`;
  if (!canWrite) return null;
  return (
    <>
      <MoreActions>
        <DeleteRecord
          title={t("addresses.delete.title", { name: address.address })}
          effect={t("addresses.delete.effect")}
          path={at}
          etag={etag}
          done={() => void navigate({ to: "/addresses" })}
        />
      </MoreActions>
      <Button onClick={open}>{t("common.edit")}</Button>
      {editing && (
        <RecordForm
          title={t("addresses.edit", { name: address.address })}
          fields={addressFields(address.type, address.protocols)}
          initial={valuesOf(address)}
          submitLabel={t("common.save")}
          plan={(values) => [{ method: "PUT", path: at, body: addressBody(values) }]}
          close={close}
          edits={{
            etag,
            reload: async () => {
              const stored = await readRecord(path, address.id);
              return { values: valuesOf(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}

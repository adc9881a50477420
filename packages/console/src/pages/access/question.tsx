/** The question of the access page in one line. Address, country and time are collapsed. */
import { Collapse, Combobox, Group, InputBase, NumberInput, Paper, Select } from "@mantine/core";
import { useId, useRef, useState } from "react";
import { paged } from "../../app/api.ts";
import { formatShortTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { readDestination } from "../../records/read-destination.ts";
import { RecordSelect } from "../../records/record-select.tsx";
import { type AccessSearch, isSingleHost, protocols } from "./access-search.ts";
import { Circumstances, type CircumstancesProps, type QueryProps } from "./circumstances.tsx";
import { TypedText } from "./typed-text.tsx";

export function Question(props: CircumstancesProps) {
  const { query, change } = props;
  const { view } = query;
  const circumstances = useId();
  const [isOpen, setOpen] = useState(() => describeCircumstances(query) !== t("access.question.now"));
  const elements = {
    person: <Person query={query} change={change} />,
    device: <Device query={query} change={change} />,
    thing: <Thing query={query} change={change} />,
    // On a narrow screen, the verb ends the question, and the time stands below it.
    verb: <span className="verb" data-mark={t("access.question.mark")} />,
    when: <When query={query} isOpen={isOpen} toggle={() => setOpen(!isOpen)} controls={circumstances} />,
  };
  const message =
    view === "who" ? "access.question.who" : view === "what" ? "access.question.what" : "access.question.can";
  return (
    <Paper withBorder p="md" component="section" aria-label={t("access.query.region")}>
      <div className="question">
        <RichText message={message} elements={elements} />
      </div>
      <Collapse expanded={isOpen} id={circumstances}>
        <Circumstances {...props} />
      </Collapse>
    </Paper>
  );
}

interface WhenProps {
  readonly query: AccessSearch;
  readonly isOpen: boolean;
  readonly toggle: () => void;
  readonly controls: string;
}

function When({ query, isOpen, toggle, controls }: WhenProps) {
  // On a narrow screen, each field needs a word.
  return (
    <span className="when" data-word={t("access.question.when")}>
      <span className="when-field">
        <InputBase
          component="button"
          type="button"
          pointer
          aria-expanded={isOpen}
          aria-controls={controls}
          rightSection={<Combobox.Chevron />}
          rightSectionPointerEvents="none"
          onClick={toggle}
        >
          {describeCircumstances(query)}
        </InputBase>
        <span className="mark">{t("access.question.mark")}</span>
      </span>
    </span>
  );
}

/** Such as "now" or "on 3 Mar 2026, 09:30, from 198.51.100.7, in DE". */
function describeCircumstances({ at, ip, country }: AccessSearch): string {
  const parts = [
    at === "" ? t("access.question.now") : t("access.question.at", { at: formatShortTime(at) }),
    ...(ip === "" ? [] : [t("access.question.from", { ip })]),
    ...(country === "" ? [] : [t("access.question.in", { country })]),
  ];
  return parts.join(", ");
}

/** People connect with a device, so an answer about a person alone would mislead. */
async function lastSeenDevice(user: string): Promise<string | undefined> {
  const { data } = await paged("/tenants/devices").read({
    "filter[user.id]": user,
    "filter[active]": "true",
    sort: "-lastConnection",
    limit: 1,
  });
  return data[0]?.id;
}

function Person({ query: { view, user }, change }: QueryProps) {
  const chosen = useRef(user);
  const choose = async (id: string) => {
    chosen.current = id;
    change({ user: id, device: undefined });
    if (id === "" || view !== "can") return;
    // Without permission to read devices, the person chooses none.
    const last = await lastSeenDevice(id).catch(() => undefined);
    if (last !== undefined && chosen.current === id) change({ user: id, device: last });
  };
  return (
    <RecordSelect
      path="/tenants/users"
      label={t("access.query.user")}
      isLabelHidden
      placeholder={t("access.query.userPlaceholder")}
      value={user}
      onChange={(id) => void choose(id)}
    />
  );
}

function Device({ query: { view, user, device }, change }: QueryProps) {
  return (
    <RecordSelect
      path="/tenants/devices"
      label={t("access.query.device")}
      isLabelHidden
      placeholder={
        user === ""
          ? t("access.query.devicePlaceholder")
          : view === "what"
            ? t("access.query.deviceAny")
            : t("access.query.deviceNone")
      }
      // The default applies to a user.
      {...(user === "" ? {} : { className: "effective-default" })}
      query={user === "" ? {} : { "filter[user.id]": user }}
      value={device}
      onChange={(id) => change({ device: id })}
    />
  );
}

function Thing({ query: { byAddress, resource, address, protocol, port }, change }: QueryProps) {
  return (
    <Group gap={8}>
      <Select
        className="kind"
        aria-label={t("access.query.destination")}
        data={[
          { value: "resource", label: t("access.query.byResource") },
          { value: "address", label: t("access.query.byAddress") },
        ]}
        value={byAddress ? "address" : "resource"}
        allowDeselect={false}
        onChange={(to) => change({ to: to === "address" ? to : undefined })}
      />
      {byAddress ? (
        <>
          <TypedText
            aria-label={t("access.query.address")}
            placeholder={t("access.query.addressPlaceholder")}
            value={address}
            onChange={(next) => change(partsOf(next))}
            error={address === "" || isSingleHost(address) ? undefined : t("access.query.addressInvalid")}
          />
          <Group wrap="nowrap" gap={8}>
            <Select
              aria-label={t("access.query.protocol")}
              placeholder={t("access.query.protocolAny")}
              className="effective-default"
              data={[...protocols]}
              value={protocol ?? null}
              onChange={(next) => change({ protocol: next ?? undefined })}
              clearable
              clearButtonProps={{ "aria-label": t("access.query.anyProtocol") }}
              style={{ flex: 1 }}
            />
            <NumberInput
              aria-label={t("access.query.port")}
              placeholder={
                protocol === undefined
                  ? t("access.query.portOfProtocol")
                  : protocol === "ICMP"
                    ? t("access.query.portNone")
                    : t("access.query.portAny")
              }
              min={1}
              max={65_535}
              allowDecimal={false}
              allowNegative={false}
              hideControls
              className="effective-default"
              disabled={protocol !== "TCP" && protocol !== "UDP"}
              value={port ?? ""}
              onChange={(next) => change({ port: next === "" ? undefined : String(next) })}
              style={{ flex: 1 }}
            />
          </Group>
        </>
      ) : (
        <RecordSelect
          path="/tenants/resources"
          label={t("access.query.resource")}
          isLabelHidden
          placeholder={t("access.query.resourcePlaceholder")}
          value={resource}
          onChange={(id) => change({ resource: id })}
        />
      )}
    </Group>
  );
}

/** A URL or a host with a port becomes a host, TCP and the port. Other text stays for the person to correct. */
function partsOf(text: string) {
  const { address, port } = readDestination(text) ?? {};
  return address === undefined || port === undefined
    ? { address: text }
    : { address, protocol: "TCP", port: String(port) };
}

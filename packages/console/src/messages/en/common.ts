/** Words that many areas use. */
export const common = {
  actions: "Actions",
  add: "Add",
  cancel: "Cancel",
  close: "Close",
  copied: "Copied",
  copyFailed: "Copying failed. Select the text instead.",
  create: "Create",
  delete: "Delete",
  edit: "Edit",
  loading: "Loading…",
  more: "More",
  remove: "Remove",
  review: "Review",
  save: "Save",

  created: "Created",
  description: "Description",
  name: "Name",
  status: "Status",
  type: "Type",

  chooseTime: "{{field}}: choose a time",
  timeInvalid: "Enter a time such as 3 Mar 2026, 09:30.",
  timePlaceholder: "Such as 3 Mar 2026, 09:30",
  timesIn: "Times are in {{zone}}.",

  andMore: "and {{count, number}} more",
  never: "Never",
  no: "No",
  none: "None",
  yes: "Yes",

  about: "About",
  documentTitle: "{{title}} · Gatehouse",
  justNow: "just now",
  theInternet: "the internet",
} as const;

/** The list that every kind of record uses. `noun` is the plural of the record, such as "users". */
export const lists = {
  clearFilter: "Clear {{filter}}",
  fewerFilters: "Fewer filters",
  moreFilters: "More filters",
  noMatch: {
    text: "Try another search term or fewer filters.",
    title: "No {{noun}} match",
  },
  noMoreResults: "No more results",
  page: "Page {{number}}",
  pages: {
    first: "First page",
    last: "Last page",
    next: "Next page",
    previous: "Previous page",
  },
  range: "{{first, number}}–{{last, number}} of {{total, number}} {{noun}}",
  searchBy: "Search by {{field}}",
  showAll: "Show all {{noun}}",
} as const;

/** The types of events that erase the personal data of the events before them in their stream. */
export const erasures: ReadonlySet<string> = new Set([
  'CardErased',
  'ContactErased',
  'ContactDeleted',
  'DoNotMailRemoved',
]);

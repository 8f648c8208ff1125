/** The types of events that erase what is personal in the events before them in their stream. */
export const erasures: ReadonlySet<string> = new Set(['CardErased', 'ContactErased', 'ContactDeleted']);

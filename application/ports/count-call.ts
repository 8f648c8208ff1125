/** Counts calls to an engine, by their kind. */
export type CountCall = (call: string, times?: number) => void;

export const uncounted: CountCall = () => undefined;

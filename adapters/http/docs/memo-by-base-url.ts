/**
 * Computes a value when it is first needed, and again when the base URL has changed: a free port is known
 * only after `listen`.
 */
export const remembered = <T>(baseUrl: () => string, make: (base: string) => T): (() => T) => {
  let last: { readonly base: string; readonly made: T } | null = null;
  return () => {
    const base = baseUrl();
    if (last?.base === base) return last.made;
    const made = make(base);
    const kept = { base, made };
    last = kept;
    // After a failure the next reader tries again.
    if (made instanceof Promise)
      made.catch(() => {
        if (last === kept) last = null;
      });
    return made;
  };
};

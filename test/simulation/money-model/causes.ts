// A cause is what a movement is for (docs/money.md, rule 1: a cause moves money once).

/** What returns the credit that an event owes: the card, and the event's revision. */
export const debtOf = (code: string, revision: number): string => `${code}@${revision}`;
/** What a spend is for: a slot of a card's stream, and the command that will fill it; '' names no command. */
export const spendFor = (code: string, slot: number, command: number | ''): string =>
  `${code}@${slot}/${command}`;

export const purchaseBy = (command: number): string => `purchase:${command}`;
/** What a purchase under a reference is for: its order, which has a stream of its own. */
export const purchaseOf = (order: string): string => `purchase:${order}`;
/** What returns the credit of a void spend. */
export const voidOf = (spend: string): string => `void:${spend}`;

export const isDebt = (cause: string): boolean => /^[^:/]+@\d+$/.test(cause);
export const isPurchase = (cause: string): boolean => cause.startsWith('purchase:');

/** What the cause of a spend names. */
export const slotOf = (
  cause: string,
): { readonly code: string; readonly revision: number; readonly command: string } => {
  const [, code = '', revision = '', command = ''] = /^(.+)@(\d+)\/(.*)$/.exec(cause) ?? [];
  return { code, revision: Number(revision), command };
};

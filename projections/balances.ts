import { ledger } from '../domain/credits.js';
import { idOf } from '../domain/ids.js';
import { projection } from './projection.js';

export interface BalanceDocument {
  readonly org: string;
  readonly balance: number;
}

export const balances = projection({
  name: 'balances',
  version: 1,
  from: ledger,
  evolve: (_: BalanceDocument | null, { data, envelope }): BalanceDocument => ({
    org: idOf(envelope.stream),
    balance: data.balance,
  }),
  org: ({ org }) => org,
});

import type { StreamName } from '../../domain/ids.js';

/** An event with personal data, as it is stored. */
export interface StoredPersonal {
  readonly position: number;
  readonly stream: StreamName;
  readonly revision: number;
  readonly id: string;
  readonly personal: string;
  readonly metadata: string;
}

/** The stored texts of personal data, in a log that nobody else has open. */
export interface StoredPersonalTexts {
  /** At most `limit` events after a position whose personal data is in the clear. */
  inTheClear(after: number, limit: number): readonly StoredPersonal[];
  /** The revision of the last erasure in a stream; -1 if there is none. */
  erasedAt(stream: StreamName): number;
  /** Replaces texts, all or none. Durable when it returns, and nothing of those before is kept. */
  replace(texts: readonly (readonly [position: number, personal: string])[]): void;
}

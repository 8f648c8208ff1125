import type { KeyUses } from '../../application/ports/key-uses.js';
import type { Clock } from '../../application/ports/system.js';
import { Instant, Uuid, type Milliseconds } from '../../domain/ids.js';
import { sendAll, type MongoDatabase } from './database.js';

interface UseRow {
  readonly _id: string;
  readonly at: string;
}

const savedEvery: Milliseconds = 5_000;

/**
 * When keys were last used: in memory at once, in MongoDB some seconds later. A crash loses those seconds.
 */
export class MongoKeyUses implements KeyUses {
  readonly #database: MongoDatabase;
  readonly #clock: Clock;
  readonly #fresh = new Map<Uuid, Instant>();
  readonly #stopped = new AbortController();
  readonly #saving: Promise<void>;

  constructor({ database, clock }: { readonly database: MongoDatabase; readonly clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
    this.#saving = this.#saveNowAndThen();
  }

  used(keyId: Uuid, at: Instant): void {
    this.#fresh.set(keyId, at);
  }

  async lastUses(keyIds: readonly Uuid[]): Promise<ReadonlyMap<Uuid, Instant>> {
    const rows = await this.#rows()
      .find({ _id: { $in: [...keyIds] } })
      .toArray();
    const uses = new Map(rows.map(({ _id, at }) => [Uuid.parse(_id), Instant.parse(at)]));
    for (const id of keyIds) {
      const fresh = this.#fresh.get(id);
      if (fresh !== undefined && fresh > (uses.get(id) ?? '')) uses.set(id, fresh);
    }
    return uses;
  }

  /** Saves what is fresh and stops saving. */
  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#saving;
    await this.#save();
  }

  async #saveNowAndThen(): Promise<void> {
    const { signal } = this.#stopped;
    for (
      await this.#clock.sleep(savedEvery, signal);
      !signal.aborted;
      await this.#clock.sleep(savedEvery, signal)
    )
      await this.#save();
  }

  /** What can't be saved stays fresh until the next time. */
  async #save(): Promise<void> {
    const uses = [...this.#fresh];
    if (uses.length === 0) return;
    const writes = uses.flatMap(([id, at]) => [
      { updateOne: { filter: { _id: { $eq: id } }, update: { $setOnInsert: { at } }, upsert: true } },
      { updateOne: { filter: { _id: { $eq: id }, at: { $lt: at } }, update: { $set: { at } } } },
    ]);
    const saved = await sendAll(() => this.#rows().bulkWrite(writes)).then(
      () => true,
      () => false,
    );
    if (saved) for (const [id, at] of uses) if (this.#fresh.get(id) === at) this.#fresh.delete(id);
  }

  #rows() {
    return this.#database.collection<UseRow>('key_uses');
  }
}

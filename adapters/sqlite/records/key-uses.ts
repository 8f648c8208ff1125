import type { KeyUses } from '../../../application/ports/key-uses.js';
import type { Clock } from '../../../application/ports/system.js';
import { Instant, type Milliseconds, type Uuid } from '../../../domain/ids.js';
import type { Database, Statement } from '../database.js';
import type { SqliteWriter } from '../writer/writer.js';

const savedEvery: Milliseconds = 5_000;

/**
 * When keys were last used: in memory at once, in events.db some seconds later. A crash loses those seconds.
 */
export class SqliteKeyUses implements KeyUses {
  readonly #fresh = new Map<Uuid, Instant>();
  readonly #stopped = new AbortController();
  readonly #read: Statement;

  constructor(
    private readonly writer: SqliteWriter,
    database: Database,
    private readonly clock: Clock,
  ) {
    this.#read = database.prepare('select at from key_uses where key = ?');
    void this.#saveNowAndThen();
  }

  used(keyId: Uuid, at: Instant): void {
    this.#fresh.set(keyId, at);
  }

  lastUses(keyIds: readonly Uuid[]): Promise<ReadonlyMap<Uuid, Instant>> {
    const known = keyIds.flatMap((id): [Uuid, Instant][] => {
      const row: { at: unknown } | undefined = this.#read.get(id);
      const at = this.#fresh.get(id) ?? (row === undefined ? undefined : Instant.parse(row.at));
      return at === undefined ? [] : [[id, at]];
    });
    return Promise.resolve(new Map(known));
  }

  /** Saves what is fresh and stops saving. */
  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#save();
  }

  async #saveNowAndThen(): Promise<void> {
    const { signal } = this.#stopped;
    for (
      await this.clock.sleep(savedEvery, signal);
      !signal.aborted;
      await this.clock.sleep(savedEvery, signal)
    )
      await this.#save();
  }

  /** What can't be saved stays fresh until the next time. */
  async #save(): Promise<void> {
    const uses = [...this.#fresh];
    if (uses.length === 0) return;
    const saved = await this.writer.run('saveKeyUses', uses).then(
      () => true,
      () => false,
    );
    if (saved) for (const [id, at] of uses) if (this.#fresh.get(id) === at) this.#fresh.delete(id);
  }
}
